"""What revisions did to the points, each change with the point before it: for the log (`revision_log`)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam
from sqlalchemy import text as sql

from playbook_db.rules.playbook import KeyPoint
from playbook_db.rules.sections import SLUG_SECTIONS
from playbook_db.store import sqlite

# The change to the same point before this one, and the text that it had, are one step down an index each.
_BEFORE = """
FROM changes AS b {by_text}
WHERE b.playbook_id = :playbook_id AND b.point_id = c.point_id AND (b.revision, b.seq) < (c.revision, c.seq) {told}
ORDER BY b.revision DESC, b.seq DESC LIMIT 1
"""
_CHANGES = """
WITH made AS MATERIALIZED (
    SELECT c.*, (SELECT b.revision {before}) AS was_in, (SELECT b.seq {before}) AS was_seq,
           (SELECT b.text {text_before}) AS text_before
    FROM changes AS c
    WHERE c.playbook_id = :playbook_id AND c.revision IN :numbers AND c.seq <= :most
)
SELECT m.revision, m.kind, m.reason, t.name, k.name, coalesce(m.text, m.text_before), m.section, m.helpful, m.harmful,
       m.position, m.text_before, w.section, w.helpful, w.harmful, w.position
FROM made AS m
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = m.point_id
LEFT JOIN key_points AS t ON t.playbook_id = :playbook_id AND t.id = m.successor_id
LEFT JOIN changes AS w ON w.playbook_id = :playbook_id AND w.revision = m.was_in AND w.seq = m.was_seq
ORDER BY m.revision, m.seq
"""
# One point's changes in a row tell each what was before it; only the first must be asked for.
_LIFE = """
SELECT c.revision, c.kind, c.reason, t.name AS successor, c.text, c.section, c.helpful, c.harmful, c.position
FROM changes AS c {by_point}
LEFT JOIN key_points AS t ON t.playbook_id = :playbook_id AND t.id = c.successor_id
WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id AND c.revision BETWEEN :oldest AND :newest
ORDER BY c.revision, c.seq
"""
_EARLIER = """
SELECT c.text, c.section, c.helpful, c.harmful, c.position FROM changes AS c {by_index}
WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id AND c.revision < :oldest {told}
ORDER BY c.revision DESC, c.seq DESC LIMIT 1
"""
_POINT_NAME = sql("SELECT name FROM key_points WHERE playbook_id = :playbook_id AND id = :point_id")


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change with the point before it: as it was live, or when it had left; None where it wasn't there yet."""

    kind: str
    point: KeyPoint
    before: KeyPoint | None
    reason: str | None
    successor: str | None

    @property
    def is_reworded(self) -> bool:
        """Whether the text is another than before, if there was one."""
        return self.before is None or self.before.text != self.point.text


def read_changes(connection: Connection, given: Mapping[str, Any]) -> dict[int, list[LoggedChange]]:
    """The first changes of each revision of `numbers`, by its number."""
    by_text = by_index(connection, "ix_changes_text")
    told = _CHANGES.format(
        before=_BEFORE.format(by_text="", told=""),
        text_before=_BEFORE.format(by_text=by_text, told="AND b.text IS NOT NULL"),
    )
    changes: dict[int, list[LoggedChange]] = defaultdict(list)
    for row in connection.execute(sql(told).bindparams(bindparam("numbers", expanding=True)), given).all():
        changes[row[0]].append(_change(row[1:]))
    return changes


def read_life(connection: Connection, given: Mapping[str, Any]) -> dict[int, list[LoggedChange]]:
    """All that was done to the point from the revision `oldest` to `newest`, by the revision's number."""
    name = connection.execute(_POINT_NAME, given).scalar_one()
    by_point, by_text = (by_index(connection, index) for index in ("ix_changes_point", "ix_changes_text"))
    before: KeyPoint | None = None
    earlier = connection.execute(sql(_EARLIER.format(by_index=by_point, told="")), given).first()
    if earlier is not None:
        told = connection.execute(sql(_EARLIER.format(by_index=by_text, told="AND c.text IS NOT NULL")), given).one()
        before = _point(name, (told.text, *earlier[1:]))
    life: dict[int, list[LoggedChange]] = defaultdict(list)
    made = connection.execute(sql(_LIFE.format(by_point=by_point)), given).all()
    for number, kind, reason, successor, text, *state in made:
        point = _point(name, (text if text is not None or before is None else before.text, *state))
        life[number].append(LoggedChange(kind, point, before, reason, successor))
        before = point
    return life


def by_index(connection: Connection, name: str) -> str:
    """What holds SQLite's planner to the index *name*, to stand behind a table's name."""
    return sqlite.by_index(name) if connection.dialect.name == "sqlite" else ""


def _change(columns: Sequence[Any]) -> LoggedChange:
    kind, reason, successor, name, *states = columns
    before = _point(name, states[5:]) if states[6] is not None else None
    return LoggedChange(kind, _point(name, states[:5]), before, reason, successor)


def _point(name: str, columns: Sequence[Any]) -> KeyPoint:
    text, slug, helpful, harmful, position = columns
    return KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position)
