"""A project: the key of its playbook, the database that keeps it, and its folder where it has one on this machine. The
user's own playbook counts as one without a folder.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Self

from playbook_db import projects
from playbook_db.domain import times
from playbook_db.domain.playbook import Playbook
from playbook_db.errors import PlaybookError, ProjectError, Remedy, ServerAwayError
from playbook_db.store import at_hand, memberships, repository, urls
from playbook_db.store.engine import Store, open_store, tried_again
from playbook_db.store.memberships import Membership
from playbook_db.store.repository import ListedProject

Notify = Callable[[str], object]  # takes a line that the person should read
LOOK_S = 4  # that who can do with the replica waits for a team's server


@dataclass(frozen=True, slots=True)
class Project:
    """The project whose playbook `store` keeps under `key`. Two worktrees of a repository differ in `folder` only;
    a project of another machine has none. Where the playbook is a team's, `here` is the project as this machine knows
    it: in the user's own database, by its folder. It *is_old* where its database is away and `store` has only what this
    machine knew of the points: no history, and of the proposals no word."""

    store: Store
    key: str
    folder: str | None = None
    here: "Project | None" = None
    is_old: bool = False

    @classmethod
    def in_folder(cls, store: Store, folder: str) -> Self:
        """The project that *folder*, or the folder of that key, belongs to."""
        folder = projects.as_path(folder)
        return cls(store, projects.project_key(folder), folder)

    @classmethod
    def of_user(cls, store: Store) -> Self:
        """The user's own playbook in *store*, his own database."""
        with store.snapshot() as connection:
            return cls(store, repository.users_key(connection))

    @property
    def is_users(self) -> bool:
        """Whether it is the user's own playbook."""
        return projects.is_users(self.key)

    @property
    def own(self) -> "Project":
        """Where what concerns this user alone is kept, whoever shares the playbook: jobs, and what learning took."""
        return self.here or self

    @property
    def mirror_path(self) -> str | None:
        """Where the project's mirror stands, or would; None without a folder, and for a team's playbook, which its
        members share through its database."""
        return None if self.folder is None or self.here else projects.mirror_path(self.folder)


@contextmanager
def open_project(
    url: str,
    folder: str,
    *,
    sync: bool = True,
    begins_anew: bool = False,
    is_own: bool = False,
    may_be_old: bool = False,
    store: Store | None = None,
    notify: Notify,
) -> Iterator[Project]:
    """The project in *folder*, in the database at *url*, which is made where there is none; where there are backups of
    it, only if it *begins_anew*.

    Who has that open already gives it as *store*, which stays open.

    Where it has joined a team that is the team's, unless it *is_own*; where the team's database is away, as this
    machine last knew it, to be read alone, if it *may_be_old*. A mirror that is kept is brought in step before and
    after, unless *sync* is off. Every interface opens projects so.
    """
    with ExitStack() as stack:
        project = Project.in_folder(store or stack.enter_context(open_store(url, begins_anew=begins_anew)), folder)
        if not is_own:
            try:
                servers = stack.enter_context(Servers(connect_s=LOOK_S if may_be_old else None))
                project = stack.enter_context(of_team(project, servers))
            except ServerAwayError as error:
                if not may_be_old:
                    raise
                project = stack.enter_context(_as_last_known(project, error, notify))
        if sync and not project.here:
            from playbook_db.services import mirror

            stack.enter_context(mirror.kept_in_step(project, notify))
        yield project


@dataclass(frozen=True, slots=True)
class Servers:
    """The databases of teams that one run asks, each opened once; one that was away isn't asked again. Use as a context
    manager. It waits *connect_s* seconds for a connection, where that is given and the URL doesn't say otherwise."""

    connect_s: int | None = None
    _stores: dict[str, Store] = field(default_factory=dict)
    _away: dict[str, ServerAwayError] = field(default_factory=dict)

    @contextmanager
    def opened(self, store: Store, membership: Membership) -> Iterator[Store]:
        """The database of the team that has the *membership*, noted in the user's own *store*."""
        url, where = server_url(store, membership, connect_s=self.connect_s), urls.described(membership.url)
        if where in self._away:
            raise self._away[where]
        if url not in self._stores:
            try:
                self._stores[url] = open_store(url)
            except ServerAwayError as error:
                self._away[where] = error
                raise
        try:
            yield self._stores[url]
        except ServerAwayError:  # it may be back at once, as after a restart
            if url in self._stores:
                self._stores.pop(url).close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for store in self._stores.values():
            store.close()


@contextmanager
def of_team(own: Project, servers: Servers) -> Iterator[Project]:
    """The project *own*, of this machine; where it has joined a team, the team's, in the database of the team."""
    membership = find_membership(own)
    if membership is None:
        yield own
        return
    from playbook_db.services import team

    with servers.opened(own.store, membership) as server:
        yield Project(server, membership.name, own.folder, here=own)
        with suppress(PlaybookError, OSError):  # what was done is done; the worker looks again, and says what is wrong
            team.refresh(own.store, membership, server, erases=False)


@contextmanager
def _as_last_known(own: Project, error: ServerAwayError, notify: Notify) -> Iterator[Project]:
    """The team's playbook as the replica on this machine has it. Raises *error* where there is none."""
    from playbook_db.store import replica  # late: few ask for it, and it would be read by each command

    membership = find_membership(own)
    path = "" if membership is None else at_hand.replica_of(own.store.where, membership.playbook_id)
    known_at = replica.known_at(path)
    if membership is None or known_at is None or replica.state(path, membership.name) is None:
        raise error
    age = times.ago(known_at, now=datetime.now(UTC))
    notify(f"{error} What follows is what this machine knew of it; that was current {age}.")
    with replica.opened(path) as store:
        yield Project(store, membership.name, own.folder, here=own, is_old=True)


def find_membership(own: Project) -> Membership | None:
    """The membership of the project *own*, of this machine; None where it has joined no team."""
    with own.store.snapshot() as connection:
        return memberships.of_project(connection, own.key)


def server_url(store: Store, membership: Membership, *, connect_s: int | None = None) -> str:
    """The URL of the team's database, with the password where one was given to `playbook team join`, and for how long
    to wait for a connection, where it doesn't say that itself."""
    url = with_kept_password(store, membership.url)
    if connect_s and "connect_timeout=" not in url:
        url += f"{'&' if '?' in url else '?'}connect_timeout={connect_s}"
    return url


def with_kept_password(store: Store, url: str) -> str:
    """The *url* of a team's database with the password that is kept for it, if one is."""
    with suppress(FileNotFoundError), open(password_file(store, url), "rb") as file:
        return urls.with_password(url, file.read().decode("utf-8"))
    return url


def password_file(store: Store, url: str) -> str:
    """Where the password of the team's database at *url*, which holds none, is kept, if it is: for all projects that
    have joined it, beside the user's own database."""
    folder = os.path.dirname(at_hand.replica_of(store.where, 0))
    return os.path.join(folder, f"{sha256(url.encode()).hexdigest()[:16]}.password")


def read_playbook(project: Project) -> Playbook:
    """The project's playbook as it is now; the empty one where there is none."""
    with project.store.read(project.key) as book:
        return book.playbook()


def is_known(project: Project) -> bool:
    """Whether the database has a playbook for *project*, be it empty."""
    with project.store.read(project.key) as book:
        return bool(book.playbook_id)


def list_projects(store: Store) -> list[ListedProject]:
    """All projects that have a playbook, by their folders; not those that have moved away and left an empty one."""
    with store.snapshot() as connection:
        listed = repository.list_projects(connection)
    return [project for project in listed if project.revisions or projects.has_folder(project.key)]


def read_users(store: Store) -> ListedProject:
    """The user's own playbook in *store*, his own database, as a project is listed."""
    own = Project.of_user(store)
    with store.read(own.key) as book:
        stored = book.stored()
        return ListedProject(own.key, stored.live_points, book.revision, book.last_time, stored.mirror, False)


def is_ignored(project: Project) -> bool:
    """Whether the hooks and the worker are kept out of *project*."""
    with project.store.read(project.key) as book:
        return book.is_ignored()


@tried_again
def ignore(project: Project, *, is_ignored: bool) -> None:
    """Keep the hooks and the worker out of *project* from now on, or let them in again; nothing is forgotten."""
    with project.store.write(project.key) as book:
        book.set_ignored(is_ignored)


@tried_again
def move(store: Store, old_folder: str, new_folder: str) -> str:
    """Give the playbook of *old_folder* to *new_folder*, where the project is now; the key it has there.

    What sessions have left for the new folder meanwhile goes with it. A mirror that stands there and isn't the one that
    was in step in the old folder isn't taken in unasked. Raises ProjectError where there is no playbook to move, or the
    new folder has one with a history of its own.
    """
    from playbook_db.services import mirror

    if not os.path.isdir(new_folder):
        raise ProjectError(f"There is no folder {new_folder}. Move the folder first, then its playbook.")
    old_key, new_key = projects.project_key(old_folder), projects.project_key(new_folder)
    there = {mirror.digest_in(folder) for folder in (new_folder, new_key)} - {None}
    with store.transaction() as connection:
        old, new = (repository.PlaybookRepository(connection, key) for key in (old_key, new_key))
        if not old.playbook_id:
            raise ProjectError(
                f"There is no playbook of {old_key}.", Remedy("See which there are with: {}", ("project", "list"))
            )
        if old_key == new_key:
            raise ProjectError(f"{old_folder} and {new_folder} are one project already.")
        if new.revision:
            raise ProjectError(
                f"{new_key} has a playbook of its own, at revision {new.revision}; both were left as they are.",
                Remedy(
                    "To join them: {} | {}", ("--project", old_key, "export"), ("--project", new_key, "import", "-")
                ),
            )
        if memberships.of_project(connection, new_key):  # what it brought into the team's was nothing
            raise ProjectError(
                f"{new_key} has joined a team, without what {old_key} holds; both were left as they are.",
                Remedy(
                    "Leave it, and join again after moving: {}", ("--project", new_key, "team", "leave", "--no-copy")
                ),
            )
        if new.playbook_id:
            old.take_over(new)
        old.rename(new_key)
        known = old.mirror(projects.mirror_path(new_key))
        if there - {known and known.sha256} and old.mirror_state() != "off":
            old.set_mirror_state("undecided")
    return new_key


__all__ = [
    "ListedProject", "Notify", "Project", "Store", "ignore", "is_known", "list_projects", "move", "open_project",
    "open_store", "read_playbook",
]  # fmt: skip
