"""Run one SQL statement of the user, which can only read.

The file is opened read-only, the connection refuses writes, and an authorizer checks each action. Without the
authorizer, a statement could create other files.
"""

import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from playbook_db import settings
from playbook_db.errors import query_failed, query_refused, query_too_slow
from playbook_db.store import sqlite_open
from playbook_db.store.sqlite import sqlite_files

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_OUTWARD_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}
_READING_PRAGMAS = ("table_list", "table_info", "table_xinfo", "index_list", "index_info", "foreign_key_list")
_REFUSALS = ("not authorized", "authorization denied")  # without an error code of their own in some versions
_OF_THE_FILE = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PROTOCOL,
}  # fmt: skip
_CELL_BYTES, _MEMORY_BYTES = 64 << 20, 512 << 20  # for one value; for all of SQLite
_STEPS_PER_CHECK = 20_000  # of SQLite's machine (some milliseconds) between checks of Ctrl-C and the clock
_CHECK_S = 0.1  # between checks of the clock in a thread, for long steps


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a statement. Titles in `columns` may repeat; `rows` are read on demand."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


class _Clock:
    """A time limit for SQLite's work on a query. The time of the rows' reader, such as a pager, doesn't count."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._ends_at = time.monotonic() + timeout_s
        self._is_answered = threading.Event()

    @contextmanager
    def watching(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Interrupt *connection* after its time limit. SQLite can't interrupt a function on one huge text."""

        def watch() -> None:
            while not self._is_answered.wait(_CHECK_S):
                if self.is_over():
                    connection.interrupt()

        thread = threading.Thread(target=watch, name="playbook-sql", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_answered.set()
            thread.join()

    def is_over(self) -> bool:
        return time.monotonic() > self._ends_at

    def rows(self, cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
        for row in cursor:
            remaining_s, self._ends_at = self._ends_at - time.monotonic(), math.inf
            yield row
            self._ends_at = time.monotonic() + remaining_s


@contextmanager
def ask(url: str, query: str, *, project_key: str, timeout_s: float = settings.QUERY_TIMEOUT_S) -> Iterator[Answer]:
    """Run the SQL *query* in the database at *url*, and return the answer. `:project` is bound to *project_key*.

    This migrates nothing and leaves no new file. Raises ArgumentError for invalid SQL, after *timeout_s* seconds, or
    if the statement would do more than read, and DatabaseError.
    """
    if any(0xD800 <= ord(char) <= 0xDFFF for char in query):  # Python's form of invalid bytes
        raise query_failed("the statement is not UTF-8")
    if not query.strip("; \t\r\n"):
        raise query_failed("there is no statement")
    path = sqlite_open.file_of(url)
    if path is None:
        from playbook_db.store import migrate
        from playbook_db.store.connect import dialect_for
        from playbook_db.store.postgres.server_sql import open_answer  # late, as it brings the driver

        migrate.require_current(url)
        with open_answer(dialect_for(url), query, project_key, timeout_s) as answer:
            yield Answer(*answer)
        return
    with sqlite_files.without_new_log(path):
        _require_current(url, path)
        clock = _Clock(timeout_s)
        with closing(sqlite_files.open_file(path, "read")) as connection, _explained(connection, path, clock):
            _allow_reading_only(connection)
            # Python code can get a Ctrl-C; SQLite alone can't.
            connection.set_progress_handler(clock.is_over, _STEPS_PER_CHECK)
            with clock.watching(connection), closing(connection.execute(query, {"project": project_key})) as cursor:
                if cursor.description is None:
                    raise query_refused()
                yield Answer(tuple(column[0] for column in cursor.description), clock.rows(cursor))


def _require_current(url: str, path: str) -> None:
    if os.path.exists(path) and not sqlite_open.no_regular_file(path) and os.path.getsize(path):
        with closing(sqlite_files.open_file(path, "read")) as connection:
            version, application, _ = connection.execute(sqlite_files.VERSIONS).fetchone()
        if (version, application) == (sqlite_open.SCHEMA, sqlite_files.APPLICATION_ID):
            return
    from playbook_db.store import migrate  # late: it imports SQLAlchemy

    migrate.require_current(url)


def _allow_reading_only(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = ON")  # SQLite 3.40 needs this for JSON in views; `_may` checks all
    connection.execute("PRAGMA temp_store = MEMORY")  # a long sort creates no file
    # SQLite creates these tables at their first use. `_may` would refuse that as a change of the schema.
    for table in ("json_each", "json_tree", "dbstat", *(f"pragma_{name}" for name in _READING_PRAGMAS)):
        with suppress(sqlite3.OperationalError):  # not every SQLite has dbstat
            connection.execute(f"SELECT * FROM {table} LIMIT 0")
    connection.execute(f"PRAGMA hard_heap_limit = {_MEMORY_BYTES}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL_BYTES)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.set_authorizer(_may)


def _may(action: int, first: str | None, second: str | None, _database: str | None, _inside: str | None) -> int:
    """Return whether a statement may do *action*. SQLite passes a code for the action and up to two names."""
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (second or "").lower() in _OUTWARD_FUNCTIONS else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if (first or "").lower() in _READING_PRAGMAS else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


@contextmanager
def _explained(connection: sqlite3.Connection, path: str, clock: _Clock) -> Iterator[None]:
    """Translate the driver's errors about the statement or the file *path* into errors of `playbook_db`."""
    try:
        yield
    except MemoryError as error:
        raise query_failed("the query takes too much memory") from error
    except (sqlite3.Error, sqlite3.Warning) as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT and clock.is_over():
            raise query_too_slow(clock.timeout_s) from None
        if code == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        if code in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY) or str(error).startswith(_REFUSALS):
            raise query_refused() from error
        if isinstance(error, sqlite3.Error) and code in _OF_THE_FILE:
            with sqlite_files.explained(path):
                raise
        views = connection.execute("SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name")
        raise query_failed(str(error), views=tuple(name for (name,) in views)) from error
