"""Run one SQL statement of the user on a server, in a read-only transaction.

The statement is declared for a cursor, which accepts only a query: no COPY, and no second statement. The user's rights
decide which functions of the server work. With some of them a superuser could read the server's files, so a superuser's
query runs as a role that can only read tables.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from time import monotonic
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import Engine
from sqlalchemy import text as sql

from playbook_db.errors import query_failed, query_refused, query_too_slow
from playbook_db.store.dialect import Dialect

_QUERIES = ("select", "with", "values", "table", "(")
_WITHOUT_CURSOR = ("explain", "show")  # a cursor doesn't accept these statements
_ROWS_AT_ONCE = 500
# With Citus the role stays: Citus would log in to its nodes as `pg_read_all_data`, which can't log in.
_BOUNDS = sql("""
SELECT set_config('statement_timeout', :wait, true),
       CASE WHEN rolsuper AND NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')
            THEN set_config('role', 'pg_read_all_data', true) END
FROM pg_roles WHERE rolname = current_user
""")
# First strings, names, comments and casts, which contain no parameters. Then parameters, and signs that the driver
# takes for parameters.
_PARTS = re.compile(
    r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\2\$|::)|(?<!\w):(project\b)|(:\w+)|(%)",
    re.S,
)
_WRITING = re.compile(r'at or near "(insert|update|delete|merge|into|copy|call|do)"', re.IGNORECASE)


@contextmanager
def open_answer(
    dialect: Dialect, query: str, project_key: str, timeout_s: float
) -> Iterator[tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]]:
    """Run *query* in the database of *dialect*. Return the column titles and the rows. `:project` is bound to
    *project_key*. Raises ArgumentError, ServerError."""
    engine = dialect.make_engine().execution_options(writes=False)
    try:
        with dialect.explained(), engine.begin() as connection:
            connection.execute(_BOUNDS, {"wait": f"{int(timeout_s * 1000)}"})
            with _explained(engine, timeout_s):
                driver: psycopg.Connection[Any] = connection.connection.dbapi_connection  # type: ignore[assignment]
                if not _begins_with(query, (*_QUERIES, *_WITHOUT_CURSOR)):
                    raise query_refused()
                statement = _PARTS.sub(_bound, query.rstrip("; \t\r\n")).encode()
                with (
                    driver.cursor()
                    if _begins_with(query, _WITHOUT_CURSOR)
                    else driver.cursor(name="question") as cursor
                ):
                    cursor.execute(statement, {"project": project_key})
                    yield tuple(column.name for column in cursor.description or ()), _rows(cursor, timeout_s)
    finally:
        engine.dispose()


def _begins_with(query: str, words: tuple[str, ...]) -> bool:
    bare = re.sub(r"\A(\s|--[^\n]*|/\*.*?\*/)*", "", query, flags=re.DOTALL).lower()
    return bare.startswith(words)


def _bound(part: "re.Match[str]") -> str:
    as_it_is, _, project, unknown, percent = part.groups()
    if unknown:
        raise query_failed(f"the parameter {unknown} has no binding")
    if project:
        return "%(project)s::text"
    return "%%" if percent else str(as_it_is).replace("%", "%%")


def _rows(cursor: "psycopg.Cursor[Any] | psycopg.ServerCursor[Any]", timeout_s: float) -> Iterator[tuple[Any, ...]]:
    """Yield the rows in batches. The server limits the time of each batch, and this function the sum of these times."""
    remaining_s = timeout_s
    while remaining_s > 0:
        began = monotonic()
        rows = cursor.fetchmany(_ROWS_AT_ONCE)
        remaining_s -= monotonic() - began
        if not rows:
            return
        yield from (tuple(map(_plain, row)) for row in rows)
    raise query_too_slow(timeout_s)


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return str(value) if isinstance(value, date | datetime | time | timedelta | UUID | list | dict) else value


@contextmanager
def _explained(engine: Engine, timeout_s: float) -> Iterator[None]:
    """Translate the driver's errors about the statement. The dialect translates errors of the server."""
    try:
        yield
    except psycopg.OperationalError as error:
        if isinstance(error, psycopg.errors.QueryCanceled):
            raise query_too_slow(timeout_s) from None
        raise
    except psycopg.Error as error:
        message = (error.diag.message_primary or str(error)).strip()
        if (
            isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
            or "data-modifying" in message
            or _WRITING.search(message)
        ):
            raise query_refused() from error
        with engine.connect() as another:
            views = another.scalars(sql("SELECT viewname FROM pg_views WHERE schemaname = current_schema() ORDER BY 1"))
            missing = isinstance(error, psycopg.errors.UndefinedTable)
            raise query_failed(f"no such table: {message}" if missing else message, views=tuple(views)) from error
