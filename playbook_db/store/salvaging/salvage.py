"""What can be read from a damaged database, gathered into a staging.

Where SQLite finds nothing wrong with a table, its own reading of it is taken. Else all pages are walked: first those
that belong to the table's tree, then the loose ones, whose rows find their table by the shape they have. The best copy
of a row comes first and keeps its place.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field

from sqlalchemy import Table

from playbook_db.domain import salvaging
from playbook_db.domain.diff import rising
from playbook_db.store import migrate
from playbook_db.store.hook_queries import SCHEMA
from playbook_db.store.salvaging.staging import (
    TABLES,
    UNREADABLE,
    Row,
    fits,
    has_rowid,
    keep,
    make_staging,
    open_raw,
    select,
)
from playbook_db.store.sqlite import dialect
from playbook_db.store.sqlite.page_reader import LEAF_TABLE, MAGIC, Opened, Pages, Record, open_pages

# What an index knows of a row whose own page is gone.
_NAMES, _IDS, _KEYS = "sqlite_autoindex_key_points_2", "sqlite_autoindex_key_points_1", "sqlite_autoindex_playbooks_1"
_INDEXES = {_NAMES: (int, str, int), _IDS: (int, int, int), _KEYS: (str, int)}
_END = "the end of the file"
_JOURNAL_BYTES = 18  # where the header says whether there is a log
_VERSION = re.compile(r"\d{4}")


@dataclass(slots=True)
class Salvaged:
    """What was found beside the rows: which tables are known to be whole, at which schema the file was (None where that
    can't be read; also in `newer` where it is one that we don't know), whether it is another program's, how many pages
    and rows of each table can't be read in their place, and the names of points and keys of playbooks that the indexes
    tell."""

    whole: set[str] = field(default_factory=set)
    schema: int | None = None
    newer: int | None = None
    foreign: bool = False
    unreadable: dict[str, tuple[int, int]] = field(default_factory=dict)
    names: dict[tuple[int, int], str] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)


def salvage(image: str, pages: Pages, staging_path: str) -> Salvaged:
    """Fill the staging from the damaged file: *image* is a copy of it for SQLite to open, *pages* the same bytes."""
    found = Salvaged()
    roots = _roots(pages)
    found.foreign = bool(roots) and not roots.keys() & TABLES.keys()
    with closing(sqlite3.connect(staging_path)) as staging:
        staging.execute("PRAGMA synchronous = OFF")
        pending = []
        for name, table in TABLES.items():
            rows = _whole(image, table)
            if rows is None:
                pending.append(table)
            else:
                found.whole.add(name)
                keep(staging, table, rows)
        if pending:
            _salvage_tables(staging, pages, roots, pending, found)
            _ask_indexes(pages, roots, found)
            if pages.missing:
                found.unreadable[_END] = (pages.missing, 0)
        found.schema = _schema(pages, roots)
        header = pages.page(1)
        if found.schema and found.schema > SCHEMA and _user_version(header) in (found.schema, None):
            found.newer = found.schema
        staging.commit()
    return found


def open_file(path: str) -> Opened:
    """The pages of the database file *path* with its log, read without SQLite."""
    with open(path, "rb") as file:
        data = file.read()
    log = b""
    with suppress(FileNotFoundError), open(f"{path}-wal", "rb") as file:
        log = file.read()
    return open_pages(data, log)


def salvage_file(copy: str, opened: Opened, staging_path: str) -> Salvaged:
    """Fill a new staging from *copy*, a copy of a damaged file with its log, of which *opened* are the pages. The copy
    is changed: its log is worked in."""
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(copy + suffix)
    with open(copy, "rb+") as file:
        for number, page in opened.pages.newer.items():
            file.seek((number - 1) * opened.pages.page_size)
            file.write(page)
        if opened.pages.page(1).startswith(MAGIC):
            file.seek(_JOURNAL_BYTES)
            file.write(b"\1\1")  # there is no log any more
    make_staging(staging_path)
    return salvage(copy, opened.pages, staging_path)


def can_be_migrated(path: str) -> bool:
    """Bring the database in *path*, a copy, to our schema where it is older; whether it is there now."""
    try:
        found = dialect.schema_version(path)
        if found and found < SCHEMA:
            migrate.migrate(f"sqlite:///{path}")
        return bool(found) and dialect.schema_version(path) == SCHEMA
    except Exception:  # whatever damaged bytes make a migration stumble over, it is the file that is wrong
        return False


def _salvage_tables(
    staging: sqlite3.Connection,
    pages: Pages,
    roots: dict[str, int],
    tables: Sequence[Table],
    found: Salvaged,
) -> None:
    reached: set[int] = set()
    candidates: dict[str, list[Row]] = {table.name: [] for table in tables}
    for table in tables:
        of_table = candidates[table.name]
        for number in pages.tree(roots.get(table.name, 0)):
            reached.add(number)
            shaper = _shaper(table, pages.kind(number))
            rows = _in_line(table, [row for row in map(shaper, pages.records(number)) if row is not None])
            of_table += rows
            lost_pages, lost_rows = found.unreadable.get(table.name, (0, 0))
            said = pages.said_rows(number)
            found.unreadable[table.name] = (
                (lost_pages + 1, lost_rows) if said is None else (lost_pages, lost_rows + max(0, said - len(rows)))
            )
    others = [(number, None) for number in range(1, pages.count + 1) if number not in reached]
    for number, copy in [*others, *pages.older]:
        shapers = [(table, _shaper(table, pages.kind(number, copy))) for table in tables]
        records = list(pages.records(number, copy))
        for table, shaper in shapers:
            candidates[table.name] += _in_line(table, [row for row in map(shaper, records) if row is not None])
    for table in tables:
        rows = candidates[table.name]
        if table.name == "key_points":
            rows.sort(key=lambda row: -(salvaging.changed_in(row[6], row[7], row[11] if len(row) > 11 else None) or 0))
        keep(staging, table, rows)


def _whole(image: str, table: Table) -> list[Row] | None:
    """All rows of the table where SQLite finds nothing wrong with it, else None."""
    with closing(open_raw(image)) as connection:
        try:
            told = connection.execute(f"PRAGMA integrity_check({table.name})").fetchall()
        except UNREADABLE:
            return None
    if [value for (value,) in told] != [b"ok"]:
        return None
    return list(select(image, table))


def _in_line(table: Table, rows: list[Row]) -> list[Row]:
    """The *rows* of one page without those whose key is out of line, and so damaged: where rows are stored under their
    primary key, they stand in its order."""
    if has_rowid(table) or not rows:
        return rows
    key = len(table.primary_key.columns)
    return [rows[place] for place in rising([row[:key] for row in rows])]


def _shaper(table: Table, kind: int) -> Callable[[Record], Row | None]:
    """What makes a row of *table* of a record on a page of *kind*, and None of a record that can be none."""
    in_tree = has_rowid(table)
    if in_tree != (kind == LEAF_TABLE):
        return lambda _: None
    first = table.columns[0]
    is_rowid = in_tree and [first] == list(table.primary_key.columns) and first.type.python_type is int

    def shaped(record: Record) -> Row | None:
        row = record.values
        if is_rowid and row[0] is None:
            row = (record.rowid, *row[1:])
        return row if fits(table, row) else None

    return shaped


def _roots(pages: Pages) -> dict[str, int]:
    """Where the trees of tables and indexes begin: what the schema says, as far as it can be read or found."""
    found: dict[str, int] = {}
    in_tree = list(pages.tree(1))
    for number in [*in_tree, *(set(range(1, pages.count + 1)) - set(in_tree))]:
        if pages.kind(number) != LEAF_TABLE:
            continue
        for record in pages.records(number):
            match record.values:
                case ("table" | "index", str(name), str(), int(root), _):
                    found.setdefault(name, root)
    return found


def _schema(pages: Pages, roots: dict[str, int]) -> int | None:
    """The migration that the file was at, as Alembic's own table says."""
    for number in pages.tree(roots.get("alembic_version", 0)):
        for record in pages.records(number):
            match record.values:
                case (str(version),) if _VERSION.fullmatch(version):
                    return int(version)
    return None


def _user_version(header: bytes) -> int | None:
    return int.from_bytes(header[60:64], "big") if header.startswith(MAGIC) else None


def _ask_indexes(pages: Pages, roots: dict[str, int], found: Salvaged) -> None:
    """Note the names and keys that the indexes tell: a point's name and number are told by two, under its row."""
    entries: dict[str, list[Row]] = {}
    for index, types in _INDEXES.items():
        entries[index] = [
            record.values
            for number in pages.tree(roots.get(index, 0))
            for record in pages.records(number)
            if tuple(map(type, record.values)) == types
        ]
    names = {(playbook, rowid): name for playbook, name, rowid in entries[_NAMES]}
    for playbook, point, rowid in entries[_IDS]:
        if (playbook, rowid) in names:
            found.names[playbook, point] = names[playbook, rowid]  # type: ignore[index,assignment]
    found.keys = {rowid: key for key, rowid in entries[_KEYS]}  # type: ignore[misc]
