"""The index for full text in an SQLite file: making it, keeping it in step, and telling whether it is true.

It is derived from the points as views are, so each migration's end makes it. Triggers only note which points changed:
a file may be written where SQLite has no FTS5, and whoever next has it brings the index up to date.
"""

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

TABLE = "point_search"
VIEW = "search_texts"
WAITING = f"{TABLE}_waiting"
# FTS5 keeps an index in tables of its own.
_SHADOWS = {
    f"{TABLE}_data": "(id INTEGER PRIMARY KEY, block BLOB)",
    f"{TABLE}_idx": "(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
    f"{TABLE}_docsize": "(id INTEGER PRIMARY KEY, sz BLOB)",
    f"{TABLE}_config": "(k PRIMARY KEY, v) WITHOUT ROWID",
}
OF_FTS5 = frozenset({TABLE, *_SHADOWS})
TABLES = OF_FTS5 | {WAITING}
# An index as FTS5 makes it: no averages, and of its structure a cookie with no levels, no segments, nothing written.
_EMPTIED = (
    *(f"CREATE TABLE IF NOT EXISTS {table} {columns}" for table, columns in _SHADOWS.items()),
    *(f"DELETE FROM {table}" for table in _SHADOWS),
    f"INSERT INTO {TABLE}_data (id, block) VALUES (1, x''), (10, zeroblob(7))",
    f"INSERT INTO {TABLE}_config (k, v) VALUES ('version', 4)",
)
_MADE = (
    f"DROP TABLE IF EXISTS {TABLE}",
    f"CREATE VIRTUAL TABLE {TABLE} USING fts5("
    f"name, text, content = '{VIEW}', content_rowid = 'id', tokenize = 'porter unicode61')",
    f"INSERT INTO {TABLE} ({TABLE}) VALUES ('rebuild')",
)
# FTS5 takes a text out only if it is told what it had.
_CAUGHT_UP = (
    f"INSERT INTO {TABLE} ({TABLE}, rowid, name, text) SELECT 'delete', w.id, k.name, w.text FROM {WAITING} AS w"
    " CROSS JOIN key_points AS k ON k.playbook_id = w.id >> 32 AND k.id = w.id & 4294967295 WHERE w.text IS NOT NULL",
    f"INSERT INTO {TABLE} (rowid, name, text) SELECT id, name, text FROM {VIEW}"
    f" WHERE (playbook_id, point_id) IN (SELECT id >> 32, id & 4294967295 FROM {WAITING})",
    f"DELETE FROM {WAITING}",
)
_COMPARE = f"INSERT INTO {TABLE} ({TABLE}, rank) VALUES ('integrity-check', 1)"
_HAS_FTS5 = "SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"
_HAS_TABLE = f"SELECT 1 FROM sqlite_master WHERE name = '{TABLE}'"


def can_index(execute: "Any") -> bool:
    """Whether this SQLite has FTS5; *execute* runs a statement on a connection to any database."""
    return execute(_HAS_FTS5).fetchone() is not None


def has_index(execute: "Any") -> bool:
    """Whether the database has an index for full text, which this SQLite may not be able to read."""
    return execute(_HAS_TABLE).fetchone() is not None


def is_behind(execute: "Any") -> bool:
    """Whether there are points whose last change the index hasn't got yet."""
    return execute(f"SELECT 1 FROM {WAITING} LIMIT 1").fetchone() is not None


def make(execute: "Any") -> bool:
    """Make the index from the points that are there, in place of any other, of which nothing is left; whether this
    SQLite can. Where it can't, all points wait for one that can."""
    if has_index(execute):  # FTS5 itself may be unable to open it for what is damaged in it, or not be there
        for statement in _EMPTIED:
            execute(statement)
    execute(f"DROP VIEW IF EXISTS {VIEW}")
    for statement in _prepared():
        execute(statement)
    execute(f"DELETE FROM {WAITING}")
    if not can_index(execute):
        execute(f"INSERT INTO {WAITING} (id) SELECT id FROM {VIEW}")
        return False
    for statement in _MADE:
        execute(statement)
    return True


def catch_up(execute: "Any") -> None:
    """Bring what waits into the index, which is made where there is none."""
    if not has_index(execute):
        make(execute)
        return
    for statement in _CAUGHT_UP:
        execute(statement)


def compare(execute: "Any") -> None:
    """Raise the driver's error unless the index, which nothing waits for, is what the live points give."""
    execute(_COMPARE)


def _prepared() -> "Iterator[str]":
    text = resources.files("playbook_db.store").joinpath("search.sql").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return (statement.strip() for statement in code.split(";") if statement.strip())
