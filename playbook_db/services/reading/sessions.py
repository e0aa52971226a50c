"""The lessons from sessions and their cost: a page of all sessions, or one session in full."""

from collections import Counter
from dataclasses import dataclass

from playbook_db.errors import SessionNotFoundError
from playbook_db.services.project import Project
from playbook_db.services.reading import history
from playbook_db.store.playbook import log_queries
from playbook_db.store.playbook.learning import COUNT_SESSIONS, SOME_SESSIONS, SessionCall
from playbook_db.store.playbook.log_queries import RevisionDetails
from playbook_db.store.playbook.statistics import DayCalls, days_of_calls
from playbook_db.store.quick_sql import SessionSummary
from playbook_db.store.revision_log import EVERY_CHANGE

MOST_CALLS = 500  # of one session, that are shown


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """A session in full. `counts` has its changes by kind and its votes by tag. `revisions` is a part of all `count`
    revisions."""

    session: SessionSummary
    counts: Counter[str]
    revisions: tuple[RevisionDetails, ...]
    count: int
    calls: tuple[SessionCall, ...]


def listed(project: Project, *, most: int, offset: int = 0) -> tuple[list[tuple[SessionSummary, Counter[str]]], int]:
    """Return at most *most* sessions that were learned from, newest first, from *offset* on, each with its counts. Also
    return the number of all."""
    with project.store.read(project.key) as book:
        book.foresee((SOME_SESSIONS, {"most": most, "offset": offset}), (COUNT_SESSIONS, {}))
        summaries = book.some_sessions(most=most, offset=offset)
        taught = book.taught([each.session_id for each in summaries])
        return [(each, Counter(taught[each.session_id])) for each in summaries], book.count_sessions()


def details(project: Project, session: str, *, most: int, offset: int = 0) -> SessionDetails:
    """Return the session whose id is, or begins with, the given one. Include at most *most* of its revisions, newest
    first, from *offset* on. Raises SessionNotFoundError."""
    with project.store.read(project.key) as book:
        summary = book.session(session)
        if summary is None:
            session = history.find_session(book, session)
            summary = book.session(session)
        if summary is None:  # forgotten meanwhile
            raise SessionNotFoundError(session, ())
        counts = Counter(book.taught([session])[session])
        numbers = log_queries.revisions_of_session(book, session)
        calls = book.calls_of_session(session, most=MOST_CALLS)
    some = numbers[offset : offset + most]
    revisions = tuple(history.revision_page(project, f"{number}", before=0, most=EVERY_CHANGE) for number in some)
    return SessionDetails(summary, counts, revisions, len(numbers), tuple(calls))


def costs_by_day(project: Project, *, most: int | None = None) -> list[DayCalls]:
    """Return the model calls of each of the newest *most* days that had some, newest first."""
    with project.store.snapshot() as connection:
        return days_of_calls(connection, project.key, most=most)
