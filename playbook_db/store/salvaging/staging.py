"""The staging of a repair: a plain database with a table for each of ours, into which rows from anywhere are put.

It has our tables' types, checks and primary keys, and nothing else: a row that no table of ours could have is left out,
and of several with the same key the first one stays.
"""

import functools
import math
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress

from sqlalchemy import (
    Column,
    ForeignKeyConstraint,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import sqlite as dialect
from sqlalchemy.schema import CreateTable

from playbook_db.store.sqlite.page_reader import Value
from playbook_db.store.tables import metadata

TABLES = {name: table for name, table in metadata.tables.items() if name != "sections"}
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)  # the driver stumbles over its own messages about damaged names
_PYTHON_TYPES: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,)}

Row = tuple[Value, ...]


def make_staging(path: str) -> None:
    """Make an empty staging at *path*: our tables with their types, checks and primary keys, and nothing else."""
    bare = MetaData()
    with closing(sqlite3.connect(path)) as staging:
        for table in TABLES.values():
            copy = table.to_metadata(bare)
            for constraint in list(copy.constraints):
                if isinstance(constraint, UniqueConstraint | ForeignKeyConstraint):
                    copy.constraints.discard(constraint)
            staging.execute(str(CreateTable(copy).compile(dialect=dialect.dialect())))
        staging.commit()


def stage_sound(path: str, staging_path: str) -> None:
    """Fill a new staging from the sound database in *path*, such as a backup of an older schema."""
    make_staging(staging_path)
    with closing(sqlite3.connect(staging_path)) as staging:
        for table in TABLES.values():
            keep(staging, table, select(path, table))
        staging.commit()


def keep(staging: sqlite3.Connection, table: Table, rows: Iterable[Row]) -> None:
    """Put *rows* into the staging, in order; a later one of the same key is left out, and so is one that breaks a
    check. A row of an older schema gets the later columns' defaults."""
    for row in rows:
        columns = ", ".join(f'"{column.name}"' for column, _ in zip(table.columns, row, strict=False))
        marks = ", ".join("?" * len(row))
        with suppress(sqlite3.IntegrityError):
            staging.execute(f"INSERT OR IGNORE INTO {table.name} ({columns}) VALUES ({marks})", row)


def select(image: str, table: Table) -> Iterator[Row]:
    """The table's rows as SQLite reads them, up to the first that it can't."""
    with closing(open_raw(image)) as connection, suppress(*UNREADABLE):
        there = [name.decode() for _, name, *_ in connection.execute(f"PRAGMA table_info({table.name})")]
        columns = [column.name for column in table.columns][: len(there)]
        if columns != there:
            return
        told = ", ".join(f'"{column}"' for column in columns)
        for values in connection.execute(f"SELECT {told} FROM {table.name}"):
            row = tuple(value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values)
            if fits(table, row):
                yield row


def open_raw(image: str) -> sqlite3.Connection:
    """A connection that gives text as the bytes that are there."""
    connection = sqlite3.connect(image, isolation_level=None)
    connection.text_factory = bytes
    return connection


def fits(table: Table, row: Row) -> bool:
    """Whether *row* has the length and the types of a row of *table*. Its checks are left to the staging.

    A row that was written before a migration added the last columns is so much shorter.
    """
    return _least(table) <= len(row) <= len(table.columns) and all(map(_is_of, table.columns, row))


@functools.cache
def _least(table: Table) -> int:
    """How many of the table's columns there have always been, at least: one that was added has no need of a value."""
    needed = [not column.nullable and column.server_default is None for column in table.columns]
    return len(needed) - needed[::-1].index(True)


def has_rowid(table: Table) -> bool:
    """Whether the table is stored under numbers of SQLite's own, not under its primary key."""
    return bool(table.dialect_options["sqlite"]["with_rowid"])


def _is_of(column: "Column[object]", value: Value) -> bool:
    if value is None:
        return bool(column.nullable)
    if isinstance(value, float) and not math.isfinite(value):
        return False
    kind = str if isinstance(column.type, Text) else column.type.python_type
    return type(value) in _PYTHON_TYPES[kind]
