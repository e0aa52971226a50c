"""The database of one user or one team, and its transactions. Begin with `open_store`.

Writers take the write lock before they read, so that no update is lost. A transaction rolls back on any exception. No
model call, file access or sleep belongs inside one.
"""

import functools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, ParamSpec, Self, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DatabaseError as SqlError

from playbook_db.errors import ConflictError, DatabaseBusyError, DatabaseError, ServerAwayError
from playbook_db.store import migrate
from playbook_db.store.at_hand import SCHEMA
from playbook_db.store.connect import dialect_for
from playbook_db.store.dialect import Answers, Question, dialect_of
from playbook_db.store.playbook.playbook_rows import runner_of as runner_of
from playbook_db.store.playbook.repository import PlaybookRepository

P = ParamSpec("P")
T = TypeVar("T")
_WAITS_S = (0.01, 0.05, 0.2, 0.5, 1.0)  # at most, at random, before a use case runs again
_SEARCH_WAIT_S = 0.02  # for the write lock: longer than a hook holds it; another writer updates the index itself


class Store:
    """An open database. Use as a context manager, or call `close`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._dialect = dialect_of(engine)
        self._readers = engine.execution_options(writes=False)
        self.has_written = False  # since a replica was last brought up to date

    @property
    def url(self) -> URL:
        """The database's URL. As text it hides a password."""
        return self._engine.url

    @property
    def where(self) -> str:
        """The database for messages: its path, or its URL without the password."""
        return self._dialect.where

    @property
    def is_shared(self) -> bool:
        """Whether other users share the database."""
        return self._dialect.is_shared

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a transaction that writes all or nothing.

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
                    f"The connection to {self.where} was lost at the very end: the change was stored whole, or not at "
                    "all. Check before you try again: playbook log"
                ) from None
            raise
        self.has_written = True
        if is_behind:
            self._catch_up_search()
        self._dialect.after_commit()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open a transaction that only reads, and sees one state of the database."""
        with self._dialect.explained(), self._readers.connect() as connection:
            connection.begin()
            yield connection  # no commit: after a damaged index it would fail

    @contextmanager
    def write(self, key: str, *, now: datetime | None = None, dry_run: bool = False) -> Iterator[PlaybookRepository]:
        """Open the playbook of the project *key*, created if needed, in a `transaction`.

        *now* is the time of the revision. A dry run uses a snapshot, and `commit` writes nothing.
        """
        if dry_run:
            with self.snapshot() as connection:
                yield PlaybookRepository(connection, key, now=now)
        else:
            with self.transaction() as connection:
                yield PlaybookRepository.open_to_write(connection, key, now=now)

    @contextmanager
    def read(self, key: str) -> Iterator[PlaybookRepository]:
        """Open the playbook of the project *key* in a transaction that only reads. It is empty if it doesn't exist."""
        with self.snapshot() as connection:
            yield PlaybookRepository(connection, key)

    def knowing(self, answers: Answers) -> "Store":
        """Return the same database for reading, with a server's *answers* to some questions already known."""
        return Store(self._readers.execution_options(answers=answers))

    def ask(self, key: str, *questions: Question) -> "list[Sequence[Any]]":
        """Return the rows for each of *questions* about the playbook *key* (its number is `:playbook_id`), from one
        state.

        A server gets them in one round trip.
        """
        return self._dialect.ask(self._readers, key, questions)

    def can_write(self, *, wait_s: float) -> bool:
        """Return whether the write lock is free within *wait_s* seconds, without writing anything."""
        try:
            with self._dialect.explained(), self._engine.execution_options(lock_wait_s=wait_s).begin():
                return True
        except DatabaseBusyError:
            return False

    def _catch_up_search(self) -> None:
        """Update the full-text index, or rebuild it. This has its own transaction, as a damaged index would end another
        one.

        If both fail, the index stays behind, and searches do without it.
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

    def is_current(self, key: str = "", ahead: Sequence[Question] = ()) -> bool:
        """Return whether the database can be reached and has our schema. On a server, the same round trip also looks up
        the number of the playbook *key*. If that was known, it also gets the answers to the questions *ahead*, for an
        `ask`."""
        try:
            return self._dialect.schema_version(key, ahead) == SCHEMA
        except DatabaseError:
            return False

    def to_disk(self) -> None:
        """Wait until all commits are on the disk. Raises OSError."""
        self._dialect.to_disk()

    def tidy(self) -> None:
        """Close all connections. Unless others use the file, move its log into it, so that a single file remains."""
        self._engine.dispose()
        self._dialect.tidy()

    def close(self) -> None:
        """Close every connection. A later use opens new ones."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def retry_on_conflict(use_case: Callable[P, T]) -> Callable[P, T]:
    """Run *use_case* again if another writer interrupted it: none of its changes were stored.

    Outside its transaction it may only do what can be done twice.
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


def open_store(url: str, *, begins_anew: bool = False, key: str = "") -> Store:
    """Open the database at *url*. If needed, create it, or migrate it after a backup.

    On a server this looks up the number of the playbook *key*, too, which saves a round trip. Raises SchemaTooNewError,
    DatabaseLostError if it is gone but has backups (unless it *begins_anew*), DatabaseError.
    """
    dialect = dialect_for(url)
    try:
        migrate.bring_to_schema(url, dialect, begins_anew=begins_anew, key=key)
    except BaseException:
        dialect.close()
        raise
    return Store(dialect.make_engine())
