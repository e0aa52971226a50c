"""What people and models wrote: which columns hold it, and which of their fields say what is to be forgotten."""

import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Column, Connection, Table, and_, bindparam, func, insert, inspect, null, or_, select, update

from playbook_db.domain.erasure import MARK, Eraser
from playbook_db.store import tables
from playbook_db.store.tables import changes, erasures, key_points, reflections

# What people or models wrote, and in which form it is kept. All other columns of texts are STRUCTURE.
WRITTEN: Mapping[str, Mapping[str, Literal["text", "json", "header"]]] = {
    "playbooks": {"header": "header"},
    "revisions": {"message": "text", "header": "header"},
    "key_points": {"text": "text", "retired_reason": "text"},
    "changes": {"text": "text", "reason": "text"},
    "votes": {"name": "text", "rationale": "text"},  # a name only where it was that of no point
    "skipped_operations": {"operation": "json", "reason": "text"},
    "reflections": {"analysis": "text", "curator_reasoning": "text", "bullet_tags": "json"},
    "jobs": {"error": "text"},
}
# Names, keys, ids, paths, times, sections and kinds: what the programs look for, and nobody's secret.
STRUCTURE: Mapping[str, Sequence[str]] = {
    "playbooks": ("key", "kind", "mirror", "created_at"),
    "sections": ("slug", "name"),
    "revisions": ("time", "source", "actor", "session_id"),
    "key_points": ("name", "section"),
    "changes": ("kind", "section"),
    "votes": ("tag",),
    "mirrors": ("path", "sha256"),
    "transcripts": ("path", "session_id", "last_uuid", "updated_at", "first_uuid"),
    "reflections": ("session_id", "transcript_path", "model", "created_at", "finished_at"),
    "model_calls": ("kind", "session_id", "model", "time"),
    "jobs": (
        "kind", "session_id", "transcript_path", "reason", "state", "not_before", "lease_until", "created_at",
        "finished_at", "parent_path", "agent_id",
    ),
    "injections": ("session_id", "source", "points", "time"),
    "citations": ("session_id", "time"),
    "erasures": ("asked", "points", "time", "finished_at", "scrubbed_at"),
}  # fmt: skip
_APPENDED = ("revisions", "changes", "votes", "skipped_operations")  # their rows stay as they are but for erasures
# What is left of what is told of a point that goes: they quote its text in their own words.
_OF_A_POINT: Mapping[tuple[str, str], str | None] = {
    ("key_points", "text"): MARK,
    ("changes", "text"): MARK,
    ("changes", "reason"): None,
    ("votes", "rationale"): None,
}
REASON = "forgotten"  # of a point that leaves so
_FEW = 500  # values in one condition


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point, live or retired, as an erasure sees it: its number, name and present text."""

    id: int
    name: str
    text: str
    is_forgotten: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A field that something is to be taken out of: its column, its row's key, the revision that it belongs to (None
    where it belongs to none), what it says and what will be left (None: nothing)."""

    column: "Column[Any]"
    row: Mapping[str, Any]
    revision: int | None
    before: str
    after: str | None

    @property
    def field(self) -> str:
        """The column's full name."""
        return f"{self.column.table.name}.{self.column.name}"

    @property
    def is_history(self) -> bool:
        """Whether nothing but an erasure writes over it."""
        return self.column.table.name in _APPENDED


def all_playbooks(connection: Connection) -> dict[int, str]:
    """The key of each playbook, by its number."""
    return dict(connection.execute(select(tables.playbooks.c.id, tables.playbooks.c.key)).all())


def read_points(connection: Connection, playbook_id: int) -> list[StoredPoint]:
    """All points, live and retired; those that were forgotten say so, where the schema knows of it."""
    columns = _present(connection, key_points)
    is_forgotten = key_points.c.forgotten if "forgotten" in columns else key_points.c.text == MARK
    wanted = select(key_points.c.id, key_points.c.name, key_points.c.text, is_forgotten)
    rows = connection.execute(wanted.where(key_points.c.playbook_id == playbook_id))
    return [StoredPoint(number, name, text, bool(gone)) for number, name, text, gone in rows]


def wordings(connection: Connection, playbook_id: int, ids: Collection[int]) -> frozenset[str]:
    """Every text that the points *ids* ever had."""
    found: set[str] = set()
    for table, column in ((key_points, key_points.c.id), (changes, changes.c.point_id)):
        for some in in_parts(ids):
            of_points = and_(table.c.playbook_id == playbook_id, column.in_(some), table.c.text.is_not(None))
            found.update(connection.scalars(select(table.c.text).where(of_points)))
    return frozenset(found - {MARK})


def find(
    connection: Connection,
    playbook_id: int,
    eraser: Eraser,
    ids: Collection[int],
    *,
    within: Iterable[str] = WRITTEN,
    after: int = 0,
) -> list[Passage]:
    """Every field, *within* the tables named, that says what is to be forgotten, and all that is told of the points
    *ids*: their texts, why they were changed, and why they were voted on. Of the history only what came *after* that
    revision."""
    points = read_points(connection, playbook_id)
    blanking = _Blanking(eraser, frozenset(ids), frozenset(point.name for point in points if point.id in ids))
    buried = {point.id for point in points if point.is_forgotten}
    found = []
    for table in (tables.metadata.tables[name] for name in within):
        there = _present(connection, table)
        columns = [table.c[column] for column in WRITTEN[table.name] if column in there]
        for key, revision, point_id, values in _rows(connection, playbook_id, table, columns, after) if columns else ():
            if table is key_points and point_id in buried:
                continue
            for column, before in zip(columns, values, strict=True):
                if before is None or before == MARK or (before == REASON and "reason" in column.name):
                    continue
                left = blanking.after(column, before, point_id)
                if left != before:
                    row = {part.name: value for part, value in zip(table.primary_key.columns, key, strict=True)}
                    found.append(Passage(column, row, revision, before, left))
    return found


def fields_of(found: Iterable[Passage]) -> dict[str, int]:
    """How many fields of each column are in *found*."""
    return dict(sorted(Counter(passage.field for passage in found).items()))


@dataclass(frozen=True, slots=True)
class _Blanking:
    """What is left of a value: of what is told about the points that go (`ids`, `names`) nothing but marks."""

    eraser: Eraser
    ids: frozenset[int]
    names: frozenset[str]

    def after(self, column: "Column[Any]", value: str, point_id: int | None) -> str | None:
        """What is to be left of *value*, in *column* of a row that is about the point *point_id*."""
        table, kind = column.table.name, WRITTEN[column.table.name][column.name]
        if point_id in self.ids and (table, column.name) in _OF_A_POINT:
            return _OF_A_POINT[table, column.name]
        if kind == "header":
            return self.eraser.blank_header(value)
        if kind == "json":
            value = self.eraser.blank_json(value)
            return self._without_rationales(value) if column is reflections.c.bullet_tags else value
        return self.eraser.blank(value)

    def _without_rationales(self, value: str) -> str:
        try:
            tags = json.loads(value)
        except (ValueError, RecursionError):
            return value
        given = [tag for tag in tags if isinstance(tag, dict)] if isinstance(tags, list) else []
        told = [tag for tag in given if tag.get("name") in self.names and tag.get("rationale") not in (None, MARK)]
        for tag in told:
            tag["rationale"] = MARK
        return json.dumps(tags) if told else value


def _rows(
    connection: Connection, playbook_id: int, table: Table, columns: Sequence["Column[Any]"], after: int
) -> Iterator[tuple[Sequence[Any], int | None, int | None, Sequence[str | None]]]:
    """The rows of a playbook that hold anything in *columns*, of the history those *after* a revision: each one's key,
    revision, point, and what it holds."""
    owner = table.c.id if table is tables.playbooks else table.c.playbook_id
    revision = _named(table, "revision", "number")
    point = table.c.id if table is key_points else _named(table, "point_id")
    keys = list(table.primary_key.columns)
    wanted = select(*keys, *(null() if column is None else column for column in (revision, point)), *columns)
    wanted = wanted.where(owner == playbook_id, or_(*(column.is_not(None) for column in columns)))
    if revision is not None and table.name in _APPENDED:
        wanted = wanted.where(revision > after)
    for row in connection.execute(wanted):
        number, point_id, *values = row[len(keys) :]
        yield row[: len(keys)], number, point_id, values


def _named(table: Table, *names: str) -> "Column[Any] | None":
    return next((table.c[name] for name in names if name in table.c), None)


def _present(connection: Connection, table: Table) -> frozenset[str]:
    """The columns of *table* that this database has: a backup may be of an older schema."""
    inspector = inspect(connection)
    if not inspector.has_table(table.name):
        return frozenset()
    return frozenset(column["name"] for column in inspector.get_columns(table.name))


def in_parts(ids: Collection[int]) -> Iterator[list[int]]:
    """The *ids* in order, in parts that a condition can hold."""
    ordered = sorted(ids)
    for start in range(0, len(ordered), _FEW):
        yield ordered[start : start + _FEW]


# Erasing what people wrote from the tables, and the trace that it leaves.
#
# The triggers let the history's texts be blanked only while a row of `erasures` without `finished_at` stands for the
# playbook. `begin` puts it there and `finish` closes it, in one transaction; it is the trace, and it stays.


@dataclass(frozen=True, slots=True)
class Waiting:
    """An erasure whose bytes may still be in the file."""

    playbook_id: int
    id: int


def begin(
    connection: Connection, playbook_id: int, revision: int, *, asked: str, names: Sequence[str], now: str
) -> int:
    """Open an erasure that *revision* is about, by `name` or by `match`; its number."""
    highest = connection.scalar(select(func.max(erasures.c.id)).where(erasures.c.playbook_id == playbook_id))
    number = (highest or 0) + 1
    points = json.dumps(list(names), ensure_ascii=False)
    opened = {"id": number, "revision": revision, "asked": asked, "points": points, "time": now}
    connection.execute(insert(erasures).values(playbook_id=playbook_id, **opened))
    return number


def blank(connection: Connection, found: Iterable[Passage]) -> None:
    """Leave in each field of *found* what is to be left in it."""
    for column, passages in itertools.groupby(sorted(found, key=lambda each: each.field), key=lambda each: each.column):
        keys = column.table.primary_key.columns
        is_row = and_(*(key == bindparam(f"key_{key.name}") for key in keys))
        rows = [{f"key_{name}": value for name, value in each.row.items()} | {"left": each.after} for each in passages]
        connection.execute(update(column.table).where(is_row).values({column: bindparam("left")}), rows)


def entomb(connection: Connection, playbook_id: int, ids: Collection[int]) -> None:
    """Let the points *ids*, which have left, be forgotten for good: nothing brings them back."""
    for some in in_parts(ids):
        connection.execute(
            update(key_points)
            .where(key_points.c.playbook_id == playbook_id, key_points.c.id.in_(some))
            .values(text=MARK, retired_reason=REASON, forgotten=1)
        )


def finish(connection: Connection, playbook_id: int, number: int, *, fields: int, now: str) -> None:
    """Close the erasure; *fields* were blanked. From now on its row stays as it is."""
    is_it = and_(erasures.c.playbook_id == playbook_id, erasures.c.id == number)
    connection.execute(update(erasures).where(is_it).values(fields=fields, finished_at=now))


def waiting(connection: Connection) -> list[Waiting]:
    """The erasures of all playbooks after which the file has not been rewritten yet."""
    is_waiting = and_(erasures.c.finished_at.is_not(None), erasures.c.scrubbed_at.is_(None))
    return [
        Waiting(*row) for row in connection.execute(select(erasures.c.playbook_id, erasures.c.id).where(is_waiting))
    ]


def note_scrubbed(connection: Connection, done: Iterable[Waiting], *, now: str) -> None:
    """Keep that nothing is left of what the erasures *done* took out; who came first has said so."""
    for erasure in done:
        is_it = and_(erasures.c.playbook_id == erasure.playbook_id, erasures.c.id == erasure.id)
        connection.execute(update(erasures).where(is_it, erasures.c.scrubbed_at.is_(None)).values(scrubbed_at=now))
