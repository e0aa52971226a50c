"""Each showing is recorded once, even while another process writes to the database."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code.hooks import showing, spool
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.sqlite_open import replica_of
from playbook_db.store.tables import EVENTS
from playbook_db.store.team import memberships, replica
from playbook_db.store.upkeep import check
from tests.claude_code import running
from tests.claude_code.running import SESSION, Client
from tests.members import NAME
from tests.showings import wrong_counts

pytestmark = pytest.mark.slow  # starts processes

_SHOWN = "SELECT session_id, source, revision, points, left_out FROM showings ORDER BY session_id, time"
_UNSENT = "SELECT session_id, source, revision, points, left_out FROM unsent_showings ORDER BY time"
_TIME = "2026-03-01T12:00:00.000000+00:00"

client = running.client_fixture("use uv for everything", "say why")


def _is_sound(client: Client) -> bool:
    with check.opened_to_check(f"sqlite:///{client.database}") as store, store.snapshot() as connection:
        return not wrong_counts(connection)


def _start_all(client: Client, sessions: list[str]) -> list[str]:
    """Start *sessions* at once, and return those that got the playbook."""
    with ThreadPoolExecutor(len(sessions)) as pool:
        ended = list(pool.map(lambda session: client.inject(client.start(session_id=session)), sessions))
    return [session for session, done in zip(sessions, ended, strict=True) if done.has_context]


def test_busy_database_uses_the_spool(client: Client) -> None:
    with client.held():
        assert _start_all(client, ["a", "b"]) == ["a", "b"]

    assert client.rows(_SHOWN) == []
    assert sorted(each["session_id"] for each in client.spooled()) == ["a", "b"]
    assert client.log() == []  # nothing is wrong
    assert client.work().spooled == 0  # no jobs
    assert client.rows(_SHOWN) == [(session, "startup", 2, "[1,2]", 0) for session in ("a", "b")]
    assert client.rows("SELECT sessions FROM showing_counts") == [(2,), (2,)]
    assert client.spooled() == []
    assert _is_sound(client)


@pytest.mark.nightly
def test_parallel_starts_lose_no_showing(client: Client) -> None:
    sessions = sorted(f"session-{number:02d}" for number in range(32))
    assert _start_all(client, sessions) == sessions
    client.work()
    assert client.rows(_SHOWN) == [(session, "startup", 2, "[1,2]", 0) for session in sessions]
    assert client.rows("SELECT sessions FROM showing_counts") == [(32,), (32,)]
    assert _is_sound(client)


def test_killed_worker_counts_nothing_twice(client: Client) -> None:
    """The worker was killed after its commit, before it removed the file."""
    with client.held():
        client.inject()
    (file,) = (client.data / "spool").glob("*.json")
    kept = file.read_bytes()
    client.work()
    file.write_bytes(kept)
    client.inject(client.start("resume"))

    client.work()

    assert [row[1] for row in client.rows(_SHOWN)] == ["startup", "resume"]
    assert client.rows("SELECT sessions FROM showing_counts") == [(1,), (1,)]
    assert not file.exists()


def test_deadline_uses_the_spool(client: Client) -> None:
    change = "inject.DEADLINE_S = 5.0\ninject.hook_queries.add_showing = lambda *_, **__: time.sleep(60)"
    done = client.inject(change=change)
    assert (done.code, done.err, done.names) == (0, b"", ["oth-001", "oth-002"])
    assert [each["points"] for each in client.spooled()] == [[1, 2]]
    assert ["waits in" in line for line in client.log()] == [True]


@pytest.mark.nightly(after=3)
@pytest.mark.parametrize(
    "odd",
    [
        {"session_id": None},
        {"time": "soon"},
        {"revision": True},
        {"left_out": 2**63},
        {"points": [1, "2"]},
        {"event": "SessionEnd"},
    ],
)
def test_invalid_showings_are_set_aside(client: Client, odd: dict[str, Any]) -> None:
    path = Path(spool.keep({**_a_showing(client), **odd}))
    client.work()
    assert [each.name for each in path.parent.iterdir()] == [f"{path.name}.unreadable"]
    assert client.rows(_SHOWN) == []
    assert path.name in (client.data / "logs" / "worker.log").read_text()


def _a_showing(client: Client, **fields: Any) -> dict[str, Any]:
    return {
        "kind": spool.SHOWING, "project": os.path.realpath(client.folder), "team": None, "session_id": "s",
        "source": "startup", "revision": 1, "points": [1], "left_out": 1, "time": _TIME, **fields,
    }  # fmt: skip


@pytest.mark.parametrize("team", [None, NAME])
def test_event_is_recorded_with_the_points(client: Client, team: str | None) -> None:
    """An older hook kept no event."""
    _join(client)
    spool.keep(_a_showing(client, team=team))
    for second, event in enumerate(EVENTS, start=1):
        spool.keep(_a_showing(client, team=team, event=event, source="", time=_TIME.replace(":00.", f":0{second}.")))

    client.work()

    rows = client.rows(f"SELECT event FROM {'unsent_showings' if team else 'showings'} ORDER BY time")
    assert rows == [("SessionStart",), *((event,) for event in EVENTS)]


def test_ignored_project_keeps_no_showing(client: Client) -> None:
    spool.keep(_a_showing(client))
    client.change("UPDATE playbooks SET ignored = 1")
    client.work()
    assert client.rows(_SHOWN) == client.spooled() == []


def test_hooks_use_no_database_that_a_clone_names(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code passes the variables of the clone's settings to hooks."""
    theirs = client.folder / "theirs.db"
    theirs.touch()
    monkeypatch.setenv("PLAYBOOK_DB_URL", str(theirs))
    assert showing.database_file(str(client.folder)) == str(theirs)

    settings_file = client.folder / ".claude" / "settings.json"
    settings_file.write_text(json.dumps({"env": {"PLAYBOOK_DB_URL": str(theirs)}}))

    assert showing.database_file(str(client.folder)) == str(client.database)


def _join(client: Client, *, joined_at: str = _TIME) -> None:
    """Join the project to a team whose playbook has one point."""
    with open_store(f"sqlite:///{client.database.with_name('team.db')}") as team:
        edit.add(Project(team, NAME), "the team's oldest point")
        replica.write(replica_of(str(client.database), 1), replica.read(team, NAME))
    with open_store(f"sqlite:///{client.database}") as store, store.write(os.path.realpath(client.folder)) as book:
        memberships.join(book, "postgresql://ann@127.0.0.1:9/playbooks", NAME)
    client.change(f"UPDATE memberships SET joined_at = '{joined_at}'")


@pytest.mark.enable_socket
def test_members_showings_wait_for_the_team(client: Client) -> None:
    _join(client)
    with client.held():
        client.inject()
    (file,) = (client.data / "spool").glob("*.json")
    kept = file.read_bytes()
    client.work()
    file.write_bytes(kept)
    spool.keep(_a_showing(client, team="another", session_id="another"))
    spool.keep(_a_showing(client, team=NAME, session_id="before", time=_TIME.replace("2026", "2025")))

    client.work()

    assert client.rows(_UNSENT) == [(SESSION, "startup", 1, "[1]", 0)]
    assert client.rows(_SHOWN) == client.spooled() == []
