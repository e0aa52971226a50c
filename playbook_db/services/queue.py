"""The queue of what there is to learn from: jobs come in, are claimed one by one, and end well, later or not at all."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from playbook_db.domain.times import timestamp
from playbook_db.services.projects import Project
from playbook_db.store import jobs, learning, playbooks
from playbook_db.store.engine import Store
from playbook_db.store.jobs import Job
from playbook_db.store.past import Past

LEASE_S = 3600.0  # how long a job belongs to the worker that claimed it
MOST_ATTEMPTS = 6
_MOST_BEGINNINGS = 20  # of a job whose worker is killed each time
_FIRST_WAIT_S = 60.0  # before the second try; four times as long before each further one
_LONGEST_WAIT_S = 6 * 3600.0


def take_in(store: Store, key: str, job: Mapping[str, str | None]) -> bool:
    """Queue *job* for the project *key*, which is made where need be; False where the project is kept out."""
    now = timestamp(datetime.now(UTC))
    with store.transaction() as connection:
        past = Past.open_to_write(connection, key, now=now)
        if past.playbook_id is None or playbooks.is_ignored(connection, past.playbook_id):
            return False
        jobs.add(connection, past.playbook_id, job, now=job.get("queued_at") or now)
    return True


def list_jobs(store: Store, key: str | None = None) -> list[Job]:
    """The jobs of the project *key*, or of all; the oldest first."""
    with store.snapshot() as connection:
        return jobs.read_all(connection, key)


def claim(store: Store) -> Job | None:
    """The oldest job that is due, now ours; None where none is. What another worker left is due again first."""
    now = datetime.now(UTC)
    with store.transaction() as connection:
        jobs.bring_back(connection, lease_over=timestamp(now), now=timestamp(now), most_attempts=_MOST_BEGINNINGS)
        return jobs.claim(connection, now=timestamp(now), lease_until=timestamp(now + timedelta(seconds=LEASE_S)))


def release_all(store: Store) -> int:
    """Queue again whatever is running: for the one worker there can be, at its start. How many jobs."""
    now = timestamp(datetime.now(UTC))
    with store.transaction() as connection:
        return jobs.bring_back(connection, lease_over="9999", now=now, most_attempts=_MOST_BEGINNINGS)


def is_any_due(store: Store) -> bool:
    """Whether a job may be begun now."""
    with store.snapshot() as connection:
        return jobs.is_any_due(connection, now=timestamp(datetime.now(UTC)))


def finish_in(past: Past, job: Job) -> None:
    """Keep that *job* is done, inside a transaction under way."""
    jobs.finish(past.connection, job, now=timestamp(datetime.now(UTC)))


def put_off(store: Store, job: Job, why: str, *, until: str | None = None) -> None:
    """Queue *job* again through no fault of its own, not before *until*."""
    with store.transaction() as connection:
        jobs.put_off(connection, job, not_before=until, error=why, counts=False)


def note_failure(store: Store, job: Job, why: str, *, for_good: bool) -> None:
    """Keep that *job* failed: it is tried again after growing waits, unless *for_good* or too often already."""
    now = datetime.now(UTC)
    attempts = job.attempts + 1
    with store.transaction() as connection:
        if for_good or attempts >= MOST_ATTEMPTS:
            jobs.fail(connection, job, error=why, now=timestamp(now))
        else:
            wait_s = min(_FIRST_WAIT_S * 4 ** (attempts - 1), _LONGEST_WAIT_S)
            again = timestamp(now + timedelta(seconds=wait_s))
            jobs.put_off(connection, job, not_before=again, error=why, counts=True)


def retry(store: Store, key: str, number: int) -> bool:
    """Queue the job *number* of the project *key* afresh; False where there is none that failed or waits."""
    with store.transaction() as connection:
        return jobs.retry(connection, key, number)


def drop(store: Store, key: str, number: int) -> bool:
    """Remove the job *number* of the project *key*, and count its transcript as learnt from as far as it goes now.

    False where there is no such job, or it runs.
    """
    now = timestamp(datetime.now(UTC))
    with store.transaction() as connection:
        job = jobs.drop(connection, key, number)
        if job is None:
            return False
        path = job.transcript_path or ""
        playbook_id = Past.open(connection, key).playbook_id or 0
        if os.path.isfile(path):
            learning.move_cursor(
                connection,
                playbook_id,
                path,
                max(os.path.getsize(path), learning.learnt_to(connection, playbook_id, path)),
                session_id=job.session_id or "",
                last_uuid=None,
                now=now,
            )
    return True


def later(seconds: float) -> str:
    """The time so many *seconds* from now, as jobs have it."""
    return timestamp(datetime.now(UTC) + timedelta(seconds=seconds))


# How far each transcript has been learnt from, and which there are: what is known of them between two lessons.


def learnt_to(project: Project, path: str) -> int:
    """Up to which byte the transcript at *path* has been learnt from."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        return learning.learnt_to(connection, past.playbook_id, path) if past.playbook_id else 0


def beginning_with(project: Project, first_uuid: str) -> dict[str, int]:
    """Up to which byte each transcript that begins with the entry *first_uuid* has been learnt from, by path."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        return learning.beginning_with(connection, past.playbook_id, first_uuid) if past.playbook_id else {}


def begin_anew_if_another(project: Project, path: str, first_uuid: str) -> None:
    """Forget how far the transcript at *path* was learnt from, where it began with another entry: it is another one."""

    def look(past: Past) -> None:
        known = learning.first_uuid(past.connection, past.playbook_id or 0, path)
        if known is not None and known != first_uuid:
            learning.move_cursor(
                past.connection,
                past.playbook_id or 0,
                path,
                0,
                session_id="",
                last_uuid=None,
                now=timestamp(datetime.now(UTC)),
                first_uuid=first_uuid,
            )

    keep(project, look)


def skip_to(project: Project, path: str, reached: int, *, session_id: str, first_uuid: str) -> None:
    """Count the transcript at *path* as learnt from up to the byte *reached*: a copy of what is known."""

    def move(past: Past) -> None:
        if not learning.learnt_to(past.connection, past.playbook_id or 0, path):
            learning.move_cursor(
                past.connection,
                past.playbook_id or 0,
                path,
                reached,
                session_id=session_id,
                last_uuid=None,
                now=timestamp(datetime.now(UTC)),
                first_uuid=first_uuid,
            )

    keep(project, move)


def keep(project: Project, what: Callable[[Past], None]) -> None:
    """Do *what* in a transaction of its own."""
    with project.store.transaction() as connection:
        what(Past.open_to_write(connection, project.key, now=timestamp(datetime.now(UTC))))


@dataclass(frozen=True, slots=True)
class KnownTranscripts:
    """What is known of a project's transcripts: how far each was learnt from, and for which there are jobs, failed ones
    included."""

    key: str
    created_at: str
    cursors: Mapping[str, int]
    with_jobs: frozenset[str]


def known_transcripts(store: Store) -> list[KnownTranscripts]:
    """For each project that isn't kept out, what is known of its transcripts."""
    found = []
    with store.snapshot() as connection:
        for number, key, created_at in playbooks.all_learning(connection):
            cursors = learning.cursors(connection, number)
            found.append(KnownTranscripts(key, created_at, cursors, jobs.known_paths(connection, key)))
    return found
