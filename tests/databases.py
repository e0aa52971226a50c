"""The kinds of database that the tests run on, each migrated once in a session and copied after that.

A migration takes thirty times as long as a copy of what it makes.
"""

import atexit
import functools
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import URL
from sqlalchemy.engine.default import DefaultDialect

from playbook_db.services import maintenance
from playbook_db.services.project import Project
from playbook_db.store import migrate
from playbook_db.store.engine import Store, open_store
from playbook_db.store.postgres import connection as postgres_connection
from playbook_db.store.postgres.postgres_dialect import speak_as_sqlite
from playbook_db.store.sqlite import sqlite_dialect
from playbook_db.store.tables import metadata
from playbook_db.store.urls import sqlite_path
from tests import postgres

NewProject = Callable[[], Project]
_MIGRATE = migrate.migrate  # before a test's own takes its place
# Whether the server, which PLAYBOOK_TEST_PG_URL names then, has Citus, and its databases are to be distributed.
DISTRIBUTED = bool(os.environ.get("PLAYBOOK_TEST_DISTRIBUTE"))


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of database: `new` makes one in a folder and gives its URL, `empty` takes everything out of one."""

    new: Callable[[Path], str]
    empty: Callable[[Store], None]


def _new_sqlite_database(folder: Path) -> str:
    put_empty_database(folder / "playbook.db")
    return f"sqlite:///{folder / 'playbook.db'}"


def _empty_sqlite_database(store: Store) -> None:
    store.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{store.where}{suffix}").unlink(missing_ok=True)
    put_empty_database(Path(store.where))


@functools.cache
def _postgres_database() -> URL:
    if not postgres.GIVEN:
        return postgres.new_database(postgres.once_a_run("template", _template).decode())
    made = postgres.new_database()
    _MIGRATE(made.render_as_string(hide_password=False))
    if DISTRIBUTED:
        maintenance.distribute(made.render_as_string(hide_password=False))
    return made


def _template() -> bytes:
    """The name of a database at our schema, of which workers take copies."""
    made = postgres.new_database()
    _MIGRATE(made.render_as_string(hide_password=False))
    return str(made.database).encode()


def _new_postgres_database(_: Path) -> str:
    """All tests have the same one: making another takes longer than emptying it."""
    made = _postgres_database()
    empty(made)
    return made.render_as_string(hide_password=False)


# All but what a new database has too. With Citus the first question lets all else be done where its rows are.
_EMPTY = f"""
SELECT FROM heads WHERE playbook_id = 1;
{"".join(f"DELETE FROM {name};" for name in metadata.tables if name != "sections")}
SELECT setval('playbooks_id_seq', 1, false);
"""


def empty(url: URL) -> None:
    try:
        _empty(_connection(url))
    except psycopg.OperationalError:  # the test before has ended all connections
        _connection.cache_clear()
        _empty(_connection(url))


def _empty(connection: "psycopg.Connection[Any]") -> None:
    with connection.transaction():
        connection.execute(_EMPTY.encode(), prepare=False)


@functools.lru_cache(maxsize=1)
def _connection(url: URL) -> "psycopg.Connection[Any]":
    """A connection that stays open, as making another takes longer than emptying the database."""
    made = postgres.connected(url)
    made.execute("SET session_replication_role = replica")  # neither triggers nor foreign keys
    atexit.register(made.close)
    return made


class NamedRow(tuple[Any, ...]):
    """A row whose values can be had by their place and by their column's name."""

    def __new__(cls, columns: Sequence[str], values: Sequence[Any]) -> Self:
        made = super().__new__(cls, values)
        made._columns = columns
        return made

    _columns: Sequence[str]

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._columns.index(key) if isinstance(key, str) else key)


class PlainConnection:
    """A connection to PostgreSQL as that of `sqlite3` is: values stand for `?` or `:name`, what fails is undone."""

    def __init__(self, url: URL) -> None:
        self._connection: psycopg.Connection[Any] = postgres.connected(url)
        self._connection.row_factory = lambda cursor: functools.partial(
            NamedRow, [column.name for column in cursor.description or ()]
        )
        speak_as_sqlite(self._connection)

    def execute(self, statement: str, values: Sequence[object] | Mapping[str, object] = ()) -> Any:
        statement = statement.replace("%", "%%").replace("?", "%s")
        if isinstance(values, Mapping):
            statement = re.sub(r"(?<![:\w]):(\w+)", r"%(\1)s", statement)
        return self._connection.execute(statement.encode(), values)

    def close(self) -> None:
        self._connection.close()


# What refuses a row or a statement that breaks a rule of the database.
REFUSALS = (sqlite3.IntegrityError, psycopg.IntegrityError, psycopg.DataError)


@contextmanager
def raw_connection(store: Store) -> Iterator[Any]:
    """A plain connection that bypasses all our code."""
    path = sqlite_path(store.url)
    with closing(_plain_sqlite(path) if path else PlainConnection(store.url)) as connection:
        yield connection


def _plain_sqlite(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.row_factory = lambda cursor, row: NamedRow([column[0] for column in cursor.description], row)
    return connection


def switch_triggers_off(raw: Any) -> None:
    if isinstance(raw, PlainConnection):
        if DISTRIBUTED:
            pytest.skip("the servers on which the rows are don't hear of it")
        raw.execute("SET session_replication_role = replica")
        return
    for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")


@contextmanager
def server_without(raw: Any, **triggers: str) -> Iterator[None]:
    """Leave out one trigger of each table on a server, to try another rule."""
    there = {} if DISTRIBUTED or not isinstance(raw, PlainConnection) else triggers
    for table, name in there.items():
        raw.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
    try:
        yield
    finally:
        for table, name in there.items():
            raw.execute(f"ALTER TABLE {table} ENABLE TRIGGER {name}")


KINDS = {
    "sqlite": Kind(_new_sqlite_database, _empty_sqlite_database),
    "postgres": Kind(_new_postgres_database, lambda store: empty(store.url)),
}


def put_empty_database(path: Path) -> None:
    put_database(path, empty_database())


def put_database(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o600)


_filled: dict[str, tuple[str, bytes]] = {}  # the key of the project and the database, by name


def fill_once(name: str, path: Path, key: str, fill: Callable[[], object]) -> None:
    """Let *fill* fill the project *key* of the SQLite database at *path*. Copy it for the same *name* later."""
    if name not in _filled:
        fill()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _filled[name] = (key, path.read_bytes())
        return
    old_key, content = _filled[name]
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    put_database(path, content)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE playbooks SET key = ? WHERE key = ?", (key, old_key))


@functools.cache
def empty_database() -> bytes:
    return postgres.once_a_run("playbook.db", _make_empty_database)


def _make_empty_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "playbook.db")
        path.touch()
        _MIGRATE(f"sqlite:///{path}")
        with open_store(f"sqlite:///{path}") as store:
            store.tidy()
        return path.read_bytes()


def copy_or_migrate(url: str) -> None:
    path = sqlite_path(url)
    if path and not (os.path.exists(path) and os.path.getsize(path)):
        Path(path).write_bytes(empty_database())
    else:
        _MIGRATE(url)


class _Unsynced(sqlite3.Connection):
    """A connection that never waits for the disk, which would be most of a short test's time."""

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement.startswith("PRAGMA synchronous"):
            statement = _NO_DISK
        elif "wal_checkpoint" in statement or statement == "VACUUM":
            super().execute(_NO_DISK)
        return super().execute(statement, *values)


_NO_DISK = "PRAGMA synchronous = OFF"


def wait_for_no_disk(patch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def connect_unsynced(*arguments: Any, factory: Any = sqlite3.Connection, **options: Any) -> sqlite3.Connection:
        return connect(*arguments, factory=_Unsynced if factory is sqlite3.Connection else factory, **options)

    patch.setattr(sqlite3, "connect", connect_unsynced)
    patch.setattr(os, "fsync", lambda handle: None)


def share_compiled_statements(patch: pytest.MonkeyPatch) -> None:
    """Let all engines of the session share compiled statements, because compiling takes longer than running."""
    compiled: dict[Any, Any] = {}

    def create_sharing(url: Any, *, execution_options: Mapping[str, Any], **options: Any) -> Engine:
        return create_engine(url, execution_options={**execution_options, "compiled_cache": compiled}, **options)

    for module in (sqlite_dialect, postgres_connection):
        patch.setattr(module, "create_engine", create_sharing)
    patch.setattr(DefaultDialect, "__eq__", lambda one, other: type(one) is type(other))
    patch.setattr(DefaultDialect, "__hash__", lambda one: hash(type(one)))
