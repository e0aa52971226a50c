"""The database of one user or one team, and its transactions.

`open_store` is the way in. Writers take the write lock before they read, so that no update is lost; a transaction
rolls back on any exception. No model call, no file and no sleep belongs inside one.
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
from playbook_db.store.dialect import Question, dialect_of
from playbook_db.store.playbook.playbook_rows import runner_of as runner_of
from playbook_db.store.playbook.repository import PlaybookRepository

P = ParamSpec("P")
T = TypeVar("T")
_WAITS_S = (0.01, 0.05, 0.2, 0.5, 1.0)  # at most, at random, before a use case is begun again
_SEARCH_WAIT_S = 0.02  # for the write lock: longer than a hook keeps it; any other writer catches up for us, too


class Store:
    """An open database. Use as a context manager, or call `close`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._dialect = dialect_of(engine)
        self._readers = engine.execution_options(writes=False)
        self.has_written = False  # since a replica was last brought up to date

    @property
    def url(self) -> URL:
        """Where the database is; a password in it is hidden when shown as text."""
        return self._engine.url

    @property
    def where(self) -> str:
        """The database in words for a message: its path, or its URL without the password."""
        return self._dialect.where

    @property
    def is_shared(self) -> bool:
        """Whether others than this user and their workers have the database too."""
        return self._dialect.is_shared

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that writes: all of it is kept at the end, or nothing of it.

        Raises DatabaseBusyError when another process keeps the lock for longer than LOCK_WAIT_S seconds,
        ServerAwayError where the server can't be used; who lost it while it committed is told that they can't know.
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
                    f"The connection to {self.where} was lost at the very end: what was asked is kept whole, or not at "
                    "all. Look before you ask again: playbook log"
                ) from None
            raise
        self.has_written = True
        if is_behind:
            self._catch_up_search()
        self._dialect.after_commit()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A transaction that only reads, and sees one state of the database throughout."""
        with self._dialect.explained(), self._readers.connect() as connection:
            connection.begin()
            yield connection  # let go without a commit, which fails where a damaged index was met

    @contextmanager
    def write(self, key: str, *, now: datetime | None = None, dry_run: bool = False) -> Iterator[PlaybookRepository]:
        """The playbook of the project *key*, made if need be, in a transaction that writes; see `transaction`.

        *now* is the time of what is written. In a dry run it is a snapshot, and `commit` keeps nothing.
        """
        if dry_run:
            with self.snapshot() as connection:
                yield PlaybookRepository(connection, key, now=now)
        else:
            with self.transaction() as connection:
                yield PlaybookRepository.open_to_write(connection, key, now=now)

    @contextmanager
    def read(self, key: str) -> Iterator[PlaybookRepository]:
        """The playbook of the project *key* in a transaction that only reads; the empty one where there is none."""
        with self.snapshot() as connection:
            yield PlaybookRepository(connection, key)

    def ask(self, key: str, *questions: Question) -> "list[Sequence[Any]]":
        """The rows that answer each of *questions* about the playbook *key*, whose number is their `:playbook_id`, all
        from one state of the database; a server gets them at once."""
        return self._dialect.ask(self._readers, key, questions)

    def can_write(self, *, wait_s: float) -> bool:
        """Whether the write lock can be had within *wait_s* seconds; nothing is written."""
        try:
            with self._dialect.explained(), self._engine.execution_options(lock_wait_s=wait_s).begin():
                return True
        except DatabaseBusyError:
            return False

    def _catch_up_search(self) -> None:
        """Bring the index for full text up to date, else make it anew. That has a transaction of its own, since damage
        to it would end another; where it fails, too, the index stays behind, which loses nobody anything."""
        engine = self._engine.execution_options(lock_wait_s=_SEARCH_WAIT_S)
        for way in (self._dialect.catch_up_search, self._dialect.rebuild_search):
            try:
                with self._dialect.explained(), engine.begin() as connection:
                    way(connection)
                return
            except DatabaseBusyError:  # who writes now does it
                return
            except (DatabaseError, SqlError):
                self._engine.dispose()  # what FTS5 failed at stays with its connection

    def is_current(self, key: str = "") -> bool:
        """Whether the database can be reached and has our schema. On a server, the same question also finds the number
        of the playbook *key*."""
        try:
            return self._dialect.schema_version(key) == SCHEMA
        except DatabaseError:
            return False

    def to_disk(self) -> None:
        """Wait until what was committed is on the disk, before a file is changed on account of it. Raises OSError."""
        self._dialect.to_disk()

    def tidy(self) -> None:
        """Leave the database as one file that opens at once, unless others are at it."""
        self._engine.dispose()
        self._dialect.tidy()

    def close(self) -> None:
        """Let go of every connection. Who goes on with it gets new ones."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def retry_on_conflict(use_case: Callable[P, T]) -> Callable[P, T]:
    """*use_case*, begun again as a whole where others wrote at the same time: nothing of it was kept. It does nothing
    outside its transaction that can't be done twice."""

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
    """Open the database at *url*; make it, or bring it to our schema after a backup, where need be. On a server the
    number of the playbook *key* is looked up with that, which saves a round trip.

    Raises SchemaTooNewError for a database that a newer playbook-db wrote, DatabaseLostError for one that is gone
    though there are backups of it, unless it *begins_anew*, DatabaseError for one that can't be used.
    """
    dialect = dialect_for(url)
    try:
        migrate.bring_to_schema(url, dialect, begins_anew=begins_anew, key=key)
    except BaseException:
        dialect.close()
        raise
    return Store(dialect.make_engine())
