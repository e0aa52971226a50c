"""Hooks of a team's member read the replica, write to this machine only, and use no network."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from playbook_db.claude_code.setup import guards
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import sqlite_open
from playbook_db.store.engine import Store, open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.store.team import memberships, replica
from tests.claude_code import running
from tests.claude_code.running import PYTHON, Client, appears
from tests.members import NAME

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]  # starts processes


@dataclass(frozen=True)
class Team:
    """The team of the client's project: its database and the replica."""

    client: Client
    database: Store
    replica: Path

    def learn(self, *texts: str) -> None:
        """Let another member's session teach *texts*, and the worker fetch them."""
        with self.database.write(NAME) as book:
            for text in texts:
                book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS))
            book.commit("learn", "learned", origin=RevisionOrigin("another's"))
        self.fetch()

    def fetch(self) -> None:
        """Let the worker write the replica."""
        replica.write(str(self.replica), replica.read(self.database, NAME))

    def join(self, url: str = "postgresql://ann@127.0.0.1:9/playbooks") -> None:
        """Join the project to the team with the database at *url*."""
        with open_store(f"sqlite:///{self.client.database}") as store:
            key = Project.in_folder(store, str(self.client.folder)).key
            with store.write(key) as book:
                memberships.join(book, url, NAME)


client = running.client_fixture("from before joining")


@pytest.fixture
def team(client: Client, tmp_path: Path) -> Iterator[Team]:
    """The team that the project has joined, with one point from before."""
    path = Path(sqlite_open.replica_of(str(client.database), 1))
    with open_store(f"sqlite:///{tmp_path / 'team.db'}") as database:
        made = Team(client, database, path)
        made.learn("the team's oldest point")
        time.sleep(0.001)
        made.join()
        yield made


@pytest.mark.usefixtures("team")
def test_session_gets_the_teams_points(client: Client) -> None:
    done = client.inject()
    again = client.inject(client.start("resume"))

    assert (done.code, done.err) == (0, b"")
    assert "the team's oldest point" in done.context
    assert "from before joining" not in done.context
    assert again.context == done.context
    columns = "session_id, source, event, revision, points, left_out"
    noted = client.rows(f"SELECT {columns} FROM unsent_showings ORDER BY time")
    assert noted == [(running.SESSION, source, "SessionStart", 1, "[1]", 0) for source in ("startup", "resume")]
    assert client.rows("SELECT count(*) FROM showings") == [(0,)]
    assert client.log() == []


def test_teams_lessons_are_announced_once(client: Client, team: Team) -> None:
    first = client.inject().message
    team.learn("say why")
    second, third = client.inject().message, client.inject().message
    team.learn("run the tests")

    assert (first, third) == ("", "")
    assert second.startswith('playbook: learned 1 point ("say why")')
    assert client.inject().message.startswith('playbook: learned 1 point ("run the tests")')


def test_stale_replica_starts_the_worker(client: Client, team: Team) -> None:
    client.inject()
    assert not appears(client.worker.with_name("worker-began"), within_s=0.5)
    os.utime(team.replica, (time.time() - 61, time.time() - 61))
    client.inject()
    assert client.worker_began()


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize("kind", ["missing", "empty", "torn", "older", "a pipe"])
def test_bad_replica_is_left_to_the_worker(kind: str, client: Client, team: Team) -> None:
    data = team.replica.read_bytes()
    torn = data[:1024] + b"\xff" * (len(data) - 1024)
    old = data[:60] + (4).to_bytes(4, "big") + data[64:]
    team.replica.unlink()
    if kind == "a pipe":
        os.mkfifo(team.replica)
    elif kind != "missing":
        team.replica.write_bytes({"empty": b"", "torn": torn, "older": old}[kind])

    done = client.inject()

    assert (done.code, done.has_context, done.err) == (0, False, b"")
    assert client.worker_began()
    assert bool(done.message) == (kind in ("torn", "a pipe"))
    assert str(team.replica) in "".join(client.log()) or kind == "missing"


@pytest.mark.skipif(not shutil.which("strace"), reason="NO STRACE: that the hooks ask for no network was not seen")
@pytest.mark.parametrize("hook", ["inject", "enqueue"])
def test_hooks_of_members_use_no_network(hook: str, client: Client, team: Team) -> None:
    event = client.start() if hook == "inject" else client.end()
    trace = client.home / "trace"
    command = ["strace", "-f", "-qq", "-e", "trace=%network", "-o", str(trace)]
    done = subprocess.run(
        [*command, PYTHON, "-I", "-S", str(running.HOOKS / f"{hook}.py"), "user", str(client.worker)],
        input=json.dumps(event).encode(), capture_output=True, check=True, cwd=client.folder,
    )  # fmt: skip

    assert b"oldest" in done.stdout or hook == "enqueue"
    assert [line for line in trace.read_text().splitlines() if "(" in line] == []


def test_own_points_come_from_this_machine(client: Client, team: Team) -> None:
    with open_store(f"sqlite:///{client.database}") as store:
        edit.add(Project.of_user(store), "say it briefly")

    context = client.inject().context
    team.replica.unlink()
    alone = client.inject().context

    assert context.index("the team's oldest point") < context.index("[uoth-001] helpful=0 harmful=0 :: say it briefly")
    assert "say it briefly" in alone
    assert "the team's oldest point" not in alone
    assert client.rows("SELECT points FROM unsent_showings") == [("[1]",)]
    shown = "SELECT p.kind, i.points FROM showings AS i JOIN playbooks AS p ON p.id = i.playbook_id"
    assert client.rows(shown) == [("user", "[1]"), ("user", "[1]")]


def test_guard_leaves_with_the_teams_point(client: Client, team: Team) -> None:
    """While the replica is missing, the guard stays."""
    notes = list[str]()
    team.learn("Ask before you push")
    guards.add(str(client.folder), guards.PointGuard("oth-002", "Bash(git push *)", "ask"))
    kept = team.replica.read_bytes()
    team.replica.unlink()
    guards.remove_retired(notes.append)
    team.replica.write_bytes(kept)
    guards.remove_retired(notes.append)
    assert len(guards.read(str(client.folder))) == 1

    edit.retire(Project(team.database, NAME), "oth-002")
    team.fetch()
    guards.remove_retired(notes.append)
    assert (guards.read(str(client.folder)), notes) == ([], [])
