"""A database of playbooks on a PostgreSQL server. `SqliteDialect` explains the methods."""

import functools
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.types.string import StrDumperUnknown
from sqlalchemy import Connection, Engine, event
from sqlalchemy import text as sql
from sqlalchemy.engine import URL
from sqlalchemy.exc import ProgrammingError

from playbook_db.domain.search_words import Term
from playbook_db.errors import DatabaseError, OtherProgramError
from playbook_db.store.dialect import Dialect
from playbook_db.store.postgres import distributed, unicode_rules
from playbook_db.store.postgres.connection import driver_of, make_engine
from playbook_db.store.postgres.grants import become_owner, run
from playbook_db.store.postgres.server_errors import explained
from playbook_db.store.queries import hook_queries
from playbook_db.store.tables import metadata
from playbook_db.store.team import time_limits
from playbook_db.store.urls import described

OLDEST_SERVER = 140000  # 14
_FILES = ("postgres/functions.sql", "views.sql", "postgres/triggers.sql", "postgres/search.sql")
_SIGN = "\ufdd0"  # not a character: with 0 it replaces NUL, with 1 itself
_MIGRATION_LOCK = 0x504C4244  # "PLBD"
_CLOCK = sql("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) AS microseconds")
_LOCK = sql(f"""{_CLOCK.text}
FROM heads WHERE playbook_id = :playbook_id FOR UPDATE
""")
_LOCK_AT_ONCE = sql(f"{_LOCK.text} SKIP LOCKED")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = "playbook_time"  # in a connection's `info`: the time on the server when it locked the playbook
_ADD_HEAD = sql(hook_queries.ADD_HEAD)
_VERSION = sql("""
SELECT max(version_num) AS version,
       to_regclass('skipped_operations') IS NOT NULL AS has_tables
FROM alembic_version
""")
_FIND = sql("SELECT id FROM playbooks WHERE key = :key")
_OURS = "quote_ident(current_schema())::regnamespace"
_ANY_TABLE = sql(f"SELECT count(*) FROM pg_class WHERE relnamespace = {_OURS} AND relname = ANY(:names)")
_TRIGGERS = sql(f"""
SELECT quote_ident(t.tgname) || ' ON ' || t.tgrelid::regclass
FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND c.relnamespace = {_OURS}
""")
_HAS_SEARCH = sql(f"""
SELECT EXISTS (SELECT 1 FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
               WHERE c.relname = 'ix_key_points_search' AND c.relnamespace = {_OURS} AND i.indisvalid)
""")
# OFFSET 0 prevents the planner from choosing another index: without statistics it assumes that a playbook has few
# points. Index entries begin with the playbook's number, so only Citus needs the number as a condition.
MATCHING = """
SELECT w.place, k.id
FROM unnest(CAST(:words AS text[]), CAST(:wholes AS boolean[])) WITH ORDINALITY AS w (words, is_whole, place)
CROSS JOIN LATERAL (
    SELECT f.id FROM (
        SELECT k.id FROM key_points AS k
        WHERE search_words(k.playbook_id, k.name, k.text) @@ search_query(:playbook_id, w.words, w.is_whole)
          AND k.retired_in IS NULL OFFSET 0) AS f
    ORDER BY f.id LIMIT :most) AS k
ORDER BY w.place, k.id
"""
_HAS_CITUS = sql("SELECT count(*) FROM pg_extension WHERE extname = 'citus'")
_DATABASE_SIZE = sql("SELECT pg_database_size(current_database())")
_TABLE_SIZES = sql(f"""
SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = {_OURS}
""")

# psycopg also reports each warning as an error. Without a handler it would print warnings to stderr as well.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class PostgresDialect(Dialect):
    """The database at `url`. Other people use it, too, so only an explicit command migrates it."""

    is_shared = True

    def __init__(self, url: URL) -> None:
        self.url = url.set(drivername="postgresql+psycopg")

    @property
    def where(self) -> str:
        """The database's URL without user and password."""
        return described(self.url)

    def make_engine(self, *, foreign_keys: bool = True) -> Engine:
        """Return the dialect's only engine. `schema_version` has already opened a connection.

        A writing transaction locks before it reads, and sees what others have committed. A read-only transaction sees
        the database at one moment.
        """
        return self._engine

    @functools.cached_property
    def _engine(self) -> Engine:
        engine = make_engine(self.url, playbook_dialect=self)

        @event.listens_for(engine, "connect")
        def connect(driver: "psycopg.Connection[Any]", _: object) -> None:
            speak_as_sqlite(driver)
            driver.prepare_threshold = None  # a pooler may run the next transaction on another connection

        return engine

    def explained(self) -> AbstractContextManager[None]:
        return explained(self.where)

    def role(self, connection: Connection) -> str:
        return str(driver_of(connection).info.user)

    def schema_version(self) -> int | None:
        """Return the schema of the database: 0 if it has none of our tables. Raises OtherProgramError, ServerError."""
        with self.explained(), self._engine.execution_options(begins=False).connect() as connection:
            try:
                there = connection.execute(_VERSION).one()
            except ProgrammingError as error:
                if not isinstance(error.orig, psycopg.errors.UndefinedTable):
                    raise
                if connection.scalar(_ANY_TABLE, {"names": list(metadata.tables)}):
                    raise OtherProgramError(self.where) from None
                return 0
        if there.has_tables and re.fullmatch(r"\d{4}", there.version or "0000"):
            return int(there.version or 0)
        raise OtherProgramError(self.where)

    @contextmanager
    def unchanged(self) -> Iterator[Connection]:
        with self.explained(), self._engine.execution_options(writes=False).begin() as connection:
            yield connection

    def prepare(self) -> None:
        """Raise DatabaseError if the server or the database isn't fit for playbooks."""
        with self.unchanged() as connection:
            version = connection.connection.dbapi_connection.info.server_version  # type: ignore[union-attr]
            encoding = connection.scalar(sql("SELECT current_setting('server_encoding')"))
            schema = connection.scalar(sql("SELECT current_schema()"))
        if version < OLDEST_SERVER:
            raise DatabaseError(f"{self.where} is PostgreSQL {version // 10000}; playbook-db needs 14 or later.")
        if encoding != "UTF8":
            raise DatabaseError(
                f"{self.where} stores text as {encoding}, which lacks some characters. Create the database with: "
                "createdb --encoding=UTF8 --template=template0 NAME"
            )
        if schema is None:
            raise DatabaseError(
                f"{self.where} has no schema from your search_path, or you may not use that schema. "
                "Ask its owner: playbook db grant ROLE member"
            )

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with time_limits.at_most(time_limits.FOREVER_S), self.explained(), self._engine.begin() as connection:
            connection.execute(sql("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
            yield

    def drop_views_and_triggers(self, connection: Connection) -> None:
        """Drop the objects of `make_views_and_triggers`, but none that people added. From here on the transaction has
        the rights of the tables' owner."""
        become_owner(connection)
        distributed.let_citus(connection)
        triggers = [f"DROP TRIGGER {trigger}" for trigger in connection.scalars(_TRIGGERS)]
        run(connection, *triggers, *dropping_statements())

    def make_views_and_triggers(self, connection: Connection) -> None:
        run(connection, *making_statements())

    def lock_playbook(self, connection: Connection, key: str, *, waits: bool = True) -> int | None:
        """Lock the playbook *key* against other writers until this transaction ends. Return the playbook's number.
        Return None if the playbook doesn't exist, or if another transaction has the lock and *waits* is false."""
        number = connection.scalar(_FIND, {"key": key})
        if number is None:
            return None
        lock, of_playbook = _LOCK if waits else _LOCK_AT_ONCE, {"playbook_id": number}
        if locked := connection.execute(lock, of_playbook).first():
            connection.info[_TIME] = int(locked[0])
            return int(number)
        connection.execute(_ADD_HEAD, of_playbook)  # waits for another process that creates it at the same time
        return int(number) if connection.execute(lock, of_playbook).first() else None

    def now(self, connection: Connection) -> datetime:
        microseconds = connection.info.pop(_TIME, None)
        if microseconds is None:
            return super().now(connection)
        return _EPOCH + timedelta(microseconds=microseconds)

    def clock(self, connection: Connection) -> datetime:
        return _EPOCH + timedelta(microseconds=connection.execute(_CLOCK).scalar_one())

    def pipeline(self, connection: Connection) -> AbstractContextManager[object]:
        return driver_of(connection).pipeline() if psycopg.capabilities.has_pipeline() else nullcontext()

    def search_is_true(self, connection: Connection) -> bool:
        """Return whether the full-text index exists. The server keeps it up to date."""
        return bool(connection.scalar(_HAS_SEARCH))

    def matching(self, connection: Connection, terms: Sequence[Term]) -> "hook_queries.Matching":
        """Return a function that finds the live points with a term. Its first call asks for all *terms* at once."""
        point_ids: dict[tuple[Term, int], list[int]] = {}
        there = " AND k.playbook_id = :playbook_id OFFSET" if connection.scalar(_HAS_CITUS) else " OFFSET"

        def matching(book: "hook_queries.Reader", term: Term, most: int) -> list[int]:
            if (term, most) not in point_ids:
                all_terms = [*dict.fromkeys((*terms, term))]
                point_ids.update(((each, most), []) for each in all_terms)
                words, wholes = [" ".join(each.words) for each in all_terms], [each.is_whole for each in all_terms]
                statement = MATCHING.replace(" OFFSET", there)
                for place, number in hook_queries.rows(book, statement, words=words, wholes=wholes, most=most):
                    point_ids[all_terms[place - 1], most].append(number)
            return point_ids[term, most]

        return matching

    def rebuild_search(self, connection: Connection) -> None:
        """Drop the full-text index and its functions, and create them again."""
        become_owner(connection)
        files = ("postgres/search.sql",)
        distributed.let_citus(connection)
        run(connection, *dropping_statements(files), *making_statements(files))

    def sizes(self, connection: Connection) -> tuple[int | None, dict[str, int]]:
        tables = {str(name): int(size) for name, size in connection.execute(_TABLE_SIZES)}
        return connection.scalar(_DATABASE_SIZE), tables

    def savepoint(self, connection: Connection) -> AbstractContextManager[object]:
        return connection.begin_nested()

    def close(self) -> None:
        self._engine.dispose()


def speak_as_sqlite(driver: "psycopg.Connection[Any]") -> None:
    """Make *driver* accept texts and return numbers in the same way as SQLite's driver."""
    driver.adapters.register_dumper(str, _TextDumper)
    driver.adapters.register_loader("text", _TextLoader)
    driver.adapters.register_loader("numeric", _Number)


class _TextDumper(StrDumperUnknown):
    """Replaces NUL, the only character that PostgreSQL can't store, with two other characters."""

    def dump(self, obj: str) -> Buffer | None:
        if "\0" in obj or _SIGN in obj:
            obj = obj.replace(_SIGN, f"{_SIGN}1").replace("\0", f"{_SIGN}0")
        return super().dump(obj)


class _TextLoader(Loader):
    """The reverse of `_TextDumper`."""

    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return text.replace(f"{_SIGN}0", "\0").replace(f"{_SIGN}1", _SIGN) if _SIGN in text else text


class _Number(Loader):
    """Loads each sum and each mean as an int or a float."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


def making_statements(files: Sequence[str] = _FILES) -> Iterator[str]:
    """Yield the statements in *files*, by default those for all views, triggers and functions."""
    yield "SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);"  # for functions
    for file in files:
        yield from _statements(file)


def dropping_statements(files: Sequence[str] = _FILES) -> Iterator[str]:
    """Yield the statements that drop the objects of `making_statements`. This needs no server. Triggers are dropped
    with their functions."""
    pattern = (
        r"^CREATE (INDEX|VIEW|FUNCTION|AGGREGATE|TEXT SEARCH DICTIONARY) (\w+(?:\([^)]*\))?)(?: RETURNS (trigger))?"
    )
    for kind, name, trigger in reversed(re.findall(pattern, "".join(map(_read, files)), re.MULTILINE)):
        yield f"DROP {kind} IF EXISTS {name}{' CASCADE' if trigger else ''};"


def _read(file: str) -> str:
    return resources.files("playbook_db.store").joinpath(file).read_text(encoding="utf-8")


def _statements(file: str) -> Iterator[str]:
    """Yield the statements in *file* one by one: Citus accepts only one at a time."""
    statement = ""
    for line in _read(file).splitlines(keepends=True):
        statement += line
        if line.endswith(";\n") and statement.count("$$") % 2 == 0:
            yield unicode_rules.filled(statement)
            statement = ""
