"""The engine for a PostgreSQL server: SQLAlchemy's pool and psycopg, with limits on the time that a caller waits."""

import os
import socket
from contextlib import suppress
from math import ceil
from threading import TIMEOUT_MAX, Event, Thread
from time import monotonic
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import URL
from sqlalchemy.pool import ConnectionPoolEntry

from playbook_db.store.team import time_limits

# Parameters that the URL may override. The environment's PGHOSTADDR could send a password to another host.
_CONNECT_DEFAULTS = {"connect_timeout": 10, "hostaddr": ""}
_OPEN_FOR_S = 60  # an unused connection; later the server may have been restarted
_IDLE_LIMIT_S = 60  # after this the server ends a transaction whose client was lost, and frees its locks
_RESOLVER = "timeout:2 attempts:1"  # read by the C library of Linux at the process's first lookup
_READS = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITES = "ISOLATION LEVEL READ COMMITTED"  # not READ WRITE, which a standby refuses at BEGIN
_DRIVER = "postgresql+playbook"


class QuietDialect(PGDialect_psycopg):
    """SQLAlchemy's dialect for psycopg, without the questions that it asks each new server."""

    supports_statement_cache = True

    def _get_server_version_info(self, connection: Connection) -> tuple[int, int]:
        return divmod(driver_of(connection).info.server_version, 10000)

    def _get_default_schema_name(self, connection: Connection) -> str:
        return ""  # for objects outside the search path

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        return "READ COMMITTED"

    def _set_backslash_escapes(self, connection: Connection) -> None:
        self._backslash_escapes = driver_of(connection).info.parameter_status("standard_conforming_strings") == "off"


registry.register(_DRIVER.replace("+", "."), __name__, QuietDialect.__name__)


def make_engine(url: URL, **execution_options: Any) -> Engine:
    """Return an engine for the database at *url*. A transaction with the option `writes` off is read-only.
    With the option `begins` off, each statement is a transaction of its own.

    Nobody waits for an answer longer than `time_limits` allows. A watchdog closes a silent connection.
    """
    defaults = {name: value for name, value in _CONNECT_DEFAULTS.items() if name not in url.query}
    engine = create_engine(
        url.set(drivername=_DRIVER),
        use_native_hstore=False,
        connect_args={**defaults, "client_encoding": "utf8", "autocommit": True},  # `_begin` sends BEGIN
        pool_recycle=_OPEN_FOR_S,
        execution_options=execution_options,
    )
    event.listen(engine, "do_connect", _limit_connecting)
    event.listen(engine, "checkout", _watch)
    event.listen(engine, "after_cursor_execute", _note_answer)
    event.listen(engine, "checkin", _stop_watching)
    event.listen(engine, "begin", _begin)
    return engine


def driver_of(connection: Connection) -> "psycopg.Connection[Any]":
    """Return the driver's connection that SQLAlchemy's *connection* uses."""
    driver: psycopg.Connection[Any] = connection.connection.dbapi_connection  # type: ignore[assignment]
    return driver


def _limit_connecting(dialect: object, record: object, arguments: object, options: dict[str, Any]) -> None:
    own_s, limit_s = int(options["connect_timeout"]), ceil(time_limits.remaining_s())
    options["connect_timeout"] = min(own_s or limit_s, limit_s) if limit_s else own_s
    if 0 < limit_s < time_limits.LONG_S:  # the driver's own limit doesn't include a silent name server
        os.environ.setdefault("RES_OPTIONS", _RESOLVER)


def _begin(connection: Connection) -> None:
    """Begin a transaction in which the server keeps to the time limits, too."""
    options = connection.get_execution_options()
    if not options.get("begins", True):
        return
    writes = options.get("writes", True)
    statements, remaining_s = [f"BEGIN {_WRITES if writes else _READS}"], time_limits.remaining_s()
    if remaining_s:
        limits_s = {"statement_timeout": remaining_s, "lock_timeout": min(time_limits.lock_s(), 0.9 * remaining_s)}
        if writes:
            limits_s["idle_in_transaction_session_timeout"] = _IDLE_LIMIT_S
        statements += [f"SET LOCAL {name} = {1000 * seconds:.0f}" for name, seconds in limits_s.items()]
    connection.exec_driver_sql("; ".join(statements))


class _Watchdog:
    """Closes a connection if the server gives no answer in time. That ends the wait for the answer."""

    def __init__(self, driver: "psycopg.Connection[Any]") -> None:
        self._descriptor = os.dup(driver.fileno())  # valid even if the driver closes its own at the same moment
        self._is_over = Event()
        self.note_answer()
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def note_answer(self) -> None:
        """Begin the wait for the next answer."""
        self._end = monotonic() + (time_limits.remaining_s() or TIMEOUT_MAX)

    def _watch(self) -> None:
        while not self._is_over.wait(max(0.0, self._end - monotonic())):
            if monotonic() >= self._end:
                with suppress(OSError), socket.socket(fileno=os.dup(self._descriptor)) as link:
                    link.shutdown(socket.SHUT_RDWR)
                return

    def stop(self) -> None:
        """End the watch."""
        self._is_over.set()
        self._thread.join()
        os.close(self._descriptor)


def _watch(driver: "psycopg.Connection[Any]", record: ConnectionPoolEntry, _: object) -> None:
    record.info["watchdog"] = _Watchdog(driver)


def _note_answer(connection: Connection, *_: object) -> None:
    connection.info["watchdog"].note_answer()


def _stop_watching(driver: object, record: ConnectionPoolEntry) -> None:
    if watchdog := record.info.pop("watchdog", None):
        watchdog.stop()
