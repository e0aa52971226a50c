"""Points that are held back from a session (PLAYBOOK_HOLDOUT_POINTS): no hook shows them, and they are on record."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.claude_code.hooks import spool
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.at_hand import replica_of
from playbook_db.store.engine import open_store
from playbook_db.store.team import memberships, replica
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.members import NAME

pytestmark = pytest.mark.slow  # starts processes

HEADER = "src/api/users.py: parse_header wants bytes, never text"
SECOND = "parse_header of src/api/users.py is slow: cache it"
FILLERS = tuple(f"service {number} keeps a ledger" for number in range(37))
SHARE = 0.5
_RECORD = "SELECT event, source, points, held_back, left_out FROM injections ORDER BY time"


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """The client in the project's folder, whose playbook has some points; its hooks have all the time there is."""
    made = running.a_client(folder, home, is_patient=True)
    made.fill(HEADER, SECOND, *FILLERS)
    return made


def _session(fits: Callable[[set[int]], bool], points: range = range(1, 40)) -> str:
    """A session whose held-back points fit."""
    names = (f"s-{number}" for number in range(9999))
    return next(each for each in names if fits(_held_back(each, points)))


def _held_back(session: str, points: range = range(1, 40)) -> set[int]:
    return {point for point in points if settings.is_held_out(session, SHARE, point)}


def _events(client: Client, session: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """One event of each kind that may show the two points, by its hook."""
    path = str(client.folder / "src/api/users.py")
    asks = "why does parse_header in src/api/users.py fail?"
    events = {
        "start": ("inject", client.start()),
        "resume": ("inject", client.start("resume")),
        "compact": ("inject", client.start("compact")),
        "prompt": ("remind", client.prompt(asks)),
        "error": ("remind", client.failure("parse_header: TypeError", command="python src/api/users.py")),
        "file": ("tool", client.call("Read", file_path=path)),
        "task": ("tool", client.call("Agent", description="d", prompt=asks)),
        "subagent": ("remind", client.subagent_start(session_id=session)),
    }
    return {name: (hook, {**event, "session_id": session}) for name, (hook, event) in events.items()}


def _shown(client: Client, event: tuple[str, dict[str, Any]], **options: str) -> str:
    done = client.run(*event, **options)
    assert (done.code, done.err) == (0, b"")
    return done.out.decode()


@pytest.mark.parametrize("name", ["start", "resume", "compact", "prompt", "error", "file", "task", "subagent"])
def test_no_hook_shows_a_point_that_is_held_back(client: Client, name: str) -> None:
    """The next best is shown in its place, and both are on record."""
    first, second = _session(lambda held: held & {1, 2} == {2}), _session(lambda held: held & {1, 2} == {1})
    for session, shown, held in ((first, 1, 2), (second, 2, 1)):
        out = _shown(client, _events(client, session)[name], PLAYBOOK_HOLDOUT_POINTS=str(SHARE))

        assert (json.dumps(HEADER)[1:-1] in out) == (shown == 1)
        assert (json.dumps(SECOND)[1:-1] in out) == (shown == 2)
        points, held_back = map(json.loads, client.rows(_RECORD)[-1][2:4])
        assert shown in points
        assert held not in points
        assert set(held_back) <= _held_back(session)
        assert name in ("error", "file") or held in held_back  # one point alone is looked for there
    assert client.log() == []


def test_a_point_is_held_back_for_the_whole_session(client: Client) -> None:
    """Whatever happens in it, and whichever hook it is."""
    session = _session(lambda held: 1 in held and len(held) > 10)
    for each in _events(client, session).values():
        assert json.dumps(HEADER)[1:-1] not in _shown(client, each, PLAYBOOK_HOLDOUT_POINTS=str(SHARE))

    records = client.rows(_RECORD)
    assert len(records) == 8
    (shown, held_back) = (set().union(*(json.loads(each[place]) for each in records)) for place in (2, 3))
    assert held_back == _held_back(session)
    assert shown == set(range(1, 40)) - held_back
    assert records[0][-1] == 0  # those held back don't lack room


def test_where_all_that_fits_is_held_back_nothing_is_shown(client: Client) -> None:
    """But that is on record, and the session is none that is compared with others as a whole."""
    session = _session(lambda held: held >= {1, 2})

    for name in ("prompt", "error", "file", "task"):
        assert _shown(client, _events(client, session)[name], PLAYBOOK_HOLDOUT_POINTS=str(SHARE)) == "{}\n"

    assert [(event, source, points) for event, source, points, _, _ in client.rows(_RECORD)] == [
        ("UserPromptSubmit", "", "[]"), ("PostToolUseFailure", "", "[]"), ("UserPromptSubmit", "file", "[]"),
        ("SubagentStart", "task", "[]"),
    ]  # fmt: skip
    assert {tuple(sorted(json.loads(each[3]))) for each in client.rows(_RECORD)} == {(1, 2)}
    client.change(
        "INSERT INTO session_outcomes (playbook_id, session_id, tool_calls, failed_calls, corrections, turns, tokens, "
        f"updated_at) VALUES (1, '{session}', 1, 0, 0, 1, 1, '2026-03-01')"
    )
    assert client.rows("SELECT is_held_out FROM session_comparison") == [(0,)]


def test_where_all_points_are_held_back_a_start_shows_nothing(client: Client) -> None:
    """Nor does a subagent's. Both are on record."""
    for name in ("start", "subagent"):
        assert _shown(client, _events(client, "s-1")[name], PLAYBOOK_HOLDOUT_POINTS="1") == "{}\n"

    assert [(event, points) for event, _, points, _, _ in client.rows(_RECORD)] == [
        ("SessionStart", "[]"),
        ("SubagentStart", "[]"),
    ]
    assert all(len(json.loads(each[3])) + each[4] == 39 for each in client.rows(_RECORD))


def test_a_pinned_point_is_never_held_back(client: Client) -> None:
    """Even if all others are."""
    client.change("UPDATE key_points SET pinned = 1 WHERE id = 1")

    for each in _events(client, "s-1").values():
        out = _shown(client, each, PLAYBOOK_HOLDOUT_POINTS="1")
        assert HEADER in out or out == "{}\n"
        assert SECOND not in out

    assert {each[2] for each in client.rows(_RECORD)} <= {"[1]", "[]"}
    assert set(range(2, 40)) in [set(json.loads(each[3])) for each in client.rows(_RECORD)]


@pytest.mark.parametrize("share", ["0", "0.0", " ", "many", "-0.1", "1.1", "nan", "0,1"])
def test_a_share_that_is_none_changes_no_byte(client: Client, share: str) -> None:
    """Neither of what is shown nor of the record. What is no share is noted in the log."""
    for each in _events(client, "s-1").values():
        alone, record = _shown(client, each), client.rows(_RECORD)
        _forget_showings(client)
        assert _shown(client, each, PLAYBOOK_HOLDOUT_POINTS=share) == alone
        assert client.rows(_RECORD) == record != []
        assert record[-1][3] is None
        _forget_showings(client)
    lines = 0 if share in ("0", "0.0", " ") else 8
    assert [f"PLAYBOOK_HOLDOUT_POINTS is {share!r}; it must be" in line for line in client.log()] == [True] * lines


def test_the_users_own_points_are_held_back_likewise(client: Client) -> None:
    """Each on record in its playbook."""
    with open_store(f"sqlite:///{client.database}") as store:
        for number in range(9):
            edit.add(Project.of_user(store), f"answer briefly, {number}", section="pref")
    session = _session(lambda held: bool(held), range(1, 10))

    told = client.inject(client.start(session_id=session), PLAYBOOK_HOLDOUT_POINTS=str(SHARE)).context

    held = _held_back(session, range(1, 10))
    assert {number for number in range(1, 10) if f"answer briefly, {number - 1}" in told} == set(range(1, 10)) - held
    query = "SELECT i.held_back FROM injections AS i JOIN playbooks AS p ON p.id = i.playbook_id WHERE p.kind = 'user'"
    ((kept,),) = client.rows(query)
    assert set(json.loads(kept)) == held


@pytest.mark.enable_socket
@pytest.mark.parametrize("team", [False, True])
def test_what_is_held_back_waits_in_the_spool_like_what_is_shown(client: Client, team: bool) -> None:
    """While another process writes; a team's goes to the team's record."""
    if team:
        _join(client)
    session = _session(lambda held: held & {1, 2} == {1})
    with closing(sqlite3.connect(client.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert client.inject(client.start(session_id=session), PLAYBOOK_HOLDOUT_POINTS=str(SHARE)).has_context
        connection.rollback()
    (waiting,) = client.spooled()
    assert worker.run(f"sqlite:///{client.database}") is not None

    table = "unsent_injections" if team else "injections"
    ((points, held_back, left_out),) = client.rows(f"SELECT points, held_back, left_out FROM {table}")
    assert json.loads(held_back) == waiting["held_back"]
    assert set(json.loads(held_back)) == _held_back(session, range(1, 3 if team else 40))
    assert (set(json.loads(points)) & {1, 2}, left_out) == ({2}, 0)
    if team:
        with open_store(f"sqlite:///{client.database}") as store, store.read(str(client.folder.resolve())) as book:
            (showing,) = memberships.unsent(book.connection, book.playbook_id, most=9)
        with open_store(f"sqlite:///{client.database.with_name('team.db')}") as of_team:
            with of_team.write(NAME) as book:
                memberships.add_showings(book, [showing])
            with of_team.read(NAME) as book:
                rows = book.connection.exec_driver_sql("SELECT held_back FROM injections")
                assert rows.scalars().all() == [held_back]


@pytest.mark.parametrize("held_back", ["1", 1, 0, "", [-1], ["1"], {}, [1.5]])
def test_a_showing_that_holds_back_no_points_is_moved_aside(client: Client, held_back: object) -> None:
    """As one that shows none."""
    spool.keep(
        {
            "kind": spool.SHOWING, "project": str(client.folder), "session_id": "s", "source": "startup",
            "revision": 1, "points": [1], "left_out": 1, "time": "2026-03-01T12:00:00.000000+00:00",
            "held_back": held_back,
        }
    )  # fmt: skip
    assert worker.run(f"sqlite:///{client.database}") is not None

    assert client.rows(_RECORD) == []
    assert len(list((client.data / "spool").glob("*.unreadable"))) == 1


def _forget_showings(client: Client) -> None:
    client.change("DELETE FROM injections")
    for path in client.data.glob("touched/*/*"):
        path.unlink()


def _join(client: Client) -> None:
    """The project joins a team whose playbook has two points."""
    with open_store(f"sqlite:///{client.database.with_name('team.db')}") as team:
        for text in ("the team's oldest point", "its other one"):
            edit.add(Project(team, NAME), text)
        replica.write(replica_of(str(client.database), 1), replica.read(team, NAME))
    with open_store(f"sqlite:///{client.database}") as store, store.write(str(client.folder.resolve())) as book:
        memberships.join(book, "postgresql://ann@127.0.0.1:9/playbooks", NAME)
    client.change("UPDATE memberships SET joined_at = '2026-03-01T12:00:00.000000+00:00'")
