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
OF_FTS5 = tuple(f"{TABLE}_{part}" for part in ("config", "content", "data", "docsize", "idx"))
TABLES = frozenset({TABLE, WAITING, *OF_FTS5})
# By hand: FTS5, which isn't everywhere, can't drop an index that is too damaged for it to open.
_CUT_OFF = (
    "PRAGMA writable_schema = ON",
    f"DELETE FROM sqlite_master WHERE tbl_name IN {(TABLE, *OF_FTS5)}",
    "PRAGMA writable_schema = RESET",
)
_DROPPED = (*(f"DROP TABLE IF EXISTS {table}" for table in OF_FTS5), *_CUT_OFF, f"DROP VIEW IF EXISTS {VIEW}")
_DEFINED = (
    f"CREATE VIRTUAL TABLE {TABLE} USING fts5("
    f"name, text, content = '{VIEW}', content_rowid = 'id', tokenize = 'porter unicode61')"
)
_CREATE = (_DEFINED, f"INSERT INTO {TABLE} ({TABLE}) VALUES ('rebuild')")
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
_DEFINITION = f"SELECT sql FROM sqlite_master WHERE name = '{TABLE}'"


def can_index(execute: "Any") -> bool:
    """Whether this SQLite has FTS5; *execute* runs a statement on a connection to any database."""
    return execute(_HAS_FTS5).fetchone() is not None


def is_behind(execute: "Any") -> bool:
    """Whether there are points whose last change the index hasn't got yet."""
    return execute(f"SELECT 1 FROM {WAITING} LIMIT 1").fetchone() is not None


def make(execute: "Any") -> bool:
    """Make the index from the points that are there, in place of any other, of which nothing is left; whether this
    SQLite can. Where it can't, there is none, and all points wait for one that can."""
    for statement in (*_DROPPED, *_prepared(), f"DELETE FROM {WAITING}"):
        execute(statement)
    can = can_index(execute)
    for statement in _CREATE if can else (f"INSERT INTO {WAITING} (id) SELECT id FROM {VIEW}",):
        execute(statement)
    return can


def catch_up(execute: "Any") -> None:
    """Bring what waits into the index, which is made where there is none."""
    if execute(_DEFINITION).fetchone() is None:
        make(execute)
        return
    for statement in _CAUGHT_UP:
        execute(statement)


def is_true(execute: "Any") -> bool:
    """Whether the index is what the live points give, but for those that wait for it, which it takes in meanwhile. The
    driver's error comes, or False, where it isn't."""
    defined = execute(_DEFINITION).fetchone()
    if defined is None or defined[0] != _DEFINED:
        return False
    catch_up(execute)
    execute(_COMPARE)
    return True


def cut_off(execute: "Any") -> None:
    """Let the database have no index any more, without a look at its pages, which stay until all is written anew."""
    for statement in _CUT_OFF:
        execute(statement)


def _prepared() -> "Iterator[str]":
    text = resources.files("playbook_db.store").joinpath("search.sql").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return (statement.strip() for statement in code.split(";") if statement.strip())
