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
from datetime import datetime
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from playbook_db import settings
from playbook_db.claude_code import registration, spool
from playbook_db.claude_code.events import session_folder_name
from playbook_db.claude_code.hook_runner import append_line
from playbook_db.errors import BudgetError, ModelError, NoModelError, PlaybookError, TimeOverError
from playbook_db.services import queue
from playbook_db.store.engine import Store

if TYPE_CHECKING:
    from playbook_db.llm.model import Model
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
    from playbook_db.services import queue
    from playbook_db.store.engine import open_store

    with contextlib.suppress(OSError):
        spool.keep_reserve()
        os.utime(settings.worker_lock())  # tells the hook of SessionStart when a worker last looked
    with open_store(url) as store:
        queue.release_all(store)  # no other worker is alive
        done.taken_in += sum(_take_in(store, path) for path in spool.waiting())
        _sync(store, done)
        for lost in find(store):
            job = {"session_id": lost.session_id, "transcript_path": lost.path, "parent_path": lost.parent_path}
            done.found += queue.take_in(store, lost.key, {**job, "reason": "found"})
        if _learn(store, done, ends_at):
            _sync(store, done)
        _finish_erasures(store)
        store.tidy()
    _back_up(url)


def _finish_erasures(store: "Store") -> None:
    """Erase what is left of forgotten texts, unless somebody still reads them; then the next worker does."""
    from playbook_db.services import forget

    try:
        forget.finish_waiting(store)
    except PlaybookError as error:
        note(f"what was forgotten is still in the bytes of the database or a backup: {error}")


def _back_up(url: str) -> None:
    """Take the daily backup, where it is due; what was learnt is kept whether or not that works."""
    from playbook_db.services import maintenance

    try:
        maintenance.take_daily(url)
    except (PlaybookError, OSError) as error:
        note(f"no backup was taken: {error}")


def _has_come_in(url: str) -> bool:
    """Whether something waits that came after the last look, from a hook whose own worker found this one at work."""
    from playbook_db.services import queue
    from playbook_db.store.engine import open_store

    if spool.waiting():
        return True
    with open_store(url) as store:
        return queue.is_any_due(store)


def _sync(store: "Store", done: Done) -> None:
    from playbook_db.services import mirror

    for outcome in mirror.sync_changed(store):
        done.synced += outcome.revised is not None
        for told in outcome.notes:
            note(told)


def _learn(store: "Store", done: Done, ends_at: float) -> int:
    """Learn from the jobs that are due, one after the other; how many were claimed."""
    from playbook_db.llm import choose
    from playbook_db.services import queue

    model: Model | None = None
    claimed = 0
    while time.monotonic() < ends_at:
        job = queue.claim(store)
        if job is None:
            break
        claimed += 1
        try:
            if _is_there(job):
                model = model or choose.find_model()
                _learn_job(store, job, model, until=ends_at)
            else:
                _end_job(store, job)
            done.learnt += 1
        except NoModelError as error:
            queue.put_off(store, job, str(error), until=queue.later(_NO_MODEL_WAIT_S))
            done.put_off += 1
        except BudgetError as error:
            queue.put_off(store, job, str(error), until=error.until)
            done.put_off += 1
        except TimeOverError as error:
            queue.put_off(store, job, str(error))
            done.put_off += 1
        except Exception as error:  # whatever it is, the other jobs must have their turn
            for_good = isinstance(error, ModelError) and error.is_lasting
            queue.note_failure(store, job, f"{type(error).__name__}: {error}", for_good=for_good)
            note(f"job {job.id} of {job.key}: {type(error).__name__}: {error}")
            done.failed += 1
    return claimed


def _learn_job(store: "Store", job: "Job", model: "Model", *, until: float) -> None:
    from playbook_db.claude_code import learner
    from playbook_db.services import queue
    from playbook_db.services.projects import Project

    learner.learn_transcript(
        Project(store, job.key),
        job.transcript_path or "",
        model,
        at_end=lambda past: queue.finish_in(past, job),
        until=until,
    )


def _is_there(job: "Job") -> bool:
    """Whether the job's transcript is there: a session in which nothing was said leaves none."""
    if job.agent_id is not None:
        time.sleep(_LATE_S)
    return os.path.exists(job.transcript_path or "")


def _end_job(store: "Store", job: "Job") -> None:
    from playbook_db.services import queue
    from playbook_db.services.projects import Project

    queue.keep(Project(store, job.key), lambda past: queue.finish_in(past, job))


def _take_in(store: "Store", path: str) -> bool:
    """Queue the job in the spool file at *path* and remove the file; one that is no job is moved out of the way."""
    from playbook_db.services import queue

    try:
        with open(path, "rb") as file:
            job = json.loads(file.read())
        if not isinstance(job, dict) or not isinstance(job.get("project"), str):
            raise ValueError("it names no project")
        told = {name: value for name, value in job.items() if isinstance(value, str)}
        is_queued = queue.take_in(store, job["project"], told)
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


# Sessions that ended without a word, as a kill lets them: their transcripts have grown past their cursors.


QUIET_S = 600.0  # a transcript that grew later than that may belong to a session that goes on


@dataclass(frozen=True, slots=True)
class LostSession:
    """A transcript of the project `key` that nobody queued; `parent_path` is a subagent's session's."""

    key: str
    path: str
    session_id: str
    parent_path: str | None


def find(store: Store) -> Iterator[LostSession]:
    """The transcripts of all projects that grew since they were learnt from, wait in no queue, and are quiet.

    Those older than the project's playbook are for `playbook bootstrap`.
    """
    for known in queue.known_transcripts(store):
        since = datetime.fromisoformat(known.created_at).timestamp()
        folders = {os.path.join(settings.claude_dir(), "projects", session_folder_name(known.key))}
        folders |= {os.path.dirname(path) for path in known.cursors if not _is_subagents(path)}
        for path in _transcripts(sorted(folders)):
            try:
                status = os.stat(path)
            except OSError:
                continue
            is_new = status.st_size > known.cursors.get(path, 0) and status.st_mtime >= since
            is_quiet = time.time() - status.st_mtime >= QUIET_S
            if is_new and is_quiet and path not in known.with_jobs and _is_wanted(path, known.key):
                yield _lost(known.key, path)


def transcripts_of(key: str) -> list[str]:
    """All transcripts that Claude Code keeps of sessions in the folder *key*, subagents' included, oldest first."""
    folder = os.path.join(settings.claude_dir(), "projects", session_folder_name(key))
    return sorted(_transcripts([folder]), key=lambda path: (os.stat(path).st_mtime, path))


def _is_wanted(path: str, folder: str) -> bool:
    """Whether the user's settings let us learn from how the session may have ended: nobody knows whether it was
    cleared or killed."""
    if _is_subagents(path):
        return registration.is_on("playbook_update_on_subagent_stop", folder)
    return all(registration.is_on(f"playbook_update_on_{end}", folder) for end in ("exit", "clear"))


def _lost(key: str, path: str) -> LostSession:
    folder, name = os.path.split(path)
    if not _is_subagents(path):
        return LostSession(key, path, name.removesuffix(".jsonl"), None)
    session = os.path.dirname(folder)
    return LostSession(key, path, os.path.basename(session), session + ".jsonl")


def _is_subagents(path: str) -> bool:
    return os.path.basename(os.path.dirname(path)) == "subagents"


def _transcripts(folders: list[str]) -> Iterator[str]:
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".jsonl") and os.path.isfile(path):
                yield path
            elif os.path.isdir(os.path.join(path, "subagents")):
                yield from _transcripts([os.path.join(path, "subagents")])


if __name__ == "__main__":
    main()
