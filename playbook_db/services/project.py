"""A project: the key of its playbook, its database, and its folder on this machine, if it has one.

The user's own playbook is a project without a folder.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self

from playbook_db import projects, settings
from playbook_db.domain.playbook import Playbook
from playbook_db.domain.sections import is_users_name
from playbook_db.errors import ServerAwayError
from playbook_db.store import sqlite_open, urls
from playbook_db.store.engine import Store as Store
from playbook_db.store.engine import open_store as open_store
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.engine import runner_of as runner_of
from playbook_db.store.playbook import repository
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.queries import hook_queries, list_queries
from playbook_db.store.queries.list_queries import ListedProject as ListedProject
from playbook_db.store.team import memberships, time_limits
from playbook_db.store.team.memberships import Membership as Membership

Notify = Callable[[str], object]  # takes a line that the person should read


@dataclass(frozen=True, slots=True)
class Project:
    """A project. The database `store` has its playbook under the name `key`. Two worktrees of a repository differ only
    in `folder`. The `folder` is None for a project of another machine and for the user's own playbook."""

    store: Store
    key: str
    folder: str | None = None

    @staticmethod
    def in_folder(store: Store, folder: str) -> "Project":
        """Return the project of *folder*, which is a path or a key."""
        if projects.OTHER in folder[1:]:
            return Project.of_key(store, folder)
        folder = projects.as_path(folder)
        if not projects.origin(folder):
            return Project(store, projects.project_key(folder), folder)
        with store.snapshot() as connection:
            return Project(store, hook_queries.key_of(runner_of(connection), folder), folder)

    @staticmethod
    def of_key(store: Store, key: str) -> "Project":
        """Return the project *key*, whatever is in its folder now."""
        return Project(store, key, projects.as_path(key.partition(projects.OTHER)[0]))

    @staticmethod
    def of_user(store: Store) -> "Project":
        """Return the user's own playbook in *store*, the user's own database."""
        with store.snapshot() as connection:
            return Project(store, repository.users_key(connection))

    @property
    def is_users(self) -> bool:
        """Whether this is the user's own playbook."""
        return projects.is_users(self.key)

    @property
    def is_team(self) -> bool:
        """Whether others share the playbook."""
        return False

    @property
    def own(self) -> "Project":
        """This project as the user's own database has it. Jobs and costs are there even if the playbook is a team's."""
        return self

    @property
    def mirror_path(self) -> str | None:
        """The path of the project's mirror, whether or not the file exists. None without a folder."""
        return None if self.folder is None else projects.mirror_path(self.folder)

    def playbooks(self) -> "list[Project]":
        """Return the playbooks whose points this project's sessions see: the project's own, then the user's own."""
        return [self] if self.is_users else [self, Project.of_user(self.own.store)]

    @contextmanager
    def reading(self) -> "Iterator[list[PlaybookRepository]]":
        """Open the `playbooks` for reading."""
        with ExitStack() as stack:
            yield [stack.enter_context(each.store.read(each.key)) for each in self.playbooks()]

    def with_point(self, name: str) -> "Project":
        """Return the user's own playbook if *name* is a name there, such as `upat-001`. Otherwise return this one."""
        return self.playbooks()[-1] if is_users_name(name) else self


@dataclass(frozen=True, slots=True)
class TeamProject(Project):
    """A project that has joined a team. `store` and `key` locate the team's playbook; `own` is the project in the
    user's own database. It has no mirror: the members share the team's database."""

    own: Project = field(kw_only=True)

    @property
    def is_team(self) -> bool:
        return True

    @property
    def mirror_path(self) -> None:
        return None


class LastKnownProject(TeamProject):
    """A team's project as this machine's replica has it. Its read-only `store` has points, but neither history nor
    proposals."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Servers:
    """Opens databases. The connection to a server stays open between uses; a file is closed after each use.

    Use as a context manager, or call `close`. During one run, such as the worker's, an unreachable server isn't asked
    again; `next_run` starts another run.
    """

    _stores: dict[str, Store] = field(default_factory=dict)
    _away: dict[str, ServerAwayError] = field(default_factory=dict)

    @contextmanager
    def opened(self, url: str, *, begins_anew: bool = False) -> Iterator[Store]:
        """Open the database at *url*. `open_store` explains *begins_anew*."""
        if settings.sqlite_file(url) is not None:
            with open_store(url, begins_anew=begins_anew) as store:
                yield store
            return
        if url in self._away:
            raise self._away[url]
        with time_limits.in_total():
            if url in self._stores and not self._stores[url].is_current():
                self._stores.pop(url).close()
            if url not in self._stores:
                try:
                    self._stores[url] = open_store(url, begins_anew=begins_anew)
                except ServerAwayError as error:
                    self._away[url] = error
                    raise
        try:
            yield self._stores[url]
        except ServerAwayError:  # it may be back at once, as after a restart
            if url in self._stores:
                self._stores.pop(url).close()
            raise

    def of_team(self, store: Store, membership: Membership) -> AbstractContextManager[Store]:
        """Open the team's database that the *membership* names. *store* is the user's own database."""
        return self.opened(with_kept_password(store, membership.url))

    def next_run(self) -> None:
        """Start a new run. Servers that couldn't be reached are asked again."""
        self._away.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for store in self._stores.values():
            store.close()


def find_membership(own: Project) -> Membership | None:
    """Return the membership of the project *own* of this machine, or None if it has joined no team."""
    with own.store.snapshot() as connection:
        return memberships.of_project(connection, own.key)


def with_kept_password(store: Store, url: str) -> str:
    """Return the *url* of a team's database. Add its stored password, if there is one."""
    with suppress(FileNotFoundError), open(password_file(store, url), "rb") as file:
        return urls.with_password(url, file.read().decode("utf-8"))
    return url


def password_file(store: Store, url: str) -> str:
    """Return the path of the file with the password for a team's database. *url* has no password. All projects in that
    database share the file, which is beside the user's own database."""
    folder = os.path.dirname(sqlite_open.replica_of(store.where, 0))
    return os.path.join(folder, f"{sha256(url.encode()).hexdigest()[:16]}.password")


def read_playbook(project: Project) -> Playbook:
    """Return the project's current playbook, or an empty one if there is none."""
    with project.store.read(project.key) as book:
        return book.playbook()


def is_known(project: Project) -> bool:
    """Return whether the database has a playbook for *project*, even an empty one."""
    with project.store.read(project.key) as book:
        return bool(book.playbook_id)


def list_projects(store: Store) -> list[ListedProject]:
    """Return all projects with a playbook, by folder. Leave out empty playbooks of projects that have moved."""
    with store.snapshot() as connection:
        return list_queries.projects(runner_of(connection))


def waiting_elsewhere(own: Project) -> dict[str, int]:
    """Return how many proposals wait in each other project of the user's own database, by project."""
    with own.store.snapshot() as connection:
        return list_queries.waiting_elsewhere(runner_of(connection), own.key)


def read_users(store: Store) -> ListedProject:
    """Return the entry of the user's own playbook for a list of projects. *store* is the user's own database."""
    own = Project.of_user(store)
    with store.read(own.key) as book:
        stored = book.project
        return ListedProject(own.key, stored.live_points, book.revision, book.last_time, stored.mirror, False)


def place_of(store: Store, folder: str) -> tuple[str, str]:
    """Return the folder of the project to which *folder* belongs, and the project's key."""
    with store.snapshot() as connection:
        return hook_queries.place_of(runner_of(connection), folder)


def is_ignored(project: Project) -> bool:
    """Return whether the hooks and the worker ignore *project*, or a folder above it."""
    with project.store.snapshot() as connection:
        return hook_queries.is_ignored(runner_of(connection), project.key)


@retry_on_conflict
def initialize(project: Project) -> None:
    """Make the folder of *project* a project of its own."""
    with project.store.write(project.key) as book:
        book.set_initialized()


@retry_on_conflict
def ignore(project: Project, *, is_ignored: bool) -> None:
    """Set whether the hooks and the worker ignore *project*. Nothing is deleted."""
    with project.store.write(project.key) as book:
        book.set_ignored(is_ignored)
