"""The queue: what there is to learn from, until it is learnt."""

from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, delete, exists, func, or_, select, true, update
from sqlalchemy import text as sql

from playbook_db.projects import as_path, as_text
from playbook_db.store import hook_sql
from playbook_db.store.dialect import dialect_of
from playbook_db.store.quick_sql import Job
from playbook_db.store.tables import jobs, playbooks

_ADD_JOB = sql(hook_sql.ADD_JOB)
_OPEN = ("queued", "running", "failed")
_MOST_LOOKED_AT = 50  # projects with a job that is due, when one is claimed


_COLUMNS = [playbooks.c.key, *(jobs.c[name] for name in Job._fields if name != "key")]


def add(connection: Connection, playbook_id: int, job: Mapping[str, str | None], *, now: str) -> None:
    """Queue *job*, as a hook does, unless its transcript waits already."""
    fields = {name: job.get(name) for name in ("session_id", "transcript_path", "parent_path", "agent_id", "reason")}
    columns = {name: value if value is None else as_text(value) for name, value in fields.items()}
    connection.execute(_ADD_JOB, {**columns, "playbook_id": playbook_id, "now": now})


def read_all(connection: Connection, key: str | None = None) -> list[Job]:
    """The jobs of the project *key*, or of all; the oldest first."""
    return _read(connection, true() if key is None else playbooks.c.key == key)


def read_open(connection: Connection, key: str, *, most: int, offset: int) -> list[Job]:
    """The jobs of the project *key* that aren't done: at most *most*, from the one at *offset* on; the oldest first."""
    return _read(connection, (playbooks.c.key == key) & jobs.c.state.in_(_OPEN), limit=most, offset=offset)


def count_open(connection: Connection, key: str) -> dict[str, int]:
    """How many jobs of the project *key* there are in each state but done."""
    of_project = select(playbooks.c.id).where(playbooks.c.key == key).scalar_subquery()
    counted = select(jobs.c.state, func.count()).where(jobs.c.playbook_id == of_project, jobs.c.state.in_(_OPEN))
    rows = connection.execute(counted.group_by(jobs.c.state))
    return dict(tuple(row) for row in rows)


def claim(connection: Connection, *, now: str, lease_until: str) -> Job | None:
    """The oldest job that is due, now running until *lease_until*; None where none is.

    A project that is kept out, or whose earlier job runs, is passed over. However many claim at once, each gets another
    job: who claims one writes to its playbook.
    """
    due = _is_due(now)
    if dialect_of(connection).is_shared:
        due &= playbooks.c.key == _lock_first(connection, due)
    for job in _read(connection, due, limit=1):
        running = {"state": "running", "lease_until": lease_until, "not_before": None, "error": None}
        _update(connection, job, attempts=jobs.c.attempts + 1, **running)
        return job
    return None


def _lock_first(connection: Connection, due: ColumnElement[bool]) -> str | None:
    """The project whose job is the oldest that is *due* among those to which nobody writes, locked from now on; where
    somebody writes to each, the first that has one when they are done."""
    waiting = select(playbooks.c.key).join(jobs, playbooks.c.id == jobs.c.playbook_id).where(due)
    waiting = waiting.group_by(playbooks.c.key).order_by(func.min(jobs.c.created_at), playbooks.c.key)
    keys = connection.scalars(waiting.limit(_MOST_LOOKED_AT)).all()
    for waits in (False, True):
        for key in keys:
            with connection.begin_nested() as attempt:
                locked = dialect_of(connection).lock_playbook(connection, key, waits=waits)
                if locked and _read(connection, due & (playbooks.c.key == key), limit=1):
                    return str(key)
                attempt.rollback()  # which lets go of the lock
    return None


def finish(connection: Connection, job: Job, *, now: str) -> None:
    """Keep that *job* is done."""
    _update(connection, job, state="done", finished_at=now, lease_until=None, error=None)


def put_off(connection: Connection, job: Job, *, not_before: str | None, error: str, counts: bool) -> None:
    """Queue *job* again, not before a time; *counts* is whether this try counts against it. Where it doesn't, the job
    waits until that time or until a worker begins, see `release`."""
    attempts = jobs.c.attempts if counts else jobs.c.attempts - 1
    error = error if counts else hook_sql.WAITS + error
    _queue_again(connection, job, attempts=attempts, not_before=not_before, lease_until=None, error=error)


def release(connection: Connection) -> None:
    """Let all jobs that wait through no fault of their own be due: what they wait for may be there by now."""
    waiting = (jobs.c.state == "queued") & jobs.c.error.startswith(hook_sql.WAITS, autoescape=True)
    connection.execute(update(jobs).where(waiting).values(not_before=None))


def fail(connection: Connection, job: Job, *, error: str, now: str) -> None:
    """Keep that *job* has failed for good."""
    _update(connection, job, state="failed", error=error, finished_at=now, lease_until=None)


def bring_back(connection: Connection, *, lease_over: str, now: str, most_attempts: int) -> int:
    """Queue again what a worker left running whose lease is over at *lease_over*; how many jobs.

    One that has been begun *most_attempts* times has failed: it may be what ends the workers.
    """
    is_expired = (jobs.c.state == "running") & (jobs.c.lease_until <= lease_over)
    expired = [job for job in _read(connection, is_expired) if _is_still(connection, job, is_expired)]
    for job in expired:
        if job.attempts >= most_attempts:
            fail(connection, job, error=f"the worker ended in the middle of it, {job.attempts} times", now=now)
        else:
            put_off(connection, job, not_before=None, error="the worker ended in the middle of it", counts=True)
    return len(expired)


def is_any_due(connection: Connection, *, now: str) -> bool:
    """Whether a job may be begun now."""
    return bool(_read(connection, _is_due(now), limit=1))


def retry(connection: Connection, key: str, number: int) -> bool:
    """Queue the job *number* of the project *key* afresh, whether it failed or waits; False where there is none."""
    is_it = (playbooks.c.key == key) & (jobs.c.id == number) & jobs.c.state.in_(("failed", "queued"))
    return bool(_retry(connection, is_it))


def retry_all(connection: Connection) -> int:
    """Queue afresh every job of any project that failed or waits for its next try; how many."""
    return _retry(connection, (jobs.c.state == "failed") | ((jobs.c.state == "queued") & jobs.c.error.is_not(None)))


def _retry(connection: Connection, which: ColumnElement[bool]) -> int:
    retried = _read(connection, which)
    for job in retried:
        _queue_again(connection, job, attempts=0, not_before=None, error=None, finished_at=None)
    return len(retried)


def drop(connection: Connection, key: str, number: int) -> Job | None:
    """Remove the job *number* of the project *key*, unless it runs; the job, None where there is none."""
    for job in _read(connection, (playbooks.c.key == key) & (jobs.c.id == number) & (jobs.c.state != "running")):
        connection.execute(delete(jobs).where(_is(job)))
        return job
    return None


def known_paths(connection: Connection, key: str) -> frozenset[str]:
    """The transcripts of the project *key* that wait, are being read, or could not be."""
    waiting = _read(connection, (playbooks.c.key == key) & jobs.c.state.in_(_OPEN))
    return frozenset(job.transcript_path for job in waiting if job.transcript_path)


def _read(
    connection: Connection, condition: ColumnElement[bool], *, limit: int | None = None, offset: int = 0
) -> list[Job]:
    rows = connection.execute(
        select(*_COLUMNS)
        .join(playbooks, playbooks.c.id == jobs.c.playbook_id)
        .where(condition)
        .order_by(jobs.c.created_at, playbooks.c.key, jobs.c.id)
        .limit(limit)
        .offset(offset)
    )
    return [
        job._replace(transcript_path=job.transcript_path and as_path(job.transcript_path))
        for job in (Job(*row) for row in rows)
    ]


def _is_due(now: str) -> ColumnElement[bool]:
    busy = jobs.alias("busy")
    return (
        (jobs.c.state == "queued")
        & or_(jobs.c.not_before.is_(None), jobs.c.not_before <= now)
        & (playbooks.c.ignored == 0)
        & ~exists(select(busy.c.id).where(busy.c.playbook_id == jobs.c.playbook_id, busy.c.state == "running"))
    )


def _is(job: Job) -> ColumnElement[bool]:
    of_project = select(playbooks.c.id).where(playbooks.c.key == job.key).scalar_subquery()
    return (jobs.c.playbook_id == of_project) & (jobs.c.id == job.id)


def _is_still(connection: Connection, job: Job, condition: ColumnElement[bool]) -> bool:
    """Whether *condition* holds for *job* once nobody else can change it any more."""
    dialect_of(connection).lock_playbook(connection, job.key)
    return bool(_read(connection, condition & _is(job)))


def _update(connection: Connection, job: Job, **columns: object) -> None:
    connection.execute(update(jobs).where(_is(job)).values(columns))


def _queue_again(connection: Connection, job: Job, **columns: object) -> None:
    """Queue *job* with *columns*; where the same transcript has been queued meanwhile, that job takes over."""
    dialect_of(connection).lock_playbook(connection, job.key)
    is_twin = (playbooks.c.key == job.key) & (jobs.c.id != job.id) & (jobs.c.kind == job.kind)
    is_twin &= (jobs.c.transcript_path == as_text(job.transcript_path or "")) & (jobs.c.state == "queued")
    if _read(connection, is_twin, limit=1):
        connection.execute(delete(jobs).where(_is(job)))
    else:
        _update(connection, job, state="queued", **columns)
