"""What an erasure leaves in the bytes of SQLite's files, and getting rid of it.

A row that is written over leaves its old bytes in free pages, in the slack of used ones and in the write-ahead log.
So the file is rewritten whole, and the log emptied.
"""

import contextlib
import random
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager

from sqlalchemy import Connection

from playbook_db import settings
from playbook_db.domain.erasure import SHORTEST_TEXT
from playbook_db.store.sqlite import files
from playbook_db.store.sqlite.dialect import SqliteDialect

_RETRY_AFTER_S = (0.01, 0.05)  # at random in between, while a reader keeps the log
_BEGINNING_BYTES = 64  # of a text; a page holds so few in one piece


def rewrite(path: str) -> bool:
    """Rewrite the database in *path* whole, and empty its write-ahead log; whether that could be done.

    A reader that began before keeps what it reads in the log: it is waited for up to LOCK_WAIT_S seconds. Raises
    DatabaseBusyError where a writer doesn't end.
    """
    from filelock import FileLock, Timeout

    deadline = time.monotonic() + settings.LOCK_WAIT_S
    try:
        with (
            FileLock(f"{path}.checkpoint.lock", timeout=settings.LOCK_WAIT_S, mode=0o600),
            files.explained(path),
            closing(files.open_file(path, "write")) as connection,
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


def holds(path: str, texts: Collection[str]) -> bool:
    """Whether the bytes of the file at *path*, or of those that SQLite makes beside it, hold any of *texts*; those that
    stand anywhere by chance don't count."""
    beginnings = [text.encode("utf-8", "replace")[:_BEGINNING_BYTES] for text in texts if len(text) >= SHORTEST_TEXT]
    for file in (f"{path}{end}" for end in ("", *files.BESIDE)):
        with contextlib.suppress(OSError), open(file, "rb") as opened:
            data = opened.read()
            if any(beginning in data for beginning in beginnings):
                return True
    return False


@contextmanager
def opened(path: str) -> Iterator[Connection]:
    """A transaction that reads the backup at *path*; nothing is made beside it. Raises DatabaseError."""
    dialect = SqliteDialect(path, "at rest")
    with dialect.explained(), dialect.make_engine().begin() as connection:
        yield connection
