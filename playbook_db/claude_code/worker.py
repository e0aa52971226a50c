"""The worker: what the hooks leave to be done, done apart from any session. One at a time for each data folder.

It takes in the spool, brings mirrors in step that changed under us, finds sessions that ended without a word, learns
from what waits, clears away what erasures left in the file's bytes, works the write-ahead log into the database, so
that the next hook opens it quickly, and takes the daily backup. It ends when there is nothing left, or its time is
over.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from playbook_db import settings
from playbook_db.claude_code import spool
from playbook_db.claude_code.frame import append_line
from playbook_db.errors import BudgetError, ModelError, NoModelError, PlaybookError, TimeOverError

if TYPE_CHECKING:
    from playbook_db.llm.asking import Model
    from playbook_db.store.engine import Store
    from playbook_db.store.jobs import Job

MOST_MINUTES = 30  # alive; what is left then waits for the next worker
_ROUNDS = 3  # looks at the spool: a job may come in while the last look is under way
_LATE_S = 0.2  # so much later a subagent's transcript, or its last line, may come
_NO_MODEL_WAIT_S = 3600.0  # before a job looks again whether there is a way to a model


@dataclass(slots=True)
class Done:
    """What a run of the worker did: jobs taken in from the spool, mirrors taken in, sessions found by their
    transcripts, jobs learnt from, put off and failed."""

    taken_in: int = 0
    synced: int = 0
    found: int = 0
    learnt: int = 0
    put_off: int = 0
    failed: int = 0


def main() -> None:
    """Work until nothing is left, and end; what goes wrong is told in the log alone."""
    try:
        if not settings.is_disabled():
            run(settings.database_url())
    except Exception as error:  # the outer door: nobody is there to read a traceback
        note(f"{type(error).__name__}: {error}")
        sys.exit(1)


def run(url: str) -> Done | None:
    """Do what waits for the database at *url*; None where another worker is at it. Raises DatabaseError."""
    done = Done()
    ends_at = time.monotonic() + MOST_MINUTES * 60
    for _ in range(_ROUNDS):
        with _alone() as is_alone:
            if not is_alone:
                return None
            _work(url, done, ends_at)
        if time.monotonic() > ends_at or not _has_come_in(url):
            break
    return done


def is_at_work() -> bool:
    """Whether a worker is at work just now."""
    if not os.path.exists(settings.worker_lock()):
        return False
    with _alone() as is_alone:
        return not is_alone


def note(problem: str) -> None:
    """Keep one line about what went wrong in the worker's log."""
    append_line(log_path(), f"worker: {problem}")


def log_path() -> str:
    """The worker's log."""
    return os.path.join(settings.logs_dir(), "worker.log")


@contextlib.contextmanager
def _alone() -> Iterator[bool]:
    os.makedirs(settings.data_dir(), mode=0o700, exist_ok=True)
    lock = FileLock(settings.worker_lock(), timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _work(url: str, done: Done, ends_at: float) -> None:
    from playbook_db.claude_code import lost_sessions
    from playbook_db.services import queueing
    from playbook_db.store.engine import open_store

    with contextlib.suppress(OSError):
        spool.keep_reserve()
        os.utime(settings.worker_lock())  # tells the hook of SessionStart when a worker last looked
    with open_store(url) as store:
        queueing.release_all(store)  # no other worker is alive
        done.taken_in += sum(_take_in(store, path) for path in spool.waiting())
        _sync(store, done)
        for lost in lost_sessions.find(store):
            job = {"session_id": lost.session_id, "transcript_path": lost.path, "parent_path": lost.parent_path}
            done.found += queueing.take_in(store, lost.key, {**job, "reason": "found"})
        if _learn(store, done, ends_at):
            _sync(store, done)
        _scrub(store)
        store.tidy()
    _back_up(url)


def _scrub(store: "Store") -> None:
    """Clear what erasures left in the file's bytes, unless somebody still reads them; then the next worker does."""
    from playbook_db.services import forgetting

    try:
        forgetting.scrub_waiting(store)
    except PlaybookError as error:
        note(f"what was forgotten is still in the bytes of the database: {error}")


def _back_up(url: str) -> None:
    """Take the daily backup, where it is due; what was learnt is kept whether or not that works."""
    from playbook_db.services import backups

    try:
        backups.take_daily(url)
    except (PlaybookError, OSError) as error:
        note(f"no backup was taken: {error}")


def _has_come_in(url: str) -> bool:
    """Whether something waits that came after the last look, from a hook whose own worker found this one at work."""
    from playbook_db.services import queueing
    from playbook_db.store.engine import open_store

    if spool.waiting():
        return True
    with open_store(url) as store:
        return queueing.is_any_due(store)


def _sync(store: "Store", done: Done) -> None:
    from playbook_db.services import mirror

    for outcome in mirror.sync_changed(store):
        done.synced += outcome.revised is not None
        for told in outcome.notes:
            note(told)


def _learn(store: "Store", done: Done, ends_at: float) -> int:
    """Learn from the jobs that are due, one after the other; how many were claimed."""
    from playbook_db.llm import access
    from playbook_db.services import queueing

    model: Model | None = None
    claimed = 0
    while time.monotonic() < ends_at:
        job = queueing.claim(store)
        if job is None:
            break
        claimed += 1
        try:
            if _is_there(job):
                model = model or access.find_model()
                _learn_job(store, job, model, until=ends_at)
            else:
                _end_job(store, job)
            done.learnt += 1
        except NoModelError as error:
            queueing.put_off(store, job, str(error), until=queueing.later(_NO_MODEL_WAIT_S))
            done.put_off += 1
        except BudgetError as error:
            queueing.put_off(store, job, str(error), until=error.until)
            done.put_off += 1
        except TimeOverError as error:
            queueing.put_off(store, job, str(error))
            done.put_off += 1
        except Exception as error:  # whatever it is, the other jobs must have their turn
            for_good = isinstance(error, ModelError) and error.is_lasting
            queueing.note_failure(store, job, f"{type(error).__name__}: {error}", for_good=for_good)
            note(f"job {job.id} of {job.key}: {type(error).__name__}: {error}")
            done.failed += 1
    return claimed


def _learn_job(store: "Store", job: "Job", model: "Model", *, until: float) -> None:
    from playbook_db.claude_code import learner
    from playbook_db.services import queueing
    from playbook_db.services.project import Project

    learner.learn_transcript(
        Project(store, job.key),
        job.transcript_path or "",
        model,
        at_end=lambda past: queueing.finish_in(past, job),
        until=until,
    )


def _is_there(job: "Job") -> bool:
    """Whether the job's transcript is there: a session in which nothing was said leaves none."""
    if job.agent_id is not None:
        time.sleep(_LATE_S)
    return os.path.exists(job.transcript_path or "")


def _end_job(store: "Store", job: "Job") -> None:
    from playbook_db.services import cursors, queueing
    from playbook_db.services.project import Project

    cursors.keep(Project(store, job.key), lambda past: queueing.finish_in(past, job))


def _take_in(store: "Store", path: str) -> bool:
    """Queue the job in the spool file at *path* and remove the file; one that is no job is moved out of the way."""
    from playbook_db.services import queueing

    try:
        with open(path, "rb") as file:
            job = json.loads(file.read())
        if not isinstance(job, dict) or not isinstance(job.get("project"), str):
            raise ValueError("it names no project")
        told = {name: value for name, value in job.items() if isinstance(value, str)}
        is_queued = queueing.take_in(store, job["project"], told)
    except FileNotFoundError:
        return False
    except (ValueError, RecursionError) as error:
        os.replace(path, path + ".unreadable")
        note(f"{path} holds no job ({error}); it was moved to {path}.unreadable")
        return False
    except PlaybookError as error:
        note(f"{path} waits on: {error}")
        return False
    os.unlink(path)
    return is_queued


if __name__ == "__main__":
    main()
