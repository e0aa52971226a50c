"""Members of a team learn into one playbook, each from their own sessions."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from playbook_db.claude_code import learner, worker
from playbook_db.claude_code.hooks.hook_runner import session_folder_name
from playbook_db.cli.main import main
from playbook_db.services import project as project_service
from playbook_db.services.learning import cursor, learn, queue
from playbook_db.services.playbook import edit, forget
from playbook_db.store.engine import Store, open_store
from playbook_db.store.team import memberships, replica
from tests import postgres
from tests.learning.conftest import GOOD, MessagesApi, is_reflector, model_at
from tests.members import NAME, Member, NewMember, rows
from tests.transcripts import TranscriptBuilder, note_start

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]  # a server

AWAY = "postgresql://ann@127.0.0.1:9/playbooks"


@pytest.fixture
def ann(new_member: NewMember, team_url: str) -> Member:
    """A member who brought a point along."""
    member = new_member("ann")
    member.add("run the tests first")
    member.join(team_url)
    return member


@pytest.fixture
def bob(new_member: NewMember, team_url: str, ann: Member) -> Member:
    """A member who came without points."""
    member = new_member("bob")
    member.join(team_url)
    return member


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesApi]:
    """A model for all members."""
    with MessagesApi(*GOOD) as opened:
        model_at(opened, monkeypatch)
        yield opened


def _lessons(server: Store) -> list[Any]:
    return rows(server, "SELECT session_id FROM revisions WHERE source = 'learn' ORDER BY number")


def _points(server: Store) -> list[Any]:
    return rows(server, "SELECT text, helpful FROM key_points WHERE retired_in IS NULL ORDER BY id")


@contextmanager
def _server_away(member: Member) -> Iterator[None]:
    """Let nobody answer at the team's address."""
    known = member.membership()
    for url in (AWAY, known.url):
        with member.own() as own, own.store.write(own.key) as book:
            memberships.join(book, url, NAME)
        if url == AWAY:
            yield


def test_lessons_reach_the_other_members(ann: Member, bob: Member, team_server: Store, api: MessagesApi) -> None:
    ann.session("s-1")

    assert ann.work().learned == 1

    assert _points(team_server) == [("run the tests first", 1), ("say what was run", 0)]
    assert _lessons(team_server) == [("s-1",)]
    assert ann.points() == ["run the tests first", "say what was run"]
    assert bob.points() == ["run the tests first"]
    assert bob.work().replicas == 1
    assert bob.points() == ["run the tests first", "say what was run"]
    assert bob.work().replicas == 0
    assert [job.state for job in ann.jobs()] == ["done"]
    assert ann.rows("SELECT count(*) FROM model_calls") == [(3,)]
    assert rows(team_server, "SELECT count(*) FROM model_calls") == [(0,)]


def test_author_without_variables_is_the_role(
    ann: Member, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code starts the worker without USER."""
    ann.session("s-1")
    with ann.as_him():
        for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
            monkeypatch.delenv(name, raising=False)
        worker.run(ann.url)

    authors = rows(team_server, "SELECT actor FROM revisions WHERE source = 'learn'")
    assert authors == [(f"postgres@{os.uname().nodename}",)]


def test_jobs_wait_for_the_server(ann: Member, team_server: Store, api: MessagesApi) -> None:
    """No try counts, and no model is asked."""
    ann.session("s-1")
    with _server_away(ann):
        assert ann.work().put_off == 1
        [job] = ann.jobs()
        assert (job.state, job.attempts) == ("queued", 0)
        assert (job.error or "").startswith("waits: postgresql://127.0.0.1:9/playbooks can't be reached")
        assert api.messages() == []
        assert ann.log() == []

    assert ann.work().learned == 1
    assert _lessons(team_server) == [("s-1",)]


class _Killed(BaseException):
    """Kills the worker."""


def _killed(*_: object, **__: object) -> None:
    raise _Killed


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("at", "name"),
    [(learn, "_keep"), (cursor.Cursor, "note_here"), (queue, "finish")],
    ids=["before the commit", "after it", "before the job ends"],
)
def test_killed_worker_teaches_once(
    at: Any, name: str, ann: Member, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.session("s-1")
    with monkeypatch.context() as patch:
        patch.setattr(at, name, _killed)
        with pytest.raises(_Killed):
            ann.work()
    ann.work()

    assert _lessons(team_server) == [("s-1",)]
    assert _points(team_server) == [("run the tests first", 1), ("say what was run", 0)]
    assert len([each for each in api.messages() if is_reflector(each)]) == 1
    assert [job.state for job in ann.jobs()] == ["done"]
    assert ann.work().learned == 0


@pytest.mark.nightly
def test_two_members_may_learn_at_once(ann: Member, bob: Member, team_server: Store, api: MessagesApi) -> None:
    for number in range(3):
        ann.session(f"a-{number}")
        bob.session(f"b-{number}")

    def begun(member: Member) -> "subprocess.Popen[bytes]":
        with member.as_him():
            command = [sys.executable, "-m", "playbook_db.claude_code.worker"]
            return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})

    for process in [begun(ann), begun(bob)]:
        assert process.wait(300) == 0

    assert sorted(_lessons(team_server)) == [(f"{who}-{number}",) for who in "ab" for number in range(3)]
    assert _points(team_server)[0] == ("run the tests first", 6)
    for member in (ann, bob):
        member.work()
        assert [job.state for job in member.jobs()] == ["done"] * 3
        assert member.points() == ["run the tests first", "say what was run"]
        assert member.log() == []


def test_member_who_may_only_read_asks_no_model(
    ann: Member, team_server: Store, team_url: str, api: MessagesApi
) -> None:
    """The jobs wait with the reason, and sessions get the team's points."""
    with postgres.connected(make_url(team_url)) as owner:
        owner.execute("DROP ROLE IF EXISTS playbook_reader")
        owner.execute("CREATE ROLE playbook_reader LOGIN")
        owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO playbook_reader")
    try:
        with ann.own() as own, own.store.write(own.key) as book:
            plain = make_url(team_url).set(username="playbook_reader", drivername="postgresql")
            memberships.join(book, plain.render_as_string(hide_password=False), NAME)
        ann.session("s-1")
        _show(ann)
        with open_store(team_url) as store:
            edit.add(project_service.Project(store, NAME), "from somebody else")
        for _ in range(3):
            assert ann.work().put_off == 1
        assert api.messages() == []
        assert "from somebody else" in ann.points()
        assert "your user may not do this" in (ann.jobs()[0].error or "")
        assert len(ann.log()) == 1
    finally:
        with postgres.connected(make_url(team_url)) as owner:
            owner.execute("DROP OWNED BY playbook_reader")
            owner.execute("DROP ROLE playbook_reader")


def _show(member: Member, session: str = "s-1", time: str = "2026-11-22T10:00:00.000000Z") -> None:
    """Record that a session was shown the first point."""
    with member.own() as own, own.store.write(own.key) as book:
        book.connection.exec_driver_sql(
            "INSERT INTO unsent_showings VALUES (?, ?, ?, 'startup', 1, '[1]', 0, 'SessionStart', NULL, NULL)",
            (book.playbook_id, session, time),
        )


def test_showings_count_once(ann: Member, team_server: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the worker is killed between its two commits."""
    _show(ann)
    with monkeypatch.context() as patch:
        patch.setattr(memberships, "drop_sent", _killed)
        with pytest.raises(_Killed):
            ann.work()
    assert rows(team_server, "SELECT session_id FROM showings") == [("s-1",)]
    assert ann.rows("SELECT session_id FROM unsent_showings") == [("s-1",)]

    _show(ann, time="2026-11-22T10:00:01.000000Z")
    _show(ann, "s-2")
    ann.work()

    showings = rows(team_server, "SELECT session_id, seq FROM showings ORDER BY 1, 2")
    assert showings == [("s-1", 1), ("s-1", 2), ("s-2", 1)]
    assert rows(team_server, "SELECT point_id, sessions FROM showing_counts") == [(1, 2)]
    assert ann.rows("SELECT session_id FROM unsent_showings WHERE sent_at IS NULL") == []


@pytest.mark.usefixtures("team_server")
def test_sent_showings_are_kept_for_a_week(ann: Member) -> None:
    """So hooks of running sessions repeat nothing."""
    _show(ann)
    ann.work()
    assert ann.rows("SELECT session_id FROM unsent_showings WHERE sent_at IS NOT NULL") == [("s-1",)]
    with ann.own() as own, own.store.write(own.key) as book:
        book.connection.exec_driver_sql("UPDATE unsent_showings SET sent_at = '2026-01-01'")
    _show(ann, "s-2")
    ann.work()

    assert ann.rows("SELECT session_id FROM unsent_showings") == [("s-2",)]


def test_each_member_has_a_budget(
    ann: Member, bob: Member, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", "10")
    ann.session("s-1")
    assert ann.work().put_off == 1
    assert "tokens were used today" in (ann.jobs()[-1].error or "")

    bob.session("s-3")
    assert bob.work().put_off == 1  # the reflector's answer was more than that
    assert len(api.messages()) == 2
    assert [is_reflector(each) for each in api.messages()] == [True, True]


@pytest.mark.nightly
def test_joining_and_leaving_learn_nothing_again(
    new_member: NewMember, team_url: str, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither old sessions nor the copied lines of their forks."""
    monkeypatch.setattr(worker, "SILENT_S", 0.0)
    ann = new_member("ann")
    ann.add("run the tests first")
    kept = ann.home / ".claude" / "projects" / session_folder_name(str(ann.folder))
    kept.mkdir(parents=True)

    def said(name: str, *texts: str, after: str = "") -> None:
        builder = TranscriptBuilder("fork" if after else name)
        builder.lines = (kept / f"{after}.jsonl").read_text().splitlines() if after else []
        for text in texts:
            builder.user(text)
            builder.assistant(f"{text} is done")
        path = builder.write(kept / f"{name}.jsonl")
        with ann.as_him():
            note_start(path, str(ann.folder))

    said("s-1", "before joining")
    assert ann.work().lost == 1
    assert len(api.messages()) == 2
    ann.join(team_url)
    assert (ann.work().lost, len(api.messages())) == (0, 2)
    said("s-2", "with the team")
    assert (ann.work().lost, len(api.messages())) == (1, 4)
    assert _lessons(team_server) == [("s-2",)]
    said("s-3", "more", after="s-1")
    ann.work()
    assert "before joining" not in api.messages()[-2].last_said
    assert ann.work().lost == 0
    ann.leave()
    count = len(api.messages())
    assert (ann.work().lost, len(api.messages())) == (0, count)
    said("s-4", "afterwards", after="s-2")
    assert ann.work().lost == 1
    assert "afterwards" in api.messages()[count].last_said
    assert "with the team" not in api.messages()[count].last_said


def test_skipped_parts_are_never_learned(ann: Member, team_server: Store, api: MessagesApi) -> None:
    """Also if the server was away meanwhile."""
    path = ann.session("s-1")
    with _server_away(ann), ann.own() as own:
        queue.skip_session("s-1", is_skipped=True)
        assert learner.pass_over(own, path)
        queue.skip_session("s-1", is_skipped=False)
    ann.work()

    assert api.messages() == []
    assert rows(team_server, "SELECT learned_offset FROM transcripts") == [(os.path.getsize(path),)]


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize("damage", ["missing", "torn", "old"])
def test_damaged_replica_is_replaced(damage: str, ann: Member) -> None:
    path = ann.replica
    data = path.read_bytes()
    path.unlink()
    if damage != "missing":
        page = data.index(b"run the tests first") // 1024 * 1024
        torn = data[:page] + bytes(1024) + data[page + 1024 :]
        old = data[:60] + (4).to_bytes(4, "big") + data[64:]
        path.write_bytes({"torn": torn, "old": old}[damage])

    assert ann.work().replicas == 1
    assert ann.points() == ["run the tests first"]
    assert ann.log() == []


def test_replica_of_another_history_is_replaced(ann: Member) -> None:
    """After a server was restored from a backup, the number of the revision may be the same."""
    with ann.shared() as project:
        found = replica.read(project.store, NAME)
    found[replica.revisions][-1]["time"] = "2026-11-21T10:00:00.000000+00:00"
    found[replica.key_points][0]["text"] = "of another history"
    replica.write(str(ann.replica), found)
    assert ann.points() == ["of another history"]

    assert ann.work().replicas == 1
    assert ann.points() == ["run the tests first"]


def _forget(member: Member, request: forget.Request) -> None:
    """Let the server forget it, as a command on another computer does."""
    with member.own() as own:
        url = project_service.with_kept_password(own.store, member.membership().url)
    with open_store(url) as server:
        forget.forget(project_service.Project(server, NAME), request)


WHISPERED = "the door opens with 4711-xyzzy"


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("killed", ["nowhere", "before the own playbook", "before the replica"])
def test_team_s_forgetting_reaches_each_computer(
    killed: str, new_member: NewMember, team_url: str, team_server: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replica and the playbook from before joining keep no byte, even if the worker is killed."""
    ann, bob = new_member("ann"), new_member("bob")
    ann.add("something else")
    ann.add(WHISPERED)
    bob.add(WHISPERED)
    bob.add("what bob knows")
    ann.join(team_url)
    bob.join(team_url)
    assert WHISPERED.encode() in bob.replica.read_bytes()
    name = next(name for (name, text) in rows(team_server, "SELECT name, text FROM key_points") if text == WHISPERED)
    _forget(ann, forget.Request(name))

    if killed != "nowhere":
        with monkeypatch.context() as patch:
            at, what = (forget, "forget") if killed == "before the own playbook" else (replica, "write")
            patch.setattr(at, what, _killed)
            for member in (ann, bob):
                with pytest.raises(_Killed):
                    member.work()
    ann.work()
    bob.work()

    assert bob.points() == ["something else", "what bob knows"]
    for member in (ann, bob):
        for path in (member.home / ".claude" / "playbook").rglob("*"):
            assert not path.is_file() or WHISPERED.encode() not in path.read_bytes(), path
        assert member.log() == []
    assert bob.rows("SELECT text FROM key_points WHERE forgotten = 0") == [("what bob knows",)]
    assert bob.work().replicas == 0


def _files(member: Member) -> dict[str, bytes]:
    """The content of all files in the member's home."""
    return {str(path): path.read_bytes() for path in member.home.rglob("*") if path.is_file()}


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("way", ["forget", "leave"])
def test_forgetting_and_leaving_erase_here_at_once(way: str, ann: Member, team_server: Store) -> None:
    with ann.own() as own:
        edit.add(own, WHISPERED)
    ann.add(WHISPERED)
    request = forget.Request(pattern=re.compile(re.escape(WHISPERED)))
    if way == "forget":
        with ann.shared() as project:
            forget.forget(project, request)
        assert WHISPERED not in ann.points()
    else:
        _forget(ann, request)
        ann.leave()

    assert not any(WHISPERED.encode() in content for content in _files(ann).values())


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("command", ["learn", "bootstrap"])
def test_commands_learn_for_the_team(ann: Member, team_server: Store, api: MessagesApi, command: str) -> None:
    """The worker, also after leaving, doesn't learn the session again. Its costs stay with the member."""
    path = Path(ann.session("s-1"))
    kept = ann.home / ".claude" / "projects" / session_folder_name(str(ann.folder)) / "s-1.jsonl"
    kept.parent.mkdir(parents=True)
    path.rename(kept)

    with ann.as_him():
        assert main([command, *([str(kept)] if command == "learn" else ["--yes"])]) == 0
    ann.work()

    assert _lessons(team_server) == [("s-1",)]
    assert _points(team_server) == [("run the tests first", 1), ("say what was run", 0)]
    assert ann.points() == ["run the tests first", "say what was run"]
    assert rows(team_server, "SELECT count(*) FROM model_calls") == [(0,)]
    ann.leave()
    ann.work()
    assert ann.rows("SELECT count(*) FROM revisions WHERE source = 'learn'") == [(0,)]
    assert ann.rows("SELECT count(*) > 0 FROM model_calls") == [(1,)]
