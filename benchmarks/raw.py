"""What the database itself costs: the rows that a batch reads and writes, by the standard library's sqlite3 alone, or
by psycopg.

Same schema, same PRAGMAs, same kind of transaction and the same lock as the store's, and the same columns kept; no
rules, no values, no SQLAlchemy.
"""

import functools
import json
import os
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from sqlalchemy.engine import URL

from playbook_db.domain.prompt_text import rank
from playbook_db.store.engine import WAL_CHECKPOINT_BYTES
from playbook_db.store.queries.list_queries import LIVE_POINTS

_PRAGMAS = (
    "busy_timeout = 900000",  # milliseconds: a busy machine's crowd waits long, and none may be lost
    "journal_mode = WAL",
    "synchronous = NORMAL",
    "foreign_keys = ON",
    "cache_size = -32768",
    "wal_autocheckpoint = 0",
)
_INSERT_POINT = (
    "INSERT INTO key_points (playbook_id, id, name, section, position, text, helpful, harmful, created_in, rank)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE_POINT = (
    "UPDATE key_points SET section = ?, position = ?, text = ?, helpful = ?, harmful = ?, retired_in = ?,"
    " retired_reason = ?, rank = ? WHERE playbook_id = ? AND id = ?"
)
_INSERT_CHANGE = (
    "INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful, text,"
    " reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class Batch:
    """A new point's text, a point to reword and its new text, and a point to retire (None: none)."""

    added: str
    reworded: str
    text: str
    retired: str | None


def connect(path: str) -> sqlite3.Connection:
    """A connection to the database in *path*, set up as the store's are."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection


def read_live(connection: Any, playbook_id: int) -> list[tuple[object, ...]]:
    """The live points, as rows: what a point is, without its marks."""
    return [row[:7] for row in connection.execute(LIVE_POINTS, {"playbook_id": playbook_id})]


def apply(connection: sqlite3.Connection, path: str, key: str, batch: Batch) -> str:
    """Carry out *batch* on the playbook *key* as one revision; the new point's name."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (playbook_id,) = connection.execute("SELECT id FROM playbooks WHERE key = ?", (key,)).fetchone()
        name = _write(connection, playbook_id, batch)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    if os.path.getsize(f"{path}-wal") >= WAL_CHECKPOINT_BYTES:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    return name


class ServerConnection:
    """A connection to PostgreSQL that is asked as one of `sqlite3` is, by one cursor of psycopg's."""

    def __init__(self, url: URL) -> None:
        plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._connection = psycopg.connect(plain, autocommit=True)
        self._cursor = self._connection.cursor()

    def execute(self, statement: str, values: Any = ()) -> "psycopg.Cursor[Any]":
        """The answer to *statement* with *values*."""
        return self._cursor.execute(_in_psycopg_s_words(statement), values)

    def executemany(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        """*statement* with each of *values*."""
        self._cursor.executemany(_in_psycopg_s_words(statement), values)

    def close(self) -> None:
        """Let go of it."""
        self._connection.close()


@functools.cache
def _in_psycopg_s_words(statement: str) -> bytes:
    return re.sub(r":(\w+)", r"%(\1)s", statement.replace("?", "%s")).encode()


def apply_on_server(connection: ServerConnection, key: str, batch: Batch) -> str:
    """Carry out *batch* on the playbook *key* as one revision, with other writers kept off it; the new point's name."""
    connection.execute("BEGIN")
    try:
        (playbook_id,) = connection.execute("SELECT id FROM playbooks WHERE key = ?", (key,)).fetchone() or ()
        connection.execute("SELECT 1 FROM heads WHERE playbook_id = ? FOR UPDATE", (playbook_id,))
        name = _write(connection, playbook_id, batch)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return name


def _write(connection: Any, playbook_id: int, batch: Batch) -> str:
    one = connection.execute
    live = {row[1]: row[1:] for row in read_live(connection, playbook_id)}
    header, newline = one("SELECT header, final_newline FROM heads WHERE playbook_id = ?", (playbook_id,)).fetchone()
    last, _ = one(
        "SELECT number, time FROM revisions WHERE playbook_id = ? ORDER BY number DESC LIMIT 1", (playbook_id,)
    ).fetchone()
    revision, time = last + 1, datetime.now(UTC).isoformat(timespec="microseconds")
    one(
        "INSERT INTO revisions (playbook_id, number, time, source, actor, message)"
        " VALUES (?, ?, ?, 'edit', 'bare', 'a batch')",
        (playbook_id, revision, time),
    )
    names = [batch.reworded] if batch.retired is None else [batch.reworded, batch.retired]
    marks = ", ".join("?" * len(names))
    ids = dict(
        one(
            f"SELECT name, id FROM key_points WHERE playbook_id = ? AND name IN ({marks})", (playbook_id, *names)
        ).fetchall()
    )
    (highest,) = one("SELECT max(id) FROM key_points WHERE playbook_id = ?", (playbook_id,)).fetchone()
    (number,) = one(
        "SELECT max(CAST(substr(name, 5) AS bigint)) FROM key_points"
        " WHERE playbook_id = ? AND name >= 'oth-0' AND name < 'oth-:' AND rtrim(substr(name, 5), '0123456789') = ''",
        (playbook_id,),
    ).fetchone()
    made = f"oth-{number + 1:03d}"
    last_position = max(int(row[5]) for row in live.values())
    states = [(highest + 1, "add", "oth", last_position + 1, 0, 0, batch.added, None)]
    _, _, section, helpful, harmful, position = live[batch.reworded]
    states.append((ids[batch.reworded], "edit", section, position, helpful, harmful, batch.text, None))
    if batch.retired is not None:
        _, text, section, helpful, harmful, position = live[batch.retired]
        states.append((ids[batch.retired], "retire", section, position, helpful, harmful, text, "deleted"))
    _insert(connection, playbook_id, revision, made, states)
    header = json.dumps({**json.loads(header), "last_updated": time}, ensure_ascii=False)
    one(
        "UPDATE heads SET header = ?, final_newline = ?, live_points = live_points + ? WHERE playbook_id = ?",
        (header, newline, 1 if batch.retired is None else 0, playbook_id),
    )
    return made


def _insert(connection: Any, playbook_id: int, revision: int, made: str, states: list[tuple[Any, ...]]) -> None:
    point_id, _, section, position, helpful, harmful, text, _ = states[0]
    connection.execute(
        _INSERT_POINT,
        (playbook_id, point_id, made, section, position, text, helpful, harmful, revision, rank(0, 0, revision)),
    )
    connection.executemany(
        _UPDATE_POINT,
        [
            (
                section, position, text, helpful, harmful, revision if kind == "retire" else None, reason,
                rank(helpful, harmful, revision), playbook_id, i,
            )
            for i, kind, section, position, helpful, harmful, text, reason in states[1:]
        ],
    )  # fmt: skip
    connection.executemany(
        _INSERT_CHANGE,
        [
            (
                playbook_id, revision, seq, i, kind, section, position, helpful, harmful,
                None if kind == "retire" else text, reason,
            )
            for seq, (i, kind, section, position, helpful, harmful, text, reason) in enumerate(states, 1)
        ],
    )  # fmt: skip
