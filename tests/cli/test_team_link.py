"""Commands of a team's member over a slow or silent connection: how often and how long they wait."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from playbook_db.claude_code import worker
from playbook_db.mcp_server.tools import PlaybookTools
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store import sqlite_open
from playbook_db.store.engine import Store
from playbook_db.store.team import time_limits
from tests import postgres
from tests.claude_code.running import Client, write_worker
from tests.cli.conftest import Playbook
from tests.link import Link
from tests.members import NAME

pytestmark = pytest.mark.slow  # a server


@pytest.fixture
def shared(team_server: Store) -> Project:
    return Project(team_server, NAME)


@pytest.fixture
def link(
    socket_enabled: None, team_url: str, playbook: Playbook, shared: Project, folder: Path, home: Path
) -> Iterator[Link]:
    """The connection of a member of a team with five points."""
    if postgres.GIVEN:
        pytest.skip("the server is somebody's own, and listens where it likes")
    for number in range(5):
        edit.add(shared, f"run the tests number {number}", section="PATTERNS & APPROACHES")
    with Link(make_url(team_url)) as made:
        joined = playbook("team", "join", made.text, "--as", NAME, "--yes")
        assert joined.code == 0, joined.err
        replica = sqlite_open.replica_of(f"{home}/.claude/playbook/playbook.db", 1)
        os.utime(replica, (0, 0))  # so that a read compares it
        yield made


@pytest.fixture
def url(home: Path) -> str:
    return f"sqlite:///{home}/.claude/playbook/playbook.db"


READS, WRITES = 20, 25  # round trips at most


@pytest.mark.parametrize(
    ("command", "most"),
    [
        ("list", READS), ("search tests", READS), ("stats", READS),
        ("vote pat-001 harmful", WRITES), ("add commit_often", WRITES),
    ],
)  # fmt: skip
def test_commands_make_few_round_trips(command: str, most: int, link: Link, playbook: Playbook) -> None:
    before = link.round_trips, link.connections
    done = playbook(*command.split())

    assert done.code == 0, done.err
    assert link.round_trips - before[0] <= most
    assert link.connections - before[1] == 1


def test_reads_show_the_teams_newest_points(link: Link, playbook: Playbook, shared: Project) -> None:
    edit.add(shared, "what another member found")
    listed = playbook("list")
    link.set("cut")
    known = playbook("list")

    assert "what another member found" in listed.out
    assert known.out == listed.out


def _waits(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.5) -> None:
    """Shorten the time limits."""
    for name in ("REPLICA_S", "ANSWER_S"):
        monkeypatch.setattr(time_limits, name, seconds)


@pytest.mark.parametrize(
    ("command", "after"), [("list", b"max(version_num)"), ("search tests", b"ROLLBACK"), ("render", b"user")]
)
def test_silent_server_leaves_the_replica(
    command: str, after: bytes, link: Link, playbook: Playbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may become silent before the login, after it, or later."""
    _waits(monkeypatch, 2.0 if after == b"user" else 0.5)  # the driver takes no less to connect
    link.silent_from = after
    done = playbook(*command.split())

    assert done.code == 0
    assert "run the tests number 0" in done.out
    assert "These points are from this machine's replica" in done.err
    assert ("no answer for 0.5 s" in done.err) == (after != b"user")


@pytest.mark.parametrize("after", [b"max(version_num)", b"INSERT INTO revisions"])
def test_silent_server_stops_a_write(
    after: bytes, link: Link, playbook: Playbook, shared: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is changed."""
    _waits(monkeypatch)
    link.silent_from = after
    done = playbook("vote", "pat-001", "helpful")

    assert (done.code, done.out) == (1, ""), done.err
    assert "was lost (no answer for 0.5 s). Nothing was changed; try again." in done.err
    assert done.err.count("\n") == 1
    assert [point.helpful for point in read_playbook(shared).points] == [0] * 5


def test_locks_have_the_same_time_limit(
    link: Link, team_url: str, playbook: Playbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    _waits(monkeypatch, 2.0)
    with postgres.connected(make_url(team_url)) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE key_points, heads, revisions IN ACCESS EXCLUSIVE MODE")
        listed, voted = playbook("list"), playbook("vote", "pat-001", "helpful")
        other.execute("ROLLBACK")
    assert listed.code == 0
    assert "run the tests number 0" in listed.out
    assert "stayed locked by another process for 1.8 s" in listed.err
    assert voted.code == 1
    assert "stayed locked by another process for 1.8 s. Nothing was changed" in voted.err


def test_tools_keep_their_connection(link: Link, url: str, folder: Path) -> None:
    tools = PlaybookTools(url, str(folder), "a session")
    with closing(tools.servers):
        first = tools.search("tests number")
        before = link.round_trips, link.connections

        assert tools.search("tests number") == first
        assert link.round_trips - before[0] <= READS
        assert link.connections == before[1]


def test_first_prompt_finds_colleagues_points(link: Link, url: str, shared: Project, folder: Path, home: Path) -> None:
    """The worker of the session's start fetches them."""
    client = Client(folder, home / ".claude" / "playbook" / "playbook.db", home, is_patient=True)
    write_worker(client)
    edit.add(shared, "restart the message broker when its queue stalls")
    os.utime(sqlite_open.replica_of(str(client.database), 1), (0, 0))
    began = client.inject()
    assert client.worker_began()
    assert worker.run(url) is not None
    asked = client.remind(client.prompt("why does the queue of the message broker stall?"))

    assert "message broker" not in began.context
    assert "restart the message broker" in asked.context
