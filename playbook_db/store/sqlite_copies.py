"""SQLite files as a whole: opened to read alone, copied while others write, put over one that others have open."""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from urllib.parse import quote

from playbook_db import settings
from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError

BESIDE = ("-wal", "-shm", "-journal")  # what SQLite has beside a database file
# Where SQLite's message quotes a name that is damaged, the driver fails to make it a text.
DRIVER_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_NOT_A_DATABASE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_WAITS = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_RETRY_AFTER_S = 0.005  # when the write lock is taken


def open_to_read(path: str) -> sqlite3.Connection:
    """A connection to the file at *path* that can't change it, though others may.

    Raises DamagedError, DatabaseError.
    """
    try:
        try:
            return _opened(path, "mode=ro")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in _WAITS or os.path.exists(f"{path}-wal"):
                raise
            return _opened(path, "immutable=1")  # where nobody may write, SQLite can't make its own files either
    except DRIVER_ERRORS as error:
        raise translated(error, path) from error


def open_untouched(path: str) -> sqlite3.Connection:
    """A connection to a file that nobody has open: nothing is made beside it. Raises DamagedError, DatabaseError."""
    if has_log(path):
        return open_to_read(path)
    try:
        return _opened(path, "immutable=1")
    except DRIVER_ERRORS as error:
        raise translated(error, path) from error


def open_to_check(path: str) -> sqlite3.Connection:
    """A connection that writes nothing, for a check of the file at *path* while an `open_to_read` is open: closing the
    last connection that may write would work the log into the file.

    SQLite looks at no CHECK constraint where a file is opened for reading alone.
    """
    try:
        connection = _opened(path, "mode=rw")
    except DRIVER_ERRORS:
        return open_to_read(path)
    connection.execute("PRAGMA query_only = ON")
    return connection


def has_log(path: str) -> bool:
    """Whether there is something in the write-ahead log of the database file *path*."""
    return os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0


def schema_of(path: str) -> int:
    """The number of the schema that the file at *path*, which nobody has open, is at. Raises DatabaseError."""
    with closing(open_untouched(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def copy(source: sqlite3.Connection, target: str, *, thoroughly: bool = False) -> list[str]:
    """Copy what *source* reads into the empty file *target*: one state of it, in one file that needs no other to be
    read. What a check of the copy finds wrong (a short check, unless *thoroughly*); the copy is on the disk."""
    source.execute("BEGIN")
    source.execute("SELECT count(*) FROM sqlite_master").fetchone()  # takes the lock, or says why not
    with closing(sqlite3.connect(target, isolation_level=None)) as made:
        made.execute("PRAGMA synchronous = OFF")
        made.text_factory = lambda data: data.decode("utf-8", "replace")  # a check may quote damaged names
        source.backup(made)
        source.execute("ROLLBACK")
        made.execute("PRAGMA journal_mode = DELETE")
        found = made.execute(f"PRAGMA {'integrity_check' if thoroughly else 'quick_check'}").fetchall()
    to_disk(target)
    return [problem for (problem,) in found if problem != "ok"]


def put_over(source: str, path: str, *, before: Callable[[], object]) -> None:
    """Give the database in *path* the content of *source*, in one transaction, whoever has it open.

    *before* is called with the write lock held: what it reads is what is replaced. What it raises leaves all as it was.
    Raises DatabaseBusyError.
    """
    deadline = time.monotonic() + settings.LOCK_WAIT_S
    has_begun = False

    def at_step(status: int, _remaining: int, _total: int) -> None:
        nonlocal has_begun
        if status & 0xFF in _WAITS:
            if time.monotonic() > deadline:
                raise DatabaseBusyError(path, settings.LOCK_WAIT_S)
        elif not has_begun:
            has_begun = True
            before()

    with (
        closing(sqlite3.connect(source, isolation_level=None)) as new,
        closing(sqlite3.connect(path, timeout=settings.LOCK_WAIT_S, isolation_level=None)) as live,
    ):
        live.execute("PRAGMA journal_mode = WAL")  # else who writes keeps *before* from reading
        live.execute("PRAGMA busy_timeout = 0")  # SQLite's own wait loses to a crowd's short ones
        _take_page_size(new, live)
        (pages,) = new.execute("PRAGMA page_count").fetchone()
        # The first step takes the lock, the last commits: there must be one in between.
        new.backup(live, pages=max(1, pages // 4), progress=at_step, sleep=_RETRY_AFTER_S)


def is_damage(error: BaseException) -> bool:
    """Whether the driver's *error* says that the file isn't the database it should be."""
    if not isinstance(error, sqlite3.Error):
        return isinstance(error, UnicodeDecodeError)
    code = getattr(error, "sqlite_errorcode", None)
    return (code is not None and code & 0xFF in _NOT_A_DATABASE) or str(error).startswith(
        ("no such table", "no such column", "no such index", "Could not decode")
    )


def translated(error: Exception, path: str) -> DatabaseError:
    """What the driver's *error* about the file at *path* means to a user."""
    if is_damage(error):
        return DamagedError(path, str(error))
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _WAITS:
        return DatabaseBusyError(path, settings.LOCK_WAIT_S)
    return DatabaseError(f"{path} can't be opened: {error}.")


def _opened(path: str, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(os.path.abspath(path)))}?{options}",
        uri=True,
        timeout=settings.LOCK_WAIT_S,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _take_page_size(new: sqlite3.Connection, live: sqlite3.Connection) -> None:
    """Give *new* the page size of *live*: a write-ahead log can't hold another."""
    (wanted,) = live.execute("PRAGMA page_size").fetchone()
    if new.execute("PRAGMA page_size").fetchone() != (wanted,):
        new.execute(f"PRAGMA page_size = {wanted:d}")
        new.execute("VACUUM")


def to_disk(path: str) -> None:
    """Wait until the file or folder at *path* is on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
