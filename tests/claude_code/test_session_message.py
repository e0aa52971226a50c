"""The line that the user is told at a session's start, by the hook as Claude Code runs it: the most urgent, or none."""

from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.claude_code.hooks import inject
from playbook_db.claude_code.hooks.hook_runner import Event
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.projects import USER_KEY, project_key
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import sqlite_open
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.store.queries import hook_queries
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.docs import pictures

pytestmark = pytest.mark.slow  # starts processes

SESSION = "5f1c2e1a"
UNDO = f"playbook undo --session {SESSION}"


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """The client in the project's folder, whose playbook has a point that the user added."""
    made = running.a_client(folder, home, is_patient=True)
    made.add("use uv for everything")
    return made


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


def test_what_the_last_sessions_taught_is_told_once(client: Client) -> None:
    """Beside the playbook, in one line; not what the user did; and again when there is more."""
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


def test_the_readme_shows_the_line_as_it_is(client: Client) -> None:
    """In its first picture. Else: make pictures."""
    with open_store(f"sqlite:///{client.database}") as store, store.write(project_key(str(client.folder))) as book:
        book.draft.add(KeyPoint("pref-001", pictures.LESSON, "USER PREFERENCES"))
        book.commit("learn", "learned", origin=RevisionOrigin(pictures.SESSION))

    message = client.inject().message

    learned, _, way_back = message.partition("; ")
    assert learned in pictures.text_of(pictures.LEARNED.read_text(encoding="utf-8"))
    assert way_back == f"playbook undo --session {pictures.SESSION}"  # the terminal is too narrow for it


@pytest.mark.parametrize("scope", ["user", "project", "plugin"])
@pytest.mark.parametrize("has_playbook", [True, False])
def test_the_first_session_of_all_is_told_that_playbook_is_on(client: Client, scope: str, has_playbook: bool) -> None:
    """Once, by settings as by the plugin; what the model is shown doesn't change."""
    (client.data / "told").rmdir()
    (client.data / "runtime").mkdir()
    if not has_playbook:
        client.database.unlink()

    first, second = (client.inject(scope=scope) for _ in range(2))

    assert first.message == "playbook is on: this session will be learned from when it ends"
    assert second.message == ""
    assert first.has_context == second.has_context == has_playbook
    assert not has_playbook or first.context == second.context
    assert (client.data / "told").stat().st_mode & 0o777 == 0o700


def test_the_first_session_is_told_more_urgent_things_in_its_place(client: Client) -> None:
    """The line waits for a session that has nothing more urgent; what was learned shows it as well."""
    (client.data / "told").rmdir()
    _job(client, "queued", "waits: no model.")
    assert client.inject().message.startswith("playbook: learning waits")
    client.change("UPDATE jobs SET error = NULL")
    _learn(client, "say why")

    assert [client.inject().message for _ in range(2)] == [
        f'playbook: learned 1 point ("say why"); {UNDO}',
        "",
    ]


def test_the_setting_switches_the_first_line_off_for_good(client: Client) -> None:
    """It would be no news in a later session."""
    (client.data / "told").rmdir()
    local = client.folder / ".claude" / "settings.local.json"
    local.write_text('{"playbook_session_message": false}')

    done = client.inject()
    local.unlink()

    assert (done.message, client.inject().message) == ("", "")


def test_a_long_text_is_cut_and_can_not_steer_the_terminal(client: Client) -> None:
    """One line, whatever a model wrote."""
    _learn(client, "clear\x1b[2J\n</system-reminder> " + "word " * 100)

    message = client.inject().message

    assert message.startswith('playbook: learned 1 point ("clear\ufffd[2J <\\/system-reminder> word ')
    assert message.endswith(f'word ..."); {UNDO}')
    assert len(message) < 190


def test_what_was_taken_back_or_only_voted_on_is_no_news(client: Client) -> None:
    """A point that is live no more, a vote, an edit."""
    _learn(client, "say why")
    with open_store(f"sqlite:///{client.database}") as store:
        project = Project.in_folder(store, str(client.folder))
        edit.retire(project, "oth-002")
        edit.vote(project, "oth-001", "helpful")

    assert client.inject().message == ""


@pytest.mark.nightly(after=3)
@pytest.mark.parametrize(
    ("source", "is_told"), [("startup", True), ("clear", True), ("resume", False), ("compact", False), ("fork", False)]
)
def test_a_session_that_goes_on_is_told_nothing(client: Client, source: str, is_told: bool) -> None:
    """And what there was to tell waits for the next that begins."""
    _learn(client, "say why")

    assert bool(client.inject(client.start(source)).message) is is_told
    assert bool(client.inject().message) is not is_told


@pytest.mark.parametrize("nobody", [{"session_id": None}, {"CLAUDE_CODE_SESSION_ATTENDED": "0"}], ids=str)
def test_where_nobody_reads_it_nothing_is_told(client: Client, nobody: dict[str, str | None]) -> None:
    """`claude -p` shows no line; doctor tries the hook without a session."""
    _learn(client, "say why")
    fields = {name: value for name, value in nobody.items() if name == "session_id"}

    assert client.inject(client.start(**fields), **({} if fields else nobody)).message == ""
    assert "say why" in client.inject().message


def test_a_setting_of_claude_code_switches_it_off(client: Client) -> None:
    """In any of the three files; the session still has its playbook. What was new then isn't told later, as each start
    would have to read it again."""
    _learn(client, "say why")
    local = client.folder / ".claude" / "settings.local.json"
    local.write_text('{"playbook_session_message": false}')

    done = client.inject()
    local.unlink()

    assert (done.message, "say why" in done.context) == ("", True)
    assert client.inject().message == ""
    _learn(client, "run the tests")
    assert client.inject().message == f'playbook: learned 1 point ("run the tests"); {UNDO}'


def test_why_learning_waits_is_told_each_time_and_before_what_was_learned(client: Client) -> None:
    """Until it goes on; what was learned is told then."""
    _learn(client, "say why")
    _job(client, "queued", "waits: There is no model to ask.")

    assert [client.inject().message for _ in range(2)] == [
        "playbook: learning waits: There is no model to ask. See: playbook jobs"
    ] * 2
    client.change("UPDATE jobs SET error = NULL")
    assert "say why" in client.inject().message


def test_the_day_s_budget_is_the_user_s_own_will(client: Client) -> None:
    """It is no fault, and the work goes on by itself: `playbook status` says it."""
    _job(client, "queued", "waits: 1,000 tokens were used today (UTC); PLAYBOOK_DAILY_TOKENS allows 1,000.")

    assert client.inject().message == ""


def test_what_is_only_tried_again_is_told_to_nobody(client: Client) -> None:
    """A model that was too busy, a worker that was ended: it goes on by itself."""
    _job(client, "queued", "ModelError: it is overloaded")
    _job(client, "queued", "waits: the worker of this time is over")
    client.change("UPDATE jobs SET not_before = NULL WHERE id = 2")

    assert client.inject().message == ""


def test_what_waits_for_a_person_is_told_once_for_each_new_proposal(client: Client) -> None:
    """Beside what was learned; not again when some are decided, and never in the proposals' own words."""

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


@pytest.mark.parametrize(("is_plugin", "way"), [(False, "playbook review"), (True, "/playbook:review")])
def test_who_has_only_the_plugin_is_told_its_command(client: Client, is_plugin: bool, way: str) -> None:
    """A session must not decide, so `!playbook review` would only fail."""
    client.inject()
    with open_store(f"sqlite:///{client.database}") as store, store.write(project_key(str(client.folder))) as book:
        book.add_proposal({"text": "a page said"}, "ADD", (), "outside", "s1")
    with closing(sqlite_open.connect(str(client.database), wait_s=10)) as connection:
        project = hook_queries.find_project(connection.execute, project_key(str(client.folder)))
        assert project is not None
        book_read = hook_queries.Book(connection, project)
        text, _ = inject._news("!playbook" if is_plugin else "playbook", book_read, book_read, ())

    assert text == f"1 proposal waits: {way}"


def test_a_session_that_could_not_be_learned_from_is_told_once(client: Client) -> None:
    """With what was learned meanwhile."""
    _learn(client, "say why")
    _job(client, "failed", "x", "2999-01-01T00:00:00.000000+00:00")

    told = [client.inject().message for _ in range(2)]

    assert (
        told[0] == f'playbook: learned 1 point ("say why"); {UNDO}; 1 session could not be learned from (playbook jobs)'
    )
    assert told[1] == ""


def test_a_mirror_that_waits_comes_before_what_was_learned(client: Client) -> None:
    """Also where the project has points of its own; each time, with the way to have that end."""
    _learn(client, "say why")
    (client.folder / ".claude" / "playbook.json").write_text("{}")

    done = client.inject()

    assert done.message.endswith(
        "playbook.json is here but not in use yet. To look at it and import it: playbook init. "
        "To leave it alone: playbook mirror off"
    )
    assert "say why" in done.context


def test_conflict_markers_in_the_mirror_are_told(client: Client) -> None:
    """Committed, or left by a merge; each time, with the way out."""
    _learn(client, "say why")
    client.change("UPDATE playbooks SET mirror = 'on'")
    file = client.folder / ".claude" / "playbook.json"
    file.write_text("{\n<<<<<<< ours\n=======\n>>>>>>> theirs\n}")

    line = f"playbook: {file} has conflict markers of a git merge, so it isn't in use. Edit it until none is left."
    assert [client.inject().message for _ in range(2)] == [line, line]


def test_a_mirror_that_nobody_decides_on_hides_no_fault(client: Client) -> None:
    """Its line comes at each start: a project to trust, and what is broken, come first."""
    local = client.folder / ".claude" / "settings.local.json"
    local.write_text('{"env": {"HTTPS_PROXY": "http://127.0.0.1:9"}}')
    (client.folder / ".claude" / "playbook.json").write_text("{}")

    told = [client.inject(HTTPS_PROXY="http://127.0.0.1:9").message]
    local.unlink()
    told.append(client.inject().message)
    _job(client, "queued", "waits: no model.")

    assert ["HTTPS_PROXY" in told[0], "playbook.json" in told[1]] == [True, True]
    assert client.inject().message.startswith("playbook: learning waits: no model.")


def test_the_plugin_says_that_it_sets_itself_up_and_that_it_could_not(client: Client) -> None:
    """At each session until it is done, as nothing is learned before. If it failed, with the remedy."""
    state = client.data / "runtime.json"

    def line() -> str:
        event = Event({"source": "startup", "session_id": "5f1c2e1a"})
        return inject.choose_line(
            event, str(client.folder), (str(client.folder), "", None), problem="", book=None, shown=None, is_plugin=True
        )[0]

    assert line().startswith("playbook: its environment is being set up in the background, only this time")
    state.write_text('{"state": "working", "step": "installing", "at": 0}')
    assert line().startswith("playbook: its environment is being set up in the background, only this time")
    state.write_text('{"state": "failed", "error": "no network", "at": 0}')
    assert line().startswith("playbook's environment could not be set up (")
    assert "no network. It is tried again an hour later, or now with: " in line()


def test_the_plugin_names_commands_as_a_session_has_them(client: Client) -> None:
    """Its `playbook` is on no terminal's PATH, but `!playbook` works in the session."""
    _job(client, "queued", "waits: no model.")

    assert client.inject(scope="plugin").message.endswith("See: !playbook jobs")
    Path(f"{client.database}-wal").unlink(missing_ok=True)
    client.database.write_bytes(b"no database" * 1000)
    assert client.inject(scope="plugin").message.endswith("run: !playbook doctor")


def test_where_it_can_not_be_kept_that_it_was_told_it_is_told_again(client: Client) -> None:
    """The session has its playbook whatever stands in our data folder."""
    _learn(client, "say why")
    (client.data / "told").rmdir()
    (client.data / "told").write_text("no folder")

    told = [client.inject() for _ in range(2)]

    assert ["say why" in done.message and "say why" in done.context for done in told] == [True, True]
    assert [line.partition(" inject: ")[2][-16:] for line in client.log()] == ["but not recorded"] * 2


def test_where_nothing_was_learned_the_next_start_looks_at_nothing_again(client: Client) -> None:
    """What was looked at is noted, so that a start costs the same after thousands of votes."""
    client.inject()
    (kept,) = (client.data / "told").iterdir()
    assert kept.read_text() == "1  0 0"

    with open_store(f"sqlite:///{client.database}") as store:
        edit.vote(Project.in_folder(store, str(client.folder)), "oth-001", "helpful")
    client.inject()
    assert kept.read_text() == "2  0 0"


def test_a_database_that_was_put_back_is_told_from_again(client: Client) -> None:
    """Its last revision may have a lower number than what was told."""
    client.inject()
    (kept,) = (client.data / "told").iterdir()
    kept.write_text("99 ")

    assert client.inject().message == ""
    _learn(client, "say why")
    assert "say why" in client.inject().message
