"""Copy playbooks with their whole history into another database, one revision after the other.

The triggers that protect a history stay active, so a member's rights are enough.
"""

import json
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from itertools import zip_longest
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, update

from playbook_db.errors import DatabaseError
from playbook_db.projects import is_users
from playbook_db.store import tables
from playbook_db.store.dialect import dialect_of
from playbook_db.store.playbook.repository import all_keys

_OF_REVISIONS = (tables.changes, tables.votes, tables.skipped_operations)
_WITH_HISTORY = (tables.heads, tables.revisions, tables.key_points, *_OF_REVISIONS, tables.erasures)
# A membership belongs to one machine.
_NOT_COPIED = (tables.playbooks, tables.sections, tables.memberships, tables.unsent_showings)
_NOT_AFTERWARDS = (*_WITH_HISTORY, *_NOT_COPIED, tables.showing_counts)
_AFTERWARDS = tuple(table for table in tables.metadata.sorted_tables if table not in _NOT_AFTERWARDS)
_COPIED = (*_WITH_HISTORY, *_AFTERWARDS, tables.showing_counts)  # a trigger fills `showing_counts`
_ROWS_AT_ONCE = 500
# Columns of a point that change later. The point is inserted with these values, and updated at the end.
_LATER = {"retired_in": None, "retired_reason": None, "forgotten": 0}

Row = dict[str, Any]


def copy_playbook(key: str, source: Connection, target: Connection, *, key_there: str) -> int:
    """Copy the playbook *key* from *source* to *target*, inside their open transactions. Its new key is *key_there*.
    Return the number of its revisions. Raises DatabaseError if *target* already has a playbook with that key."""
    (known,) = (dict(row) for row in source.execute(select(tables.playbooks).filter_by(key=key)).mappings())
    if target.scalar(select(tables.playbooks.c.id).filter_by(key=key_there)) is not None:
        of_whom = "your personal playbook" if is_users(key) else f"a playbook of {key}"
        raise DatabaseError(f"{dialect_of(target).where} already has {of_whom}. Nothing was copied.")
    old = known.pop("id")
    target.execute(insert(tables.playbooks).values({**known, "key": key_there}))
    new: int = target.execute(select(tables.playbooks.c.id).filter_by(key=key_there)).scalar_one()
    _insert(target, tables.heads, new, _rows(source, tables.heads, old))
    with dialect_of(target).pipeline(target):
        count = _copy_history(source, target, old, new)
        for table in _AFTERWARDS:
            _insert(target, table, new, _rows(source, table, old))
        target.execute(delete(tables.showing_counts).filter_by(playbook_id=new))  # the trigger's counts lack later uses
        _insert(target, tables.showing_counts, new, _rows(source, tables.showing_counts, old))
    _require_equal(source, target, old, new, key)
    return count


def _copy_history(source: Connection, target: Connection, old: int, new: int) -> int:
    points = list(_rows(source, tables.key_points, old))
    born: defaultdict[int, list[Row]] = defaultdict(list)
    for point in points:
        born[point["created_in"]].append({**point, **_LATER})
    parts = {table: _by_revision(source, table, old) for table in (*_OF_REVISIONS, tables.erasures)}
    open_erasures: list[Row] = []
    count = 0
    for revision in _rows(source, tables.revisions, old):
        number, count = revision["number"], count + 1
        _insert(target, tables.revisions, new, [revision])
        _insert(target, tables.key_points, new, born.pop(number, ()))
        for table in _OF_REVISIONS:
            _insert(target, table, new, parts[table].pop(number, ()))
        erased = parts[tables.erasures].pop(number, [])
        _insert(target, tables.erasures, new, [{**row, "finished_at": None, "purged_at": None} for row in erased])
        open_erasures += erased
    for point in points:
        if any(point[column] != value for column, value in _LATER.items()):
            _update(target, tables.key_points, new, point["id"], {column: point[column] for column in _LATER})
    for erasure in open_erasures:
        _update(
            target, tables.erasures, new, erasure["id"], {name: erasure[name] for name in ("finished_at", "purged_at")}
        )
    return count


def _require_equal(source: Connection, target: Connection, old: int, new: int, key: str) -> None:
    own = {"role": None} if dialect_of(target).is_shared else {}  # on a server `role` is the user who copies
    for table in _COPIED:
        with closing(_rows(source, table, old)) as was, closing(_rows(target, table, new)) as now:
            pairs = ((ours and ours | own, theirs and theirs | own) for ours, theirs in zip_longest(was, now))
            different = next((ours or theirs for ours, theirs in pairs if ours != theirs), None)
        if different is not None:
            place = json.dumps({name: different[name] for name in _key(table)})
            raise DatabaseError(f"A copied row of {key} differs ({table.name} {place}). Nothing was copied.")


def _rows(connection: Connection, table: Table, playbook_id: int) -> Generator[Row, None, None]:
    """Yield the rows of the playbook in *table*, ordered by primary key, without the column `playbook_id`."""
    query = select(table).where(table.c.playbook_id == playbook_id).order_by(*(table.c[name] for name in _key(table)))
    with connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE)) as rows:
        for row in rows.mappings():
            yield {name: value for name, value in row.items() if name != "playbook_id"}


def _key(table: Table) -> list[str]:
    return [column.name for column in table.primary_key.columns if column.name != "playbook_id"]


def _by_revision(connection: Connection, table: Table, playbook_id: int) -> dict[int, list[Row]]:
    rows: defaultdict[int, list[Row]] = defaultdict(list)
    for row in _rows(connection, table, playbook_id):
        rows[row["revision"]].append(row)
    return rows


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
    """Return the keys of all playbooks, or only *key*. Raises DatabaseError if *key* has no playbook."""
    keys = list(all_keys(source).values())
    if key is None:
        return keys
    if key not in keys:
        of_whom = "personal playbook" if is_users(key) else f"playbook of {key}"
        raise DatabaseError(f"{dialect_of(source).where} has no {of_whom}.")
    return [key]
