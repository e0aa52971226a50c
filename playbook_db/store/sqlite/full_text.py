"""Build, update and check the full-text index in an SQLite file.

Each migration rebuilds the index and the views. Triggers only record which points changed. After a commit the same
process updates the index.
"""

import functools
import sqlite3
from contextlib import closing
from typing import Any

from playbook_db.store.sqlite import sqlite_files

TABLE = "point_search"
VIEW = "search_texts"
WAITING = f"{TABLE}_waiting"
OF_FTS5 = tuple(f"{TABLE}_{part}" for part in ("config", "content", "data", "docsize", "idx"))
TABLES = frozenset({TABLE, WAITING, *OF_FTS5})
_DEFINED = (
    f"CREATE VIRTUAL TABLE {TABLE} USING fts5("
    f"name, text, content = '{VIEW}', content_rowid = 'id', tokenize = 'porter unicode61')"
)
# To remove an old text from the index, FTS5 needs that text.
_CAUGHT_UP = (
    f"INSERT INTO {TABLE} ({TABLE}, rowid, name, text) SELECT 'delete', w.id, k.name, w.text FROM {WAITING} AS w"
    " CROSS JOIN key_points AS k ON k.playbook_id = w.id >> 32 AND k.id = w.id & 4294967295 WHERE w.text IS NOT NULL",
    f"INSERT INTO {TABLE} (rowid, name, text) SELECT id, name, text FROM {VIEW}"
    f" WHERE (playbook_id, point_id) IN (SELECT id >> 32, id & 4294967295 FROM {WAITING})",
    f"DELETE FROM {WAITING}",
)
_COMPARE = f"INSERT INTO {TABLE} ({TABLE}, rank) VALUES ('integrity-check', 1)"
_DEFINITION = f"SELECT sql FROM sqlite_master WHERE name = '{TABLE}'"


@functools.cache
def is_supported() -> bool:
    """Return whether this Python's SQLite has FTS5."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone() is not None


def is_behind(execute: Any) -> bool:
    """Return whether the index lacks some changes of points. *execute* runs a statement on a connection."""
    return execute(f"SELECT 1 FROM {WAITING} LIMIT 1").fetchone() is not None


def make(execute: Any) -> None:
    """Delete the index, and build a new one from the points. An index that can't be opened raises the driver's
    error."""
    dropped = f"DROP TABLE IF EXISTS {TABLE}", f"DROP VIEW IF EXISTS {VIEW}", f"DROP TABLE IF EXISTS {WAITING}"
    rebuilt = f"INSERT INTO {TABLE} ({TABLE}) VALUES ('rebuild')"
    for statement in (*dropped, *sqlite_files.statements("search.sql"), _DEFINED, rebuilt):
        execute(statement)


def cut_off(connection: sqlite3.Connection) -> None:
    """Delete the index from the file of *connection*, even an index that can't be opened. Rewrite the file."""
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(f"DELETE FROM sqlite_master WHERE tbl_name IN {(TABLE, *OF_FTS5)}")
    connection.execute("PRAGMA writable_schema = RESET")
    connection.execute("VACUUM")


def catch_up(execute: Any) -> None:
    """Add all waiting changes to the index."""
    for statement in _CAUGHT_UP:
        execute(statement)


def is_true(execute: Any) -> bool:
    """Update the index. Return whether it then matches the live points. A mismatch may raise the driver's error."""
    defined = execute(_DEFINITION).fetchone()
    if defined is None or defined[0] != _DEFINED:
        return False
    catch_up(execute)
    execute(_COMPARE)
    return True
