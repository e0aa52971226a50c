"""Commands of a team's member while the server is away: those that only read use the replica, and name its age."""

import os
import time
from pathlib import Path

import pytest

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
    """The replica of the project's team, with a live and a retired point; the server is away."""
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
        (("list", "--retired"), "pat-002\t0\t0\tr4\tit was wrong\ta mistake\n"),
        (("show", "pat-002", "--json"), '"retired_in": 4'),
        (("render",), "[pat-001] helpful=1 harmful=0 :: run the tests first"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("team_replica")
def test_reads_use_the_replica_and_name_its_age(command: tuple[str, ...], shown: str, playbook: Playbook) -> None:
    """One line on stderr says how old the points are."""
    done = playbook(*command)

    assert done.code == 0
    assert shown in done.out
    assert done.err.startswith(f"playbook: {AWAY}")
    assert done.err.endswith("These points are from this machine's replica, which was current 2 hours ago.\n")
    assert done.err.count("\n") == 1


def test_status_reads_only_the_replica(playbook: Playbook, team_replica: Path) -> None:
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
    [("add", "x"), ("log",), ("why", "pat-001"), ("show", "r2"), ("stats",)],
    ids=" ".join,
)
@pytest.mark.usefixtures("team_replica")
def test_commands_that_need_the_server_say_so(command: tuple[str, ...], playbook: Playbook) -> None:
    done = playbook(*command)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"playbook: {AWAY}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("what", ["missing", "no database", "older"])
def test_unreadable_replica_counts_as_missing(what: str, playbook: Playbook, team_replica: Path) -> None:
    data = team_replica.read_bytes()
    team_replica.unlink()
    if what != "missing":
        old = data[:60] + (4).to_bytes(4, "big") + data[64:]
        team_replica.write_bytes({"no database": b"x" * 5000, "older": old}[what])

    done = playbook("list")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"playbook: {AWAY}")
