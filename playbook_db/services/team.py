"""A project whose playbook is a team's: joining, leaving, and keeping this machine in step with the team's database.

The team's database is asked by commands and by the worker, never by a hook: hooks read the replica, and leave what a
session was shown in the user's own database.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from filelock import FileLock, Timeout

from playbook_db import files, projects, settings
from playbook_db.domain import playbook_file
from playbook_db.domain.playbook_file import Reading
from playbook_db.errors import (
    PlaybookError,
    Remedy,
    ServerAwayError,
    SettingError,
    TeamError,
)
from playbook_db.services import forget, git, import_export, mirror
from playbook_db.services.projects import (
    Project,
    Servers,
    find_membership,
    password_file,
    read_playbook,
    server_url,
)
from playbook_db.store import connect, hook_queries, jobs, memberships, replica
from playbook_db.store.engine import Store, open_store, tried_again
from playbook_db.store.memberships import Member, Membership
from playbook_db.store.repository import PlaybookRepository, RevisionResult

MAX_NAME_CHARS = 200
_SENT_AT_ONCE = 200  # showings in one transaction
_OTHERS_WAIT_S = 1.0  # for another process that writes the same replica
_LEAST_CHARS = 16  # of a forgotten text that is looked for inside others


# Joining and leaving.


@dataclass(frozen=True, slots=True)
class Invitation:
    """What joining would do: the team's database in words, the project's name there, whether its playbook would be new,
    how many points that has, and what the project's own playbook would bring into it (None where it has nothing)."""

    where: str
    name: str
    is_new: bool
    points: int
    brings: RevisionResult | None


def default_name(folder: str) -> str:
    """The name of the project in *folder* for its team: its git remote without scheme, user and `.git`, and the way
    from the repository to the folder. Raises TeamError where there is none that all members have."""
    remote = git.remote_url(folder)
    name = name_of_remote(remote) if remote else None
    if name is None:
        why = "its git remote is a path, which is another on each machine" if remote else "it has no git remote"
        raise TeamError(
            f"The project in {folder} has no name that all members know it by: {why}. "
            "Name it, the same for all, with --as NAME."
        )
    inside = os.path.relpath(projects.as_path(projects.project_key(folder)), projects.repository(folder))
    return name if inside == "." else f"{name}/{inside}"


def name_of_remote(url: str) -> str | None:
    """The remote at *url* without scheme, user, port and `.git`; None where it is a path."""
    match = re.fullmatch(r"(?:[a-z+]+://)(?:[^/@]*@)?(?P<host>[^/:]+)(?::\d+)?/+(?P<path>.+)", url, re.IGNORECASE)
    match = match or re.fullmatch(r"(?:[^/@]+@)?(?P<host>[^/:@]{2,}):(?!//)/*(?P<path>.+)", url)
    if match is None or url.startswith("file:"):
        return None
    path = match["path"].rstrip("/").removesuffix(".git").rstrip("/")
    return f"{match['host'].lower()}/{path}" if path else None


def check_name(name: str) -> str:
    """*name* as a project's in a team's database. Raises TeamError where it can't be one; a path never is."""
    is_path = name.startswith(("/", "~", ".", "\\")) or re.match(r"[A-Za-z]:[\\/]", name)
    if not name.strip() or name != name.strip() or is_path or not name.isprintable() or len(name) > MAX_NAME_CHARS:
        raise TeamError(
            f"{name!r} can't be a project's name for a team: a path is another on each machine. Give one like "
            "github.com/org/repo with --as."
        )
    return name


@dataclass(frozen=True, slots=True)
class Joining:
    """A project about to join the team whose database is open as `server`."""

    own: Project
    server: Store
    url: str
    name: str

    def preview(self) -> Invitation:
        """What `finish` would do; nothing is written."""
        with self.server.read(self.name) as book:
            is_new, points = not book.playbook_id, len(book.playbook().points)
        reading = _reading(self.own)
        brings = None if reading is None else self._bring(reading, dry_run=True)
        return Invitation(self.server.where, self.name, is_new, points, brings)

    def finish(self) -> RevisionResult | None:
        """Join: bring in what the project's own playbook holds, and let the team's take its place; what was brought in.

        Killed in between, it can be said again: what is in the team's playbook already isn't brought in twice.
        """
        reading = _reading(self.own)
        brought = self._bring(reading) if reading is not None else None
        self._copy_cursors()
        plain, password = connect.without_password(self.url)
        self._note(plain)
        membership = require(self.own)
        path = password_file(self.own.store, membership)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if password is not None:
            escaped = password.replace("\\", "\\\\").replace(":", "\\:")
            files.replace_file(path, f"*:*:*:*:{escaped}\n".encode(), mode=0o600)
        else:
            with suppress(FileNotFoundError):
                os.unlink(path)
        refresh(self.own.store, membership, self.server)
        return brought

    @tried_again
    def _bring(self, reading: Reading, *, dry_run: bool = False) -> RevisionResult:
        with self.server.write(self.name, dry_run=dry_run) as book:
            return mirror.merge_in(book, reading, "took in a member's own playbook")

    @tried_again
    def _copy_cursors(self) -> None:
        with self.own.store.snapshot() as connection:
            cursors = memberships.cursors(PlaybookRepository(connection, self.own.key))
        with self.server.write(self.name) as book:
            memberships.take_in_cursors(book, cursors)

    @tried_again
    def _note(self, url: str) -> None:
        with self.own.store.write(self.own.key) as book:
            memberships.join(book, url, self.name)


@contextmanager
def joining(own: Project, url: str, name: str) -> Iterator[Joining]:
    """The project *own*, of this machine, about to join the team whose database is at *url*, as *name*.

    Raises TeamError where it can't, DatabaseError where the database can't be used.
    """
    check_name(name)
    if own.store.is_shared:
        raise TeamError(
            f"Your own database, {own.store.where}, is on a server, which hooks can't read. Take PLAYBOOK_DB_URL out, "
            "then join: your own playbooks stay in a file, this project's is the team's."
        )
    known = find_membership(own)
    plain, _ = connect.without_password(url)
    if known is not None and (known.url, known.name) != (plain, name):
        raise TeamError(
            f"{own.key} belongs to a team already: it is {known.name} in {connect.described(known.url)}.",
            Remedy("Leave that one first: {}", ("team", "leave")),
        )
    with open_store(url) as server:
        if not server.is_shared:
            raise SettingError(
                f"{server.where} is a file of this machine. A team's database is on a server: give a URL that begins "
                "with postgresql://."
            )
        yield Joining(own, server, url, name)


@dataclass(frozen=True, slots=True)
class LeaveResult:
    """What leaving did: the team's database in words, the project's name there, the revision that took the team's
    points along (None: nothing was), and since when they are where the database couldn't be asked."""

    where: str
    name: str
    copied: RevisionResult | None
    as_of: datetime | None = None


def leave(own: Project, *, takes_copy: bool = True) -> LeaveResult:
    """Let the project *own* have a playbook of its own again: with what the team's holds now, unless it *takes_copy*
    off. Raises TeamError where it has joined none."""
    membership = require(own)
    where = connect.described(membership.url)
    reading, as_of = _copy(own.store, membership) if takes_copy else (None, None)
    with suppress(PlaybookError), open_store(server_url(own.store, membership)) as server:
        _send(own.store, membership, server)
    copied = None
    if reading is not None:
        source = f"the team's playbook {membership.name}"
        copied = import_export.import_playbook(own, reading, source=source, replace=True)
    _end(own)
    for path in (
        hook_queries.replica_of(own.store.where, membership.playbook_id),
        password_file(own.store, membership),
    ):
        with suppress(FileNotFoundError):
            os.unlink(path)
    return LeaveResult(where, membership.name, copied, as_of)


def require(own: Project) -> Membership:
    """The membership of the project *own*. Raises TeamError where it has none."""
    membership = find_membership(own)
    if membership is None:
        raise TeamError(f"{own.key} has joined no team.", Remedy("Join one with: {}", ("team", "join", "URL")))
    return membership


def database_of(url: str, folder: str) -> tuple[str, str]:
    """The URL of the database that has the playbook of the project in *folder*, where *url* is the user's own, and its
    key there; a project that has joined no team costs a look at the file."""
    key = projects.project_key(folder)
    path = settings.sqlite_file(url)
    try:
        with closing(hook_queries.connect(path or "", wait_s=0)) as connection:
            project = hook_queries.find_project(connection, key)
    except (OSError, hook_queries.UnusableError, hook_queries.driver().Error):
        return url, key  # who opens it says what is wrong, or puts it right
    if project is None or project.team_name is None:
        return url, key
    with open_store(url) as store:
        membership = require(Project.in_folder(store, folder))
        return server_url(store, membership), membership.name


@tried_again
def _end(own: Project) -> None:
    with own.store.write(own.key) as book:
        memberships.leave(book)


def _copy(store: Store, membership: Membership) -> tuple[Reading, datetime | None]:
    """The team's playbook as a file would bring it in; from the replica, with its age, where the server is away."""
    path = hook_queries.replica_of(store.where, membership.playbook_id)
    try:
        with open_store(server_url(store, membership)) as server, server.read(membership.name) as book:
            return _reading_of(book), None
    except ServerAwayError:
        as_of = replica.known_at(path)
        if as_of is None:
            raise
        with replica.opened(path) as there, there.read(membership.name) as book:
            return _reading_of(book), as_of


def _reading(own: Project) -> Reading | None:
    """The project's own playbook as a file would bring it in; None where nothing was ever in it."""
    with own.store.read(own.key) as book:
        return _reading_of(book) if book.revision else None


def _reading_of(book: PlaybookRepository) -> Reading:
    text = playbook_file.encode(book.playbook(), extras=book.extras())
    return playbook_file.decode(text.encode("utf-8"), source="the playbook")


# Keeping in step, for the worker.


def serve(store: Store, servers: Servers, note: Callable[[str], object]) -> list[str]:
    """Bring this machine and the databases of all teams in step: the replicas become what is there now, and what
    sessions were shown goes there. The keys of the projects whose replica is new.

    A server that is away is asked again by the next worker; *note* is given what else is wrong.
    """
    with store.snapshot() as connection:
        known = memberships.read_all(connection)
    refreshed = []
    for membership in known:
        for step in (refresh, _send):  # who may only read can't do the second
            try:
                with servers.opened(store, membership) as server:
                    refreshed += [membership.key] * bool(step(store, membership, server))
            except ServerAwayError:
                break
            except (PlaybookError, OSError) as error:
                note(f"the team's playbook of {membership.key}: {error}")
    return refreshed


def refresh(store: Store, membership: Membership, server: Store) -> bool:
    """Write the replica of a team's playbook anew where that isn't what the *server* has; whether it was.

    What the team has forgotten since is forgotten in the project's own playbook too, which the team's was made of.
    """
    path = hook_queries.replica_of(store.where, membership.playbook_id)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:  # what is read first mustn't be written last
        with FileLock(f"{path}.lock", timeout=_OTHERS_WAIT_S, mode=0o600):
            return _refresh(store, membership, server, path)
    except Timeout:
        return False


def _refresh(store: Store, membership: Membership, server: Store, path: str) -> bool:
    with server.read(membership.name) as book:
        if book.playbook_id and replica.last_revision(path, membership.name) == (book.revision, book.last_time):
            os.utime(path)  # says when it was known to be current
            return False
        rows = replica.read(book)
    erased = replica.erased_since(path, membership.name, rows)
    for text in sorted(erased, key=erased.__getitem__, reverse=True):  # what went whole first: others only held it
        _forget_here(Project.in_folder(store, membership.key), text)
    replica.write(path, rows)
    return True


def _forget_here(own: Project, text: str) -> None:
    """Forget in the project's own playbook the *text* of a point that the team has forgotten, whatever it is called."""
    names = [point.name for point in read_playbook(own).points if point.text == text]
    if names:
        request = forget.Request(names[0])
    elif len(text) >= _LEAST_CHARS:
        request = forget.Request(pattern=re.compile(re.escape(text)))
    else:
        return
    forget.forget(own, request)


@tried_again
def _send(store: Store, membership: Membership, server: Store) -> None:
    """Tell the team's database what sessions were shown. Killed in between, it is told once more, and counts once."""
    while True:
        with store.snapshot() as connection:
            showings = memberships.unsent(connection, membership.playbook_id, most=_SENT_AT_ONCE)
        if not showings:
            return
        with server.write(membership.name) as book:
            memberships.take_in(book, showings)
        with store.transaction() as connection:
            memberships.drop_sent(connection, membership.playbook_id, showings)


# How it stands.


@dataclass(frozen=True, slots=True)
class TeamStatus:
    """How a project's membership stands: the database in words, the project's name there and since when; the replica's
    revision, points and when it was last known to be current (None: there is none); the jobs and showings that wait.

    Of the database: its schema, the playbook's last revision and its members; `problem` says why it couldn't be asked.
    """

    where: str
    name: str
    joined_at: str
    replica_revision: int | None
    replica_at: datetime | None
    queued: int
    failed: int
    unsent: int
    schema: int | None = None
    revision: int | None = None
    members: tuple[Member, ...] = ()
    problem: str | None = None


def read_status(own: Project) -> TeamStatus:
    """How the membership of the project *own* stands. Raises TeamError where it has joined no team."""
    membership = require(own)
    path = hook_queries.replica_of(own.store.where, membership.playbook_id)
    with own.store.snapshot() as connection:
        states = [job.state for job in jobs.read_all(connection, own.key)]
        unsent = memberships.count_unsent(connection, membership.playbook_id)
    status = TeamStatus(
        connect.described(membership.url),
        membership.name,
        membership.joined_at,
        (replica.last_revision(path, membership.name) or (None,))[0],
        replica.known_at(path),
        states.count("queued") + states.count("running"),
        states.count("failed"),
        unsent,
    )
    try:
        with open_store(server_url(own.store, membership)) as server, server.read(membership.name) as book:
            members = tuple(memberships.members(book))
            return replace(status, schema=hook_queries.SCHEMA, revision=book.revision, members=members)
    except PlaybookError as error:
        return replace(status, problem=str(error))
