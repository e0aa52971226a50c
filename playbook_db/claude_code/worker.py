"""The worker: what the hooks leave to be done, done apart from any session. One at a time for each database.

It takes in the spool, brings mirrors in step that changed under us, and works the write-ahead log into the database,
so that the next hook opens it quickly. It ends when there is nothing left.
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from playbook_db import settings
from playbook_db.claude_code import spool
from playbook_db.claude_code.frame import append_line
from playbook_db.errors import PlaybookError

if TYPE_CHECKING:
    from playbook_db.store.engine import Store

_ROUNDS = 3  # looks at the spool: a job may come in while the last look is under way


@dataclass(frozen=True, slots=True)
class Done:
    """What a run of the worker did: how many jobs it took in from the spool, and how many mirrors it took in."""

    taken_in: int = 0
    synced: int = 0


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
    for _ in range(_ROUNDS):
        with _alone() as is_alone:
            if not is_alone:
                return None
            done = _work(url, done)
        if not spool.waiting():  # else it came in after the look, from a hook whose own worker found this one at work
            break
    return done


def is_at_work() -> bool:
    """Whether a worker is at work just now."""
    if not os.path.exists(lock_path()):
        return False
    with _alone() as is_alone:
        return not is_alone


def note(problem: str) -> None:
    """Keep one line about what went wrong in the worker's log."""
    append_line(log_path(), f"worker: {problem}")


def log_path() -> str:
    """The worker's log."""
    return os.path.join(settings.logs_dir(), "worker.log")


def lock_path() -> str:
    """The lock that the worker holds while it is at work."""
    return os.path.join(settings.data_dir(), "worker.lock")


@contextlib.contextmanager
def _alone() -> Iterator[bool]:
    os.makedirs(settings.data_dir(), mode=0o700, exist_ok=True)
    lock = FileLock(lock_path(), timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _work(url: str, before: Done) -> Done:
    from playbook_db.services import mirror
    from playbook_db.store.engine import open_store

    with contextlib.suppress(OSError):
        spool.keep_reserve()
    with open_store(url) as store:
        taken_in = sum(_take_in(store, path) for path in spool.waiting())
        synced = 0
        for outcome in mirror.sync_changed(store):
            synced += outcome.revised is not None
            for told in outcome.notes:
                note(told)
        store.tidy()
    return Done(before.taken_in + taken_in, before.synced + synced)


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
