"""Reading for commands: from the database file if that is enough, else from the open project (see `file_first`)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from playbook_db.errors import ProjectError, Remedy
from playbook_db.services import session_text
from playbook_db.services.reading import file_first
from playbook_db.services.reading.file_first import ReadSource
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries, list_queries
from playbook_db.store.queries.hook_queries import Book

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from playbook_db.domain.proposals import ReviewItem
    from playbook_db.store.queries.hook_queries import Reader, Searched, SearchReader, StoredPoint
    from playbook_db.store.queries.log_queries import EventUse, Life, RevisionDetails
    from playbook_db.store.queries.revision_log import LoggedRevision
    from playbook_db.store.upkeep.backup_list import Backup

    Hits = tuple[Sequence[Sequence[tuple[StoredPoint, float]]], Mapping[str, list_queries.StoredMarks]]
    Listing = tuple[Sequence[StoredPoint], Mapping[str, list_queries.StoredMarks]]

_MOST_REVISIONS = 100  # in a log that is read at once


def listing(source: ReadSource) -> "Listing":
    """Return the live points in the playbook's order, and their marks (such as `pinned`) by name."""
    return file_first.read(source, list_in, or_replica=True)


def list_in(book: "Reader") -> "Listing":
    """Return the live points of *book* and their marks, in the form that `listing` returns."""
    return list_queries.live_points(book), list_queries.marks(book)


def search(source: ReadSource, questions: Sequence[str], notify: "Callable[[str], object]") -> "Hits":
    """Return the live points that match each of *questions*, with scores, best first. Also return the points' marks by
    name. Call *notify* if the full-text index can't be used."""
    answers, marks = file_first.read(source, lambda book: search_in(book, *questions), or_replica=True)
    if any(each.is_damaged for each in answers):
        from playbook_db.services.reading import listing

        notify(str(listing.DAMAGED))
    return [each.points for each in answers], marks


def search_in(book: "SearchReader", *questions: str) -> "tuple[list[Searched], Mapping[str, list_queries.StoredMarks]]":
    """Return the points of *book* that match each of *questions*, and their marks by name."""
    answers = [book.search(each) for each in questions]
    return answers, list_queries.marks_of(book, [each.points for each in answers])


def retired_points(source: ReadSource) -> "Sequence[tuple[StoredPoint, list_queries.Retirement]]":
    """Return the retired points, most recent first."""
    return file_first.read(source, list_queries.retired_points, or_replica=True)


def find(source: ReadSource, name: str) -> "list_queries.PointRecord | RevisionDetails":
    """Return the point *name*, live or retired. If there is none and *name* is a number, return that revision. Raises
    NotFoundError."""

    def query(book: "Reader") -> "list_queries.PointRecord | RevisionDetails":
        if revision_number(name) is None:
            return list_queries.require_point(book, name)
        from playbook_db.store.queries import log_queries

        return list_queries.find_point(book, name) or log_queries.read_revision(book, name)

    from playbook_db.domain.times import revision_number  # late: few commands come here

    return file_first.read(source, query, or_replica=revision_number(name) is None)


def life(source: ReadSource, name: str) -> "tuple[list_queries.PointRecord, Life, tuple[EventUse, ...]]":
    """Return the point *name*, live or retired, its history, and its uses by the event at which it was shown. Raises
    NotFoundError."""

    def query(book: "Reader") -> "tuple[list_queries.PointRecord, Life, tuple[EventUse, ...]]":
        record = list_queries.require_point(book, name)
        from playbook_db.store.queries import log_queries

        return record, log_queries.life(book, record.point.id), log_queries.use_by_event(book, name)

    return file_first.read(source, query, sync=False)


def require_points(url: str, folder: str | None, names: "Iterable[str]") -> None:
    """Raise NotFoundError if the database file shows that one of *names* is no point, live or retired."""

    def query(book: Book) -> None:
        is_new = folder is not None and not book.playbook_id  # then the folder may be the mistake
        for name in () if is_new else names:
            if list_queries.point_id(book, name) is None:
                raise list_queries.no_such_point(book, name)

    file_first.from_file(url, folder, query)


def prompt(source: ReadSource) -> str:
    """Return the text for a session, as `session_text.compose` explains it."""
    return file_first.read_both(source, lambda books: session_text.compose(books, source.folder), or_replica=True)


def jobs(source: ReadSource, *, of_all: bool) -> "list[list_queries.Job]":
    """Return the jobs of the project, or of all projects, oldest first."""
    return file_first.read(
        source,
        lambda book: list_queries.jobs(book.execute, None if of_all else book.playbook_id),
        sync=False,
        is_own=True,
    )


def sessions(source: ReadSource) -> "list[list_queries.SessionSummary]":
    """Return the sessions that were learned from, newest first."""
    return file_first.read(source, list_queries.sessions, sync=False)


def proposals(source: ReadSource) -> "list[ReviewItem]":
    """Return the proposals that wait for a person. Those for the project's playbook come first, then those for the
    user's."""
    return file_first.read_both(source, lambda books: [item for book in books for item in list_queries.waiting(book)])


def log(
    source: ReadSource, options: Mapping[str, Any], show: "Callable[[Iterator[LoggedRevision]], object]", *, most: int
) -> None:
    """Pass the revisions that match *options* to *show*. *options* has the fields of `history.LogQuery`. A revision has
    at most *most* changes. The file is enough for few revisions, if `since`, `until` and `session` aren't set."""

    def quick(book: Book) -> "Sequence[LoggedRevision] | None":
        from playbook_db.store.queries.revision_log import LogFilter, read_log

        name, limit = options["name"], options["limit"] or _MOST_REVISIONS + 1
        point_id = None if name is None else list_queries.point_id(book, name)
        if (name is not None and point_id is None) or any(options[each] for each in ("since", "until", "session")):
            return None
        log_filter = LogFilter(1, book.project.revision, None, options["source"], options["by"], point_id)
        revisions = read_log(book, log_filter, limit=min(limit, _MOST_REVISIONS + 1), most_changes=most)
        return revisions if len(revisions) <= _MOST_REVISIONS else None

    revisions = file_first.from_file(source.url, source.folder, quick)
    if revisions is not None:
        show(iter(revisions))
        return
    from playbook_db.services.reading import history

    with source.opened() as project:
        history.require_history(project)
        show(history.log(project, history.LogQuery(**options), most_changes=most))


def list_projects(url: str) -> "list[list_queries.ListedProject]":
    """Return all projects with a playbook, by key."""
    return file_first.read_database(url, list_queries.projects)


def location(url: str) -> str:
    """Return the path of the database file. For a database on a server, return *url* without its password."""
    path = sqlite_open.file_of(url)
    if path is None:
        from playbook_db.store import urls

        return urls.described(url)
    return path


def backups(url: str) -> "list[tuple[Backup, int | None]]":
    """Return the backups of the database at *url*, newest first, with the numbers of their schemas (None if
    unreadable). Raises DatabaseError if the database is on a server."""
    path = sqlite_open.file_of(url)
    if path is None or sqlite_open.no_regular_file(path):
        from playbook_db.store.upkeep import database_file

        path = database_file.path_of(url)  # explains what is wrong
    from playbook_db.store.upkeep import backup_list

    return backup_list.with_schemas(path)


def require_heeded(url: str, folder: str) -> None:
    """Raise ProjectError if the database file shows that the project in *folder* is ignored."""

    def query(book: Book) -> None:
        key = hook_queries.key_of(book.execute, folder)
        if hook_queries.is_ignored(book.execute, key):
            raise ignored(key)

    file_first.from_file(url, None, query)


def ignored(key: str) -> ProjectError:
    """Return the error about the project *key*, which is ignored."""
    return ProjectError(
        f"{key} is ignored (playbook project ignore): these tools can't read or change it.",
        Remedy("To stop ignoring it, the user runs: {}", ("project", "ignore", "--off")),
    )


def moved_from(url: str, folder: str) -> str | None:
    """Return a sentence if the project in *folder*, which has no points, seems to be one that has moved."""
    from playbook_db.services.reading import status

    def query(book: Book) -> str:
        return "" if book.project.revision else status.moved_from(book.execute, folder)

    return file_first.from_file(url, folder, query, sync=False)


def known_times(url: str, folder: str | None, times: "Collection[str]") -> "dict[str, tuple[int, bool]] | None":
    """Look up revisions by the *times* in playbook files, as `list_queries.known_times` does. Return None if the
    database file is not enough."""
    return file_first.from_file(url, folder, lambda book: list_queries.known_times(book, times), sync=False)


def last_lesson(url: str, folder: str | None) -> tuple[str, str, str] | None:
    """Return the name, the text and the time of the newest live point that was learned. Return None if there is none,
    or if the database file is not enough."""

    def query(book: "Reader") -> tuple[str, str, str] | None:
        return next(iter(hook_queries.rows(book, list_queries.LAST_LESSON)), None)

    return file_first.from_file(url, folder, query, sync=False, of_replica=True)
