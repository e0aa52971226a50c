"""Members of a team learn into one playbook, each from his own sessions, and what one learns reaches the others."""

import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from playbook_db import contract
from playbook_db.claude_code import learner, worker
from playbook_db.claude_code.hooks.hook_runner import session_folder_name
from playbook_db.cli.main import main
from playbook_db.errors import BudgetError, ServerAwayError
from playbook_db.services import project as project_service
from playbook_db.services.learning import cursor, learn, queue
from playbook_db.services.learning.budget import Budget
from playbook_db.services.playbook import edit, forget
from playbook_db.store.engine import Store, open_store
from playbook_db.store.sqlite_open import SCHEMA
from playbook_db.store.team import memberships, replica
from tests import postgres
from tests.learning.conftest import MessagesApi, answers, curation, is_reflector, model_at, reflection
from tests.members import NAME, Member, NewMember, rows
from tests.transcripts import TranscriptBuilder, note_start
from tests.web.conftest import Visitor, served

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]  # a server

ADD = {"type": "ADD", "text": "say what was run", "section": "USER PREFERENCES"}
GOOD = answers(reflection(("pat-001", "helpful")), curation(ADD))
AWAY = "postgresql://ann@127.0.0.1:9/playbooks"


@pytest.fixture
def ann(new_member: NewMember, team_url: str) -> Member:
    """A member, with a point that she brought along."""
    made = new_member("ann")
    made.add("run the tests first")
    made.join(team_url)
    return made


@pytest.fixture
def bob(new_member: NewMember, team_url: str, ann: Member) -> Member:
    """Another, who came with nothing."""
    made = new_member("bob")
    made.join(team_url)
    return made


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesApi]:
    """A model for all of them."""
    with MessagesApi(*GOOD) as opened:
        model_at(opened, monkeypatch)
        yield opened


def _lessons(server: Store) -> list[Any]:
    return rows(server, "SELECT session_id FROM revisions WHERE source = 'learn' ORDER BY number")


def _points(server: Store) -> list[Any]:
    return rows(server, "SELECT text, helpful FROM key_points WHERE retired_in IS NULL ORDER BY id")


@contextmanager
def _server_away(member: Member) -> Iterator[None]:
    """While nobody answers at his team's address."""
    with member.own() as own, own.store.write(own.key) as book:
        known = memberships.of_project(book.connection, own.key)
        assert known is not None
        memberships.join(book, AWAY, NAME)
    yield
    with member.own() as own, own.store.write(own.key) as book:
        memberships.join(book, known.url, NAME)


def test_what_one_learns_reaches_the_other(ann: Member, bob: Member, team_server: Store, api: MessagesApi) -> None:
    """Her worker learns into the team's playbook with her key, and his fetches it."""
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


def test_a_lesson_has_the_name_of_the_role_where_no_variable_names_the_member(
    ann: Member, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client starts the worker without USER: the lessons of all members would be root's."""
    ann.session("s-1")
    with ann.as_him():
        for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
            monkeypatch.delenv(name, raising=False)
        worker.run(ann.url)

    host = os.uname().nodename
    assert rows(team_server, "SELECT actor FROM revisions WHERE source = 'learn'") == [(f"postgres@{host}",)]


def test_a_server_that_is_away_is_waited_for(ann: Member, team_server: Store, api: MessagesApi) -> None:
    """Nothing is lost, no try counted, no model asked; the next worker goes on."""
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


def test_after_a_short_outage_the_same_run_goes_on(
    ann: Member, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is restarted costs some seconds, not an hour."""
    ann.session("s-1")
    opens: list[str] = []

    def opened(url: str, **options: Any) -> Store:
        opens.append(url)
        if len(opens) == 1:
            raise ServerAwayError("it is being restarted")
        return open_store(url, **options)

    monkeypatch.setattr(project_service, "open_store", opened)
    result = ann.work()

    assert (result.learned, result.put_off, result.away) == (1, 0, 0)
    assert _lessons(team_server) == [("s-1",)]


class _Killed(BaseException):
    """The worker is gone."""


def _killed(*_: object, **__: object) -> None:
    raise _Killed


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("at", "name"),
    [
        (learn, "_keep"),
        (cursor.Cursor, "note_here"),
        (queue, "finish"),
        (project_service.memberships, "of_project"),
    ],
    ids=["before the commit", "after it", "before the job ends", "before it begins"],
)
def test_a_worker_that_is_killed_anywhere_teaches_once(
    at: Any, name: str, ann: Member, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lesson is there once, and the reflector was asked once."""
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
def test_a_connection_that_is_lost_in_the_commit_leaves_nothing_half_done(
    ann: Member, team_server: Store, team_url: str, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker tries twice, and the next one again: each asks the curator alone."""

    def lose(*given: Any) -> None:
        note_done(*given)
        with postgres.connected(make_url(team_url)) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND state = 'idle in transaction'"
            )

    note_done = learn._note_done
    ann.session("s-1")
    with monkeypatch.context() as patch:
        patch.setattr(learn, "_note_done", lose)
        assert ann.work().put_off == 1
    assert _lessons(team_server) == []
    [job] = ann.jobs()
    assert (job.state, job.attempts) == ("queued", 0)

    assert ann.work().learned == 1
    assert _lessons(team_server) == [("s-1",)]
    assert [is_reflector(each) for each in api.messages()] == [True, False, False, False]


def test_a_commit_whose_answer_never_came_counts_once(
    ann: Member, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has the lesson, and the worker can't know. It tries again, and finds the lesson there."""

    def lose(*given: Any) -> None:
        keep(*given)
        raise ServerAwayError("gone")

    keep = learn._keep
    ann.session("s-1")
    with monkeypatch.context() as patch:
        patch.setattr(learn, "_keep", lose)
        assert ann.work().learned == 1

    assert _lessons(team_server) == [("s-1",)]
    assert len(api.messages()) == 2
    assert [job.state for job in ann.jobs()] == ["done"]


@pytest.mark.nightly
def test_two_members_whose_workers_run_at_once_lose_and_double_nothing(
    ann: Member, bob: Member, team_server: Store, api: MessagesApi
) -> None:
    """Each in a process of his own, on one playbook."""
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


def test_who_may_only_read_costs_nothing_and_fills_no_log(
    ann: Member, team_server: Store, team_url: str, api: MessagesApi
) -> None:
    """His jobs wait with words, no model is asked; his sessions get the team's points."""
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
    """A session of his was shown the first point."""
    with member.own() as own, own.store.write(own.key) as book:
        book.connection.exec_driver_sql(
            "INSERT INTO unsent_showings VALUES (?, ?, ?, 'startup', 1, '[1]', 0, 'SessionStart', NULL, NULL)",
            (book.playbook_id, session, time),
        )


@pytest.mark.nightly
def test_a_server_with_a_newer_schema_is_waited_for(ann: Member, team_url: str, api: MessagesApi) -> None:
    """Until this member has the newer version; his log says so once."""
    ann.session("s-1")
    with postgres.connected(make_url(team_url)) as owner:
        owner.execute("UPDATE alembic_version SET version_num = '0099'")
        try:
            for _ in range(3):
                assert ann.work().put_off == 1
        finally:
            owner.execute(f"UPDATE alembic_version SET version_num = '{SCHEMA:04d}'")
    [job] = ann.jobs()
    assert (job.state, job.attempts) == ("queued", 0)
    assert f"is at schema 0099; this playbook-db knows {SCHEMA:04d} at most" in (job.error or "")
    assert len(ann.log()) == 1
    assert ann.points() == ["run the tests first"]

    assert ann.work().learned == 1


def test_what_sessions_were_shown_counts_once(ann: Member, team_server: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the worker was killed between the two commits, too; and where a session was shown several times."""
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

    assert rows(team_server, "SELECT session_id, seq FROM showings ORDER BY 1, 2") == [
        ("s-1", 1),
        ("s-1", 2),
        ("s-2", 1),
    ]
    assert rows(team_server, "SELECT point_id, sessions FROM showing_counts") == [(1, 2)]
    assert ann.rows("SELECT session_id FROM unsent_showings WHERE sent_at IS NULL") == []


@pytest.mark.usefixtures("team_server")
def test_what_the_team_has_is_kept_here_for_sessions_that_go_on(ann: Member) -> None:
    """So that their hooks tell nothing twice; a week later it goes."""
    _show(ann)
    ann.work()
    assert ann.rows("SELECT session_id FROM unsent_showings WHERE sent_at IS NOT NULL") == [("s-1",)]
    with ann.own() as own, own.store.write(own.key) as book:
        book.connection.exec_driver_sql("UPDATE unsent_showings SET sent_at = '2026-01-01'")
    _show(ann, "s-2")
    ann.work()

    assert ann.rows("SELECT session_id FROM unsent_showings") == [("s-2",)]


def test_the_budget_is_each_members_own(
    ann: Member, bob: Member, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one spends is none of the other's."""
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", "10")
    ann.session("s-1")
    assert ann.work().put_off == 1
    assert "tokens were used today" in (ann.jobs()[-1].error or "")

    bob.session("s-3")
    assert bob.work().put_off == 1  # the reflector's answer was more than that
    assert len(api.messages()) == 2
    assert [is_reflector(each) for each in api.messages()] == [True, True]


def test_what_bootstrap_was_allowed_is_each_members_own(
    ann: Member, bob: Member, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted where he is, whatever the others spend."""
    paths = {ann: ann.session("s-1"), bob: bob.session("s-2")}
    model = model_at(api, monkeypatch)
    for member, path in paths.items():
        with member.shared() as project, pytest.raises(BudgetError, match="and you agreed to 1"):
            learner.learn_transcript(project, path, model, budget=Budget(1, since="2026"))
        assert member.rows("SELECT kind, agreed FROM model_calls") == [("reflect", 1)]
    assert rows(team_server, "SELECT count(*) FROM model_calls") == [(0,)]


@pytest.mark.nightly
def test_sessions_from_before_joining_are_not_learned_again_nor_after_leaving(
    new_member: NewMember, team_url: str, team_server: Store, api: MessagesApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are those of the time with the team, once it was left; and no fork of any."""
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


@pytest.mark.nightly
def test_a_job_that_was_dropped_while_the_server_was_away_stays_unlearned(
    ann: Member, team_server: Store, api: MessagesApi
) -> None:
    """What comes later in that session is learned."""
    path = ann.session("s-1")
    with _server_away(ann):
        ann.work()
        with ann.own() as own:
            assert queue.drop(own.store, own.key, 1)
    ann.work()
    assert api.messages() == []

    builder = TranscriptBuilder("s-1")
    builder.lines = Path(path).read_text().splitlines()
    builder.user("one thing more")
    builder.assistant("Done.")
    builder.write(Path(path))
    with ann.own() as own:
        queue.take_in(own.store, own.key, {"session_id": "s-1", "transcript_path": path})
    ann.work()

    assert "one thing more" in api.messages()[0].last_said
    assert "mend bug 0" not in api.messages()[0].last_said
    assert _lessons(team_server) == [("s-1",)]


def test_what_was_said_while_a_session_was_skipped_here_is_never_learned(
    ann: Member, team_server: Store, api: MessagesApi
) -> None:
    """As `sessions skip` and `--off` do it: on this machine alone, whatever the server is doing."""
    path = ann.session("s-1")
    with _server_away(ann), ann.own() as own:
        queue.skip_session("s-1", is_skipped=True)
        assert learner.pass_over(own, path)
        queue.skip_session("s-1", is_skipped=False)
    ann.work()

    assert api.messages() == []
    assert rows(team_server, "SELECT learned_offset FROM transcripts") == [(os.path.getsize(path),)]


def test_a_session_that_is_skipped_is_passed_over_here_and_there(
    ann: Member, team_server: Store, api: MessagesApi
) -> None:
    """Nothing is asked; both cursors stand at its end."""
    path = ann.session("s-1")
    with ann.as_him():
        queue.skip_session("s-1", is_skipped=True)
    assert ann.work().learned == 1

    assert api.messages() == []
    size = os.path.getsize(path)
    assert rows(team_server, "SELECT learned_offset FROM transcripts") == [(size,)]
    assert ann.rows("SELECT learned_offset FROM transcripts") == [(size,)]


@pytest.mark.nightly
def test_a_server_that_is_away_is_asked_once_a_run_and_keeps_no_other_waiting(
    ann: Member, team_server: Store, api: MessagesApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many projects and jobs are its: once, and once more before the run ends."""
    asked = []

    def opened(url: str, **options: Any) -> Store:
        asked.append(url)
        return open_store(url, **options)

    for number in range(3):
        other = replace(ann, folder=tmp_path / f"other-{number}")
        other.folder.mkdir()
        other.session(f"o-{number}-1")
        other.session(f"o-{number}-2")
        with other.own() as own, own.store.write(own.key) as book:
            memberships.join(book, AWAY, NAME)
    ann.session("s-1")
    monkeypatch.setattr(project_service, "open_store", opened)

    result = ann.work()

    assert (result.learned, result.put_off) == (1, 6)
    assert [url for url in asked if url == AWAY] == [AWAY] * 2
    assert len(asked) == 4
    assert _lessons(team_server) == [("s-1",)]


def test_a_replica_that_is_current_is_not_read_again(
    ann: Member, team_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file's time says when it was known to be current."""
    membership = ann.membership()
    os.utime(ann.replica, (0, 0))
    monkeypatch.setattr(replica, "read", _killed)
    with ann.own() as own, open_store(team_url) as server:
        assert not forget.follow_team(own.store, membership, server)

    assert time.time() - ann.replica.stat().st_mtime < 60


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize("damage", ["missing", "empty", "no database", "torn", "old", "a pipe"])
def test_a_replica_that_can_not_be_used_is_written_anew(damage: str, ann: Member) -> None:
    """By the next worker, though the team has learned nothing since."""
    path = ann.replica
    data = path.read_bytes()
    path.unlink()
    if damage == "a pipe":
        os.mkfifo(path)
    elif damage != "missing":
        page = data.index(b"run the tests first") // 1024 * 1024
        torn = data[:page] + bytes(1024) + data[page + 1024 :]
        old = data[:60] + (4).to_bytes(4, "big") + data[64:]
        path.write_bytes({"empty": b"", "no database": b"x" * 5000, "torn": torn, "old": old}[damage])

    assert ann.work().replicas == 1
    assert ann.points() == ["run the tests first"]
    assert ann.log() == []


@pytest.mark.nightly
def test_a_replica_that_can_not_be_written_is_told_and_stops_nothing(
    ann: Member, team_server: Store, api: MessagesApi
) -> None:
    """What was shown is sent all the same, and what there is to learn is learned."""
    path = ann.replica
    path.unlink()
    path.mkdir()
    _show(ann)
    ann.session("s-1")

    ann.work()
    ann.work()

    assert _lessons(team_server) == [("s-1",)]
    assert rows(team_server, "SELECT session_id FROM showings") == [("s-1",)]
    assert len(ann.log()) == 1
    assert str(path) in ann.log()[0]
    ann.add("a command goes on, too")
    assert ("a command goes on, too", 0) in _points(team_server)


def test_a_replica_of_another_history_is_written_anew(ann: Member) -> None:
    """As of a server that was put back to an earlier day: the number alone doesn't tell."""
    with ann.shared() as project:
        found = replica.read(project.store, NAME)
    found[replica.revisions][-1]["time"] = "2026-11-21T10:00:00.000000+00:00"
    found[replica.key_points][0]["text"] = "of another history"
    replica.write(str(ann.replica), found)
    assert ann.points() == ["of another history"]

    assert ann.work().replicas == 1
    assert ann.points() == ["run the tests first"]


def _forget(member: Member, request: forget.Request) -> None:
    """The server forgets it, as by a command on another machine; the member's worker has its part to do."""
    with (
        member.own() as own,
        open_store(project_service.with_kept_password(own.store, member.membership().url)) as server,
    ):
        forget.forget(project_service.Project(server, NAME), request)


WHISPERED = "the door opens with 4711-xyzzy"


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("killed", ["nowhere", "before the own playbook", "before the replica"])
def test_what_the_team_forgets_is_forgotten_on_each_members_machine(
    killed: str, new_member: NewMember, team_url: str, team_server: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the replica and in the playbook from before joining, whatever the point is called there; no byte stays."""
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


@pytest.mark.nightly
def test_a_text_of_which_a_part_is_forgotten_goes_here_where_it_stands_so(
    ann: Member, bob: Member, team_server: Store
) -> None:
    """What the own playbook never had is no error; a short text isn't looked for inside others."""
    ann.add("ask ann", f"remember that {WHISPERED}, and lock it", "yes")
    bob.work()
    with bob.own() as own:
        for text in (f"remember that {WHISPERED}, and lock it", "yes or no, and nothing else"):
            edit.add(own, text)
    _forget(
        ann, forget.Request(next(n for (n, t) in rows(team_server, "SELECT name, text FROM key_points") if t == "yes"))
    )
    _forget(ann, forget.Request(pattern=re.compile("4711-xyzzy")))
    ann.work()
    bob.work()

    assert bob.log() == []
    assert "yes or no, and nothing else" in [row[0] for row in bob.rows("SELECT text FROM key_points")]
    for path in (bob.home / ".claude" / "playbook").rglob("*"):
        assert not path.is_file() or b"4711-xyzzy" not in path.read_bytes(), path


def _files(member: Member) -> dict[str, bytes]:
    """The content of all files in his home, by their names."""
    return {str(path): path.read_bytes() for path in member.home.rglob("*") if path.is_file()}


def _read_by_all_means(member: Member) -> list[str]:
    """What a command, a page and a program show him of the playbook."""
    with served(member.folder, member.home) as address:
        visitor = Visitor(address)
        visitor.open()
        page = visitor.see("/points").body
    with member.as_him(), redirect_stdout(io.StringIO()) as told:
        assert main(["list"]) == 0
        program = json.dumps(contract.load_playbook())
    return [page, told.getvalue(), program]


@pytest.mark.nightly
def test_a_read_erases_nothing_here_and_the_worker_then_does(ann: Member, bob: Member, team_server: Store) -> None:
    """While a text that the team has forgotten waits for the worker, a read changes no file; else the replica alone."""
    ann.add(WHISPERED)
    bob.work()
    with bob.own() as own:
        edit.add(own, WHISPERED)
    before = _files(bob)
    ann.add("something else")

    assert all("something else" in shown and WHISPERED in shown for shown in _read_by_all_means(bob))

    changed = {path for path, content in _files(bob).items() if before.get(path) != content}
    assert changed == {str(bob.replica)}
    assert "something else" in bob.points()
    _forget(ann, forget.Request(pattern=re.compile(re.escape(WHISPERED))))
    before = _files(bob)

    assert all("something else" in shown and WHISPERED not in shown for shown in _read_by_all_means(bob))

    assert _files(bob) == before
    assert bob.rows("SELECT count(*) FROM key_points WHERE text LIKE '%4711%'") == [(1,)]
    bob.work()
    assert not any(WHISPERED.encode() in content for content in _files(bob).values())


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("way", ["forget", "leave"])
def test_who_forgets_or_leaves_keeps_no_forgotten_text_here(way: str, ann: Member, team_server: Store) -> None:
    """`playbook forget` erases on this machine at once, and leaving does so before it drops the replica."""
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
def test_what_a_command_learns_is_the_teams(ann: Member, team_server: Store, api: MessagesApi, command: str) -> None:
    """Once, whether the worker comes upon the same transcript or not, and after leaving too; what it cost is hers."""
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
