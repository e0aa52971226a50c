"""Open the database of a user or a team, and its transactions. Begin with `open_store`.

Writers take the write lock before they read, so that no update is lost. A transaction rolls back on any exception. No
model call, file access or sleep belongs inside one.
"""

import functools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import ParamSpec, Self, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DatabaseError as SqlError

from playbook_db.errors import ConflictError, DatabaseBusyError, DatabaseError, ServerAwayError
from playbook_db.store import migrate
from playbook_db.store.connect import dialect_for
from playbook_db.store.dialect import dialect_of
from playbook_db.store.playbook.playbook_rows import runner_of as runner_of
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.sqlite_open import SCHEMA

P = ParamSpec("P")
T = TypeVar("T")
_WAITS_S = (0.01, 0.05, 0.2, 0.5, 1.0)  # at most, at random, before a use case runs again
WAL_CHECKPOINT_BYTES = 16 * 1024 * 1024  # above this size, a commit moves SQLite's write-ahead log into the file
_SEARCH_WAIT_S = 0.02  # for the write lock: longer than a hook holds it; another writer updates the index itself


class Store:
    """An open database. Use it as a context manager, or call `close`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._dialect = dialect_of(engine)
        self._readers = engine.execution_options(writes=False)
        self.has_written = False  # since the last update of a replica

    @property
    def url(self) -> URL:
        """The database's URL. `str(url)` hides the password."""
        return self._engine.url

    @property
    def where(self) -> str:
        """The database's name in messages: its path, or its URL without the password."""
        return self._dialect.where

    @property
    def is_shared(self) -> bool:
        """Whether other users share the database."""
        return self._dialect.is_shared

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a transaction for writing. An exception rolls it back.

        Raises DatabaseBusyError if another process holds the lock for longer than LOCK_WAIT_S seconds, ServerAwayError
        if the server can't be used. If the connection was lost during the commit, the error says so.
        """
        is_at_end = False
        try:
            with self._dialect.explained(), self._engine.begin() as connection:
                yield connection
                is_behind = self._dialect.is_search_behind(connection)
                is_at_end = True
        except ServerAwayError:
            if is_at_end:
                raise ServerAwayError(
                    f"The connection to {self.where} was lost during the commit, so the change may or may not have "
                    "been saved. Check before you try again: playbook log"
                ) from None
            raise
        self.has_written = True
        if is_behind:
            self._catch_up_search()
        self._dialect.move_log(least_bytes=WAL_CHECKPOINT_BYTES)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open a read-only transaction. All its queries see the same state of the database."""
        with self._dialect.explained(), self._readers.connect() as connection:
            connection.begin()
            yield connection  # no commit: after a damaged index it would fail

    @contextmanager
    def write(self, key: str, *, now: datetime | None = None, dry_run: bool = False) -> Iterator[PlaybookRepository]:
        """Open the playbook of the project *key* in a `transaction`. Create the playbook if needed.

        *now* is the time of the revision. In a dry run `commit` writes nothing.
        """
        if dry_run:
            with self.snapshot() as connection:
                yield PlaybookRepository(connection, key, now=now)
        else:
            with self.transaction() as connection:
                yield PlaybookRepository.open_to_write(connection, key, now=now)

    @contextmanager
    def read(self, key: str) -> Iterator[PlaybookRepository]:
        """Open the playbook of the project *key* in a read-only transaction. A missing playbook is empty."""
        with self.snapshot() as connection:
            yield PlaybookRepository(connection, key)

    def can_write(self, *, wait_s: float) -> bool:
        """Return whether a writer would get the write lock within *wait_s* seconds. Writes nothing."""
        try:
            with self._dialect.explained(), self._engine.execution_options(lock_wait_s=wait_s).begin():
                return True
        except DatabaseBusyError:
            return False

    def _catch_up_search(self) -> None:
        """Update the full-text index, or rebuild it. A damaged index ends its transaction, so this uses a separate one.

        If both fail, searches work without the index.
        """
        engine = self._engine.execution_options(lock_wait_s=_SEARCH_WAIT_S)
        for way in (self._dialect.catch_up_search, self._dialect.rebuild_search):
            try:
                with self._dialect.explained(), engine.begin() as connection:
                    way(connection)
                return
            except DatabaseBusyError:  # the present writer does it
                return
            except (DatabaseError, SqlError):
                self._engine.dispose()  # FTS5's failure stays with its connection

    def is_current(self) -> bool:
        """Return whether the database can be reached and has the schema SCHEMA."""
        try:
            return self._dialect.schema_version() == SCHEMA
        except DatabaseError:
            return False

    def to_disk(self) -> None:
        """Wait until all commits are saved to disk. Raises OSError."""
        self._dialect.to_disk()

    def tidy(self) -> None:
        """Let SQLite count the rows of large tables for its planner, and close all connections. If no other process
        uses the SQLite file, move its log into the file."""
        if not self.is_shared:
            at_once = self._engine.execution_options(lock_wait_s=_SEARCH_WAIT_S)
            with suppress(DatabaseError), self._dialect.explained(), at_once.begin() as connection:
                self._dialect.optimize(connection)
        self._engine.dispose()
        self._dialect.move_log()

    def close(self) -> None:
        """Close all connections. If the store is used again, it opens new connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def retry_on_conflict(use_case: Callable[P, T]) -> Callable[P, T]:
    """Retry *use_case* if another writer interrupted it. An interrupted transaction stores nothing.

    Code outside the transaction must be safe to run twice.
    """

    @functools.wraps(use_case)
    def retried(*args: P.args, **kwargs: P.kwargs) -> T:
        for wait_s in _WAITS_S:
            try:
                return use_case(*args, **kwargs)
            except ConflictError:
                time.sleep(random.uniform(0, wait_s))  # noqa: S311 - no secret hangs on it
        return use_case(*args, **kwargs)

    return retried


def open_store(url: str, *, begins_anew: bool = False) -> Store:
    """Open the database at *url*. If needed, create it, or back it up and migrate it.

    Raises SchemaError, or DatabaseError, such as if the database is missing but has backups, unless it
    *begins_anew*.
    """
    dialect = dialect_for(url)
    try:
        migrate.bring_to_schema(url, dialect, begins_anew=begins_anew)
    except BaseException:
        dialect.close()
        raise
    return Store(dialect.make_engine())
