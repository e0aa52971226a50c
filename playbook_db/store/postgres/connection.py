"""A connection to a PostgreSQL server that waits no longer than its caller allows, and needs few round trips.

BEGIN is sent together with the first statement. SQLAlchemy asks a new server nine questions; PatientDialect already
knows the answers.
"""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import ceil
from time import monotonic
from typing import Any, Self, TypeVar

import psycopg
from psycopg import generators
from psycopg.pq import TransactionStatus
from psycopg.rows import namedtuple_row, tuple_row
from sqlalchemy import Connection as SqlConnection
from sqlalchemy import text as sql
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from playbook_db.store.dialect import Question
from playbook_db.store.team import patience

T = TypeVar("T")
DRIVER = "postgresql+patient"
READS = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITES = "ISOLATION LEVEL READ COMMITTED"  # not READ WRITE, which a standby refuses at BEGIN
_RESOLVER = "timeout:2 attempts:1"  # read by the C library of Linux at the process's first lookup
_IDLE_LIMIT_S = 60  # after this the server ends a transaction whose client was lost, and frees its locks


class SilentServerError(psycopg.OperationalError):
    """An error: the server gave no answer in time. The connection is closed."""


class PatientConnection(psycopg.Connection[Any]):
    """A connection that keeps the time limits of `patience`. `mode` is the text after BEGIN."""

    mode = WRITES
    _is_ending = False  # a read-only transaction: ROLLBACK was sent, but its answer not yet received

    def wait(self, gen: "Generator[Any, Any, T]", *arguments: Any, **options: Any) -> T:
        """Run *gen*. Raise SilentServerError if the transaction's time runs out."""
        with patience.waiting() as remaining:
            return super().wait(self._until(gen, monotonic() + remaining) if remaining else gen, *arguments, **options)

    def _until(self, gen: "Generator[Any, Any, T]", end: float) -> "Generator[Any, Any, T]":
        try:
            awaited = next(gen)
            while True:
                ready = yield awaited
                if not ready and monotonic() > end:
                    self.pgconn.finish()  # nothing else may wait for this connection
                    raise SilentServerError(f"no answer for {patience.limit_s():g} s")
                awaited = gen.send(ready)
        except StopIteration as done:
            answer: T = done.value
            return answer

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Send BEGIN, unless a transaction is open, together with the statements of the `with` block."""
        if self._is_in_transaction():
            yield
            return
        with self.together():
            self._begin()
            yield

    def _is_in_transaction(self) -> bool:
        if self._is_ending:
            self._is_ending = False
            self.wait(generators.fetch_many(self.pgconn))
        return self.info.transaction_status != TransactionStatus.IDLE

    def _begin(self) -> None:
        """Begin a transaction with the time limits of `patience`."""
        queue, remaining = psycopg.Cursor(self), patience.remaining_s()
        queue.execute(f"BEGIN {self.mode}".encode())
        if remaining:
            limits = {"statement_timeout": remaining, "lock_timeout": min(patience.lock_s(), 0.9 * remaining)}
            if self.mode == WRITES:
                limits["idle_in_transaction_session_timeout"] = _IDLE_LIMIT_S
            for name, seconds in limits.items():
                queue.execute(f"SET LOCAL {name} = {seconds * 1000:.0f}".encode())

    def together(self) -> AbstractContextManager[object]:
        """Send the statements of the `with` block together. Read their answers only after the block."""
        return self.pipeline() if psycopg.capabilities.has_pipeline() else nullcontext()

    def rollback(self) -> None:
        """Roll back. Skip a closed connection, whose error would hide the original error. Don't wait for the end of a
        read-only transaction."""
        if self.mode == READS and self.info.transaction_status == TransactionStatus.INTRANS:
            self._is_ending = True
            self.pgconn.send_query(b"ROLLBACK")
            self.pgconn.flush()
        elif not (self.closed or self._is_ending):
            super().rollback()

    def gather(self, questions: Sequence[Question], *, alone: bool = False) -> list[Sequence[Any]]:
        """Return the answers to *questions* in one round trip. Ask in the open transaction, or if *alone*, in a
        read-only transaction of its own."""
        self.mode, is_begun = READS if alone else self.mode, self._is_in_transaction()
        try:
            with self.together():
                if not is_begun:
                    self._begin()
                cursors = [self._execute(*question) for question in questions]
                if alone:
                    psycopg.Cursor(self).execute("COMMIT")
        except psycopg.Error:
            self.rollback()
            raise
        return [cursor.fetchall() for cursor in cursors]

    def _execute(self, statement: str, values: Mapping[str, Any]) -> "psycopg.Cursor[Any]":
        cursor = psycopg.Cursor(self, row_factory=_row_maker)
        return cursor.execute(str(sql(statement).compile(dialect=_DIALECT)).encode(), values)


class _Cursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        with _of(self).begun():
            return super().execute(query, params, **options)

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        with _of(self).begun():
            super().executemany(query, params_seq, **options)


class PatientDialect(PGDialect_psycopg):
    """SQLAlchemy's dialect for psycopg, but a new connection needs no questions to the server."""

    supports_statement_cache = True

    def connect(self, *arguments: Any, **options: Any) -> Any:
        with patience.waiting() as remaining:
            wait_s = int(options.pop("connect_timeout"))
            wait_s = min(wait_s or ceil(remaining), ceil(remaining)) if remaining else wait_s
            if 0 < remaining < patience.LONG_S:  # the driver's own limit doesn't include a silent name server
                os.environ.setdefault("RES_OPTIONS", _RESOLVER)
            return PatientConnection.connect(
                *arguments, autocommit=True, cursor_factory=_Cursor, connect_timeout=wait_s, **options
            )

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Return whether the pool may reuse a connection. Send nothing to the server, which would cost a round trip."""
        return not dbapi_connection.closed

    def _get_server_version_info(self, connection: SqlConnection) -> tuple[int, int]:
        return divmod(driver_of(connection).info.server_version, 10000)

    def _get_default_schema_name(self, connection: SqlConnection) -> str:
        return ""  # for objects outside the search path

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        return "READ COMMITTED"

    def _set_backslash_escapes(self, connection: SqlConnection) -> None:
        self._backslash_escapes = driver_of(connection).info.parameter_status("standard_conforming_strings") == "off"


_DIALECT = PatientDialect()  # type: ignore[no-untyped-call]
registry.register(DRIVER.replace("+", "."), __name__, PatientDialect.__name__)


def _row_maker(cursor: "psycopg.Cursor[Any]") -> Any:
    """Return rows with named columns, or plain tuples if two columns have the same name."""
    try:
        return namedtuple_row(cursor)
    except psycopg.DataError:
        return tuple_row(cursor)


def driver_of(connection: SqlConnection) -> PatientConnection:
    """Return the driver's connection that SQLAlchemy's *connection* uses."""
    driver: PatientConnection = connection.connection.dbapi_connection  # type: ignore[assignment]
    return driver


def _of(cursor: "psycopg.Cursor[Any]") -> PatientConnection:
    connection: PatientConnection = cursor.connection  # type: ignore[assignment]
    return connection
