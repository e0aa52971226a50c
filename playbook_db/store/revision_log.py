"""Reading the append-only history as a log: revisions, newest first, with what each did. `timeline` reads states."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, TextClause, bindparam
from sqlalchemy import text as sql

from playbook_db.rules.playbook import KeyPoint
from playbook_db.rules.sections import SLUG_SECTIONS
from playbook_db.store import sqlite

EVERY_CHANGE = 2**31 - 1

# What a revision did besides its changes is counted by steps down the indexes of those tables.
_REVISIONS = """
SELECT r.number, r.time, r.source, r.session_id, r.message, r.header IS NOT NULL AS tells_header,
    (SELECT count(*) FROM votes AS v
     WHERE v.playbook_id = :playbook_id AND v.revision = r.number AND v.tag = 'neutral' {of_voted}) AS neutral_votes,
    (SELECT count(*) FROM votes AS v
     WHERE v.playbook_id = :playbook_id AND v.revision = r.number AND v.point_id IS NULL) AS unmatched_votes,
    (SELECT count(*) FROM skipped_operations AS o
     WHERE o.playbook_id = :playbook_id AND o.revision = r.number) AS skipped,
    (SELECT sum(f.cost_usd) FROM reflections AS f
     WHERE f.playbook_id = :playbook_id AND f.revision = r.number) AS cost_usd
FROM revisions AS r
WHERE r.playbook_id = :playbook_id AND {which}
ORDER BY r.number DESC LIMIT :most
"""
# Both halves come in the order of their index and are merged, so that the end of a long life is found at once.
_TOUCHING = """(
    SELECT c.revision AS number FROM changes AS c
    WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id AND c.revision BETWEEN :first AND :last {of_change}
    UNION
    SELECT v.revision FROM votes AS v {by_neutral}
    WHERE v.playbook_id = :playbook_id AND v.point_id = :point_id AND v.tag = 'neutral'
        AND v.revision BETWEEN :first AND :last {of_vote}
    ORDER BY 1 DESC LIMIT :most
)"""
_AMONG = """
AND EXISTS (SELECT 1 FROM revisions AS r
            WHERE r.playbook_id = :playbook_id AND r.number = {table}.revision {filters})"""
_COUNTS = sql("""
SELECT c.revision, c.kind, count(*) FROM changes AS c
WHERE c.playbook_id = :playbook_id AND c.revision IN :numbers
GROUP BY c.revision, c.kind
""").bindparams(bindparam("numbers", expanding=True))
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
_SESSIONS = sql("""
SELECT DISTINCT session_id FROM revisions
WHERE playbook_id = :playbook_id AND substr(session_id, 1, length(:beginning)) = :beginning ORDER BY session_id
""")
_POINT_ID = sql("SELECT id FROM key_points WHERE playbook_id = :playbook_id AND name = :name")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which revisions are asked for: those from `first` to `last`, of a session or a source, that touched a point."""

    first: int
    last: int
    session_id: str | None = None
    source: str | None = None
    point_id: int | None = None


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


@dataclass(frozen=True, slots=True)
class LoggedRevision:
    """A revision and what it did.

    `changes` are the first of them, in order, `counts` all of them by kind. `tells_header` says whether it set the
    file's other top-level keys. `unmatched_votes` named no live point. `cost_usd` is None where no price is known.
    """

    number: int
    time: str
    source: str
    session_id: str | None
    message: str | None
    tells_header: bool
    neutral_votes: int
    unmatched_votes: int
    skipped: int
    cost_usd: float | None
    counts: dict[str, int]
    changes: tuple[LoggedChange, ...]


def read_log(
    connection: Connection, playbook_id: int, wanted: Wanted, *, limit: int, most_changes: int
) -> list[LoggedRevision]:
    """The newest *limit* revisions that are *wanted*, newest first, each with its first *most_changes* changes.

    Where a point is wanted, what was done to it is told, all of it, and nothing else.
    """
    given: dict[str, Any] = {"playbook_id": playbook_id, "point_id": wanted.point_id}
    asked = {"first": wanted.first, "last": wanted.last, "session_id": wanted.session_id, "source": wanted.source}
    rows = connection.execute(_revisions(connection, wanted), {**given, **asked, "most": limit}).all()
    if not rows:
        return []
    given["numbers"] = [row.number for row in rows]
    given["most"] = most_changes
    if wanted.point_id is None:
        changes = _read_changes(connection, given)
        counts = _read_counts(connection, given)
    else:
        changes = _read_life(connection, {**given, "oldest": rows[-1].number, "newest": rows[0].number})
        counts = {number: Counter(change.kind for change in made) for number, made in changes.items()}
    return [
        LoggedRevision(**row._mapping, counts=counts.get(row.number, {}), changes=tuple(changes.get(row.number, ())))
        for row in rows
    ]


def sessions_beginning(connection: Connection, playbook_id: int, beginning: str) -> list[str]:
    """The sessions that revisions came from and whose id begins so."""
    return list(connection.scalars(_SESSIONS, {"playbook_id": playbook_id, "beginning": beginning}))


def point_id(connection: Connection, playbook_id: int, name: str) -> int | None:
    """The number of the point *name*, live or retired; None where there never was one."""
    found: int | None = connection.scalar(_POINT_ID, {"playbook_id": playbook_id, "name": name})
    return found


def _revisions(connection: Connection, wanted: Wanted) -> TextClause:
    filters = "" if wanted.session_id is None else "AND r.session_id = :session_id"
    filters += "" if wanted.source is None else " AND r.source = :source"
    if wanted.point_id is None:
        of_voted, which = "AND v.point_id IS NOT NULL", f"r.number BETWEEN :first AND :last {filters}"
    else:
        among_change, among_vote = (_AMONG.format(table=table, filters=filters) if filters else "" for table in "cv")
        by_neutral = _by_index(connection, "ix_votes_neutral")
        touching = _TOUCHING.format(of_change=among_change, of_vote=among_vote, by_neutral=by_neutral)
        of_voted, which = "AND v.point_id = :point_id", f"r.number IN {touching}"
    return sql(_REVISIONS.format(of_voted=of_voted, which=which))


def _read_changes(connection: Connection, given: Mapping[str, Any]) -> dict[int, list[LoggedChange]]:
    """The first changes of each revision of `numbers`, by its number."""
    by_text = _by_index(connection, "ix_changes_text")
    told = _CHANGES.format(
        before=_BEFORE.format(by_text="", told=""),
        text_before=_BEFORE.format(by_text=by_text, told="AND b.text IS NOT NULL"),
    )
    changes: dict[int, list[LoggedChange]] = defaultdict(list)
    for row in connection.execute(sql(told).bindparams(bindparam("numbers", expanding=True)), given).all():
        changes[row[0]].append(_change(row[1:]))
    return changes


def _read_life(connection: Connection, given: Mapping[str, Any]) -> dict[int, list[LoggedChange]]:
    """All that was done to the point from the revision `oldest` to `newest`, by the revision's number."""
    name = connection.execute(_POINT_NAME, given).scalar_one()
    by_point, by_text = (_by_index(connection, index) for index in ("ix_changes_point", "ix_changes_text"))
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


def _by_index(connection: Connection, name: str) -> str:
    return sqlite.by_index(name) if connection.dialect.name == "sqlite" else ""


def _read_counts(connection: Connection, given: Mapping[str, Any]) -> dict[int, dict[str, int]]:
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    for number, kind, made in connection.execute(_COUNTS, given):
        counts[number][kind] = made
    return counts


def _change(columns: Sequence[Any]) -> LoggedChange:
    kind, reason, successor, name, *states = columns
    before = _point(name, states[5:]) if states[6] is not None else None
    return LoggedChange(kind, _point(name, states[:5]), before, reason, successor)


def _point(name: str, columns: Sequence[Any]) -> KeyPoint:
    text, slug, helpful, harmful, position = columns
    return KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position)
