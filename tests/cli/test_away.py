"""Commands of a team's member while the server is away: what only looks answers from the replica, with its age."""

import os
import time
from pathlib import Path

import pytest

from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import sqlite_open
from playbook_db.store.engine import open_store
from playbook_db.store.team import memberships, replica
from tests.cli.conftest import Playbook
from tests.databases import put_empty_database
from tests.members import NAME

AWAY = "postgresql://127.0.0.1:9/playbooks can't be reached"


@pytest.fixture
def team_replica(home: Path, folder: Path, tmp_path: Path) -> Path:
    """The replica of the team that the project has joined, whose server is away: a live point, and a retired one."""
    database = home / ".claude" / "playbook" / "playbook.db"
    put_empty_database(database)
    with open_store(f"sqlite:///{database}") as store:
        key = Project.in_folder(store, str(folder)).key
        with store.write(key) as book:
            memberships.join(book, "postgresql://ann@127.0.0.1:9/playbooks", NAME)
    path = Path(sqlite_open.replica_of(str(database), 1))
    with open_store(f"sqlite:///{tmp_path / 'team.db'}") as there:
        project = Project(there, NAME)
        for text in ("run the tests first", "a mistake"):
            edit.add(project, text, section="PATTERNS & APPROACHES")
        edit.vote(project, "pat-001", "helpful")
        edit.retire(project, "pat-002", reason="it was wrong")
        replica.write(str(path), replica.read(there, NAME))
    os.utime(path, (time.time() - 7200,) * 2)
    return path


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (("list",), "pat-001\t1\t0\tPATTERNS & APPROACHES\trun the tests first\n"),
        (("list", "--json"), '"helpful": 1'),
        (("list", "--retired"), "pat-002\t0\t0\tr4\tit was wrong\ta mistake\n"),
        (("list", "--sort", "used"), "run the tests first"),
        (("show", "pat-001"), "(since r1, "),
        (("show", "pat-002", "--json"), '"retired_in": 4'),
        (("render",), "[pat-001] helpful=1 harmful=0 :: run the tests first"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("team_replica")
def test_what_looks_at_the_points_answers_with_the_replicas_age(
    command: tuple[str, ...], shown: str, playbook: Playbook
) -> None:
    """On stderr, in one line; exit code 0."""
    done = playbook(*command)

    assert done.code == 0
    assert shown in done.out
    assert done.err.startswith(f"playbook: {AWAY}")
    assert done.err.endswith("These points are from this machine's replica, which was current 2 hours ago.\n")
    assert done.err.count("\n") == 1


def test_status_asks_nobody_and_says_how_old_it_is(playbook: Playbook, team_replica: Path) -> None:
    """It may stand in a status line. A replica that can't be read counts as none."""
    known = playbook("status")
    record = playbook("status", "--json").json
    team_replica.write_bytes(b"x" * 5000)
    unknown = playbook("status")

    assert f"it is {NAME} there, as this machine last knew it, 2 hours ago: playbook team status" in known.out
    assert "points         1; a session gets 1; at revision 4" in known.out
    assert (record["team"], record["revision"], record["team_as_of"][:2]) == (NAME, 4, "20")
    assert f"it is {NAME} there, which this machine doesn't have yet: playbook work" in unknown.out
    assert (known.err, unknown.code, unknown.err) == ("", 0, "")


@pytest.mark.nightly(after=3)
@pytest.mark.parametrize(
    "command",
    [("add", "x"), ("log",), ("why", "pat-001"), ("show", "2"), ("show", "r2"), ("undo",), ("stats",), ("sessions",)],
    ids=" ".join,
)
@pytest.mark.usefixtures("team_replica")
def test_what_needs_the_server_says_so_in_one_sentence(command: tuple[str, ...], playbook: Playbook) -> None:
    """And ends with exit code 1."""
    done = playbook(*command)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"playbook: {AWAY}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("what", ["missing", "no database", "older"])
def test_a_replica_that_can_not_be_read_is_as_none(what: str, playbook: Playbook, team_replica: Path) -> None:
    """The server is away: that is what is told."""
    data = team_replica.read_bytes()
    team_replica.unlink()
    if what != "missing":
        old = data[:60] + (4).to_bytes(4, "big") + data[64:]
        team_replica.write_bytes({"no database": b"x" * 5000, "older": old}[what])

    done = playbook("list")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"playbook: {AWAY}")


@pytest.mark.usefixtures("team_replica")
def test_a_session_is_kept_out_without_the_server(playbook: Playbook) -> None:
    """Nobody asks it."""
    done = playbook("sessions", "skip", "5e62eba9-0000")

    assert (done.code, queue.is_skipped("5e62eba9-0000")) == (0, True)


@pytest.mark.usefixtures("team_replica")
def test_status_counts_the_users_own_points_without_a_replica(playbook: Playbook, team_replica: Path) -> None:
    """The worker hasn't fetched the team's playbook yet; the user's own is here."""
    playbook("--user", "add", "answer briefly")
    team_replica.unlink()

    status = playbook("status", "--json")

    assert (status.code, status.err) == (0, "")
    assert (status.json["points"], status.json["user_points"], status.json["user_shown"]) == (0, 1, 1)
