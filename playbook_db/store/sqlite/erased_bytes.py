"""What an erasure leaves in the bytes of SQLite's files, and getting rid of it.

A row that is written over leaves its old bytes in free pages, in the slack of used ones and in the write-ahead log.
So the file is rewritten whole, and the log emptied.
"""

import contextlib
import os
import random
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from playbook_db import settings
from playbook_db.domain.erasure import SHORTEST_PASSAGE
from playbook_db.errors import DatabaseError
from playbook_db.store.sqlite import dialect, files
from playbook_db.store.sqlite.files import BESIDE

_RETRY_AFTER_S = (0.01, 0.05)  # at random in between, while a reader keeps the log
_PARTIAL = ".erasing"  # the end of the name of a backup that is being rewritten
_SIGN_BYTES = 64  # of a text, which a page holds in one piece


def scrub(path: str) -> bool:
    """Rewrite the database in *path* whole, and empty its write-ahead log; whether that could be done.

    A reader that began before keeps what it reads in the log: it is waited for up to LOCK_WAIT_S seconds. Raises
    DatabaseBusyError where a writer doesn't end.
    """
    from filelock import FileLock, Timeout

    deadline = time.monotonic() + settings.LOCK_WAIT_S
    try:
        with FileLock(f"{path}.checkpoint.lock", timeout=settings.LOCK_WAIT_S), dialect.explained(path):
            return _scrub(path, deadline)
    except Timeout:
        return False


def holds(path: str, texts: Collection[str]) -> bool:
    """Whether the bytes of the file at *path*, or of those that SQLite makes beside it, hold any of *texts*; those that
    stand anywhere by chance don't count."""
    signs = [text.encode("utf-8", "replace")[:_SIGN_BYTES] for text in texts if len(text) >= SHORTEST_PASSAGE]
    for file in (f"{path}{end}" for end in ("", *BESIDE)):
        with contextlib.suppress(OSError), open(file, "rb") as opened:
            data = opened.read()
            if any(sign in data for sign in signs):
                return True
    return False


@contextmanager
def opened(path: str, *, writes: bool = False) -> Iterator[Connection]:
    """A transaction on a backup at *path*, whatever its schema; nothing is made beside it unless it *writes*.

    Raises DatabaseError where it can't be read.
    """

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(path, isolation_level=None) if writes else files.open_untouched(path)

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise files.translated(error.orig, path) from error
        raise


def schema_of(path: str) -> int:
    """The schema of the backup at *path*. Raises DatabaseError."""
    with closing(files.open_untouched(path)) as connection, dialect.explained(path):
        return dialect.version_of(connection, path)


def rewrite(path: str, change: Callable[[str], object], *, drop_triggers: bool) -> None:
    """Let *change* work on a copy of the backup at *path*, and put the copy, rewritten whole, in its place; with
    *drop_triggers* they are out of its way. A kill leaves the backup as it was. Raises DatabaseError."""
    partial = f"{path}{_PARTIAL}"
    remove_leftover(path)
    dialect.prepare_file(partial)
    try:
        with dialect.explained(path):
            _fill(path, partial, change, drop_triggers=drop_triggers)
        status = os.stat(path)
        os.utime(partial, ns=(status.st_atime_ns, status.st_mtime_ns))
        files.to_disk(partial)
        # Frames of an old log must never meet the new file.
        for end in BESIDE:
            _remove(f"{path}{end}")
        os.replace(partial, path)
        files.to_disk(os.path.dirname(path))
    except OSError as error:
        raise DatabaseError(f"{path} can't be rewritten: {error.strerror}. It was left as it is.") from error
    finally:
        remove_leftover(path)


def remove_leftover(path: str) -> None:
    """Remove what a killed rewriting left beside the backup at *path*."""
    for end in ("", *BESIDE, ".checkpoint.lock"):
        _remove(f"{path}{_PARTIAL}{end}")


def _scrub(path: str, deadline: float) -> bool:
    with closing(sqlite3.connect(path, timeout=settings.LOCK_WAIT_S, isolation_level=None)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA busy_timeout = 0")
        while True:
            (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not is_busy:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(random.uniform(*_RETRY_AFTER_S))  # noqa: S311 - no secret hangs on it


def _fill(path: str, partial: str, change: Callable[[str], object], *, drop_triggers: bool) -> None:
    with closing(files.open_to_read(path)) as source:
        _require_sound(files.copy(source, partial, thoroughly=True), path)
    triggers = _drop_triggers(partial) if drop_triggers else []
    change(partial)
    with closing(sqlite3.connect(partial, isolation_level=None)) as made:
        for statement in triggers:
            made.execute(statement)
        made.execute("PRAGMA journal_mode = DELETE")
        made.execute("VACUUM")
        _require_sound([told for (told,) in made.execute("PRAGMA integrity_check") if told != "ok"], path)


def _drop_triggers(path: str) -> list[str]:
    """Drop the triggers of the database in *path*; the statements that make them again."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        found = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
        ).fetchall()
        for name, _ in found:
            connection.execute(f'DROP TRIGGER "{name}"')
    return [statement for _, statement in found]


def _require_sound(problems: list[str], path: str) -> None:
    if problems:
        raise DatabaseError(
            f"{path} is damaged ({problems[0]}). It was left as it is, and may hold what was forgotten."
        )


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
