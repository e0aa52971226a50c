"""Playbooks taken into another database, with their whole history, as they were made: one revision after the other.

The triggers that hold a history stay in force; what they let through is the way on which it came about. So nothing is
needed there but the right to write.
"""

import json
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from itertools import groupby, zip_longest
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, update

from playbook_db.errors import DatabaseError
from playbook_db.projects import is_users
from playbook_db.store.dialect import dialect_of
from playbook_db.store.tables import (
    changes,
    citations,
    distinct_points,
    erasures,
    extra_fields,
    heads,
    injections,
    jobs,
    key_points,
    mirrors,
    model_calls,
    playbooks,
    proposals,
    reflections,
    revisions,
    session_outcomes,
    showings,
    skipped_operations,
    transcripts,
    undone_ranges,
    votes,
)  # fmt: skip

_OF_REVISIONS = (changes, votes, skipped_operations)
_AFTERWARDS = (
    undone_ranges, extra_fields, mirrors, transcripts, reflections, model_calls, jobs, injections, citations, proposals,
    distinct_points, session_outcomes,
)  # fmt: skip
_COPIED = (heads, revisions, key_points, *_OF_REVISIONS, erasures, *_AFTERWARDS, showings)  # these a trigger fills
_ROWS_AT_ONCE = 500
# What happens to a point later than its coming: a row that is put in without it is brought up to date at the end.
_LATER = {"retired_in": None, "retired_reason": None, "forgotten": 0}

Row = dict[str, Any]


def copy_playbook(key: str, source: Connection, target: Connection, *, key_there: str) -> int:
    """Copy the playbook of *key* from *source* to *target*, where there must be none of the key that it has there, both
    inside the transactions that are under way; how many revisions it has. Raises DatabaseError."""
    (known,) = (dict(row) for row in source.execute(select(playbooks).filter_by(key=key)).mappings())
    if target.scalar(select(playbooks.c.id).filter_by(key=key_there)) is not None:
        of_whom = "your own" if is_users(key) else f"a playbook of {key}"
        raise DatabaseError(f"{dialect_of(target).where} has {of_whom} already. Nothing was copied.")
    old = known.pop("id")
    target.execute(insert(playbooks).values({**known, "key": key_there}))
    new: int = target.execute(select(playbooks.c.id).filter_by(key=key_there)).scalar_one()
    _insert(target, heads, new, _rows(source, heads, old))
    with dialect_of(target).pipeline(target):
        count = _copy_history(source, target, old, new)
        for table in _AFTERWARDS:
            _insert(target, table, new, _rows(source, table, old))
        target.execute(delete(showings).filter_by(playbook_id=new))  # the trigger knew of what isn't past yet
        _insert(target, showings, new, _rows(source, showings, old))
    _require_equal(source, target, old, new, key)
    return count


def _copy_history(source: Connection, target: Connection, old: int, new: int) -> int:
    points = list(_rows(source, key_points, old))
    born: defaultdict[int, list[Row]] = defaultdict(list)
    for point in points:
        born[point["created_in"]].append({**point, **_LATER})
    parts = {table: _by_revision(source, table, old) for table in (*_OF_REVISIONS, erasures)}
    open_erasures: list[Row] = []
    count = 0
    for revision in _rows(source, revisions, old):
        number, count = revision["number"], count + 1
        _insert(target, revisions, new, [revision])
        _insert(target, key_points, new, born.pop(number, ()))
        for table in _OF_REVISIONS:
            _insert(target, table, new, parts[table](number))
        erased = parts[erasures](number)
        _insert(target, erasures, new, [{**row, "finished_at": None, "purged_at": None} for row in erased])
        open_erasures += erased
    for point in points:
        if any(point[column] != value for column, value in _LATER.items()):
            _update(target, key_points, new, point["id"], {column: point[column] for column in _LATER})
    for erasure in open_erasures:
        _update(target, erasures, new, erasure["id"], {name: erasure[name] for name in ("finished_at", "purged_at")})
    return count


def _require_equal(source: Connection, target: Connection, old: int, new: int, key: str) -> None:
    """Raise DatabaseError unless each row of the playbook is there as it was, and no other."""
    own = {"role": None} if dialect_of(target).is_shared else {}  # who copies is who wrote it there
    for table in _COPIED:
        with closing(_rows(source, table, old)) as was, closing(_rows(target, table, new)) as now:
            pairs = ((ours and ours | own, theirs and theirs | own) for ours, theirs in zip_longest(was, now))
            different = next((ours or theirs for ours, theirs in pairs if ours != theirs), None)
        if different is not None:
            place = json.dumps({name: different[name] for name in _key(table)})
            raise DatabaseError(f"The copy of {key} isn't what it was ({table.name} {place}). Nothing was copied.")


def _rows(connection: Connection, table: Table, playbook_id: int) -> Generator[Row, None, None]:
    """The rows of the playbook in the order of their key, without its number."""
    query = select(table).where(table.c.playbook_id == playbook_id).order_by(*(table.c[name] for name in _key(table)))
    with connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE)) as rows:
        for row in rows.mappings():
            yield {name: value for name, value in row.items() if name != "playbook_id"}


def _key(table: Table) -> list[str]:
    return [column.name for column in table.primary_key.columns if column.name != "playbook_id"]


def _by_revision(connection: Connection, table: Table, playbook_id: int) -> Any:
    """Gives the rows of a revision, asked for in the order of the revisions."""
    ordered = sorted(_rows(connection, table, playbook_id), key=lambda row: row["revision"])
    rows = {number: list(same) for number, same in groupby(ordered, key=lambda row: row["revision"])}
    return lambda number: rows.pop(number, [])


def _insert(connection: Connection, table: Table, playbook_id: int, rows: Any) -> None:
    several: list[Mapping[str, Any]] = []
    for row in rows:
        several.append({"playbook_id": playbook_id, **row})
        if len(several) == _ROWS_AT_ONCE:
            connection.execute(insert(table), several)
            several = []
    if several:
        connection.execute(insert(table), several)


def _update(connection: Connection, table: Table, playbook_id: int, number: int, values: Row) -> None:
    connection.execute(update(table).filter_by(playbook_id=playbook_id, id=number).values(values))


def keys_to_copy(source: Connection, key: str | None) -> Sequence[str]:
    """The keys of all playbooks, or *key* alone. Raises DatabaseError where there is no playbook of it."""
    keys = source.scalars(select(playbooks.c.key).order_by(playbooks.c.key)).all()
    if key is None:
        return keys
    if key not in keys:
        of_whom = "your own" if is_users(key) else key
        raise DatabaseError(f"{dialect_of(source).where} has no playbook of {of_whom}.")
    return [key]
