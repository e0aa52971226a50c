"""A connection that waits no longer than its caller wants to, and makes few round trips.

Each transaction begins together with its first statement. SQLAlchemy asks a server nine questions when it meets it;
here the answers are known.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import ceil
from time import monotonic
from typing import Any, Self, TypeVar

import psycopg
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
WRITES = "ISOLATION LEVEL READ COMMITTED"  # whether it may write the server says: a standby may not
_IDLE_LIMIT_S = 60  # how long a transaction may wait for a lost client while others wait for its locks


class SilentServerError(psycopg.OperationalError):
    """The server gave no answer in time. The connection is closed."""


class PatientConnection(psycopg.Connection[Any]):
    """A connection that follows `patience`; `mode` is what stands behind BEGIN."""

    mode = WRITES

    def wait(self, gen: "Generator[Any, Any, T]", *arguments: Any, **options: Any) -> T:
        """Run *gen*. Raises SilentServerError when the time of the transaction is over."""
        began, remaining = monotonic(), patience.remaining_s()
        try:
            return super().wait(self._until(gen, began + remaining) if remaining else gen, *arguments, **options)
        finally:
            patience.note_wait(monotonic() - began)

    def _until(self, gen: "Generator[Any, Any, T]", end: float) -> "Generator[Any, Any, T]":
        try:
            awaited = next(gen)
            while True:
                ready = yield awaited
                if not ready and monotonic() > end:
                    self.pgconn.finish()  # nothing else is to wait for it
                    raise SilentServerError(f"no answer for {patience.limit_s():g} s")
                awaited = gen.send(ready)
        except StopIteration as done:
            answer: T = done.value
            return answer

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Send what is inside together with BEGIN, unless a transaction is under way."""
        if self.is_idle:
            with self.together():
                self.begin()
                yield
        else:
            yield

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is under way."""
        return self.info.transaction_status == TransactionStatus.IDLE

    def begin(self) -> None:
        """Begin a transaction in which the server waits no longer than we do."""
        queue, remaining = psycopg.Cursor(self), patience.remaining_s()
        queue.execute(f"BEGIN {self.mode}".encode(), prepare=False)
        if remaining:
            limits = {"statement_timeout": remaining, "lock_timeout": min(patience.lock_s(), remaining)}
            if self.mode == WRITES:
                limits["idle_in_transaction_session_timeout"] = _IDLE_LIMIT_S
            for name, seconds in limits.items():
                queue.execute(f"SET LOCAL {name} = {seconds * 1000:.0f}".encode(), prepare=False)

    def together(self) -> AbstractContextManager[object]:
        """Statements inside go to the server together; nobody may ask for an answer before the end."""
        return self.pipeline() if psycopg.capabilities.has_pipeline() else nullcontext()

    def rollback(self) -> None:
        """Roll back, unless the connection is gone: that error would hide the first one."""
        if not self.closed:
            super().rollback()

    def gather(self, questions: Sequence[Question], *, alone: bool = False) -> list[Sequence[Any]]:
        """The answers to *questions*, one after the other, in one round trip: in the transaction under way, or *alone*
        in one that only reads, and sees one state of the database."""
        self.mode = READS if alone else self.mode
        try:
            with self.together():
                if self.is_idle:
                    self.begin()
                cursors = [self._execute(*question) for question in questions]
                if alone:
                    psycopg.Cursor(self).execute("COMMIT", prepare=False)
        except psycopg.Error:
            self.rollback()
            raise
        return [cursor.fetchall() for cursor in cursors]

    def _execute(self, statement: str, values: Mapping[str, Any]) -> "psycopg.Cursor[Any]":
        cursor = psycopg.Cursor(self, row_factory=_row_maker)
        return cursor.execute(str(sql(statement).compile(dialect=_DIALECT)).encode(), values)


class _Cursor(psycopg.Cursor[Any]):
    """What SQLAlchemy works with."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        with _of(self).begun():
            return super().execute(query, params, **options)

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        with _of(self).begun():
            super().executemany(query, params_seq, **options)


class PatientDialect(PGDialect_psycopg):
    """SQLAlchemy's own, which knows what that one asks for."""

    supports_statement_cache = True

    def connect(self, *arguments: Any, **options: Any) -> Any:
        remaining = patience.remaining_s()
        wait_s = int(options.pop("connect_timeout"))
        wait_s = min(wait_s or ceil(remaining), ceil(remaining)) if remaining else wait_s
        began = monotonic()
        try:
            connection = PatientConnection.connect(
                *arguments, autocommit=True, cursor_factory=_Cursor, connect_timeout=wait_s, **options
            )
        finally:
            patience.note_wait(monotonic() - began)
        return connection

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether the pool may give out a connection again. No question is sent: that would cost a round trip."""
        return not dbapi_connection.closed

    def _get_server_version_info(self, connection: SqlConnection) -> tuple[int, int]:
        return divmod(driver_of(connection).info.server_version, 10000)

    def _get_default_schema_name(self, connection: SqlConnection) -> str:
        return ""  # only for what isn't found by the search path

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        return "READ COMMITTED"

    def _set_backslash_escapes(self, connection: SqlConnection) -> None:
        self._backslash_escapes = driver_of(connection).info.parameter_status("standard_conforming_strings") == "off"


_DIALECT = PatientDialect()  # type: ignore[no-untyped-call]
registry.register(DRIVER.replace("+", "."), __name__, PatientDialect.__name__)


def _row_maker(cursor: "psycopg.Cursor[Any]") -> Any:
    """Rows with names, unless a name stands twice, as that of a function."""
    try:
        return namedtuple_row(cursor)
    except psycopg.DataError:
        return tuple_row(cursor)


def driver_of(connection: SqlConnection) -> PatientConnection:
    """The driver's connection behind that of SQLAlchemy."""
    driver: PatientConnection = connection.connection.dbapi_connection  # type: ignore[assignment]
    return driver


def _of(cursor: "psycopg.Cursor[Any]") -> PatientConnection:
    connection: PatientConnection = cursor.connection  # type: ignore[assignment]
    return connection
