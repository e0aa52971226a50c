"""The hook of prompts, errors and subagents: a few new points that fit, or none, and always exit code 0."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from playbook_db import projects, settings
from playbook_db.claude_code.hooks import remind, spool
from playbook_db.domain import prompt_text
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.sqlite_open import replica_of
from playbook_db.store.team import memberships, replica
from tests.claude_code import running
from tests.claude_code.running import SESSION, Client
from tests.members import NAME

pytestmark = pytest.mark.slow  # starts processes

HEADER = "src/api/users.py: parse_header wants bytes, never text"
UV = "pip install ends with externally-managed-environment here: use uv add"
FAILS = "error: externally-managed-environment"
CACHE = "run pytest with --no-cache after a fixture changed"
FILLERS = tuple(f"service {number} keeps a ledger" for number in range(37))
ASKS = "why does parse_header in src/api/users.py fail?"
_SHOWN = "SELECT event, source, points, left_out FROM showings ORDER BY time"

client = running.client_fixture(HEADER, UV, CACHE, *FILLERS)


def _set(path: Path, **settings: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(settings))


def test_prompt_shows_fitting_points(client: Client) -> None:
    done = client.remind(client.prompt(ASKS))

    answer = json.loads(done.out)
    assert list(answer) == ["hookSpecificOutput"]
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    header, *lines = done.context.splitlines()
    assert "playbook" in header
    assert lines == [f"[oth-001] helpful=0 harmful=0 :: {HEADER}"]
    assert client.rows(_SHOWN) == [("UserPromptSubmit", "", "[1]", 39)]
    assert client.rows("SELECT session_id FROM showings") == [(SESSION,)]
    assert client.log() == []


@pytest.mark.nightly(after=4)
@pytest.mark.parametrize(
    "prompt",
    [
        "/parse_header src api users", "<command-name>/parse_header</command-name>", "yes, please do it", "\0",
        None, [HEADER],
    ],
    ids=lambda prompt: repr(prompt)[:20],
)  # fmt: skip
def test_commands_and_odd_prompts_show_nothing(client: Client, prompt: object) -> None:
    assert client.remind(client.prompt(prompt)).names == []
    assert client.log() == []


def test_path_is_no_slash_command(client: Client) -> None:
    assert client.remind(client.prompt("/src/api/users.py fails in parse_header")).names == ["oth-001"]


def test_prompt_shows_three_best_points(client: Client) -> None:
    client.add(*[f"gearbox, clutch and crankshaft: rule {number}" for number in range(4)], "crankshaft, pinion, clutch")
    names = client.remind(client.prompt("clutch, pinion and crankshaft of the gearbox")).names
    assert (len(names), names[0]) == (3, "oth-045")


def test_shared_code_names_add_points(client: Client) -> None:
    """Six points at most with a prompt, three with an error."""
    client.add(
        *[f"{word} comes after `parse_header`" for word in ("decode", "strip", "join", "split", "count", "fold")],
        "strings wait for send_header", "the parse header is old",
    )  # fmt: skip
    client.add("`parse_header`, written for src/api/users.py, sits above `send_header`")
    prompt = "does the caller in src/api/users.py trust parse_header here"

    names = client.remind(client.prompt(prompt)).names

    assert len(names) == 6
    assert {"oth-001", "oth-049"} <= set(names)
    assert not {"oth-047", "oth-048"} & set(names)
    failure = client.failure("TypeError in parse_header, src/api/users.py", command="python src/api/users.py")
    assert len(client.remind({**failure, "session_id": "another"}).names) == 3


@pytest.mark.parametrize("letter", ["x", "💡"])
def test_prompt_points_keep_their_limit(client: Client, letter: str) -> None:
    """The limit is 2,500 UTF-16 units, as the client counts."""
    units = len(letter.encode("utf-16-le")) // 2
    for length in (3000, 1200, 1150, 1100, 100):
        client.add(f"gearbox clutch pinion crankshaft flywheel tappet dynamo {length} " + letter * (length // units))

    done = client.remind(client.prompt("gearbox, clutch, pinion, crankshaft, flywheel, tappet and dynamo"))

    assert prompt_text.utf16_units(done.context) <= 2500
    assert len(done.context.splitlines()) in (3, 4)
    assert "dynamo 3000" not in done.context


def test_points_are_shown_once_a_session(client: Client) -> None:
    assert client.remind(client.prompt(ASKS)).names == ["oth-001"]
    assert client.remind(client.prompt(ASKS)).names == []
    assert client.remind(client.failure(f"TypeError in {HEADER}", command="python src/api/users.py")).names == []
    assert client.remind(client.failure(FAILS, command="pip install x")).names == ["oth-002"]
    assert client.remind(client.prompt(UV)).names == []
    assert client.remind(client.prompt(UV, session_id="another")).names == ["oth-002"]
    assert client.remind(client.prompt(ASKS, session_id="another")).names == ["oth-001"]
    client.inject(client.start(session_id="a third"))
    assert client.remind(client.prompt(ASKS, session_id="a third")).names == []
    client.inject(client.start("resume"))
    assert client.remind(client.prompt(ASKS)).names == []


def test_error_repeats_a_point_of_the_start(client: Client) -> None:
    failure = client.failure(FAILS, command="pip install x")
    client.inject(client.start())
    assert client.remind(client.prompt(UV)).names == []
    assert [client.remind(failure).names for _ in range(2)] == [["oth-002"], []]
    client.inject(client.start("compact"))
    assert client.remind(failure).names == []


def test_compaction_allows_points_again(client: Client) -> None:
    """A prompt may show the point again, an error may not."""
    failure, of_cache = client.failure(FAILS, command="pip install x"), client.prompt(CACHE)
    assert client.remind(client.prompt(ASKS)).names == ["oth-001"]
    assert client.remind(failure).names == ["oth-002"]
    client.change("UPDATE key_points SET resting = 1 WHERE id <= 2")
    assert CACHE in client.inject(client.start("compact")).context
    client.change("UPDATE key_points SET resting = 0")

    assert client.remind(client.prompt(ASKS)).names == ["oth-001"]
    assert client.remind(failure).names == []
    assert client.remind(of_cache).names == []
    assert client.remind({**of_cache, "session_id": "another"}).names == ["oth-003"]


def test_spooled_showings_count(client: Client) -> None:
    with client.held():
        assert client.remind(client.prompt(ASKS)).names == ["oth-001"]
        assert client.remind(client.prompt(ASKS)).names == []
    assert client.rows(_SHOWN) == []
    assert client.remind(client.prompt(ASKS)).names == []

    client.work()

    assert client.rows(_SHOWN) == [("UserPromptSubmit", "", "[1]", 39)]
    assert client.remind(client.prompt(ASKS)).names == []
    assert client.log() == []


def test_parallel_errors_show_a_point_once(client: Client) -> None:
    failure = client.failure(FAILS, command="pip install x")
    with ThreadPoolExecutor(6) as pool:
        shown = list(pool.map(lambda _: client.remind(failure).names, range(6)))
    assert sorted(shown) == [[]] * 5 + [["oth-002"]]
    assert client.rows(_SHOWN) == [("PostToolUseFailure", "", "[2]", 39)]


def test_failed_record_goes_into_the_spool(client: Client) -> None:
    change = "def fail(*_, **__): raise OSError('no space left')\nremind.hook_queries.add_showing = fail"
    assert client.remind(client.prompt(ASKS), change=change).names == ["oth-001"]
    assert [each["points"] for each in client.spooled()] == [[1]]
    assert ["waits in" in line for line in client.log()] == [True]
    assert client.rows(_SHOWN) == []
    assert client.remind(client.prompt(ASKS)).names == []


def test_error_shows_the_point_that_names_it(client: Client) -> None:
    done = client.remind(client.failure(f"Exit code 1\n{FAILS}", command="pip install requests"))
    assert json.loads(done.out)["hookSpecificOutput"]["hookEventName"] == "PostToolUseFailure"
    assert done.context.splitlines()[1:] == [f"[oth-002] helpful=0 harmful=0 :: {UV}"]
    path = str(client.folder / "src/api/users.py")
    assert client.remind(client.failure("it failed", tool="Edit", file_path=path)).names == ["oth-001"]
    assert [row[:3] for row in client.rows(_SHOWN)] == [("PostToolUseFailure", "", f"[{point}]") for point in (2, 1)]


@pytest.mark.parametrize(
    "fields",
    [
        {"is_interrupt": True},
        {"error": None, "tool_input": None},
        {"error": "", "tool_input": {"command": ["pip"]}},
    ],
)
def test_odd_and_interrupted_errors_show_nothing(client: Client, fields: dict[str, Any]) -> None:
    assert client.remind({**client.failure(FAILS, command="pip"), **fields}).names == []
    assert client.log() == []


def test_subagent_gets_the_best_points(client: Client) -> None:
    client.add(*[f"{number} " + "long " * 150 for number in range(8)])

    first, second = (client.remind(client.subagent_start(agent_id=agent)) for agent in "ab")

    assert first.out == second.out
    assert json.loads(first.out)["hookSpecificOutput"]["hookEventName"] == "SubagentStart"
    assert 2000 < prompt_text.utf16_units(first.context) <= 4000
    assert "more key points aren't shown here" in first.context
    rows = client.rows(_SHOWN)
    assert [row[:2] for row in rows] == [("SubagentStart", "")] * 2
    assert len(json.loads(rows[0][2])) + rows[0][3] == 48
    assert client.remind(client.prompt(ASKS)).names == ["oth-001"]


def test_subagent_has_its_own_record(client: Client) -> None:
    failure = client.failure(FAILS, command="pip install x")
    assert UV in client.remind(client.subagent_start()).context
    assert client.remind({**failure, "agent_id": "a48f56874e781b2f1", "agent_type": "general-purpose"}).names == []
    assert client.remind(failure).names == ["oth-002"]


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, {"general-purpose", "reviewer"}), (["reviewer"], {"reviewer"}), ([], set()),
        (["*", "Plan"], {"general-purpose", "reviewer", "Plan"}), ("reviewer", {"general-purpose", "reviewer"}),
    ],
)  # fmt: skip
def test_setting_names_subagent_types(client: Client, chosen: object, expected: set[str]) -> None:
    """The default is all types except those that only look."""
    if chosen is not None:
        _set(client.home / ".claude" / "settings.json", playbook_subagents=chosen)
    kinds = ("general-purpose", "reviewer", "Explore", "Plan", None)
    assert {kind for kind in kinds if client.remind(client.subagent_start(kind)).has_context} == expected


def test_each_event_has_a_setting(client: Client) -> None:
    """The project's file wins over the user's."""
    _set(client.home / ".claude" / "settings.json", playbook_on_prompt=False, playbook_on_error=False)
    events = client.prompt(ASKS), client.failure(FAILS, command="pip install x")
    assert [client.remind(event).names for event in events] == [[], []]

    _set(client.folder / ".claude" / "settings.local.json", playbook_on_prompt=True)
    assert [client.remind(event).names for event in events] == [["oth-001"], []]

    _set(client.folder / ".claude" / "settings.local.json", playbook_on_error=True)
    assert [client.remind(event, cwd=client.home).names for event in events] == [[], ["oth-002"]]


def _events(client: Client) -> list[dict[str, Any]]:
    return [client.prompt(ASKS), client.failure(FAILS, command="pip install x"), client.subagent_start()]


@pytest.mark.nightly(after=3)
@pytest.mark.parametrize("why", ["disabled", "ignored", "private", "no database"])
def test_excluded_sessions_show_nothing(client: Client, why: str) -> None:
    variables = {"PLAYBOOK_DISABLE": "1"} if why == "disabled" else {}
    if why == "ignored":
        client.change("UPDATE playbooks SET ignored = 1")
    elif why == "private":
        mark = Path(settings.skip_mark(SESSION))
        mark.parent.mkdir(parents=True)
        mark.touch()
    elif why == "no database":
        client.database.unlink()

    assert [client.remind(event, **variables).out for event in _events(client)] == [b"{}\n"] * 3
    assert client.log() == []
    assert why == "no database" or client.rows(_SHOWN) == []


def test_remind_never_starts_a_worker(client: Client) -> None:
    """Somebody waits for the answer."""
    spool.keep({"kind": spool.SHOWING})
    os.utime(client.data / "worker.lock", (0, 0))
    for event in _events(client):
        assert client.remind(event).has_context
    assert not running.appears(client.worker.with_name("worker-began"), within_s=0.5)


@pytest.mark.parametrize("how", ["DROP TABLE point_search", f"UPDATE point_search_data SET block = x'{'ff' * 10}'"])
def test_damaged_index_is_logged_with_its_remedy(client: Client, how: str) -> None:
    client.change(how)
    assert [client.remind(event).has_context for event in _events(client)] == [False, False, True]
    assert ["playbook db check --rebuild-search" in line for line in client.log()] == [True, True]


def test_locked_database_ends_at_the_deadline(folder: Path, home: Path) -> None:
    """Without a WAL, a writer also blocks readers."""
    client = running.a_client(folder, home)
    client.add(HEADER)
    client.change("PRAGMA journal_mode = DELETE")
    with client.held("BEGIN EXCLUSIVE"):
        done = client.remind(client.prompt(ASKS))
    stuck = client.remind(client.prompt(ASKS), holds_stdin=True)

    assert [done.out, stuck.out] == [b"{}\n"] * 2
    assert running.is_in_time(done, remind.DEADLINE_S)
    assert running.is_in_time(stuck, remind.DEADLINE_S)


def test_own_playbook_is_searched_too(client: Client) -> None:
    with open_store(f"sqlite:///{client.database}") as store:
        edit.add(Project.of_user(store), "gearbox: say what broke first")
    client.add("the gearbox has five gears")

    assert sorted(client.remind(client.prompt("the gearbox broke")).names) == ["oth-041", "uoth-001"]
    assert client.remind(client.prompt("the gearbox broke")).names == []
    keys = dict(client.rows("SELECT p.key, i.points FROM showings AS i JOIN playbooks AS p ON p.id = i.playbook_id"))
    assert keys == {projects.USER_KEY: "[1]", os.path.realpath(client.folder): "[41]"}
    event = client.prompt("the gearbox broke", session_id="another")
    assert client.remind(event, CLAUDE_PROJECT_DIR=str(client.home)).names == ["uoth-001"]
    assert "uoth-001" in client.remind(client.subagent_start()).context


@pytest.mark.enable_socket
def test_members_get_team_points_once(client: Client) -> None:
    _join(client, "gearbox: the team's oldest rule")

    assert client.remind(client.prompt("the gearbox broke")).names == ["oth-001"]
    assert client.remind(client.prompt("the gearbox broke")).names == []
    assert client.rows("SELECT event, points FROM unsent_showings") == [("UserPromptSubmit", "[1]")]
    client.change("UPDATE unsent_showings SET sent_at = '2026-11-22'")
    assert client.remind(client.prompt("the gearbox broke")).names == []
    assert client.rows(_SHOWN) == []


def _join(client: Client, text: str) -> None:
    """Join the project to a team whose playbook has one point."""
    with open_store(f"sqlite:///{client.database.with_name('team.db')}") as team:
        edit.add(Project(team, NAME), text)
        replica.write(replica_of(str(client.database), 1), replica.read(team, NAME))
    with open_store(f"sqlite:///{client.database}") as store, store.write(os.path.realpath(client.folder)) as book:
        memberships.join(book, "postgresql://ann@127.0.0.1:9/playbooks", NAME)
