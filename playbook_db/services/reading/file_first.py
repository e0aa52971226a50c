"""Reading a playbook directly from the database file, without SQLAlchemy, or else from the open project.

The file alone is not enough if the database is on a server, damaged or at another schema. It isn't either if the mirror
must be merged first, or if the playbook is a team's. Then the project has to be opened.
"""

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from playbook_db import projects, settings
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries, list_queries
from playbook_db.store.queries.hook_queries import Book

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from playbook_db.services.project import Project
    from playbook_db.store.queries.hook_queries import Execute, Reader

T = TypeVar("T")
_WAIT_S = 0.05  # for a locked file; the open project waits longer


class ReadSource(NamedTuple):
    """The database at `url` and the project in `folder`; without a folder, the user's personal playbook. `opened` opens
    the project, with the options of `open_project`."""

    url: str
    folder: str | None
    opened: "Callable[..., AbstractContextManager[Project]]"


def read(
    source: ReadSource,
    query: "Callable[[Any], T]",
    *,
    sync: bool = True,
    is_own: bool = False,
    or_replica: bool = False,
) -> T:
    """Run *query* on the database file. If the file is not enough, open the project, and run *query* there. Return the
    result.

    With *sync* the mirror must be up to date. With *is_own* the project's own playbook is read, not its team's. With
    *or_replica* a team's playbook may come from the replica if the server can't be reached. Raises the errors of
    `open_project`.
    """
    answer = from_file(source.url, source.folder, query, sync=sync, is_own=is_own)
    if answer is None:
        with (
            source.opened(sync=sync, is_own=is_own, only_reads=or_replica) as project,
            project.store.read(project.key) as book,
        ):
            return query(book)
    return answer


def read_both(source: ReadSource, query: "Callable[[Sequence[Reader]], T]", *, or_replica: bool = False) -> T:
    """Run *query* as `read` does, on the project's playbook and the user's own."""

    def on_file(book: Book) -> T:
        users = source.folder and hook_queries.find_project(book.execute, projects.USER_KEY)
        return query([book, Book(book.connection, users)] if users else [book])

    answer = from_file(source.url, source.folder, on_file)
    if answer is None:
        with source.opened(only_reads=or_replica) as project, project.reading() as books:
            return query(books)
    return answer


def from_file(
    url: str,
    folder: str | None,
    query: "Callable[[Book], T | None]",
    *,
    sync: bool = True,
    is_own: bool = False,
    of_replica: bool = False,
) -> "T | None":
    """Run *query* on the database file, in one read transaction. Return None if the file is not enough. `read`
    explains the options. A team's playbook is read only with *of_replica*, from the replica. A missing playbook counts
    as empty."""
    path = settings.sqlite_file(url)
    if path is None or not os.path.exists(path):
        return None
    # Whoever opens the project explains these errors, or repairs the cause.
    unreadable = sqlite_open.UnusableError, sqlite_open.driver().Error, UnicodeDecodeError, OSError, LookupError
    with suppress(*unreadable), closing(sqlite_open.connect(path, wait_s=_WAIT_S)) as connection:
        connection.execute("BEGIN")
        key = projects.USER_KEY if folder is None else hook_queries.key_of(connection.execute, folder)
        project = hook_queries.find_project(connection.execute, key)
        if project is not None and project.team_name is not None and not is_own:
            if not of_replica:
                return None
            with closing(sqlite_open.open_replica(sqlite_open.replica_of(path, project.id))) as replica:
                shared = hook_queries.find_project(replica.execute, project.team_name)
                return query(Book(replica, shared or list_queries.NO_PLAYBOOK))
        book = Book(connection, project or list_queries.NO_PLAYBOOK)
        return query(book) if not sync or folder is None or _is_mirror_current(book, folder) else None
    return None


def read_database(url: str, query: "Callable[[Execute], T]") -> T:
    """Run *query* on the database at *url*, which isn't about one playbook."""
    answer = from_file(url, None, lambda book: query(book.execute))
    if answer is None:
        from playbook_db.services import project  # late: it brings SQLAlchemy

        with project.open_store(url) as store, store.snapshot() as connection:
            return query(project.runner_of(connection))
    return answer


def place_of(url: str, folder: str) -> str:
    """Return the folder of the project to which *folder* belongs. The database at *url* may be missing or unusable."""
    path, place = settings.sqlite_file(url), projects.project_of(folder)
    is_root = place == os.path.realpath(folder) and os.path.lexists(os.path.join(place, ".git"))
    if is_root or (path and not os.path.exists(path)):
        return place
    from playbook_db.errors import PlaybookError

    with suppress(PlaybookError):
        return read_database(url, lambda execute: hook_queries.place_of(execute, folder)[0])
    return place


def _is_mirror_current(book: Book, folder: str) -> bool:
    """Return whether the mirror in *folder* needs no sync, because it has the last revision or doesn't exist."""
    path, state = projects.mirror_path(folder), book.project.mirror
    if state == "off":
        return True
    if not os.path.lexists(path):
        return state != "on" or projects.git_dir(folder) is not None  # git may have removed it
    if state == "undecided" or os.path.realpath(path) != projects.mirror_path(os.path.realpath(folder)):
        return False  # the services ask the person, or follow the link
    if projects.operation_under_way(folder):
        return False  # they say how to merge it
    status = os.stat(path)
    known = hook_queries.mirror_file(book, projects.as_text(path))
    return known == (status.st_size, status.st_mtime_ns, book.project.revision)
