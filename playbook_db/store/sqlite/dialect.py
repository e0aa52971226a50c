"""All that only SQLite does: how a connection is set up, how a transaction begins, versions, backup, checks.

PRAGMAs, triggers (`triggers.sql`) and, one day, full text are named here and nowhere else.
"""

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError

from playbook_db import settings
from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError
from playbook_db.store.hook_queries import OLDEST_SQLITE
from playbook_db.store.sqlite import files as files_sqlite

_RETRY_AFTER_S = (0.001, 0.006)  # at random in between, when the write lock is taken
_DISK_REFUSES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_BUSY_TIMEOUT = "PRAGMA busy_timeout = {}"  # milliseconds
APPLICATION_ID = 0x504C4244  # "PLBD", so that `file playbook.db` can tell what it is
WAL_CHECKPOINT_BYTES = 16 * 1024 * 1024  # a longer write-ahead log is worked into the file after a commit


def prepare_file(path: str) -> None:
    """Make the database file and its folder, for their owner alone, where they aren't there yet."""
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise DatabaseError(f"{path} can't be opened for writing: {error.strerror}.") from error


def set_up(engine: Engine, *, foreign_keys: bool = True) -> None:
    """Make the engine's connections speak SQLite as we need it.

    The driver must not begin transactions by itself: its deferred BEGIN loses updates between processes
    and leaves DDL and SAVEPOINT outside. A writer begins with IMMEDIATE, so that what it reads is still
    true when it writes. `synchronous` is NORMAL: with the write-ahead log a power cut can take the last
    commits, never part of one, and what a session taught is then learnt again from its transcript.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise DatabaseError(
            f"This Python brings SQLite {sqlite3.sqlite_version}; playbook-db needs 3.37 or later. Use a newer Python."
        )

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute(_BUSY_TIMEOUT.format(int(settings.LOCK_WAIT_S * 1000)))
        for pragma in (
            "journal_mode = WAL",
            "synchronous = NORMAL",
            f"foreign_keys = {'ON' if foreign_keys else 'OFF'}",
            "cache_size = -32768",  # KiB at most; an import larger than the default of 2 MB spills its pages
            "wal_autocheckpoint = 0",  # one checkpointer at a time, see checkpoint()
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        driver: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]
        if connection.get_execution_options().get("writes", True):
            _begin_to_write(driver, connection.engine.url.database or "")
        else:
            driver.execute("BEGIN")


def _begin_to_write(driver: sqlite3.Connection, path: str) -> None:
    """Take the write lock, waiting up to LOCK_WAIT_S seconds.

    SQLite's own wait sleeps longer and longer, so that under a crowd the ones who have waited longest lose to
    newcomers, for seconds. Short sleeps of random length give all the same chance.
    """
    deadline = time.monotonic() + settings.LOCK_WAIT_S
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                driver.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise DatabaseError(f"{path} can't be used: {error}. Nothing was changed.") from error
                if time.monotonic() > deadline:
                    raise DatabaseBusyError(path, settings.LOCK_WAIT_S) from error
                time.sleep(random.uniform(*_RETRY_AFTER_S))  # noqa: S311 - no secret hangs on it
            else:
                return
    finally:
        driver.execute(_BUSY_TIMEOUT.format(int(settings.LOCK_WAIT_S * 1000)))


def schema_version(path: str) -> int | None:
    """The schema of the database in *path*: 0 for an empty file, None where there is none.

    Raises DatabaseError where the file is no SQLite database, or one of another program.
    """
    if not os.path.exists(path) or not os.path.getsize(path):
        if files_sqlite.has_log(path):  # which SQLite removes where it opens an empty file
            raise DamagedError(path, "it is missing or empty, and its log is not")
        return 0 if os.path.exists(path) else None
    with closing(files_sqlite.open_to_read(path)) as connection, explained(path):
        return version_of(connection, path)


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """The schema of the database in *path*, on which *connection* is; 0 for an empty file."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION_ID:
        raise DatabaseError(f"{path} is the database of another program. Name another file with --db.")
    return int(version)


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn the driver's errors into ours: what keeps the database in *path* from being read, and what to do."""
    try:
        yield
    except files_sqlite.DRIVER_ERRORS as error:
        raise files_sqlite.translated(error, path) from error


@contextmanager
def disk_refusals(told: Callable[[str], DatabaseError]) -> Iterator[None]:
    """Raise what *told* makes of the reason where a disk has no room, can't be written, or fails."""
    try:
        yield
    except (OSError, sqlite3.Error, DBAPIError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(cause, OSError):
            raise told(f"{cause.strerror} ({cause.filename})") from error
        if getattr(cause, "sqlite_errorcode", 0) & 0xFF in _DISK_REFUSES:
            raise told(str(cause)) from error
        raise


def mark_version(connection: Connection, version: int) -> None:
    """Write *version* where `schema_version` reads it, as part of the transaction under way."""
    connection.exec_driver_sql(f"PRAGMA user_version = {version:d}")
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID:d}")


def object_names(connection: Connection, kind: str) -> list[str]:
    """The names of all objects of *kind*, `view` or `trigger`."""
    found = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = ?", (kind,))
    return [row[0] for row in found]


def by_index(name: str) -> str:
    """What makes SQLite search a table by the index *name*, where it would choose another without statistics."""
    return f"INDEXED BY {name}"


def statements(file_name: str) -> list[str]:
    """The SQL statements of one of the store's own files, `triggers.sql` or `views.sql`."""
    found, statement = [], ""
    for line in files("playbook_db.store").joinpath(file_name).read_text(encoding="utf-8").splitlines(keepends=True):
        if statement or not (line.startswith("--") or line.isspace()):
            statement += line
        if sqlite3.complete_statement(statement):
            found.append(statement.strip().rstrip(";"))
            statement = ""
    return found


def size_bytes(connection: Connection) -> int:
    """The size of the database as the transaction sees it, once its log is worked into the file."""
    (pages,) = connection.exec_driver_sql("PRAGMA page_count").one()
    (page_bytes,) = connection.exec_driver_sql("PRAGMA page_size").one()
    return int(pages) * int(page_bytes)


def table_bytes(connection: Connection) -> dict[str, int]:
    """What each table takes of the file, its indexes included; empty where this SQLite can't tell."""
    if not connection.exec_driver_sql("SELECT 1 FROM pragma_module_list WHERE name = 'dbstat'").first():
        return {}
    rows = connection.exec_driver_sql(
        "SELECT m.tbl_name, sum(d.pgsize) FROM dbstat AS d JOIN sqlite_master AS m ON m.name = d.name"
        " WHERE d.aggregate = TRUE GROUP BY m.tbl_name"
    )
    return {str(name): int(size) for name, size in rows}


def check_quickly(connection: Connection) -> list[str]:
    """What SQLite finds wrong with the file without comparing indexes and references."""
    return [row[0] for row in connection.exec_driver_sql("PRAGMA quick_check") if row[0] != "ok"]


def structure(connection: Connection) -> dict[str, str]:
    """How each table, index, view and trigger was made, by its kind and name; SQLite's own are left out."""
    rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {f"{kind} {name}": f"{of} {made}" for kind, name, of, made in rows if not name.startswith("sqlite_")}


def check(connection: Connection) -> list[str]:
    """What SQLite itself finds wrong with the file; nothing where all is well."""
    found = [row[0] for row in connection.exec_driver_sql("PRAGMA integrity_check") if row[0] != "ok"]
    for table, rowid, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        found.append(f"a row of {table} ({rowid}) refers to a row of {parent} that is not there")
    return found


def checkpoint(path: str, *, least_bytes: int | None = None) -> None:
    """Work a write-ahead log of *least_bytes* (else a long one) into the file, if no one else is at it.

    SQLite before 3.51.3 can, rarely, damage a file that two connections checkpoint at once, hence the lock;
    and hence no automatic checkpoints.
    """
    try:
        if os.path.getsize(f"{path}-wal") < (WAL_CHECKPOINT_BYTES if least_bytes is None else least_bytes):
            return
    except OSError:
        return
    from filelock import FileLock, Timeout

    try:
        with FileLock(f"{path}.checkpoint.lock", timeout=0), closing(sqlite3.connect(path, timeout=0)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # as far as it goes without waiting for anyone
    except Timeout:
        return
    except sqlite3.OperationalError as error:  # somebody has the file for himself: the next one does it
        if "locked" not in str(error):
            raise
