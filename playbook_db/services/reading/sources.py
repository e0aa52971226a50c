"""Reading a playbook directly from the database file, without SQLAlchemy, or else from the open project.

The file alone is not enough if the database is on a server, damaged or at another schema. It isn't either if the mirror
must be merged first, or if the playbook is a team's. Then the project has to be opened.
"""

import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from playbook_db import projects, settings
from playbook_db.store import at_hand, hook_sql, quick_sql
from playbook_db.store.hook_sql import Book

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from playbook_db.services.project import Project
    from playbook_db.store.dialect import Question

T = TypeVar("T")
_WAIT_S = 0.05  # for a locked file; the open project waits longer


class Reads(NamedTuple):
    """The parts of a team's playbook that a command reads. If it reads only the `points`, a current replica is enough.
    The questions `beside` are always sent to the server."""

    points: bool = False
    beside: "tuple[Question, ...]" = ()


HISTORY = Reads(beside=((quick_sql.HEAD, {}), (quick_sql.STORED, {}), (hook_sql.PROPOSALS_WAITING, {})))
POINTS = Reads(points=True)
MARKED_POINTS = Reads(points=True, beside=((quick_sql.MARKS, {}),))


class ReadSource(NamedTuple):
    """The database at `url` and the project in `folder`; without a folder, the user's personal playbook. `opened` opens
    the project, with the options of `open_project`."""

    url: str
    folder: str | None
    opened: "Callable[..., AbstractContextManager[Project]]"


def read(
    source: ReadSource,
    query: "Callable[[Any], T]",
    in_full: "Callable[[Project], T] | None" = None,
    *,
    sync: bool = True,
    is_own: bool = False,
    reads: Reads | None = None,
) -> T:
    """Run *query* on the database file, and return the result. If the file is not enough, open the project, and call
    *in_full* or run *query* there.

    With *sync* the mirror must be up to date. With *is_own* the project's own playbook is read, not its team's. With
    *reads* a team's playbook may come from the replica. Raises the errors of `open_project`.
    """
    answer = from_file(source.url, source.folder, query, sync=sync, is_own=is_own)
    if answer is not None:
        return answer
    with source.opened(sync=sync, is_own=is_own, reads=reads) as project:
        if in_full is not None:
            return in_full(project)
        with project.store.read(project.key) as book:
            return query(book)


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
    unreadable = at_hand.UnusableError, at_hand.driver().Error, UnicodeDecodeError, OSError, LookupError
    with suppress(*unreadable), closing(at_hand.connect(path, wait_s=_WAIT_S)) as connection:
        connection.execute("BEGIN")
        key = projects.USER_KEY if folder is None else hook_sql.key_of(connection.execute, folder)
        project = hook_sql.find_project(connection, key)
        if project is not None and project.team_name is not None and not is_own:
            if not of_replica:
                return None
            with closing(at_hand.open_replica(at_hand.replica_of(path, project.id))) as replica:
                shared = hook_sql.find_project(replica, project.team_name)
                return query(Book(replica, shared or quick_sql.NO_PLAYBOOK))
        book = Book(connection, project or quick_sql.NO_PLAYBOOK)
        return query(book) if not sync or folder is None or _is_mirror_current(book, folder) else None
    return None


def place_of(url: str, folder: str) -> str:
    """Return the folder of the project to which *folder* belongs. The database at *url* may be missing or unusable."""
    path, place = settings.sqlite_file(url), projects.project_of(folder)
    is_root = place == os.path.realpath(folder) and os.path.lexists(os.path.join(place, ".git"))
    if is_root or (path and not os.path.exists(path)):
        return place
    answer = from_file(url, None, lambda book: hook_sql.place_of(book.execute, folder)[0])
    if answer is None:
        from playbook_db.errors import PlaybookError
        from playbook_db.services import project  # late: it brings SQLAlchemy

        with suppress(PlaybookError), project.open_store(url) as store:
            return project.place_of(store, folder)[0]
    return answer or place


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
    known = hook_sql.mirror_file(book.connection, book.playbook_id, projects.as_text(path))
    return known == (status.st_size, status.st_mtime_ns, book.project.revision)
