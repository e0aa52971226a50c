"""Functions on a whole database file, for the services: back it up, replace it, and search its bytes.

A database on a server has no such backups, as servers make their own.
"""

import glob
import os
import random
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import UTC, datetime

from sqlalchemy import Connection
from sqlalchemy.engine import URL

from playbook_db import settings
from playbook_db.domain.erasure import SHORTEST_TEXT
from playbook_db.errors import DatabaseError
from playbook_db.store.connect import dialect_for
from playbook_db.store.sqlite import backups, full_text, sqlite_files
from playbook_db.store.sqlite.backups import BY_HAND, DAILY, Backup, Held, held_in, rotate, take, take_to
from playbook_db.store.sqlite.restore import Replaced, State, prepared, put_in_place, state_of
from playbook_db.store.sqlite.sqlite_dialect import SqliteDialect
from playbook_db.store.sqlite.sqlite_files import copy_to, lock_path, swap, undo_swap
from playbook_db.store.urls import described, dump_of, sqlite_path

__all__ = (
    "BY_HAND", "DAILY", "Backup", "Held", "Replaced", "State", "copy_to", "held_in", "lock_path",
    "prepared", "put_in_place", "rotate", "state_of", "swap", "take", "take_to", "undo_swap",
)  # fmt: skip
_RETRY_AFTER_S = (0.01, 0.05)  # between tries while a reader uses the log; the sleep is random
_BEGINNING_BYTES = 64  # of a text to search for; the rest of the text may be on another page


def path_of(url: URL | str) -> str:
    """Return the path of the database at *url*. The file need not exist. Raises DatabaseError for a server."""
    path = sqlite_path(url)
    if not path:
        raise DatabaseError(f"{described(url)} is on a server: use the server's own backups.", dump_of(url))
    dialect_for(url)  # raises if *path* is not a regular file
    return path


def is_there(path: str) -> bool:
    """Return whether the database file *path* exists, or at least its log isn't empty."""
    return os.path.isfile(path) or sqlite_files.has_log(path)


def changed_at(path: str) -> datetime:
    """Return the time of the last write to the database file *path* or its log. An empty log doesn't count."""
    times = [os.stat(path).st_mtime]
    if sqlite_files.has_log(path):
        times.append(os.stat(f"{path}-wal").st_mtime)
    return datetime.fromtimestamp(max(times), UTC)


def list_backups(url: URL | str) -> list[Backup]:
    """Return the backups of the database at *url*, newest first."""
    path = sqlite_path(url)
    return backups.list_backups(path) if path else []


def remove_backups(paths: Iterable[str]) -> None:
    """Remove the backups *paths* and SQLite's files beside them. Raises OSError."""
    for file in (f"{path}{end}" for path in paths for end in ("", *sqlite_files.BESIDE)):
        if os.path.exists(file):
            os.unlink(file)


def other_copies(url: URL | str, texts: Collection[str]) -> Iterator[str]:
    """Yield unknown files beside the database or in the folder of backups that contain one of *texts*."""
    path = path_of(url)
    ours = (path, *(backup.path for backup in list_backups(url)))
    known = {f"{file}{end}" for file in ours for end in ("", *sqlite_files.BESIDE)}
    beside, folder = glob.escape(path), glob.escape(backups.folder_of(path))
    others = {*glob.glob(f"{beside}*"), *glob.glob(os.path.join(folder, "*")), *backups.partials(path)}
    for other in sorted(others - known):
        if os.path.isfile(other) and _holds(other, texts):
            yield other


def rewrite(url: URL | str) -> bool:
    """Rewrite the whole database at *url*, and empty its write-ahead log. Return whether that succeeded. For a server,
    do nothing and return True.

    This removes old bytes of changed rows from free pages, unused parts of pages, and the log. While a reader uses the
    log, this waits up to LOCK_WAIT_S seconds. Raises DatabaseBusyError if a writer takes longer.
    """
    path = sqlite_path(url)
    if path is None:
        return True
    from filelock import FileLock, Timeout

    deadline = time.monotonic() + settings.LOCK_WAIT_S
    try:
        with (
            FileLock(f"{path}.checkpoint.lock", timeout=settings.LOCK_WAIT_S, mode=0o600),
            sqlite_files.explained(path),
            closing(sqlite_files.open_file(path, "write")) as connection,
        ):
            connection.execute("VACUUM")
            connection.execute("PRAGMA busy_timeout = 0")
            while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:  # 1: somebody reads from it
                if time.monotonic() > deadline:
                    return False
                time.sleep(random.uniform(*_RETRY_AFTER_S))  # noqa: S311 - no secret hangs on it
            return True
    except Timeout:
        return False


def rebuild_search(path: str) -> None:
    """Replace the full-text index in the file *path*, which nobody else uses, however damaged the index is."""
    with closing(sqlite_files.open_file(path, "write")) as connection:
        full_text.cut_off(connection)
        full_text.make(connection.execute)


def _holds(path: str, texts: Collection[str]) -> bool:
    """Return whether the file *path* or SQLite's files beside it contain one of *texts*. Skip texts that are too short
    for a certain match."""
    beginnings = [text.encode("utf-8", "replace")[:_BEGINNING_BYTES] for text in texts if len(text) >= SHORTEST_TEXT]
    for file in (f"{path}{end}" for end in ("", *sqlite_files.BESIDE)):
        with suppress(OSError), open(file, "rb") as opened:
            data = opened.read()
            if any(beginning in data for beginning in beginnings):
                return True
    return False


@contextmanager
def opened(path: str) -> Iterator[Connection]:
    """Open a transaction that reads the backup *path* and creates no files. Raises DatabaseError."""
    dialect = SqliteDialect(path, "at rest")
    with dialect.explained(), dialect.make_engine().begin() as connection:
        yield connection


def refusing_repair(path: str) -> AbstractContextManager[None]:
    """Translate errors of the driver and the disk into DatabaseError."""
    return sqlite_files.explained(path, "can't be repaired", end="It was not changed.", of_files=True)
