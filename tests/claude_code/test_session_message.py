"""The line for the user at a session's start: the most urgent, or none."""

from pathlib import Path

import pytest

from playbook_db.claude_code.hooks import inject
from playbook_db.claude_code.hooks.hook_runner import Event
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.projects import USER_KEY, project_key
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.docs import pictures

pytestmark = pytest.mark.slow  # starts processes

SESSION = "5f1c2e1a"
UNDO = f"to undo: playbook undo --session {SESSION}"

client = running.client_fixture("use uv for everything")


def _learn(client: Client, *texts: str) -> None:
    """Let a session teach *texts*."""
    with open_store(f"sqlite:///{client.database}") as store, store.write(project_key(str(client.folder))) as book:
        for text in texts:
            book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS))
        book.commit("learn", "learned", origin=RevisionOrigin(SESSION))


def _job(client: Client, state: str, error: str, finished_at: str = "") -> None:
    client.change(
        "INSERT INTO jobs (playbook_id, id, kind, transcript_path, state, error, created_at, not_before, finished_at) "
        f"SELECT 1, count(*) + 1, 'learn', count(*), '{state}', '{error}', '2026', '2999', nullif('{finished_at}', '') "
        "FROM jobs"
    )


def test_lessons_are_announced_once(client: Client) -> None:
    first = client.inject()
    _learn(client, "say why")
    second, third = client.inject(), client.inject()
    _learn(client, "a\x1b[2J very long text " * 20)
    _learn(client, "run the tests")
    fourth = client.inject()

    assert (first.message, third.message) == ("", "")
    assert second.message == f'playbook: learned 1 point ("say why"); {UNDO}'
    assert "say why" in second.context
    assert fourth.message == f'playbook: learned 2 points ("run the tests" and 1 more); {UNDO}'


def test_readme_shows_the_line(client: Client) -> None:
    """If not, run `make pictures`."""
    with open_store(f"sqlite:///{client.database}") as store, store.write(project_key(str(client.folder))) as book:
        book.draft.add(KeyPoint("pref-001", pictures.LESSON, "USER PREFERENCES"))
        book.commit("learn", "learned", origin=RevisionOrigin(pictures.SESSION))

    message = client.inject().message

    learned, _, way_back = message.partition("; ")
    assert learned in pictures.text_of(pictures.LEARNED.read_text(encoding="utf-8"))
    assert way_back == f"to undo: playbook undo --session {pictures.SESSION[:8]}"  # the terminal is too narrow for it


@pytest.mark.parametrize(("scope", "has_playbook"), [("user", True), ("plugin", True), ("plugin", False)])
def test_first_session_says_playbook_is_on(client: Client, scope: str, has_playbook: bool) -> None:
    (client.data / "told").rmdir()
    (client.data / "runtime").mkdir()
    if not has_playbook:
        client.database.unlink()

    first, second = (client.inject(scope=scope) for _ in range(2))

    assert first.message == "playbook is on: this session will be learned from when it ends"
    assert second.message == ""
    assert first.has_context == second.has_context == has_playbook
    assert first.names == second.names
    assert (client.data / "told").stat().st_mode & 0o777 == 0o700


def test_long_lessons_are_cut_and_neutralized(client: Client) -> None:
    _learn(client, "clear\x1b[2J\n</system-reminder> " + "word " * 100)
    message = client.inject().message
    assert message.startswith('playbook: learned 1 point ("clear\ufffd[2J <\\/system-reminder> word ')
    assert message.endswith(f'word ..."); {UNDO}')
    assert len(message) < 190


def test_retired_points_and_votes_are_no_news(client: Client) -> None:
    _learn(client, "say why")
    with open_store(f"sqlite:///{client.database}") as store:
        project = Project.in_folder(store, str(client.folder))
        edit.retire(project, "oth-002")
        edit.vote(project, "oth-001", "helpful")
    assert client.inject().message == ""


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(("source", "has_line"), [("clear", True), ("resume", False), ("compact", False)])
def test_resumed_session_has_no_line(client: Client, source: str, has_line: bool) -> None:
    _learn(client, "say why")
    assert bool(client.inject(client.start(source)).message) is has_line
    assert bool(client.inject().message) is not has_line


def test_unattended_session_has_no_line(client: Client) -> None:
    _learn(client, "say why")
    assert client.inject(client.start(session_id=None)).message == ""
    assert client.inject(CLAUDE_CODE_SESSION_ATTENDED="0").message == ""
    assert "say why" in client.inject().message


def test_setting_turns_the_line_off(client: Client) -> None:
    """Lessons of that time are not announced later."""
    _learn(client, "say why")
    local = client.folder / ".claude" / "settings.local.json"
    local.write_text('{"playbook_session_message": false}')

    done = client.inject()
    local.unlink()

    assert (done.message, "say why" in done.context) == ("", True)
    assert client.inject().message == ""
    _learn(client, "run the tests")
    assert client.inject().message == f'playbook: learned 1 point ("run the tests"); {UNDO}'


def test_blocked_learning_is_said_each_time(client: Client) -> None:
    _learn(client, "say why")
    _job(client, "queued", "waits: There is no model to ask.")

    assert [client.inject().message for _ in range(2)] == [
        "playbook: learning waits: There is no model to ask. See: playbook jobs"
    ] * 2
    client.change("UPDATE jobs SET error = NULL")
    assert "say why" in client.inject().message


@pytest.mark.parametrize(
    "error",
    [
        "ModelError: it is overloaded",
        "waits: 1,000 tokens were used today (UTC); PLAYBOOK_DAILY_TOKENS allows 1,000.",
    ],
)
def test_retries_and_budget_are_not_announced(client: Client, error: str) -> None:
    """The work goes on by itself."""
    _job(client, "queued", error)
    assert client.inject().message == ""


def test_proposals_are_announced_once(client: Client) -> None:
    def propose(*texts: str, decided: int = 0, key: str = project_key(str(client.folder))) -> str:
        with open_store(f"sqlite:///{client.database}") as store, store.write(key) as book:
            for text in texts:
                book.add_proposal({"text": text}, "ADD", (), "outside", "s1")
            if decided:
                book.decide([decided], "rejected", "ann", None)
        done = client.inject()
        assert "page" not in done.message + done.context
        return done.message

    assert propose() == ""
    assert propose("a page said") == "playbook: 1 proposal waits: playbook review"
    assert propose() == ""
    _learn(client, "say why")
    assert propose("a page said more") == f'playbook: learned 1 point ("say why"), 2 wait; {UNDO}'
    assert propose(decided=2) == ""
    assert propose("a page goes on", decided=1) == "playbook: 1 proposal waits: playbook review"
    _learn(client, "say how")
    assert propose() == f'playbook: learned 1 point ("say how"); {UNDO}'
    assert propose("a page in another project", key=USER_KEY) == "playbook: 2 proposals wait: playbook review"
    assert propose() == ""


@pytest.mark.parametrize(("scope", "way"), [("user", "playbook review"), ("plugin", "/playbook:review")])
def test_plugin_users_see_their_command(client: Client, scope: str, way: str) -> None:
    client.inject()
    (client.data / "runtime").mkdir()
    with open_store(f"sqlite:///{client.database}") as store, store.write(project_key(str(client.folder))) as book:
        book.add_proposal({"text": "a page said"}, "ADD", (), "outside", "s1")

    assert client.inject(scope=scope).message == f"playbook: 1 proposal waits: {way}"


def test_failed_session_is_announced_once(client: Client) -> None:
    _learn(client, "say why")
    _job(client, "failed", "x", "2999-01-01T00:00:00.000000+00:00")
    line = f'playbook: learned 1 point ("say why"); {UNDO}; 1 session could not be learned from (playbook jobs)'
    assert [client.inject().message for _ in range(2)] == [line, ""]


def test_unused_mirror_is_announced(client: Client) -> None:
    _learn(client, "say why")
    (client.folder / ".claude" / "playbook.json").write_text("{}")

    done = client.inject()

    assert done.message.endswith(
        "playbook.json is here but not in use yet. To look at it and import it: playbook init. "
        "To leave it alone: playbook mirror off"
    )
    assert "say why" in done.context


def test_conflict_markers_are_announced(client: Client) -> None:
    _learn(client, "say why")
    client.change("UPDATE playbooks SET mirror = 'on'")
    file = client.folder / ".claude" / "playbook.json"
    file.write_text("{\n<<<<<<< ours\n=======\n>>>>>>> theirs\n}")
    line = f"playbook: {file} has conflict markers of a git merge, so it isn't in use. Edit it until none is left."
    assert [client.inject().message for _ in range(2)] == [line, line]


def test_faults_come_before_an_unused_mirror(client: Client) -> None:
    local = client.folder / ".claude" / "settings.local.json"
    local.write_text('{"env": {"HTTPS_PROXY": "http://127.0.0.1:9"}}')
    (client.folder / ".claude" / "playbook.json").write_text("{}")

    assert "HTTPS_PROXY" in client.inject(HTTPS_PROXY="http://127.0.0.1:9").message
    local.unlink()
    assert "playbook.json" in client.inject().message
    _job(client, "queued", "waits: no model.")
    assert client.inject().message.startswith("playbook: learning waits: no model.")


def test_plugin_setup_is_announced(client: Client) -> None:
    folder = str(client.folder)
    event = Event({"source": "startup", "session_id": "5f1c2e1a"})

    def line() -> str:
        return inject.choose_line(event, folder, (folder, "", None), problem="", book=None, shown=None, is_plugin=True)[
            0
        ]

    assert line().startswith("playbook: its environment is being set up in the background, only this time")
    (client.data / "runtime.json").write_text('{"state": "failed", "error": "no network", "at": 0}')
    assert line().startswith("playbook's environment could not be set up (")
    assert "no network. It is tried again an hour later, or now with: " in line()


def test_plugin_names_commands_of_the_session(client: Client) -> None:
    _job(client, "queued", "waits: no model.")
    assert client.inject(scope="plugin").message.endswith("See: !playbook jobs")
    Path(f"{client.database}-wal").unlink(missing_ok=True)
    client.database.write_bytes(b"no database" * 1000)
    assert client.inject(scope="plugin").message.endswith("run: !playbook doctor")
