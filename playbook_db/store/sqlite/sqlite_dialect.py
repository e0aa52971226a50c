"""A database of playbooks in one SQLite file: PRAGMAs, locks, checks, triggers and views.

`files` opens, copies and replaces whole files.
"""

import functools
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import UTC, datetime
from importlib import resources

from sqlalchemy import Connection, Engine, NullPool, QueuePool, create_engine, event
from sqlalchemy import text as sql
from sqlalchemy.engine import URL
from sqlalchemy.pool import ConnectionPoolEntry

from playbook_db import settings
from playbook_db.domain.search_words import Term
from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError, OtherProgramError
from playbook_db.files import to_disk
from playbook_db.projects import upwards
from playbook_db.store.dialect import Dialect
from playbook_db.store.queries import hook_queries
from playbook_db.store.queries.hook_queries import ADD_HEAD
from playbook_db.store.sqlite import backups, full_text, sqlite_files
from playbook_db.store.sqlite.sqlite_files import Access, open_file
from playbook_db.store.sqlite_open import OLDEST_SQLITE, is_at_rest

_FIND = sql("""
SELECT p.id, h.playbook_id IS NOT NULL FROM playbooks AS p LEFT JOIN heads AS h ON h.playbook_id = p.id
WHERE p.key = :key
""")
_ADD_HEAD = sql(ADD_HEAD)
_FILES = ("views.sql", "search_triggers.sql", "triggers.sql")


class SqliteDialect(Dialect):
    """The database in the file `path`. The file is only read unless `access` is "write"."""

    is_shared = False

    def __init__(self, path: str, access: Access = "write") -> None:
        self.path, self.access = path, access

    @property
    def where(self) -> str:
        """The database's path, as messages show it."""
        return self.path

    def make_engine(self, *, foreign_keys: bool = True) -> Engine:
        """Return an engine whose transactions begin with our own BEGIN.

        The driver's own deferred BEGIN would lose updates between processes, and leave DDL and SAVEPOINT outside the
        transaction. A writer begins with IMMEDIATE, so the rows that it reads can't change before it writes. Migrations
        work without *foreign_keys*: rebuilding a table must not empty the tables that refer to it.
        """
        lack = "" if full_text.is_supported() else " without FTS5"
        if lack or sqlite3.sqlite_version_info < OLDEST_SQLITE:
            driver = f"{sys.executable} has SQLite {sqlite3.sqlite_version}{lack}"
            raise DatabaseError(f"{driver}; playbook-db needs 3.37 or later with FTS5. Use another Python.")
        writes = self.access == "write"
        engine = create_engine(
            URL.create("sqlite", database=self.path),
            creator=lambda: self._connect(foreign_keys),
            poolclass=QueuePool if writes and foreign_keys else NullPool,
            execution_options={"playbook_dialect": self},
        )

        @event.listens_for(engine, "connect")
        def refuse(driver: sqlite3.Connection, _: object) -> None:
            if writes and foreign_keys:  # migrations drop all triggers and views first
                refuse_foreign(driver, self.path)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            driver: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]
            options = connection.get_execution_options()
            if not (writes and options.get("writes", True)):
                driver.execute("BEGIN")
                return
            wait_s = options.get("lock_wait_s", settings.LOCK_WAIT_S)
            driver.execute(f"PRAGMA busy_timeout = {int(wait_s * 1000):d}")  # milliseconds
            with self.explained():
                driver.execute("BEGIN IMMEDIATE")

        @event.listens_for(engine, "checkin")
        def let_go(driver: object, record: ConnectionPoolEntry) -> None:
            if isinstance(driver, sqlite_files.AsItStands):
                record.invalidate()

        return engine

    def explained(self) -> AbstractContextManager[None]:
        """Translate the driver's errors into errors of `playbook_db`."""
        return sqlite_files.explained(self.where)

    # The schema of the file.

    def schema_version(self) -> int | None:
        """Return the schema of the database: 0 for an empty file, None if there is no file. Raises OtherProgramError,
        or DamagedError if the file is not an SQLite database."""
        if not os.path.exists(self.path) or not os.path.getsize(self.path):
            if sqlite_files.has_log(self.path):  # SQLite would remove it with an empty file
                raise DamagedError(self.where, "the file is missing or empty, but its log is not")
            return 0 if os.path.exists(self.path) else None
        access: Access = "read" if self.access == "write" else self.access
        with closing(open_file(self.path, access)) as connection, self.explained():
            version, application, tables = connection.execute(sqlite_files.VERSIONS).fetchone()
        if tables and application != sqlite_files.APPLICATION_ID:
            raise OtherProgramError(self.where)
        return int(version)

    def mark_version(self, connection: Connection, version: int) -> None:
        """Record the schema *version* in the file's header, for `schema_version`."""
        connection.exec_driver_sql(f"PRAGMA user_version = {version:d}")
        connection.exec_driver_sql(f"PRAGMA application_id = {sqlite_files.APPLICATION_ID:d}")

    # Create and migrate the file.

    @contextmanager
    def unchanged(self) -> Iterator[Connection]:
        """Open a transaction that can't change or create the file. A missing file is read as an empty database."""
        with sqlite_files.without_new_log(self.path), self.explained():
            if self.schema_version():
                engine = SqliteDialect(self.path, "read").make_engine()
            else:
                engine = create_engine("sqlite://", execution_options={"playbook_dialect": self})
            try:
                with engine.begin() as connection:
                    yield connection
            finally:
                engine.dispose()

    def prepare(self) -> None:
        """Create the file and its folder if they don't exist. Only their owner can use them."""
        folder = os.path.dirname(self.path)
        with sqlite_files.explained(self.where, "can't be opened for writing", of_files=True):
            if folder and not os.path.isdir(folder):
                there = next(each for each in upwards(os.path.abspath(folder)) if os.path.lexists(each))
                if not os.path.isdir(there):
                    raise DatabaseError(f"{self.path} can't be created: {there} is not a folder. Move it away first.")
                os.makedirs(folder, mode=0o700)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Prevent other processes from replacing the schema or the whole content in the `with` block."""
        from filelock import FileLock

        with FileLock(sqlite_files.lock_path(self.path), mode=0o600):
            yield

    def back_up_before_migration(self, version: int) -> str:
        """Back up the database, whose schema is *version*. Remove the oldest backups. Return the new backup's path."""
        backup = backups.take(self.path, f"schema-{version:04d}", now=datetime.now(UTC)).path
        backups.rotate(self.path)
        return backup

    def drop_views_and_triggers(self, connection: Connection) -> None:
        """Drop all views and triggers before a migration. SQLite can't rebuild a table that a view uses, and silently
        drops a rebuilt table's triggers."""
        rows = connection.exec_driver_sql("SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger')")
        for kind, name in rows.all():
            connection.exec_driver_sql(f'DROP {kind} "{name}"')

    def make_views_and_triggers(self, connection: Connection) -> None:
        """Create the views, triggers and full-text index of this version."""
        full_text.make(connection.exec_driver_sql)
        for file_name in _FILES:
            for statement in sqlite_files.statements(file_name):
                connection.exec_driver_sql(statement)

    def broken_references(self, connection: Connection) -> list[str]:
        """Return a message for each row that refers to a missing row."""
        rows = connection.exec_driver_sql("PRAGMA foreign_key_check")
        missing = "a row of {} ({}) refers to a row of {} that is missing"
        return [missing.format(*row) for row in rows]

    # Queries.

    def lock_playbook(self, connection: Connection, key: str, *, waits: bool = True) -> int | None:
        """Return the number of the playbook *key*, or None if it doesn't exist. Add its row in `heads` if needed. The
        transaction has already locked the whole database."""
        playbook_id, has_head = connection.execute(_FIND, {"key": key}).first() or (None, True)
        if not has_head:  # a hook has made the playbook
            connection.execute(_ADD_HEAD, {"playbook_id": playbook_id})
        return playbook_id

    def matching(self, connection: Connection, terms: Sequence[Term]) -> "hook_queries.Matching":
        """Return the function that finds the live points with a term. It uses the full-text index."""
        return hook_queries.matching

    def optimize(self, connection: Connection) -> None:
        """Let SQLite update its planner's statistics of the tables that *connection* has queried."""
        connection.exec_driver_sql("PRAGMA optimize")

    def rebuild_search(self, connection: Connection) -> None:
        """Rebuild the full-text index without removed texts."""
        full_text.make(connection.exec_driver_sql)

    def is_search_behind(self, connection: Connection) -> bool:
        """Return whether the full-text index lacks changes."""
        return full_text.is_behind(connection.exec_driver_sql)

    def catch_up_search(self, connection: Connection) -> None:
        """Add the missing changes to the full-text index."""
        full_text.catch_up(connection.exec_driver_sql)

    def sizes(self, connection: Connection) -> tuple[int | None, dict[str, int]]:
        """Return the database's size in bytes, and the size of each table with its indexes. Some versions of SQLite
        can't tell the tables' sizes; then return {} for them."""
        (pages,) = connection.exec_driver_sql("PRAGMA page_count").one()
        (page_bytes,) = connection.exec_driver_sql("PRAGMA page_size").one()
        size_bytes = int(pages) * int(page_bytes)
        if not connection.exec_driver_sql("SELECT 1 FROM pragma_module_list WHERE name = 'dbstat'").first():
            return size_bytes, {}
        rows = connection.exec_driver_sql(
            "SELECT m.tbl_name, sum(d.pgsize) FROM dbstat AS d JOIN sqlite_master AS m ON m.name = d.name"
            " WHERE d.aggregate = TRUE GROUP BY m.tbl_name"
        )
        return size_bytes, {str(name): int(size) for name, size in rows}

    # Check the file.

    def check(self, connection: Connection, *, quick: bool = False) -> list[str]:
        """Return the problems that SQLite finds in the file. If *quick*, don't check indexes and references."""
        pragma = "quick_check" if quick else "integrity_check"
        messages = (str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA {pragma}") if row[0] != "ok")
        problems = [each for each in messages if full_text.TABLE not in each]  # `search_is_true` checks that
        return problems if quick else problems + self.broken_references(connection)

    def search_is_true(self, connection: Connection) -> bool:
        """Return whether the full-text index matches the points. Return True if this can't be checked: FTS5's check
        needs write access. The write is rolled back."""
        with closing(open_file(self.path, "write")) as alone:
            try:
                alone.execute("BEGIN IMMEDIATE")
                return full_text.is_true(alone.execute)
            except sqlite3.DatabaseError as error:
                return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY)
            finally:
                alone.rollback()

    def structure(self, connection: Connection) -> dict[str, str]:
        """Return the SQL of each table, index, view and trigger, by kind and name. Leave out SQLite's own tables, and
        the full-text index, which `search_is_true` checks."""
        rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        left_out = full_text.TABLES | {full_text.VIEW}
        return {
            f"{kind} {name}": f"{of} {statement}"
            for kind, name, of, statement in rows
            if not name.startswith("sqlite_") and name not in left_out
        }

    # The write-ahead log.

    def move_log(self, *, least_bytes: int = 1) -> None:
        """Move a write-ahead log of *least_bytes* or more into the file unless other processes use the file. A lock
        keeps out other checkpoints: SQLite before 3.51.3 can damage a file that two connections checkpoint."""
        try:
            if os.path.getsize(f"{self.path}-wal") < least_bytes:
                return
        except OSError:
            return
        from filelock import FileLock, Timeout

        try:
            with (
                FileLock(f"{self.path}.checkpoint.lock", timeout=0, mode=0o600),
                sqlite_files.explained(self.path),
                closing(open_file(self.path, "write", wait_s=0)) as connection,
            ):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # as far as possible without a wait
        except (Timeout, DatabaseBusyError):  # another process has the file; the next checkpoint does it
            return

    def to_disk(self) -> None:
        """Wait until the write-ahead log is saved to disk. Commits don't wait for that."""
        with suppress(FileNotFoundError):
            to_disk(f"{self.path}-wal")

    def _connect(self, foreign_keys: bool) -> sqlite3.Connection:
        """Return a connection with our PRAGMAs. `synchronous` is NORMAL: a power cut can lose the last commits, but
        never a part of one. Lost lessons are then learned again from the transcript."""
        pragmas = (
            "journal_mode = WAL",
            "synchronous = NORMAL",
            f"foreign_keys = {'ON' if foreign_keys else 'OFF'}",
            "cache_size = -32768",  # KiB at most; with the default of 2 MB, a large import would spill its pages
            "wal_autocheckpoint = 0",  # one checkpointer at a time, see move_log()
        )
        try:
            with self.explained():
                connection = open_file(self.path, self.access)
                try:
                    for pragma in pragmas if self.access == "write" else ():
                        connection.execute(f"PRAGMA {pragma}")
                except BaseException:
                    connection.close()
                    raise
                return connection
        except DatabaseError as error:  # on a read-only disk the file can still be read
            if isinstance(error, (DamagedError, DatabaseBusyError)) or not is_at_rest(self.path):
                raise
            return open_file(self.path, "read")


def refuse_foreign(connection: sqlite3.Connection, path: str) -> None:
    """Raise DatabaseError if the database *path* has a trigger that isn't ours, or a changed view of ours. Other views
    are harmless, as we don't read them."""
    folder = resources.files("playbook_db.store")
    ours = "".join(folder.joinpath(name).read_text("utf-8") for name in (*_FILES, "search.sql"))
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')")
    foreign = [
        f"{kind} {name!r}"
        for kind, name, sql in rows
        if f"{sql};" not in ours and (kind == "trigger" or f"CREATE VIEW {name.lower()} AS" in ours)
    ]
    if foreign:
        raise DatabaseError(
            f"{path} has SQL that is not from playbook-db and could change what is stored or shown: "
            f"{', '.join(foreign)}. Nothing was changed. If it is yours, drop it with sqlite3; else use another file."
        )


@functools.cache
def fresh_structure(migrate: Callable[[Connection], None]) -> dict[str, str]:
    """Return the `structure` of a new database that *migrate* has created."""
    with tempfile.TemporaryDirectory(prefix="playbook-") as folder:
        fresh = SqliteDialect(os.path.join(folder, "fresh.db"))
        fresh.prepare()
        engine = fresh.make_engine(foreign_keys=False)
        with engine.begin() as connection:
            migrate(connection)
            structure = fresh.structure(connection)
        engine.dispose()
        return structure
