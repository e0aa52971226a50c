"""The replica: a copy of a team's current playbook in an SQLite file, for hooks to read.

The replica has the usual tables, but little history: only the revisions that created a point, last changed a point, or
last learned something. It has the ids of waiting proposals, but not their texts. The file is always replaced as a
whole, so readers need no lock.
"""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Table, create_engine, insert
from sqlalchemy.pool import StaticPool

from playbook_db import files
from playbook_db.domain.erasure import MARK
from playbook_db.store import sqlite_open
from playbook_db.store.engine import Store
from playbook_db.store.queries import list_queries
from playbook_db.store.queries.hook_queries import rows
from playbook_db.store.sqlite import full_text
from playbook_db.store.sqlite.sqlite_dialect import SqliteDialect
from playbook_db.store.tables import (
    changes,
    extra_fields,
    heads,
    key_points,
    metadata,
    playbooks,
    proposals,
    revisions,
    sections,
)

_OURS = 1  # the playbook's number in its replica
# The revisions that created each point and changed it last, and the last revision that learned. This uses the index on
# points: a playbook has far more votes than points.
_TOUCHED = """
SELECT k.id, k.created_in AS revision FROM key_points AS k WHERE k.playbook_id = :playbook_id
UNION
SELECT n.point_id, n.revision FROM changes AS n WHERE n.playbook_id = :playbook_id AND n.revision = (
    SELECT max(r.number) FROM revisions AS r WHERE r.playbook_id = :playbook_id AND r.source = 'learn')
UNION
SELECT k.id, (SELECT max(l.revision) FROM changes AS l WHERE l.playbook_id = :playbook_id AND l.point_id = k.id)
FROM key_points AS k WHERE k.playbook_id = :playbook_id
"""
_CHANGES = f"""
SELECT c.revision, c.seq, c.point_id, c.kind, c.section, c.position, c.helpful, c.harmful
FROM ({_TOUCHED}) AS w
JOIN changes AS c ON c.playbook_id = :playbook_id AND c.point_id = w.id AND c.revision = w.revision
"""
_REVISIONS = f"""
SELECT number, time, source, actor, session_id FROM revisions WHERE playbook_id = :playbook_id AND number IN (
    SELECT w.revision FROM ({_TOUCHED}) AS w
    UNION ALL
    SELECT retired_in FROM key_points WHERE playbook_id = :playbook_id AND retired_in IS NOT NULL
    UNION ALL
    SELECT max(number) FROM revisions WHERE playbook_id = :playbook_id)
"""
_TEXTS = "SELECT id, text FROM key_points WHERE playbook_id = (SELECT id FROM playbooks WHERE key = :key)"
_TIME = "SELECT time FROM revisions WHERE playbook_id = :playbook_id AND number = :number"
_LAST = "SELECT number, time FROM revisions WHERE playbook_id = :playbook_id ORDER BY number DESC LIMIT 1"
# No revision shows which points are pinned or resting, or which proposals wait. Proposals have -1 in both columns.
_MARKED = """
SELECT id, pinned, resting FROM key_points WHERE playbook_id = :playbook_id AND (pinned = 1 OR resting = 1)
UNION ALL
SELECT id, -1, -1 FROM proposals WHERE playbook_id = :playbook_id AND state = 'waiting' ORDER BY 2, 1
"""


def _all(table: Table, where: str = "playbook_id = :playbook_id") -> str:
    return f"SELECT {', '.join(column.name for column in table.columns)} FROM {table.name} WHERE {where}"


_READ = {
    sections: _all(sections, "true"),
    playbooks: _all(playbooks, "id = :playbook_id"),
    revisions: _REVISIONS,
    key_points: _all(key_points),
    heads: _all(heads),
    extra_fields: _all(extra_fields),
    changes: _CHANGES,
    proposals: _all(proposals, "playbook_id = :playbook_id AND state = 'waiting'"),
}
# Columns with values of the replica's own.
_IN_PLACE: dict[Table, dict[str, Any]] = {
    playbooks: {"id": _OURS, "mirror": "off", "ignored": 0},
    proposals: {"operation": "{}", "evidence": "[]", "session_id": None},
}

Rows = dict[Table, list[dict[str, Any]]]


def read(server: Store, key: str) -> Rows:
    """Read the rows of a replica from the playbook *key* in the database *server*."""
    with server.read(key) as book:
        return {table: [_row(table, row) for row in rows(book, question)] for table, question in _READ.items()}


def _row(table: Table, row: Any) -> dict[str, Any]:
    number = {} if table in (sections, playbooks) else {"playbook_id": _OURS}
    return {**row._asdict(), **number, **_IN_PLACE.get(table, {})}


def write(path: str, rows: Rows) -> None:
    """Write a replica with *rows* to the file *path*. Replace an existing file. Raises OSError."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA page_size = 1024")  # a third of the usual bytes, as most tables are empty
        metadata.create_all(connection)
        for table, several in rows.items():
            if several:
                connection.execute(insert(table), several)
        full_text.make(connection.exec_driver_sql)
        connection.exec_driver_sql("ANALYZE")
        connection.exec_driver_sql(f"PRAGMA user_version = {sqlite_open.SCHEMA:d}")
    with closing(engine.raw_connection()) as raw:
        driver: sqlite3.Connection = raw.dbapi_connection  # type: ignore[assignment]
        data = driver.serialize()
    engine.dispose()
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    files.replace_file(path, data, mode=0o600)


@dataclass(frozen=True, slots=True)
class State:
    """The state of a replica: the playbook's last revision, its time, and the number of live points. `marked` has the
    ids of pinned points, resting points and waiting proposals."""

    revision: int
    time: str | None
    points: int
    marked: tuple[tuple[int, int, int], ...]


def is_current(server: Store, key: str, here: State | None) -> bool:
    """Return whether a replica in the state *here* is up to date with the playbook *key* in the database *server*."""
    with server.read(key) as book:
        last = next(iter(rows(book, _LAST)), None)
        marked = tuple(map(tuple, rows(book, _MARKED)))
    return here is not None and last is not None and (here.revision, here.time, here.marked) == (*last, marked)


def state(path: str, key: str) -> State | None:
    """Return the state of the replica *path* of the playbook *key*, or None if the file can't be read."""
    try:
        with closing(sqlite_open.open_replica(path)) as connection:
            project = list_queries.find_in_replica(connection, key)
            if project is None:
                return None
            of = {"playbook_id": project.id, "number": project.revision}
            time = connection.execute(_TIME, of).fetchone()
            marked = tuple(connection.execute(_MARKED, of).fetchall())
            return State(project.revision, time[0] if time else None, project.live_points, marked)
    except (OSError, sqlite3.Error, sqlite_open.UnusableError):
        return None


def opened(path: str) -> Store:
    """Open the replica *path* as a read-only database."""
    return Store(SqliteDialect(path, "at rest").make_engine())


def known_at(path: str) -> datetime | None:
    """Return the time when the replica *path* was last known to be up to date, or None if it doesn't exist."""
    try:
        return datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
    except OSError:
        return None


def erased_since(path: str, key: str, rows: Rows) -> dict[str, bool]:
    """Return the texts in the replica *path* of the playbook *key* that are erased in the new *rows*. The value is True
    if the whole text was erased, and False if only a part was."""
    try:
        with closing(sqlite_open.open_replica(path)) as connection:
            points = dict(connection.execute(_TEXTS, {"key": key}))
    except (OSError, sqlite3.Error, sqlite_open.UnusableError):
        return {}
    now = {row["id"]: row["text"] for row in rows[key_points]}
    erased = {text: now.get(number, "") for number, text in points.items() if MARK not in text}
    return {text: after == MARK for text, after in erased.items() if MARK in after}
