"""The queue of transcripts to learn from."""

from collections.abc import Mapping

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    delete,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    update,
)
from sqlalchemy import text as sql

from playbook_db.projects import as_path, as_text
from playbook_db.store.dialect import dialect_of
from playbook_db.store.queries import hook_queries
from playbook_db.store.queries.list_queries import Job
from playbook_db.store.tables import jobs, playbooks

_ADD_JOB = sql(hook_queries.ADD_JOB)
_OPEN = ("queued", "running", "failed")
_MOST_LOOKED_AT = 50  # projects with a due job, before one is claimed
_COLUMNS = [playbooks.c.key, *(jobs.c[name] for name in Job._fields if name != "key")]


def add(connection: Connection, playbook_id: int, job: Mapping[str, str | None], *, now: str) -> None:
    """Queue *job* unless its transcript is already waiting in the queue."""
    names = ("session_id", "transcript_path", "parent_path", "agent_id", "reason", "folder")
    fields = {name: job.get(name) for name in names}
    columns = {name: value if value is None else as_text(value) for name, value in fields.items()}
    connection.execute(_ADD_JOB, {**columns, "playbook_id": playbook_id, "now": now})


def read_all(connection: Connection, key: str | None = None) -> list[Job]:
    """Return the jobs of the project *key*, or of all projects, oldest first."""
    return _read(connection, true() if key is None else playbooks.c.key == key)


def read_open(connection: Connection, key: str) -> list[Job]:
    """Return the unfinished jobs of the project *key*, oldest first."""
    return _read(connection, (playbooks.c.key == key) & jobs.c.state.in_(_OPEN))


def claim(connection: Connection, *, now: str, lease_until: str) -> Job | None:
    """Mark the oldest due job as running until *lease_until*, and return it. Return None if no job is due.

    Ignored projects and projects with a running job are skipped. Claiming locks the playbook, so no two workers get the
    same job.
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
    """Lock the project with the oldest *due* job, and return its key. Wait only if every such project is locked."""
    waiting = select(playbooks.c.key).join(jobs, playbooks.c.id == jobs.c.playbook_id).where(due)
    waiting = waiting.group_by(playbooks.c.key).order_by(func.min(jobs.c.created_at), playbooks.c.key)
    keys = connection.scalars(waiting.limit(_MOST_LOOKED_AT)).all()
    for waits in (False, True):
        for key in keys:
            with connection.begin_nested() as attempt:
                locked = dialect_of(connection).lock_playbook(connection, key, waits=waits)
                if locked and _read(connection, due & (playbooks.c.key == key), limit=1):
                    return str(key)
                attempt.rollback()  # releases the lock
    return None


def finish(connection: Connection, job: Job, *, now: str, error: str | None = None, note: str | None = None) -> None:
    """Mark *job* as done, perhaps with a *note*, or as failed if there is an *error*."""
    state = "done" if error is None else "failed"
    _update(connection, job, state=state, finished_at=now, lease_until=None, error=error or note)


def trim(connection: Connection, *, before: str) -> None:
    """Delete the jobs that were done before the time *before*. Failed jobs stay."""
    connection.execute(delete(jobs).where((jobs.c.state == "done") & (jobs.c.finished_at < before)))


def put_off(connection: Connection, job: Job, *, not_before: str | None, error: str, counts: bool) -> None:
    """Queue *job* again for the time *not_before*. If the try *counts* as one, `release` can't end the wait earlier."""
    attempts = jobs.c.attempts if counts else jobs.c.attempts - 1
    error = error if counts else hook_queries.WAITS + error
    _queue_again(connection, job, attempts=attempts, not_before=not_before, lease_until=None, error=error)


def release(connection: Connection) -> None:
    """Make the jobs due that `put_off` queued again without counting the try: their problem may be solved by now."""
    waiting = (jobs.c.state == "queued") & jobs.c.error.startswith(hook_queries.WAITS, autoescape=True)
    connection.execute(update(jobs).where(waiting).values(not_before=None))


def bring_back(connection: Connection, *, lease_over: str, now: str, most_attempts: int) -> int:
    """Queue jobs again that a dead worker left running: their leases have expired. Return the number of these jobs. A
    job that was started *most_attempts* times is marked as failed, as it may have killed the workers."""
    is_expired = (jobs.c.state == "running") & (jobs.c.lease_until <= lease_over)
    expired = [job for job in _read(connection, is_expired) if _is_still(connection, job, is_expired)]
    for job in expired:
        if job.attempts >= most_attempts:
            finish(connection, job, error=f"the worker stopped in the middle of the job, {job.attempts} times", now=now)
        else:
            put_off(connection, job, not_before=None, error="the worker stopped in the middle of the job", counts=True)
    return len(expired)


def is_any_due(connection: Connection, *, now: str) -> bool:
    """Return whether a job of any project is due."""
    return bool(_read(connection, _is_due(now), limit=1))


def retry(connection: Connection, key: str, number: int) -> bool:
    """Queue the failed or waiting job *number* of the project *key* again. Return False if there is no such job."""
    is_it = (playbooks.c.key == key) & (jobs.c.id == number) & jobs.c.state.in_(("failed", "queued"))
    return bool(_retry(connection, is_it))


def retry_all(connection: Connection) -> int:
    """Queue all jobs again that failed or wait for their next try. Return the number of these jobs."""
    return _retry(connection, (jobs.c.state == "failed") | ((jobs.c.state == "queued") & jobs.c.error.is_not(None)))


def _retry(connection: Connection, which: ColumnElement[bool]) -> int:
    retried = _read(connection, which)
    for job in retried:
        _queue_again(connection, job, attempts=0, not_before=None, error=None, finished_at=None)
    return len(retried)


def drop(connection: Connection, key: str, number: int) -> Job | None:
    """Remove and return the job *number* of the project *key*. Return None if the job is missing or running."""
    for job in _read(connection, (playbooks.c.key == key) & (jobs.c.id == number) & (jobs.c.state != "running")):
        connection.execute(delete(jobs).where(_is(job)))
        return job
    return None


def _read(connection: Connection, condition: ColumnElement[bool], *, limit: int | None = None) -> list[Job]:
    rows = connection.execute(
        select(*_COLUMNS)
        .join(playbooks, playbooks.c.id == jobs.c.playbook_id)
        .where(condition)
        .order_by(jobs.c.created_at, playbooks.c.key, jobs.c.id)
        .limit(limit)
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
        & ~literal_column(hook_queries.IS_IGNORED.replace("p.key", "playbooks.key"), Boolean)
        & ~exists(select(busy.c.id).where(busy.c.playbook_id == jobs.c.playbook_id, busy.c.state == "running"))
    )


def _is(job: Job) -> ColumnElement[bool]:
    of_project = select(playbooks.c.id).where(playbooks.c.key == job.key).scalar_subquery()
    return (jobs.c.playbook_id == of_project) & (jobs.c.id == job.id)


def _is_still(connection: Connection, job: Job, condition: ColumnElement[bool]) -> bool:
    """Lock the playbook of *job*. Return whether *condition* is still true for *job*."""
    dialect_of(connection).lock_playbook(connection, job.key)
    return bool(_read(connection, condition & _is(job)))


def _update(connection: Connection, job: Job, **columns: object) -> None:
    connection.execute(update(jobs).where(_is(job)).values(columns))


def _queue_again(connection: Connection, job: Job, **columns: object) -> None:
    """Queue *job* again, and set *columns*. If its transcript was queued meanwhile, delete *job* instead."""
    dialect_of(connection).lock_playbook(connection, job.key)
    is_twin = (playbooks.c.key == job.key) & (jobs.c.id != job.id) & (jobs.c.kind == job.kind)
    is_twin &= (jobs.c.transcript_path == as_text(job.transcript_path or "")) & (jobs.c.state == "queued")
    if _read(connection, is_twin, limit=1):
        connection.execute(delete(jobs).where(_is(job)))
    else:
        _update(connection, job, state="queued", **columns)
