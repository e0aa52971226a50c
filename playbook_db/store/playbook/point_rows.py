"""Read one page of a list of points. Only a search for parts of words reads the texts of all points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import bindparam
from sqlalchemy import text as sql

from playbook_db.store.dialect import dialect_of
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.queries.hook_queries import BY_RANK
from playbook_db.store.queries.list_queries import SESSIONS_CITED, SESSIONS_IGNORED, SESSIONS_SHOWN

State = Literal["live", "pinned", "resting", "retired"]
Order = Literal["rank", "votes", "age", "used", "ignored", "left", "given"]

_STATES: dict[State, str] = {
    "live": "k.retired_in IS NULL",
    "pinned": "k.retired_in IS NULL AND k.pinned = 1",
    "resting": "k.retired_in IS NULL AND k.resting = 1",
    "retired": "k.retired_in IS NOT NULL",
}
_ORDERS: dict[Order, str] = {
    "rank": f"k.resting, {BY_RANK}",
    "votes": "k.helpful - k.harmful DESC, k.helpful DESC, k.id",
    "age": "k.created_in DESC, k.id DESC",
    "used": f"{SESSIONS_CITED} DESC, {SESSIONS_SHOWN} DESC, k.id",
    "ignored": f"{SESSIONS_IGNORED} DESC, k.id",
    "left": "k.retired_in DESC, k.position",
    "given": "k.id",
}
# A counter at the time `:since`, or at a later addition, import or undo of an import.
_THEN = """
(SELECT b.{counter} FROM changes AS b
 JOIN revisions AS r ON r.playbook_id = b.playbook_id AND r.number = b.revision
 WHERE b.playbook_id = :playbook_id AND b.point_id = k.id
   AND (b.revision <= (SELECT coalesce(max(o.number), 0) FROM revisions AS o
                       WHERE o.playbook_id = :playbook_id AND o.time <= :since)
        OR b.revision = k.created_in OR r.source = 'import' OR EXISTS (
        SELECT 1 FROM revisions AS u WHERE u.playbook_id = r.playbook_id AND u.source IN ('import', 'undo')
        AND u.number BETWEEN r.undoes_from AND r.undoes_to))
 ORDER BY b.revision DESC, b.seq DESC LIMIT 1)
"""
_ROWS = f"""
SELECT k.id, k.name, s.name, k.text, k.helpful, k.harmful, k.pinned, k.resting, k.forgotten,
       k.created_in, b.time, k.confirmed_at, k.retired_in, k.retired_reason,
       {SESSIONS_SHOWN}, {SESSIONS_CITED}, {SESSIONS_IGNORED},
       k.helpful - coalesce({_THEN.format(counter="helpful")}, 0),
       k.harmful - coalesce({_THEN.format(counter="harmful")}, 0)
FROM key_points AS k JOIN revisions AS b ON b.playbook_id = k.playbook_id AND b.number = k.created_in
JOIN sections AS s ON s.slug = k.section
WHERE k.playbook_id = :playbook_id AND k.id IN :ids
"""
_MOST_WORDS = 8  # in one search for parts of texts


@dataclass(frozen=True, slots=True)
class PointRow:
    """A point in a list. `newly_helpful` and `newly_harmful` are its votes since an earlier time, below 0 if votes were
    undone. `pinned`, `resting` and `forgotten` are 1 or 0."""

    id: int
    name: str
    section: str
    text: str
    helpful: int
    harmful: int
    pinned: int
    resting: int
    forgotten: int
    created_in: int
    created_at: str
    confirmed_at: str | None
    retired_in: int | None
    retired_reason: str | None
    sessions_shown: int
    sessions_cited: int
    sessions_ignored: int
    newly_helpful: int
    newly_harmful: int


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A filter for points. `section` is a slug. A point's name or text must contain each of `words`."""

    state: State = "live"
    section: str | None = None
    words: tuple[str, ...] = ()
    ids: tuple[int, ...] | None = None


def ids_of(book: PlaybookRepository, row_filter: RowFilter, order: Order) -> list[int]:
    """Return the ids of the points that pass *row_filter*, in *order*."""
    where, values = _where(row_filter, is_shared=dialect_of(book.connection).is_shared)
    statement = f"SELECT k.id FROM key_points AS k WHERE {where} ORDER BY {_ORDERS[order]}"
    passing = list(_run(book, statement, row_filter.ids, **values).scalars())
    if order == "given" and row_filter.ids is not None:
        return sorted(passing, key=row_filter.ids.index)
    return passing


def rows(book: PlaybookRepository, ids: Sequence[int], *, since: str) -> list[PointRow]:
    """Return the points *ids* in the same order, each with its votes now and at the time *since*."""
    if not ids:
        return []
    by_id = {row.id: row for row in (PointRow(*row) for row in _run(book, _ROWS, ids, since=since))}
    return [by_id[number] for number in ids]


def _where(row_filter: RowFilter, *, is_shared: bool) -> tuple[str, dict[str, Any]]:
    like = "ILIKE" if is_shared else "LIKE"  # SQLite's ignores case
    conditions = ["k.playbook_id = :playbook_id", _STATES[row_filter.state]]
    values: dict[str, Any] = {}
    if row_filter.section is not None:
        conditions.append("k.section = :section")
        values["section"] = row_filter.section
    if row_filter.ids is not None:
        conditions.append("k.id IN :ids")
    for place, word in enumerate(row_filter.words[:_MOST_WORDS]):
        # A comparison with lower() would take twice as long.
        conditions.append(rf"(k.name {like} :word{place} ESCAPE '\' OR k.text {like} :word{place} ESCAPE '\')")
        literal = "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in word)
        values[f"word{place}"] = f"%{literal}%"
    return " AND ".join(conditions), values


def _run(book: PlaybookRepository, statement: str, ids: Sequence[int] | None, **values: Any) -> Any:
    prepared = sql(statement)
    if ids is not None:
        prepared, values = prepared.bindparams(bindparam("ids", expanding=True)), {**values, "ids": list(ids)}
    return book.connection.execute(prepared, {"playbook_id": book.playbook_id, **values})
