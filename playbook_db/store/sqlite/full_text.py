"""The index for full text in an SQLite file: making it, making it anew, and telling whether it is true.

It is derived from the points as views are, so each migration's end makes it. Where this SQLite has no FTS5 there is
none, and nothing keeps it.
"""

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

TABLE = "point_search"
VIEW = "search_texts"
_SHADOWS = ("", "_config", "_data", "_docsize", "_idx")
TABLES = frozenset(f"{TABLE}{end}" for end in _SHADOWS)  # FTS5 keeps an index in tables of its own
_REBUILD = f"INSERT INTO {TABLE} ({TABLE}) VALUES ('rebuild')"
# An index as FTS5 makes it: no averages, and of its structure a cookie with no levels, no segments, nothing written.
_EMPTIED = (
    *(f"DELETE FROM {TABLE}_{part}" for part in ("data", "idx", "docsize", "config")),
    f"INSERT INTO {TABLE}_data (id, block) VALUES (1, x''), (10, zeroblob(7))",
    f"INSERT INTO {TABLE}_config (k, v) VALUES ('version', 4)",
)
_COMPARE = f"INSERT INTO {TABLE} ({TABLE}, rank) VALUES ('integrity-check', 1)"
HAS_FTS5 = "SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"
_HAS_TABLE = f"SELECT 1 FROM sqlite_master WHERE name = '{TABLE}'"


def can_index(execute: "Any") -> bool:
    """Whether this SQLite has FTS5; *execute* runs a statement on a connection to any database."""
    return execute(HAS_FTS5).fetchone() is not None


def has_index(execute: "Any") -> bool:
    """Whether the database has an index for full text, which this SQLite may not be able to read."""
    return execute(_HAS_TABLE).fetchone() is not None


def make(execute: "Any") -> bool:
    """Make the index from the points that are there, in place of any other; whether this SQLite can."""
    if not can_index(execute):
        return False
    execute(f"DROP TABLE IF EXISTS {TABLE}")
    execute(f"DROP VIEW IF EXISTS {VIEW}")
    for statement in _made():
        execute(statement)
    return True


def rebuild(execute: "Any") -> bool:
    """Make the index anew, so that nothing of what once stood in it is left; whether there is one."""
    if not (has_index(execute) and can_index(execute)):
        return False
    execute(_REBUILD)
    return True


def empty(execute: "Any") -> None:
    """Take out all that the index holds, where FTS5 itself can't open it for what is damaged in it; then it can."""
    for statement in _EMPTIED:
        execute(statement)


def compare(execute: "Any") -> None:
    """Raise the driver's error unless the index is what the live points give."""
    if has_index(execute) and can_index(execute):
        execute(_COMPARE)


def _made() -> "Iterator[str]":
    text = resources.files("playbook_db.store").joinpath("search.sql").read_text(encoding="utf-8")
    code = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return (statement.strip() for statement in code.split(";") if statement.strip())
