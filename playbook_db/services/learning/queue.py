"""The queue of transcripts to learn from. Each job is added, claimed by a worker, and then done, retried or failed.

This module also saves the records of points that sessions were shown.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeGuard

from playbook_db import project_env, projects, settings
from playbook_db.domain.times import timestamp
from playbook_db.services.project import Project, is_ignored
from playbook_db.store import jobs
from playbook_db.store.engine import Store, retry_on_conflict
from playbook_db.store.queries.list_queries import Job
from playbook_db.store.tables import EVENTS
from playbook_db.store.team import memberships

LEASE_S = 3600.0  # how long a job belongs to the worker that claimed it
MOST_ATTEMPTS = 6
KEPT_DAYS = 90  # of jobs that are done
_MOST_STARTS = 20  # of a job whose worker is killed each time
_FIRST_WAIT_S = 60.0  # before the second try; four times as long before each further one
_LONGEST_WAIT_S = 6 * 3600.0


@retry_on_conflict
def take_in(store: Store, key: str, job: Mapping[str, str | None]) -> bool:
    """Queue *job* for the project *key*. The project is created if needed. Return False if the project is ignored."""
    if is_ignored(Project(store, key)):
        return False
    with store.write(key) as book:
        jobs.add(book.connection, book.playbook_id, job, now=job.get("queued_at") or book.now)
    return True


@retry_on_conflict
def take_in_showing(store: Store, key: str, content: Mapping[str, object]) -> None:
    """Save which points a session of the project *key* was shown. The project is created if needed. *content* comes
    from a file that a hook wrote, and counts only once. Raises ValueError if *content* has another form."""
    showing, team = _read_showing(content)
    if team is None and is_ignored(Project(store, key)):
        return
    with store.write(key) as book:
        if team is not None:
            memberships.keep_unsent(book, showing, team)
        else:
            memberships.add_showings(book, [showing])


def _read_showing(content: Mapping[str, object]) -> tuple[memberships.Showing, str | None]:
    """Return the record of shown points in a hook's file, and the name of the team's playbook, if any."""
    session_id, time, source = (content.get(name) for name in ("session_id", "time", "source"))
    revision, left_out, points = (content.get(name) for name in ("revision", "left_out", "points"))
    team, event = content.get("team"), content.get("event", EVENTS[0])  # an older hook knew of a session's start alone
    if not (isinstance(session_id, str) and session_id and isinstance(time, str) and isinstance(source, str)):
        raise ValueError("the session, the time or the source is missing")
    if not (_is_count(revision) and _is_count(left_out)):
        raise ValueError("the revision or the number of points left out is not a whole number")
    if event not in EVENTS:
        raise ValueError(f"{event!r} is not an event at which a session is shown points")
    if timestamp(datetime.fromisoformat(time)) != time:
        raise ValueError(f"{time!r} is not a time in UTC")
    if not (isinstance(points, list) and all(map(_is_count, points))):
        raise ValueError("the points are not a list of whole numbers")
    shown = f"[{','.join(map(str, dict.fromkeys(points)))}]", left_out, event
    showing = memberships.Showing(projects.as_text(session_id), time, projects.as_text(source), revision, *shown)
    return showing, team if isinstance(team, str) else None


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**63


def list_jobs(store: Store, key: str | None = None) -> list[Job]:
    """Return the jobs of the project *key*, or of all projects, oldest first."""
    with store.snapshot() as connection:
        return jobs.read_all(connection, key)


def open_jobs(store: Store, key: str, *, most: int) -> tuple[Collection[Job], Mapping[str, int]]:
    """Return at most *most* failed, waiting and running jobs of the project *key*: the failed ones first, then the
    oldest. Also return the number of jobs in each state."""
    with store.snapshot() as connection:
        unfinished = sorted(jobs.read_open(connection, key), key=lambda job: job.state != "failed")
    return unfinished[:most], Counter(job.state for job in unfinished)


@retry_on_conflict
def claim(store: Store) -> Job | None:
    """Claim the oldest job that is due, or return None. Jobs that another worker left running become due first."""
    now = datetime.now(UTC)
    with store.transaction() as connection:
        jobs.bring_back(connection, lease_over=timestamp(now), now=timestamp(now), most_attempts=_MOST_STARTS)
        return jobs.claim(connection, now=timestamp(now), lease_until=timestamp(now + timedelta(seconds=LEASE_S)))


@retry_on_conflict
def release_all(store: Store, *, ends_waits: bool = False) -> int:
    """Queue the jobs again that an earlier worker left running, and return their number. In a shared database, other
    workers' jobs keep running. With *ends_waits*, jobs that were put off become due. Jobs that were done
    KEPT_DAYS ago are deleted."""
    now = datetime.now(UTC)
    lease_over = timestamp(now) if store.is_shared else "9999"
    with store.transaction() as connection:
        jobs.trim(connection, before=timestamp(now - timedelta(days=KEPT_DAYS)))
        if ends_waits:
            jobs.release(connection)
        return jobs.bring_back(connection, lease_over=lease_over, now=timestamp(now), most_attempts=_MOST_STARTS)


def is_any_due(store: Store) -> bool:
    """Return whether any job is due."""
    with store.snapshot() as connection:
        return jobs.is_any_due(connection, now=timestamp(datetime.now(UTC)))


@retry_on_conflict
def finish(store: Store, job: Job, *, note: str | None = None) -> None:
    """Mark *job* as done. The *note* says why nothing was learned."""
    with store.transaction() as connection:
        jobs.finish(connection, job, now=timestamp(datetime.now(UTC)), note=note)


@retry_on_conflict
def put_off(store: Store, job: Job, why: str, *, until: str | None = None) -> None:
    """Put *job* back into the queue because of an outside cause, such as a spent budget. This try doesn't count. The
    job waits until *until*, or until `release_all` ends the wait."""
    why = _without_secrets(job, why)
    with store.transaction() as connection:
        jobs.put_off(connection, job, not_before=until, error=why, counts=False)


@retry_on_conflict
def note_failure(store: Store, job: Job, why: str, *, for_good: bool) -> str:
    """Record that *job* failed. Schedule another try after a growing wait, unless the job failed *for_good* or too
    often. Return *why* without secrets, as it is stored."""
    now = datetime.now(UTC)
    attempts, why = job.attempts + 1, _without_secrets(job, why)
    with store.transaction() as connection:
        if for_good or attempts >= MOST_ATTEMPTS:
            jobs.finish(connection, job, error=why, now=timestamp(now))
        else:
            wait_s = min(_FIRST_WAIT_S * 4 ** (attempts - 1), _LONGEST_WAIT_S)
            again = timestamp(now + timedelta(seconds=wait_s))
            jobs.put_off(connection, job, not_before=again, error=why, counts=True)
    return why


@retry_on_conflict
def retry(store: Store, key: str, number: int) -> bool:
    """Queue the failed or waiting job *number* of the project *key* as if new. Return False if there is none."""
    with store.transaction() as connection:
        return jobs.retry(connection, key, number)


@retry_on_conflict
def retry_all(store: Store) -> int:
    """Queue all failed or waiting jobs of all projects as if they were new. Return their number."""
    with store.transaction() as connection:
        return jobs.retry_all(connection)


@retry_on_conflict
def drop(store: Store, key: str, number: int) -> bool:
    """Remove the job *number* of the project *key*, and move the cursor to the end of its transcript. Return False if
    there is no such job, or if it is running."""
    with store.write(key) as book:
        job = jobs.drop(book.connection, key, number)
        if job is None:
            return False
        path = job.transcript_path or ""
        if os.path.isfile(path):
            book.move_cursor(path, max(os.path.getsize(path), book.learned_to(path)), session_id=job.session_id or "")
    return True


def skip_session(session: str, *, is_skipped: bool) -> None:
    """Set whether learning skips the session. A file in the data folder stores this, so that it outlives the
    database."""
    path = settings.skip_mark(session)
    if is_skipped:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb"):
            pass
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)


def is_skipped(session: str) -> bool:
    """Return whether learning skips the session."""
    return is_session_id(session) and os.path.exists(settings.skip_mark(session))


def is_session_id(text: str) -> bool:
    """Return whether *text* can be a session's id. As files are named after the id, it can't be any text."""
    return re.fullmatch(r"\w[\w.-]{0,199}", text, re.ASCII) is not None


def later(seconds: float) -> str:
    """Return the time *seconds* from now as a timestamp."""
    return timestamp(datetime.now(UTC) + timedelta(seconds=seconds))


def known_transcripts(store: Store, key: str) -> tuple[Mapping[str, int], Collection[str]] | None:
    """Return how far each transcript of the project *key* was learned from, in bytes. Also return the transcripts that
    have jobs, even failed ones. Return None if the project is ignored."""
    if is_ignored(Project(store, key)):
        return None
    with store.read(key) as book:
        paths = {job.transcript_path for job in jobs.read_open(book.connection, key) if job.transcript_path}
        return book.cursors(), paths


def _without_secrets(job: Job, why: str) -> str:
    from playbook_db.domain.redaction.redact import redact_message  # late: its patterns take a fifth of a second

    variables = project_env.project_variables(projects.as_path(job.folder or job.key))
    return projects.as_text(redact_message(why, os.environ, variables))
