"""Erasing what people wrote from the tables, and the trace that it leaves.

The triggers let the history's texts be blanked only while a row of `erasures` without `finished_at` stands for the
playbook. `begin` puts it there and `finish` closes it, in one transaction; it is the trace, and it stays.
"""

import itertools
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, bindparam, func, insert, select, update

from playbook_db.rules.erasing import MARK
from playbook_db.store.tables import erasures, key_points
from playbook_db.store.written import REASON, Passage, in_parts


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
