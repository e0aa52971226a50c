"""Build, update and check the full-text index in an SQLite file.

Each migration rebuilds the index and the views. Triggers only record which points changed, since some versions of
SQLite have no FTS5. The next process with FTS5 updates the index.
"""

from typing import Any

from playbook_db.store.sqlite import files

TABLE = "point_search"
VIEW = "search_texts"
WAITING = f"{TABLE}_waiting"
OF_FTS5 = tuple(f"{TABLE}_{part}" for part in ("config", "content", "data", "docsize", "idx"))
TABLES = frozenset({TABLE, WAITING, *OF_FTS5})
# These statements work without FTS5, which may be missing, and can't drop an index that is too damaged to open.
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
# To remove an old text from the index, FTS5 needs that text.
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


def can_index(execute: Any) -> bool:
    """Return whether this version of SQLite has FTS5. *execute* runs a statement on a connection."""
    return execute(_HAS_FTS5).fetchone() is not None


def is_behind(execute: Any) -> bool:
    """Return whether the index lacks some changes of points."""
    return execute(f"SELECT 1 FROM {WAITING} LIMIT 1").fetchone() is not None


def make(execute: Any) -> bool:
    """Delete the index, and build a new one from the points. Return whether this version of SQLite can do that. If not,
    all points wait for a version with FTS5, and there is no index until then."""
    for statement in (*_DROPPED, *files.statements("search.sql"), f"DELETE FROM {WAITING}"):
        execute(statement)
    can = can_index(execute)
    for statement in _CREATE if can else (f"INSERT INTO {WAITING} (id) SELECT id FROM {VIEW}",):
        execute(statement)
    return can


def catch_up(execute: Any) -> None:
    """Add all waiting changes to the index. Build the index if it is missing."""
    if execute(_DEFINITION).fetchone() is None:
        make(execute)
        return
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
