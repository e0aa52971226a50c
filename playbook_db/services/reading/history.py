"""Reading the history: revisions, earlier playbooks, the life of a point, and the sessions that were learned from."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from playbook_db.domain import times
from playbook_db.domain.merging import diff, merge
from playbook_db.domain.merging.diff import Comparison
from playbook_db.domain.playbook import MAX_COUNTER, Playbook
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.proposals import ReviewItem
from playbook_db.domain.times import local, timestamp
from playbook_db.errors import (
    ProjectError,
    not_a_moment,
    unknown_revision,
    unknown_session,
)
from playbook_db.services.playbook import review
from playbook_db.services.project import LastKnownProject, Project
from playbook_db.store.playbook import counts
from playbook_db.store.playbook.counts import Citation
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.queries import list_queries, log_queries
from playbook_db.store.queries.list_queries import PointRecord, SessionSummary
from playbook_db.store.queries.log_queries import EventUse, Life, RevisionDetails, read_revision
from playbook_db.store.queries.revision_log import EVERY_CHANGE, LogFilter, LoggedRevision, read_log

_BATCH = 100  # revisions read at once: few enough that the first lines come at once
_CITATIONS = 20  # of the last sessions that cited a point


@dataclass(frozen=True, slots=True)
class LogQuery:
    """The filter of a log. A field that is None doesn't filter. `session` is an id or the beginning of one. `by` is an
    actor, perhaps without the machine. `since` and `until` are revision numbers or times."""

    name: str | None = None
    session: str | None = None
    since: str | None = None
    until: str | None = None
    source: str | None = None
    by: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class FullPoint:
    """All that is known about a point. `uses` counts its uses by event. `citations` are the sessions that cited it.
    `life` is None if only a team's database has it, and that database can't be reached."""

    details: PointRecord
    life: Life | None = None
    uses: tuple[EventUse, ...] = ()
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """A session in full. `counts` has the numbers of its changes by kind, and of its votes by tag. `revisions` are one
    page of its revisions, and `count` is the number of all of them."""

    session: SessionSummary
    counts: Counter[str]
    revisions: tuple[RevisionDetails, ...]
    count: int


@dataclass(frozen=True, slots=True)
class SessionLessons:
    """The `details` of a session, and its proposals that are `waiting`."""

    details: SessionDetails
    waiting: tuple[ReviewItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedPlaybook:
    """A playbook and its source, which is a `revision` or a `file`. `time` is the revision's; revision 0, the empty
    playbook, has none."""

    reading: Reading
    revision: int = 0
    time: str | None = None
    file: str | None = None

    @property
    def title(self) -> str:
        """A short description of the source."""
        return self.file or f"revision {self.revision}" + (f" ({local(self.time)})" if self.time else "")

    @property
    def playbook(self) -> Playbook:
        """The playbook itself."""
        return self.reading.playbook


def require_history(project: Project) -> None:
    """Raise ProjectError if *project* is a team's replica, because only the team's database has the history."""
    if isinstance(project, LastKnownProject):
        raise ProjectError(
            "The team's database can't be reached, and only that database has the history and the proposals. "
            "Until it can be reached, you can read the points from this machine's copy."
        )


def find_revision(book: PlaybookRepository, text: str) -> int:
    """Return the number of the revision that *text* names. *text* is a number (`12`, `r12`) or a time.

    Number 0 is the empty playbook. A time means the last revision up to then, and a date the end of that day. Raises
    NotFoundError for an unknown number, ArgumentError if *text* is neither a number nor a time.
    """
    number = times.revision_number(text)
    if number is None:
        if text.strip().casefold() == "now":
            return book.revision  # whatever the clock says
        return book.revision_at(timestamp(_moment(book, text, end=True)))
    if number > book.revision:
        raise unknown_revision(text.strip(), book.revision)
    return number


def at(project: Project, when: str) -> SourcedPlaybook:
    """Return the playbook as it was at *when*, a revision or a time in the form that `find_revision` explains."""
    with project.store.read(project.key) as book:
        revision = find_revision(book, when)
        return SourcedPlaybook(reading=Reading(book.at(revision)), revision=revision, time=book.time_of(revision))


def log(project: Project, query: LogQuery, *, most_changes: int = EVERY_CHANGE) -> Iterator[LoggedRevision]:
    """Return the revisions that match *query*, newest first, each with at most *most_changes* changes.

    The iterator reads them in batches, each in its own transaction. NotFoundError
    and ArgumentError are raised before the first batch.
    """
    with project.store.read(project.key) as book:
        log_filter = _filter(book, query)
    return _read(project, log_filter, query.limit, most_changes)


def revision_page(project: Project, text: str, *, before: int, most: int) -> RevisionDetails:
    """Return the revision *text* with one page of its changes (see `read_revision`). Raises NotFoundError."""
    with project.store.read(project.key) as book:
        return read_revision(book, text, before=before, most=most)


def point_in_full(project: Project, name: str, *, last: int = MAX_COUNTER, limit: int = MAX_COUNTER) -> FullPoint:
    """Return all that is known about the point *name*, live or retired. Its life has only the newest *limit* revisions
    up to the revision *last*. Raises NotFoundError."""
    with project.store.read(project.key) as book:
        details = list_queries.require_point(book, name)
        if isinstance(project, LastKnownProject):
            return FullPoint(details)
        return FullPoint(
            details,
            log_queries.life(book, details.point.id, last=last, limit=limit),
            log_queries.use_by_event(book, name),
            counts.citations_of(book, name, most=_CITATIONS),
        )


def sessions(project: Project) -> list[SessionSummary]:
    """Return the sessions that were learned from, newest first."""
    with project.store.read(project.key) as book:
        return list_queries.sessions(book)


def session_page(
    project: Project, *, most: int, offset: int = 0
) -> tuple[list[tuple[SessionSummary, Counter[str]]], int]:
    """Return one page of the sessions that were learned from, newest first, each with its counts. The page has at most
    *most* sessions, from *offset* on. Also return the number of all sessions."""
    with project.store.read(project.key) as book:
        summaries = list_queries.sessions(book)
        on_page = summaries[offset : offset + most]
        taught = book.taught([each.session_id for each in on_page])
        return [(each, Counter(taught[each.session_id])) for each in on_page], len(summaries)


def session_details(project: Project, session: str, *, most: int, offset: int = 0) -> SessionDetails:
    """Return the session with the id *session*. Include at most *most* of its revisions, newest first, from *offset*
    on. Raises NotFoundError."""
    with project.store.read(project.key) as book:
        summary = book.session(session)
        if summary is None:
            raise unknown_session(session, ())
        counts = Counter(book.taught([session])[session])
        numbers = log_queries.revisions_of_session(book, session)
    some = numbers[offset : offset + most]
    revisions = tuple(revision_page(project, f"{number}", before=0, most=EVERY_CHANGE) for number in some)
    return SessionDetails(summary, counts, revisions, len(numbers))


def session_lessons(project: Project, beginning: str) -> SessionLessons:
    """Return what the session whose id begins with *beginning* taught. Raises NotFoundError."""
    matches = [each.session_id for each in sessions(project) if each.session_id.startswith(beginning)]
    if beginning not in matches and len(matches) != 1:
        raise unknown_session(beginning, tuple(matches))
    session = beginning if beginning in matches else matches[0]
    waiting = [item for item in review.all_waiting(project) if item.proposal.session_id == session]
    return SessionLessons(session_details(project, session, most=EVERY_CHANGE), tuple(waiting))


def difference(before: SourcedPlaybook, after: SourcedPlaybook) -> Comparison:
    """Return the differences between two playbooks. A flat file has no sections, so its points get the sections of the
    other playbook."""
    old = merge.in_our_sections(before.reading, after.playbook)
    new = merge.in_our_sections(after.reading, old)
    return diff.compare(old, new)


def _moment(book: PlaybookRepository, text: str, *, end: bool) -> datetime:
    moment = times.parse_time(text, now=book.clock(), end=end)
    if moment is None:
        raise not_a_moment(text, times.EXAMPLES)
    return moment


def _filter(book: PlaybookRepository, query: LogQuery) -> LogFilter:
    """Return *query* as a filter for the store. Times become revision numbers; names and ids are looked up."""
    last = book.revision if query.until is None else find_revision(book, query.until)
    first = 1
    if query.since is not None and times.revision_number(query.since) is not None:
        first = find_revision(book, query.since)
    elif query.since is not None:
        before = _moment(book, query.since, end=False) - timedelta(microseconds=1)
        first = book.revision_at(timestamp(before)) + 1
    point_id = None if query.name is None else list_queries.point_id(book, query.name)
    if query.name is not None and point_id is None:
        raise list_queries.no_such_point(book, query.name)
    session_id = find_session(book, query.session) if query.session is not None and book.revision else None
    return LogFilter(first, last, session_id, query.source, query.by, point_id)


def find_session(book: PlaybookRepository, beginning: str) -> str:
    """Complete the *beginning* of a session's id. Raises NotFoundError unless it fits one session."""
    matches = log_queries.sessions_beginning(book, beginning)
    if len(matches) != 1 and beginning not in matches:
        raise unknown_session(beginning, tuple(matches))
    return matches[0]  # a whole id comes before those that begin with it


def _read(project: Project, log_filter: LogFilter, limit: int | None, most_changes: int) -> Iterator[LoggedRevision]:
    remaining = MAX_COUNTER if limit is None else limit
    last = log_filter.last
    while remaining > 0:
        count = min(remaining, _BATCH)
        with project.store.read(project.key) as book:
            revisions = read_log(book, replace(log_filter, last=last), limit=count, most_changes=most_changes)
        yield from revisions
        if len(revisions) < count:
            return
        remaining, last = remaining - count, revisions[-1].number - 1
