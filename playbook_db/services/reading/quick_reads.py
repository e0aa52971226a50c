"""Reading for commands: from the database file if that is enough, else from the open project (see `sources`)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from playbook_db import projects
from playbook_db.domain import prompt_text
from playbook_db.errors import ProjectError, Remedy
from playbook_db.services import templates
from playbook_db.services.reading import sources
from playbook_db.services.reading.sources import MARKED_POINTS, POINTS, ReadSource
from playbook_db.store import at_hand, hook_sql, quick_sql
from playbook_db.store.hook_sql import Book

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.domain.proposals import ReviewItem
    from playbook_db.services.project import Project
    from playbook_db.store.hook_sql import StoredPoint
    from playbook_db.store.playbook.log_queries import EventUse, Life, RevisionDetails
    from playbook_db.store.revision_log import LoggedRevision
    from playbook_db.store.upkeep.backup_list import Backup

    Hits = tuple[Sequence[Sequence[tuple[StoredPoint, float]]], Mapping[str, quick_sql.StoredMarks]]
    Listing = tuple[Sequence[StoredPoint], Mapping[str, quick_sql.StoredMarks]]

_MOST_REVISIONS = 100  # in a log that is read at once


def listing(source: ReadSource) -> "Listing":
    """Return the live points in the playbook's order, and their marks (such as `pinned`) by name."""
    return sources.read(source, list_in, reads=MARKED_POINTS)


def list_in(book: "quick_sql.Reader") -> "Listing":
    """Return the live points of *book* and their marks, in the form that `listing` returns."""
    return quick_sql.live_points(book), quick_sql.marks(book)


def search(source: ReadSource, questions: Sequence[str], notify: "Callable[[str], object]") -> "Hits":
    """Return the live points that match each of *questions*, with scores, best first. Also return the points' marks by
    name. Call *notify* if the full-text index can't be used."""

    def in_full(project: "Project") -> "Hits":
        from playbook_db.services.reading import listing

        searched, marks = listing.search(project, *questions)
        if any(each.is_damaged for each in searched):
            notify(str(listing.DAMAGED))
        return [each.points for each in searched], marks

    return sources.read(source, lambda book: search_in(book, *questions), in_full, reads=MARKED_POINTS)


def search_in(book: Book, *questions: str) -> "Hits":
    """Search the database file, and return the same as `search`. Raises LookupError if there is no index."""
    answers = [hook_sql.search(book.execute, book.playbook_id, book.project.live_points, each) for each in questions]
    return answers, quick_sql.marks_of(book, answers)


def retired_points(source: ReadSource) -> "Sequence[tuple[StoredPoint, quick_sql.Retirement]]":
    """Return the retired points, most recent first."""
    return sources.read(source, quick_sql.retired_points, reads=POINTS)


def find(source: ReadSource, name: str) -> "quick_sql.PointRecord | RevisionDetails":
    """Return the point *name*, live or retired. If there is none and *name* is a number, return that revision. Raises
    PointNotFoundError or RevisionNotFoundError."""

    def query(book: "quick_sql.Reader") -> "quick_sql.PointRecord | RevisionDetails":
        if point := quick_sql.find_point(book, name):
            return point
        if revision_number(name) is not None:
            from playbook_db.store.playbook import log_queries

            return log_queries.read_revision(book, name)
        raise quick_sql.no_such_point(book, name)

    from playbook_db.domain.times import revision_number  # late: few commands come here

    is_point = revision_number(name) is None
    reads = sources.Reads(points=True, beside=((quick_sql.EVIDENCE, {"name": name}),)) if is_point else None
    return sources.read(source, query, reads=reads)


def life(source: ReadSource, name: str) -> "tuple[Life, quick_sql.PointLifespan, tuple[EventUse, ...]]":
    """Return the history of the point *name*, live or retired, and its uses by the event at which it was shown. Raises
    PointNotFoundError."""

    def query(book: "quick_sql.Reader") -> "tuple[Life, quick_sql.PointLifespan, tuple[EventUse, ...]]":
        if span := quick_sql.lifespan(book, name):
            from playbook_db.store.playbook import log_queries

            if life := log_queries.life(book, name):
                return life, span, log_queries.use_by_event(book, name)
        raise quick_sql.no_such_point(book, name)

    return sources.read(source, query, sync=False)


def point_and_life(source: ReadSource, name: str) -> "tuple[PromptPoint, int | None, Life]":
    """Return the point *name*, live or retired, the revision that retired it, and its history. A team's replica has no
    history. Raises PointNotFoundError."""
    from playbook_db.store.playbook import log_queries

    def query(book: Book) -> "tuple[PromptPoint, int | None, Life] | None":
        record, life = quick_sql.find_point(book, name), log_queries.life(book, name)
        if record is None or life is None:
            return None
        return record.point, record.retirement and record.retirement.revision, life

    known = sources.from_file(source.url, source.folder, query)
    if known is not None:
        return known
    from playbook_db.services.reading import history

    with source.opened(reads=history.reads_in_full(name)) as project:
        full = history.point_in_full(project, name)
    retired = full.details.retired
    return full.details.point, retired and retired.revision, full.life or log_queries.Life((), ())


def require_points(url: str, folder: str | None, names: "Iterable[str]") -> None:
    """Raise PointNotFoundError if the database file shows that one of *names* is no point, live or retired."""

    def query(book: Book) -> None:
        is_new = folder is not None and not book.playbook_id  # then the folder may be the mistake
        for name in () if is_new else names:
            if quick_sql.point_id(book, name) is None:
                raise quick_sql.no_such_point(book, name)

    sources.from_file(url, folder, query)


def prompt(source: ReadSource) -> str:
    """Return the text for a session. It has as many of the best points of the project's and the user's playbook as fit.
    Return `""` if both playbooks are empty. Raises TemplateError."""

    def quick(book: Book) -> str:
        books = _with_users(book, source)
        if not any(each.project.live_points for each in books):
            return ""
        ranked = [
            hook_sql.ranked_points(each.execute, each.project, is_users=source.folder is None or each is not book)
            for each in books
        ]
        return prompt_text.compose(templates.playbook_template(), ranked)[0]

    def in_full(project: "Project") -> str:
        from playbook_db.services.playbook import import_export

        return import_export.prompt(project)

    return sources.read(source, quick, in_full, reads=POINTS)


def _with_users(book: Book, source: ReadSource) -> list[Book]:
    """Return *book*, and also the user's personal playbook if *book* is a project's."""
    users = source.folder and hook_sql.find_project(book.connection, projects.USER_KEY)
    return [book, Book(book.connection, users)] if users else [book]


def jobs(source: ReadSource, *, of_all: bool) -> "list[quick_sql.Job]":
    """Return the jobs of the project, or of all projects, oldest first."""
    return sources.read(
        source, lambda book: quick_sql.jobs(book.execute, None if of_all else book.playbook_id), sync=False, is_own=True
    )


def sessions(source: ReadSource) -> "list[quick_sql.SessionSummary]":
    """Return the sessions that were learned from, newest first."""
    return sources.read(source, quick_sql.sessions, sync=False)


def proposals(source: ReadSource) -> "list[ReviewItem]":
    """Return the proposals that wait for a person. Those for the project's playbook come first, then those for the
    user's."""

    def quick(book: Book) -> "list[ReviewItem]":
        return [
            item
            for each in _with_users(book, source)
            for item in quick_sql.waiting(each, is_users=source.folder is None or each is not book)
        ]

    def in_full(project: "Project") -> "list[ReviewItem]":
        from playbook_db.services.playbook import review

        return review.all_waiting(project)

    return sources.read(source, quick, in_full)


def log(
    source: ReadSource, options: Mapping[str, Any], show: "Callable[[Iterator[LoggedRevision]], object]", *, most: int
) -> None:
    """Pass the revisions that match *options* to *show*. *options* has the fields of `history.LogQuery`. A revision has
    at most *most* changes. The file is enough for few revisions, if `since`, `until` and `session` aren't set."""

    def quick(book: Book) -> "Sequence[LoggedRevision] | None":
        from playbook_db.store.revision_log import LogFilter, read_log

        name, limit = options["name"], options["limit"] or _MOST_REVISIONS + 1
        point_id = None if name is None else quick_sql.point_id(book, name)
        if (name is not None and point_id is None) or any(options[each] for each in ("since", "until", "session")):
            return None
        log_filter = LogFilter(1, book.project.revision, None, options["source"], options["by"], point_id)
        revisions = read_log(book, log_filter, limit=min(limit, _MOST_REVISIONS + 1), most_changes=most)
        return revisions if len(revisions) <= _MOST_REVISIONS else None

    revisions = sources.from_file(source.url, source.folder, quick)
    if revisions is not None:
        show(iter(revisions))
        return
    from playbook_db.services.reading import history

    with source.opened() as project:
        history.require_history(project)
        show(history.log(project, history.LogQuery(**options), most_changes=most))


def list_projects(url: str) -> "list[quick_sql.ListedProject]":
    """Return all projects with a playbook, by key."""
    listed = sources.from_file(url, None, lambda book: quick_sql.projects(book.execute))
    if listed is not None:
        return listed
    from playbook_db.services import project

    with project.open_store(url) as store:
        return project.list_projects(store)


def location(url: str) -> str:
    """Return the path of the database file. For a database on a server, return *url* without its password."""
    path = at_hand.file_of(url)
    if path is None:
        from playbook_db.store import urls

        return urls.described(url)
    return path


def backups(url: str) -> "list[tuple[Backup, int | None]]":
    """Return the backups of the database at *url*, newest first, with the numbers of their schemas (None if
    unreadable). Raises DatabaseError if the database is on a server."""
    path = at_hand.file_of(url)
    if path is None or at_hand.no_regular_file(path):
        from playbook_db.store.upkeep import database_file

        path = database_file.path_of(url)  # explains what is wrong
    from playbook_db.store.upkeep import backup_list

    return backup_list.with_schemas(path)


def require_heeded(url: str, folder: str) -> None:
    """Raise ProjectError if the database file shows that the project in *folder* is ignored."""

    def query(book: Book) -> None:
        key = hook_sql.key_of(book.execute, folder)
        if hook_sql.is_ignored(book.execute, key):
            raise ignored(key)

    sources.from_file(url, None, query)


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

    return sources.from_file(url, folder, query, sync=False)


def known_times(url: str, folder: str | None, times: "Collection[str]") -> "dict[str, tuple[int, bool]] | None":
    """Look up revisions by the *times* in playbook files, as `quick_sql.known_times` does. Return None if the database
    file is not enough."""
    return sources.from_file(url, folder, lambda book: quick_sql.known_times(book, times), sync=False)


def last_lesson(url: str, folder: str | None) -> tuple[str, str, str] | None:
    """Return the name, the text and the time of the newest live point that was learned. Return None if there is none,
    or if the database file is not enough."""

    def query(book: "quick_sql.Reader") -> tuple[str, str, str] | None:
        return next(iter(quick_sql.rows(book, quick_sql.LAST_LESSON)), None)

    return sources.from_file(url, folder, query, sync=False, of_replica=True)
