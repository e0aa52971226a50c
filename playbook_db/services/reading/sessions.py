"""The sessions that were learned from, with their lessons and cost: a list of them, or one in full."""

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
    """A session in full. `counts` has the numbers of its changes by kind, and of its votes by tag. `revisions` are one
    page of its revisions, and `count` is the number of all of them."""

    session: SessionSummary
    counts: Counter[str]
    revisions: tuple[RevisionDetails, ...]
    count: int
    calls: tuple[SessionCall, ...]


def listed(project: Project, *, most: int, offset: int = 0) -> tuple[list[tuple[SessionSummary, Counter[str]]], int]:
    """Return one page of the sessions that were learned from, newest first, each with its counts. The page has at most
    *most* sessions, from *offset* on. Also return the number of all sessions."""
    with project.store.read(project.key) as book:
        book.foresee((SOME_SESSIONS, {"most": most, "offset": offset}), (COUNT_SESSIONS, {}))
        summaries = book.some_sessions(most=most, offset=offset)
        taught = book.taught([each.session_id for each in summaries])
        return [(each, Counter(taught[each.session_id])) for each in summaries], book.count_sessions()


def details(project: Project, session: str, *, most: int, offset: int = 0) -> SessionDetails:
    """Return the session with the id *session*, which may be shortened to its beginning. Include at most *most* of its
    revisions, newest first, from *offset* on. Raises SessionNotFoundError."""
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
    """Return the model calls by day, newest first, without days that had none. Return at most *most* days."""
    with project.store.snapshot() as connection:
        return days_of_calls(connection, project.key, most=most)
