"""The sessions: what each taught and took, what waits, what failed, and whether the playbook helps."""

from starlette.responses import Response

from playbook_db.domain.trust import outcomes
from playbook_db.errors import PlaybookError, Remedy
from playbook_db.services.learning import queue
from playbook_db.services.reading import sessions as service
from playbook_db.services.reading import statistics
from playbook_db.store.hook_sql import WAITS
from playbook_db.web.page_request import PAGE_ROWS, PageRequest, Routes

_DAYS = 14  # of what asking models took; the page of numbers has all
_UUID_LENGTH = 36  # characters
_REVISIONS = 10  # of one session, on a page: each with all that it did


def list_sessions(request: PageRequest) -> Response:
    """The queue, the sessions, the last days, and the comparison where some sessions are held out."""
    page = max(1, request.number("page"))
    sessions, count = service.listed(request.project, most=PAGE_ROWS, offset=(page - 1) * PAGE_ROWS)
    jobs_page = max(1, request.number("jobs"))
    own = request.project.own
    jobs, job_counts = queue.open_jobs(own.store, own.key, most=PAGE_ROWS, offset=(jobs_page - 1) * PAGE_ROWS)
    return request.page(
        "sessions.html",
        title="Sessions",
        sessions=sessions,
        count=count,
        page=page,
        pages=-(-count // PAGE_ROWS),
        jobs=jobs,
        job_counts=job_counts,
        jobs_page=jobs_page,
        page_rows=PAGE_ROWS,
        waits=WAITS,
        short=_short,
        days=service.costs_by_day(own, most=_DAYS),
        comparison=statistics.compare_sessions(request.project),
        measures=outcomes.MEASURES,
        fewest=outcomes.FEWEST_SESSIONS,
    )


def show_session(request: PageRequest) -> Response:
    """One session: its revisions with their changes, votes and reflections, and the calls of models for it."""
    page = max(1, request.number("page"))
    details = service.details(request.project, request.path["session"], most=_REVISIONS, offset=(page - 1) * _REVISIONS)
    summary = details.session
    return request.page(
        "session.html",
        title=f"Session {summary.session_id}",
        details=details,
        summary=summary,
        did=details.counts,
        page=page,
        pages=-(-details.count // _REVISIONS),
    )


def change(request: PageRequest) -> Response:
    """What a person does about a job: try it again, or remove it."""
    own, action = request.project.own, request.form.get("do", "")
    if action == "retry-all":
        count = queue.retry_all(own.store)
        text = f"{count:,} job{'' if count == 1 else 's'} queued, of all projects." if count else "Nothing waits."
        return request.back("sessions", notice=f"{text} {_BEGIN}" if count else text)
    number = int(request.form["id"]) if request.form.get("id", "").isdecimal() else 0
    if action == "retry":
        if not queue.retry(own.store, own.key, number):
            raise PlaybookError(f"There is no job {number} here that failed or waits.", _SEE_JOBS)
        return request.back("sessions", notice=f"Job {number} is queued. {_BEGIN}")
    if action == "drop":
        if not queue.drop(own.store, own.key, number):
            raise PlaybookError(f"There is no job {number} here that could be removed.", _SEE_JOBS)
        return request.back("sessions", notice=f"Job {number} is removed.")
    raise PlaybookError(f"Nothing is called {action!r} here; nothing was changed.")


def _short(session_id: str) -> str:
    """The beginning of a long id, by which a session is known as well."""
    return session_id[:8] if len(session_id) == _UUID_LENGTH else session_id


_BEGIN = "The next session begins it, or now: playbook work"
_SEE_JOBS = Remedy("See them with: {}", ("jobs",))

ROUTES: Routes = {
    ("GET", "/sessions"): list_sessions,
    ("POST", "/sessions"): change,
    ("GET", "/sessions/{session:path}"): show_session,
}
