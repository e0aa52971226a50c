"""Commands of a team's member over a link that is long, or that goes silent: how often and how long they wait."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from playbook_db.claude_code import worker
from playbook_db.domain.operations import cast_votes
from playbook_db.domain.playbook import Vote
from playbook_db.mcp_server.tools import PlaybookTools
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store import sqlite_open
from playbook_db.store.engine import Store
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.store.sqlite_open import SCHEMA
from playbook_db.store.team import time_limits
from playbook_db.web.application import Site
from tests import postgres
from tests.claude_code.running import Client, write_worker
from tests.cli.conftest import Playbook
from tests.link import Link, State
from tests.members import NAME
from tests.web.asking import page_of

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
        (("list",), READS),
        (("list", "--retired"), READS),
        (("search", "tests"), READS),
        (("show", "pat-001"), READS),
        (("render",), READS),
        (("stats",), READS),
        (("vote", "pat-001", "harmful"), WRITES),
        (("add", "say what was run"), WRITES),
        (("edit", "pat-001", "--text", "another text"), WRITES),
        (("retire", "pat-001"), WRITES),
        (("pin", "pat-001"), WRITES),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_commands_make_few_round_trips(command: tuple[str, ...], most: int, link: Link, playbook: Playbook) -> None:
    before = link.round_trips, link.connections
    done = playbook(*command)

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


@pytest.mark.parametrize("command", [("list",), ("show", "pat-001"), ("search", "tests"), ("render",)], ids=" ".join)
@pytest.mark.parametrize("after", [b"max(version_num)", b"ROLLBACK", b"user"])
def test_silent_server_leaves_the_replica(
    command: tuple[str, ...], after: bytes, link: Link, playbook: Playbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may become silent before the login, after it, or later."""
    _waits(monkeypatch, 2.0 if after == b"user" else 0.5)  # the driver takes no less to connect
    link.silent_from = after
    done = playbook(*command)

    assert done.code == 0
    assert "run the tests number 0" in done.out
    assert "These points are from this machine's replica" in done.err
    assert ("no answer for 0.5 s" in done.err) == (after != b"user")


def test_time_limit_is_for_the_whole_command(link: Link, playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    _waits(monkeypatch, 1.0)
    link.delay_s = 0.3
    done = playbook("list")

    assert "no answer for 1 s" in done.err
    assert "These points are from this machine's replica" in done.err


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


@pytest.mark.parametrize("version", ["0099", "0004"])
def test_other_schema_leaves_the_replica(version: str, link: Link, team_url: str, playbook: Playbook) -> None:
    with postgres.connected(make_url(team_url)) as owner:
        try:
            owner.execute("UPDATE alembic_version SET version_num = %s", [version])
            listed, voted = playbook("list"), playbook("vote", "pat-001", "helpful")
        finally:
            owner.execute(f"UPDATE alembic_version SET version_num = '{SCHEMA:04d}'")
    assert listed.code == 0
    assert "run the tests number 0" in listed.out
    for done in (listed, voted):
        assert f"is at schema {version}; this playbook-db" in done.err
    assert voted.code == 1


TOOLS: dict[str, Callable[[PlaybookTools], str]] = {
    "search": lambda tools: tools.search("tests number"),
    "why": lambda tools: tools.why("pat-001"),
    "history": lambda tools: tools.log(),
}
PAGES = (
    "/points",
    "/points/pat-001",
    "/history/1",
    "/review",
    "/sessions",
    "/numbers",
    "/points?q=tests",
    "/history/at/3",
)


@pytest.fixture
def lived(link: Link, shared: Project) -> None:
    """Gives the team's playbook content for each page."""
    with shared.store.write(NAME) as book:
        votes = cast_votes(book.draft, [Vote("pat-001", "helpful"), Vote("pat-002", "helpful")])
        book.commit("learn", "learned", votes=votes, origin=RevisionOrigin("session-1"))
    edit.edit(shared, "pat-001", text="run the tests number 0, and say so")
    with shared.store.write(NAME) as book:
        book.add_proposal({"type": "UPDATE", "target_id": "pat-002", "text": "another"}, "UPDATE", (), "outside", "s-1")
    edit.retire(shared, "pat-005")


@pytest.mark.usefixtures("lived")
@pytest.mark.parametrize("name", TOOLS)
def test_tools_keep_their_connection(name: str, link: Link, url: str, folder: Path) -> None:
    call = TOOLS[name]
    tools = PlaybookTools(url, str(folder), "a session")
    with closing(tools.servers):
        first = call(tools)
        before = link.round_trips, link.connections

        assert call(tools) == first
        assert link.round_trips - before[0] <= READS
        assert link.connections == before[1]


@pytest.mark.usefixtures("lived")
@pytest.mark.parametrize("path", PAGES)
def test_pages_keep_their_connection(path: str, link: Link, url: str, folder: Path) -> None:
    with closing(Site(url, str(folder))) as site:
        assert "run the tests number 0" in page_of(site, "/points")[1]
        before = link.round_trips, link.connections

        assert page_of(site, path)[0] == 200
        assert link.round_trips - before[0] <= READS
        assert link.connections == before[1]


@pytest.fixture
def client(link: Link, folder: Path, home: Path) -> Client:
    made = Client(folder, home / ".claude" / "playbook" / "playbook.db", home, is_patient=True)
    write_worker(made)
    return made


def _work(client: Client) -> None:
    assert worker.run(f"sqlite:///{client.database}") is not None


def test_first_prompt_finds_colleagues_points(client: Client, shared: Project) -> None:
    """The worker of the session's start fetches them."""
    edit.add(shared, "restart the message broker when its queue stalls")
    os.utime(sqlite_open.replica_of(str(client.database), 1), (0, 0))
    began = client.inject()
    assert client.worker_began()
    _work(client)
    asked = client.remind(client.prompt("why does the queue of the message broker stall?"))

    assert "message broker" not in began.context
    assert "restart the message broker" in asked.context


def test_session_survives_a_cut_and_leaving(client: Client, link: Link, shared: Project, playbook: Playbook) -> None:
    client.inject()
    edit.add(shared, "restart the message broker when its queue stalls")
    link.set("cut")
    cut_off = client.remind(client.prompt("why does the queue of the message broker stall?"))
    link.set("open")
    _work(client)
    back = client.remind(client.prompt("and why does the queue of the message broker stall again?"))
    link.set("cut")
    left = playbook("team", "leave")
    client.add("the chart legend needs a colour blind palette")
    own = client.remind(client.prompt("which palette does the chart legend need?"))
    client.enqueue()

    assert not cut_off.has_context
    assert "restart the message broker" in back.context
    assert left.code == 0
    assert "can't be reached" in left.err + left.out
    assert "colour blind palette" in own.context
    assert [row[0] for row in client.rows("SELECT text FROM key_points WHERE retired_in IS NULL ORDER BY id")][-2:] == [
        "restart the message broker when its queue stalls", "the chart legend needs a colour blind palette",
    ]  # fmt: skip
    assert client.rows("SELECT count(*) FROM memberships") == [(0,)]
    assert client.rows("SELECT playbook_id, state FROM jobs") == [(1, "queued")]


@pytest.mark.parametrize("state", ["cut", "silent"])
def test_leaving_works_without_the_server(
    state: State, link: Link, playbook: Playbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    _waits(monkeypatch, 2.0)
    link.set(state)
    left = playbook("team", "leave")

    assert left.code == 0, left.err
    assert playbook("list").out.count("run the tests number") == 5
