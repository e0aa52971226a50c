"""Joining a team: choosing the project's name there, and merging its own playbook into the team's.

The merge is an import. Nothing is merged twice, no point that the team has retired or reworded returns, and nothing is
removed from the team's playbook.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass

from playbook_db import files, projects, settings
from playbook_db.errors import NoPasswordError, ProjectError, Remedy, ServerAwayError, ServerError, SettingError
from playbook_db.services.playbook import forget, import_export
from playbook_db.services.project import Project, find_membership, password_file, with_kept_password
from playbook_db.services.sharing import git, team
from playbook_db.store import urls
from playbook_db.store.connect import dialect_for
from playbook_db.store.engine import Store, open_store, retry_on_conflict
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionResult
from playbook_db.store.queries import hook_queries
from playbook_db.store.team import memberships
from playbook_db.store.team.memberships import Membership

MAX_NAME_CHARS = 200
_URL = re.compile(r"[a-z][a-z0-9+.-]*://+(?:[^/]*@)?(?P<host>[^/:@]+)(?::\d*)?/+(?P<path>.+)", re.IGNORECASE)
_SCP = re.compile(r"(?:[^/]*@)?(?P<host>[^/:@]{2,}):(?![:/]/|:)/*(?P<path>.+)")


def default_name(folder: str) -> str:
    """Return the default name of the project in its team. It is the git remote of *folder* without scheme, user and
    `.git`, then the path from the repository to the folder. Raises ProjectError if no name is the same for
    all members."""
    name = name_of_remote(git.remote_url(folder))
    if name is None:
        raise ProjectError(
            f"The project in {folder} has no name that is the same for all members: it has no git remote called "
            "origin, or that is a path. Choose a name with --as NAME. All members must use the same name."
        )
    inside = os.path.relpath(projects.as_path(projects.project_key(folder)), projects.repository(folder))
    return name if inside == "." else f"{name}/{inside}"


def name_of_remote(url: str) -> str | None:
    """Return the *url* of a git remote without scheme, user, port and `.git`. Return None if the remote is a path."""
    match = _URL.fullmatch(url) or ("://" not in url and _SCP.fullmatch(url))
    if not match or url.lower().startswith("file:"):
        return None
    path = match["path"].rstrip("/").removesuffix(".git").rstrip("/")
    return f"{match['host'].lower()}/{path}" if path else None


def check_name(name: str) -> str:
    """Return *name*. Raises ProjectError if a project in a team's database can't have this name, for example because it
    is a path."""
    is_path = name.startswith(("/", "~", ".", "\\")) or re.match(r"[A-Za-z]:[\\/]|file:", name)
    is_known_otherwise = name_of_remote(name) is not None or projects.is_users(name)  # a URL may have a password
    is_plain = name == name.strip() and name.isprintable() and 0 < len(name) <= MAX_NAME_CHARS
    if is_path or is_known_otherwise or not is_plain:
        raise ProjectError(
            f"This can't be a project's name for a team. A name has at most {MAX_NAME_CHARS} printable characters, and "
            "is no path, no URL, and not `user`. Choose a name such as github.com/org/repo with --as."
        )
    return name


@dataclass(frozen=True, slots=True)
class Invitation:
    """A preview of joining the team's playbook `name` in the database `where`. That playbook has `points`, or would be
    new.

    `brings` is the merge of the project's own playbook, None if that has nothing new. `made_tables` is True if the
    database was empty, and its tables were just created. `mirror` is the file that was synced until now. `proposals`
    wait in the project's own playbook, and stay there.
    """

    where: str
    name: str
    is_new: bool
    points: int
    brings: RevisionResult | None
    made_tables: bool
    mirror: str | None
    proposals: int = 0


@dataclass(frozen=True, slots=True)
class Joining:
    """A project that is about to join a team. The team's database at `url` is open as `server`. `known` is the
    project's membership if it has joined already."""

    own: Project
    server: Store
    url: str
    name: str
    known: Membership | None
    made_tables: bool

    def preview(self) -> Invitation:
        """Return a preview of `finish`. Nothing is written."""
        with self.server.read(self.name) as book:
            is_new, points = not book.playbook_id, len(book.playbook().points)
        with self.own.store.read(self.own.key) as own:
            is_kept = own.project.mirror in ("on", "found") and self.known is None
            proposals, _ = hook_queries.proposals_waiting(own)
        path = self.own.mirror_path if is_kept and os.path.exists(self.own.mirror_path or "") else None
        return Invitation(
            self.server.where, self.name, is_new, points, self._merge(dry_run=True), self.made_tables, path, proposals
        )

    def finish(self) -> RevisionResult | None:
        """Join the team: merge the project's own playbook into the team's, and use the team's from now on. Return the
        result of the merge. If the process is killed, run it again: nothing is merged twice."""
        brought = self._merge()
        plain, password = urls.without_password(self.url)
        if password is not None:
            _keep_password(password_file(self.own.store, plain), password)
        with self.own.store.write(self.own.key) as book:
            memberships.join(book, plain, self.name)
        with suppress(ServerAwayError):  # the project has joined; the worker fetches the replica
            forget.follow_team(self.own.store, team.require(self.own), self.server)
        return brought

    @retry_on_conflict
    def _merge(self, *, dry_run: bool = False) -> RevisionResult | None:
        with self.own.store.read(self.own.key) as own:
            if not dry_run:
                with self.server.write(self.name) as book:
                    memberships.copy_cursors(own, book)
            if self.known is not None:
                return None
            return merge_own(own, Project(self.server, self.name), dry_run=dry_run)


@contextmanager
def joining(
    own: Project, url: str, name: str | None = None, *, ask: Callable[[str], str] | None = None
) -> Iterator[Joining]:
    """Prepare the local project *own* to join the team whose database is at *url*. The project's *name* defaults to
    that of its git remote. If the server wants a password, *ask* is called with a description of the database. Raises
    ProjectError if the project can't join, DatabaseError if the database can't be used."""
    if own.store.is_shared:
        raise ProjectError(
            f"Your own database, {own.store.where}, is on a server, which hooks can't read. Keep your own playbooks in "
            "a file: name it with --db or PLAYBOOK_DB_URL, or set neither. Then join the team."
        )
    with closing(dialect_for(settings.database_url(url))) as dialect:
        if not dialect.is_shared:
            raise SettingError(
                f"{dialect.where} is a file on this machine. A team's database is on a server: give a URL that begins "
                "with postgresql://."
            )
    known = find_membership(own)
    name = check_name(name or (known.name if known else default_name(own.folder or own.key)))
    plain, password = urls.without_password(url)
    if known is not None and not (urls.is_same_database(known.url, plain) and known.name == name):
        raise ProjectError(
            f"{own.key} has joined a team already, as {known.name} in {urls.described(known.url)}.",
            Remedy("Leave that team first: {}", ("team", "leave")),
        )
    url = with_kept_password(own.store, plain) if password is None else url
    try:
        server, is_new = open_server(url)
    except NoPasswordError:
        if ask is None:
            raise
        url = urls.with_password(url, ask(urls.described(url)))
        server, is_new = open_server(url)
    with server:
        yield Joining(own, server, url, name, known, is_new)


def open_server(url: str) -> tuple[Store, bool]:
    """Open the team's database at *url*. Return the database, and whether it was empty. Raises DatabaseError."""
    with closing(dialect_for(url)) as dialect:
        is_new = not dialect.schema_version()
    try:
        return open_store(url), is_new
    except ServerError as error:
        if isinstance(error, ServerAwayError) or not is_new:
            raise
        raise ProjectError(
            f"{urls.described(url)} has no tables yet, and the URL's user may not create the tables. Ask the owner of "
            "the database to run: playbook --db URL db upgrade"
        ) from error


def merge_own(own: PlaybookRepository, team: Project, *, dry_run: bool = False) -> RevisionResult | None:
    """Import the project's *own* playbook into the team's. Return None if the team has all of it."""
    if not own.revision:
        return None
    reading = import_export.reading_of(own)
    result = import_export.import_playbook(team, reading, source="a member's own playbook", dry_run=dry_run)
    return result if result.revision or result.changes else None


def _keep_password(path: str, password: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(path)  # its mode may be another by now
    files.replace_file(path, password.encode(), mode=0o600)
