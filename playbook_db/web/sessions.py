"""The pages of sessions: their lessons and cost, and the queue."""

import os
from collections.abc import Iterable

from starlette.responses import Response

from playbook_db import settings
from playbook_db.claude_code.transcripts import finding, transcript
from playbook_db.domain.redaction.redact import redact_message
from playbook_db.errors import PlaybookError, Remedy
from playbook_db.llm import choose
from playbook_db.services.learning import queue
from playbook_db.services.learning.budget import tokens_today
from playbook_db.services.reading import history
from playbook_db.web.page_request import PAGE_ROWS, PageRequest, Routes, as_number

_UUID_LENGTH = 36  # characters
_TITLE_CHARS = 80
_REVISIONS = 10  # of one session, on a page: each with all that it did


def list_sessions(request: PageRequest) -> Response:
    """Show the queue, today's tokens and the sessions."""
    offset = (request.page_number - 1) * PAGE_ROWS
    sessions, count = history.session_page(request.project, most=PAGE_ROWS, offset=offset)
    own = request.project.own
    jobs, job_counts = queue.open_jobs(own.store, own.key, most=PAGE_ROWS)
    return request.page(
        "sessions.html",
        title="Sessions",
        sessions=sessions,
        count=count,
        jobs=jobs,
        job_counts=job_counts,
        titles=titles([each.session_id for each, _ in sessions] + [each.session_id or "" for each in jobs]),
        today=f"{tokens_today(own.store):,}",
        limit=settings.daily_tokens(),
        dollars_of_limit=choose.cost_in_words(settings.daily_tokens(), own.folder or own.key),
    )


def show_session(request: PageRequest) -> Response:
    """Show one session, with its revisions (changes, votes and reflections)."""
    offset = (request.page_number - 1) * _REVISIONS
    details = history.session_details(request.project, request.path["session"], most=_REVISIONS, offset=offset)
    summary = details.session
    return request.page(
        "session.html",
        title=titles([summary.session_id])[summary.session_id],
        details=details,
        summary=summary,
        did=details.counts,
        revisions_on_page=_REVISIONS,
    )


def change(request: PageRequest) -> Response:
    """Retry one job or all jobs, or remove one job."""
    own, action = request.project.own, request.form.get("do", "")
    number = as_number(request.form.get("id", "")) or 0
    if action == "retry-all":
        count = queue.retry_all(own.store)
        queued = f"{count:,} job{'' if count == 1 else 's'} queued, of all projects. {_BEGIN}"
        return request.back("sessions", notice=queued if count else "No job waits, and none failed.")
    if action == "retry":
        is_done, done = queue.retry(own.store, own.key, number), f"queued. {_BEGIN}"
    elif action == "drop":
        is_done, done = queue.drop(own.store, own.key, number), "removed."
    else:
        raise PlaybookError(f"There is no action {action!r}. Nothing was changed.")
    if not is_done:
        problem = f"This project has no failed or waiting job {number}."
        raise PlaybookError(problem, Remedy("See them with: {}", ("jobs",)))
    return request.back("sessions", notice=f"Job {number} is {done}")


def titles(session_ids: Iterable[str]) -> dict[str, str]:
    """Return a title for each session: the beginning of its first prompt, or its id."""
    paths = {os.path.basename(path): path for path in finding.everywhere()}
    labels = {}
    for each in session_ids:
        short = each[:8] if len(each) == _UUID_LENGTH else each
        prompt = transcript.first_prompt(paths.get(f"{each}.jsonl", ""))
        words = " ".join(redact_message(prompt, os.environ).split())
        cut = f"{words[: _TITLE_CHARS - 1]}…" if len(words) > _TITLE_CHARS else words
        labels[each] = cut or f"Session {short}"
    return labels


_BEGIN = "The next session starts the work; to start it now: playbook work"

ROUTES: Routes = {
    ("GET", "/sessions"): list_sessions,
    ("POST", "/sessions"): change,
    ("GET", "/sessions/{session:path}"): show_session,
}
