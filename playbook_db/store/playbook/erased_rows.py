"""Erase texts from the tables: find the fields that contain a text, and write over them.

The triggers allow a change of the history only while the playbook has a row in `erasures` without `finished_at`. In one
transaction `erase` inserts that row and sets `finished_at`. The row stays as a record of the erasure.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from sqlalchemy import Column, Connection, and_, func, insert, null, or_, select, update
from sqlalchemy import text as sql

from playbook_db.domain.erasure import MARK, Eraser
from playbook_db.domain.operations import TEXT_KEYS, named_points
from playbook_db.domain.proposals import read_operation
from playbook_db.store.dialect import dialect_of
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.tables import erasures, key_points, metadata, proposals, revisions

# The columns with words of people or models, and their form. All other columns of texts hold names, keys, paths, times
# or kinds.
WRITTEN: Mapping[str, Mapping[str, Literal["text", "json", "header"]]] = {
    "heads": {"header": "header"},
    "revisions": {"message": "text", "header": "header"},
    "key_points": {"text": "text", "retired_reason": "text"},
    "extra_fields": {"fields": "json"},
    "changes": {"text": "text", "reason": "text", "evidence": "json"},
    "votes": {"name": "text", "rationale": "text", "evidence": "json"},  # `name` is set only if no point had it
    "skipped_operations": {"operation": "json", "reason": "text"},
    "proposals": {"operation": "json", "evidence": "json"},
    "reflections": {"analysis": "text", "curator_reasoning": "text", "bullet_tags": "json", "lessons": "json"},
    "jobs": {"error": "text"},
}
_HISTORY = ("revisions", "changes", "votes", "skipped_operations")  # only an erasure changes their rows
# The new values for fields of a forgotten point, whatever they say.
_OF_FORGOTTEN: Mapping[tuple[str, str], str | None] = {
    ("key_points", "text"): MARK,
    ("extra_fields", "fields"): "{}",
    ("changes", "text"): MARK,
    ("changes", "reason"): None,
    ("changes", "evidence"): None,
    ("votes", "rationale"): None,
    ("votes", "evidence"): None,
    ("proposals", "evidence"): "[]",
}
REASON = "forgotten"  # why a forgotten point is retired
_IDS = "(SELECT CAST(value AS BIGINT) FROM json_each(:ids))"
_WORDINGS = sql(f"""
SELECT text FROM key_points WHERE playbook_id = :playbook_id AND id IN {_IDS}
UNION
SELECT text FROM changes WHERE playbook_id = :playbook_id AND point_id IN {_IDS} AND text IS NOT NULL
""")
_FORGET = sql(f"""
UPDATE key_points SET text = :mark, retired_reason = :reason, forgotten = 1
WHERE playbook_id = :playbook_id AND id IN {_IDS}
""")


@dataclass(frozen=True, slots=True)
class PointText:
    """A live or retired point for an erasure, with its present text."""

    id: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field that contains a text to erase. `key` is the row's primary key. `revision` is None if the row belongs to
    no revision. `after` is the new value (None: NULL)."""

    table: str
    column: str
    key: tuple[Any, ...]
    revision: int | None
    before: str
    after: str | None

    @property
    def name(self) -> str:
        """The column's name with its table's name."""
        return f"{self.table}.{self.column}"

    @property
    def is_history(self) -> bool:
        """Whether only an erasure may change the field."""
        return self.table in _HISTORY


def read_points(connection: Connection, playbook_id: int) -> list[PointText]:
    """Return a playbook's live and retired points, without forgotten ones."""
    query = select(key_points.c.id, key_points.c.name, key_points.c.text)
    query = query.where(key_points.c.playbook_id == playbook_id, key_points.c.forgotten == 0)
    rows = connection.execute(query.order_by(key_points.c.id))
    return [PointText(*row) for row in rows]


def births(connection: Connection, *, forgotten: bool) -> set[tuple[str, str]]:
    """Return the name and creation time of all forgotten points, or if *forgotten* is false, of all other points. In a
    backup a point has the same name and time."""
    is_first = and_(revisions.c.playbook_id == key_points.c.playbook_id, revisions.c.number == key_points.c.created_in)
    query = select(key_points.c.name, revisions.c.time).join(revisions, is_first)
    return {(name, time) for name, time in connection.execute(query.where(key_points.c.forgotten == int(forgotten)))}


def wordings(connection: Connection, playbook_id: int, ids: Collection[int]) -> frozenset[str]:
    """Return every text that the points *ids* ever had."""
    texts = connection.scalars(_WORDINGS, {"playbook_id": playbook_id, "ids": json.dumps(sorted(ids))})
    return frozenset(texts) - {MARK}


def find(
    connection: Connection,
    playbook_id: int,
    eraser: Eraser,
    forgotten: Collection[PointText] = (),
    *,
    tables: Iterable[str] = WRITTEN,
) -> Iterator[Field]:
    """Yield the fields in *tables* that contain a text to erase. Also yield the fields about the *forgotten* points:
    texts, reasons of changes and votes, proposals."""
    names = {point.id: point.name for point in forgotten}
    for table in (metadata.tables[name] for name in tables):
        columns, key = [table.c[column] for column in WRITTEN[table.name]], list(table.primary_key.columns)
        number = table.c.number if table is revisions else table.c.get("revision")
        point = table.c.id if table is key_points else table.c.get("point_id")
        query = select(*key, *(null() if column is None else column for column in (number, point)), *columns)
        query = query.where(table.c.playbook_id == playbook_id, or_(*(column.is_not(None) for column in columns)))
        for row in connection.execute(query):
            revision, point_id, *values = row[len(key) :]
            if table is proposals:
                point_id = _point_proposed(values, names)
            for column, before in zip(columns, values, strict=True):
                if before is None or before == MARK or (before == REASON and "reason" in column.name):
                    continue
                after_erasing = _erased(eraser, names, column, before, point_id)
                if after_erasing != before:
                    yield Field(table.name, column.name, tuple(row[: len(key)]), revision, before, after_erasing)


def erase(
    book: PlaybookRepository, fields: Collection[Field], forgotten: Collection[PointText], *, revision: int, by: str
) -> None:
    """Erase texts from *fields*. Mark the *forgotten* points, already retired, so that they can't be restored.

    *revision* is the revision of this erasure. *by* says how the texts were chosen: by `name` or by `match`.
    """
    connection, playbook_id, now = book.connection, book.playbook_id, book.now
    last = connection.scalar(select(func.max(erasures.c.id)).where(erasures.c.playbook_id == playbook_id))
    trace = {"playbook_id": playbook_id, "id": (last or 0) + 1}
    points = json.dumps([point.name for point in forgotten], ensure_ascii=False)
    connection.execute(insert(erasures).values(**trace, revision=revision, selected_by=by, points=points, time=now))
    _write_over(connection, fields)
    # Reject proposals whose texts are erased.
    worded = [field.key[1] for field in fields if field.name == "proposals.operation"]
    book.decide(worded, "rejected", book.actor(), None)
    ids = json.dumps([point.id for point in forgotten])
    connection.execute(_FORGET, {"playbook_id": playbook_id, "ids": ids, "mark": MARK, "reason": REASON})
    # SQLite's index keeps removed texts until its segments are merged, so the next backup would contain them. A
    # server's index drops them with the deleted rows.
    if not dialect_of(connection).is_shared:
        dialect_of(connection).rebuild_search(connection)
    connection.execute(update(erasures).filter_by(**trace).values(fields=len(fields), finished_at=now))


def waiting(connection: Connection) -> list[tuple[int, int]]:
    """Return the erasures whose texts may still be in the file's bytes, as pairs of a playbook's number and an id."""
    is_waiting = and_(erasures.c.finished_at.is_not(None), erasures.c.purged_at.is_(None))
    rows = connection.execute(select(erasures.c.playbook_id, erasures.c.id).where(is_waiting))
    return [(playbook_id, number) for playbook_id, number in rows]


def note_done(connection: Connection, done: Iterable[tuple[int, int]], *, now: str) -> None:
    """Record that the file contains no more traces of the texts that the erasures *done* removed."""
    for playbook_id, number in done:
        is_it = and_(erasures.c.playbook_id == playbook_id, erasures.c.id == number)
        connection.execute(update(erasures).where(is_it, erasures.c.purged_at.is_(None)).values(purged_at=now))


def _write_over(connection: Connection, fields: Iterable[Field]) -> None:
    for name, same in groupby(sorted(fields, key=lambda field: field.name), key=lambda field: field.name):
        table_name, column = name.split(".")
        key = [part.name for part in metadata.tables[table_name].primary_key.columns]
        is_row = " AND ".join(f"{part} = :{part}" for part in key)
        rows = [dict(zip(key, field.key, strict=True), after=field.after) for field in same]
        connection.execute(sql(f"UPDATE {table_name} SET {column} = :after WHERE {is_row}"), rows)


def _erased(
    eraser: Eraser, names: Mapping[int, str], column: "Column[Any]", value: str, point_id: int | None
) -> str | None:
    """Return the erased form of *value* in *column*. The row is about the point *point_id*, if any. *names* has the
    names of the forgotten points, by number."""
    table, kind = column.table.name, WRITTEN[column.table.name][column.name]
    if point_id in names and (table, column.name) in _OF_FORGOTTEN:
        return _OF_FORGOTTEN[table, column.name]
    if kind == "header":
        return eraser.erase_header(value)
    if kind == "json":
        value = eraser.erase_json(value)
        if column.name == "operation" and point_id in names:
            return _without_words(value)
        return _without_rationales(value, set(names.values())) if column.name == "bullet_tags" else value
    return eraser.erase(value)


def _without_rationales(value: str, names: Collection[str]) -> str:
    """Return the reflector's tags (*value*, as JSON) without the reasons for the tags of the points *names*."""
    try:
        tags = json.loads(value)
    except (ValueError, RecursionError):
        return value
    tags_of_points = [tag for tag in tags if isinstance(tag, dict)] if isinstance(tags, list) else []
    erased = [tag for tag in tags_of_points if tag.get("name") in names and tag.get("rationale") not in (None, MARK)]
    for tag in erased:
        tag["rationale"] = MARK
    return json.dumps(tags) if erased else value


def _point_proposed(values: Iterable[str], names: Mapping[int, str]) -> int | None:
    """Return the number of the forgotten point that a proposed operation names, if any. The operation is the first of
    *values*. *names* has the names of the forgotten points, by number."""
    operation = read_operation(next(iter(values)))
    about = {name for kind in TEXT_KEYS.keys() | {"DELETE", "VOTE"} for name in named_points(operation, kind)}
    return next((number for number, name in names.items() if name in about), None)


def _without_words(value: str) -> str:
    operation = read_operation(value)
    words = {key: MARK for key in (*TEXT_KEYS.values(), "reason", "rationale") if operation.get(key)}
    return json.dumps(operation | words, ensure_ascii=False) if words else value
