"""Members of a team: each with a home, a checkout and a database of their own, and one server for all."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code import worker
from playbook_db.claude_code.worker import WorkResult
from playbook_db.services.learning import queue
from playbook_db.services.opening import of_team
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, Servers, find_membership
from playbook_db.services.sharing import joining, team
from playbook_db.store import sqlite_open
from playbook_db.store.engine import Store, open_store
from playbook_db.store.queries import hook_queries, list_queries
from playbook_db.store.queries.list_queries import Job
from playbook_db.store.team.memberships import Membership
from tests.databases import put_empty_database
from tests.transcripts import TranscriptBuilder

NAME = "github.com/org/shop"


@dataclass(frozen=True)
class Member:
    """One member; what is done `as_him` is done in this member's home and checkout of the project."""

    home: Path
    folder: Path
    patch: pytest.MonkeyPatch

    @property
    def url(self) -> str:
        return f"sqlite:///{self.home}/.claude/playbook/playbook.db"

    @contextmanager
    def as_him(self) -> Iterator[None]:
        with self.patch.context() as patch:
            patch.setenv("HOME", str(self.home))
            for name in ("LOGNAME", "USER"):  # the first one wins
                patch.setenv(name, self.home.name)
            patch.setenv("CLAUDE_PROJECT_DIR", str(self.folder))
            patch.chdir(self.folder)
            patch.setattr(worker, "AWAY_WAIT_S", (0.0, 0.0))
            yield

    @contextmanager
    def own(self) -> Iterator[Project]:
        with self.as_him(), open_store(self.url) as store:
            yield Project.in_folder(store, str(self.folder))

    @contextmanager
    def shared(self) -> Iterator[Project]:
        with self.own() as own, Servers() as servers, of_team(own, servers) as project:
            yield project

    def join(self, url: str) -> None:
        with self.own() as own, joining.joining(own, url, NAME) as begun:
            begun.finish()

    def leave(self) -> None:
        with self.own() as own:
            team.leave(own)

    def add(self, *texts: str) -> None:
        """Add a point for each of *texts*, to the team's playbook if the project has joined one."""
        with self.shared() as project:
            for text in texts:
                edit.add(project, text, section="PATTERNS & APPROACHES")

    def membership(self) -> Membership:
        with self.own() as own:
            found = find_membership(own)
        assert found is not None
        return found

    @property
    def replica(self) -> Path:
        return Path(sqlite_open.replica_of(self.url.removeprefix("sqlite:///"), self.membership().playbook_id))

    def points(self) -> list[str]:
        connection = sqlite_open.open_replica(str(self.replica))
        try:
            project = hook_queries.find_project(connection.execute, self.membership().name)
            points = list_queries.live_points(hook_queries.Book(connection, project)) if project else []
            return [point.text for point in points]
        finally:
            connection.close()

    def session(self, name: str, cites: str = "pat-001", turns: int = 1) -> str:
        """End a session; its transcript, for which a job waits."""
        builder = TranscriptBuilder(name)
        for turn in range(turns):
            builder.user(f"mend bug {turn} first, and say what it was")
            builder.assistant(f"Following [{cites}], I run the tests.")
        path = builder.write(self.home / f"{name}.jsonl")
        with self.own() as own:
            queue.take_in(own.store, own.key, {"session_id": name, "transcript_path": path, "reason": "exit"})
        return path

    def work(self) -> WorkResult:
        with self.as_him():
            result = worker.run(self.url)
        assert result is not None
        return result

    def jobs(self) -> list[Job]:
        with self.own() as own:
            return queue.list_jobs(own.store)

    def rows(self, query: str) -> list[Any]:
        with self.own() as own:
            return rows(own.store, query)

    def log(self) -> list[str]:
        path = self.home / ".claude" / "playbook" / "logs" / "worker.log"
        return path.read_text("utf-8").splitlines() if path.exists() else []


def rows(store: Store, query: str) -> list[Any]:
    with store.snapshot() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]


NewMember = Callable[[str], Member]


def members_in(folder: Path, patch: pytest.MonkeyPatch) -> NewMember:
    """Gives a member by name, with a home and a checkout in *folder*."""

    def made(name: str) -> Member:
        home = folder / name
        checkout = folder / name / "shop"
        (checkout / ".claude").mkdir(parents=True)
        put_empty_database(home / ".claude" / "playbook" / "playbook.db")
        os.utime(home / ".claude" / "playbook" / "playbook.db")
        return Member(home, checkout, patch)

    return made
