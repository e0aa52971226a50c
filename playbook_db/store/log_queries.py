"""What revisions did to the points, each change with the point before it: for the log (`revision_log`)."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, TextClause, bindparam
from sqlalchemy import text as sql

from playbook_db.domain.diff import changed_keys
from playbook_db.domain.playbook import Header, KeyPoint, Vote
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.domain.undo import RevisionRange
from playbook_db.store import playbooks
from playbook_db.store.playbooks import header_of
from playbook_db.store.sqlite import dialect

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
    return dialect.by_index(name) if connection.dialect.name == "sqlite" else ""


def _change(columns: Sequence[Any]) -> LoggedChange:
    kind, reason, successor, name, *states = columns
    before = _point(name, states[5:]) if states[6] is not None else None
    return LoggedChange(kind, _point(name, states[:5]), before, reason, successor)


def _point(name: str, columns: Sequence[Any]) -> KeyPoint:
    text, slug, helpful, harmful, position = columns
    return KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position)


# Reading the append-only history as a log: revisions, newest first, with what each did. `timeline` reads states.


EVERY_CHANGE = 2**31 - 1

# What a revision did besides its changes is counted by steps down the indexes of those tables.
_REVISIONS = """
SELECT r.number, r.time, r.source, r.session_id, r.message, r.took_back_from, r.took_back_to,
    (SELECT count(*) FROM votes AS v {by_neutral}
     WHERE v.playbook_id = :playbook_id AND v.revision = r.number AND v.tag = 'neutral' {of_voted}) AS neutral_votes,
    {unmatched} AS unmatched_votes,
    (SELECT count(*) FROM skipped_operations AS o
     WHERE o.playbook_id = :playbook_id AND o.revision = r.number) AS skipped,
    (SELECT sum(f.cost_usd) FROM reflections AS f
     WHERE f.playbook_id = :playbook_id AND f.revision = r.number) AS cost_usd,
    r.header, CASE WHEN r.header IS NOT NULL THEN (
        SELECT b.header FROM revisions AS b
        WHERE b.playbook_id = :playbook_id AND b.number < r.number AND b.header IS NOT NULL
        ORDER BY b.number DESC LIMIT 1
    ) END AS header_before
FROM revisions AS r
WHERE r.playbook_id = :playbook_id AND {which}
ORDER BY r.number DESC LIMIT :most
"""
_UNMATCHED = """(SELECT count(*) FROM votes AS v
     WHERE v.playbook_id = :playbook_id AND v.revision = r.number AND v.point_id IS NULL)"""
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
_SESSIONS = sql("""
SELECT DISTINCT session_id FROM revisions
WHERE playbook_id = :playbook_id AND substr(session_id, 1, length(:beginning)) = :beginning ORDER BY session_id
""")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which revisions are asked for: those from `first` to `last`, of a session or a source, that touched a point."""

    first: int
    last: int
    session_id: str | None = None
    source: str | None = None
    point_id: int | None = None


@dataclass(frozen=True, slots=True)
class LoggedRevision:
    """A revision and what it did.

    `changes` are the first of them, in order, `counts` all of them by kind. `keys` are the file's top-level keys that
    have another value since. `unmatched_votes` named no live point; None where one point is asked for. `cost_usd`
    is None where no price is known. `took_back` are the revisions that it took back;
    `taken_back_in` is the undo in force that took it back itself, which the caller fills in.
    """

    number: int
    time: str
    source: str
    session_id: str | None
    message: str | None
    neutral_votes: int
    unmatched_votes: int | None
    skipped: int
    cost_usd: float | None
    took_back: RevisionRange | None
    keys: tuple[str, ...]
    counts: dict[str, int]
    changes: tuple[LoggedChange, ...]
    taken_back_in: int | None = None


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
        changes = read_changes(connection, given)
        counts = _read_counts(connection, given)
    else:
        changes = read_life(connection, {**given, "oldest": rows[-1].number, "newest": rows[0].number})
        counts = {number: Counter(change.kind for change in made) for number, made in changes.items()}
    return [_logged(row, counts.get(row.number, {}), changes.get(row.number, ())) for row in rows]


def sessions_beginning(connection: Connection, playbook_id: int, beginning: str) -> list[str]:
    """The sessions that revisions came from and whose id begins so."""
    return list(connection.scalars(_SESSIONS, {"playbook_id": playbook_id, "beginning": beginning}))


def _revisions(connection: Connection, wanted: Wanted) -> TextClause:
    filters = "" if wanted.session_id is None else "AND r.session_id = :session_id"
    filters += "" if wanted.source is None else " AND r.source = :source"
    if wanted.point_id is None:
        which = f"r.number BETWEEN :first AND :last {filters}"
        told = {"of_voted": "AND v.point_id IS NOT NULL", "by_neutral": "", "unmatched": _UNMATCHED}
    else:
        among_change, among_vote = (_AMONG.format(table=table, filters=filters) if filters else "" for table in "cv")
        by_neutral = by_index(connection, "ix_votes_neutral")
        touching = _TOUCHING.format(of_change=among_change, of_vote=among_vote, by_neutral=by_neutral)
        which = f"r.number IN {touching}"
        told = {"of_voted": "AND v.point_id = :point_id", "by_neutral": by_neutral, "unmatched": "NULL"}
    return sql(_REVISIONS.format(which=which, **told))


def _logged(row: "Row[Any]", counts: dict[str, int], changes: Sequence[LoggedChange]) -> LoggedRevision:
    told: dict[str, Any] = dict(row._mapping)
    header, header_before = told.pop("header"), told.pop("header_before")
    first, last = told.pop("took_back_from"), told.pop("took_back_to")
    took_back = None if first is None else RevisionRange(first, last)
    keys: tuple[str, ...] = ()
    if header is not None:
        before = Header() if header_before is None else header_of(header_before, True)
        keys = tuple(change.key for change in changed_keys(before, header_of(header, True)))
    return LoggedRevision(**told, took_back=took_back, keys=keys, counts=counts, changes=tuple(changes))


def _read_counts(connection: Connection, given: Mapping[str, Any]) -> dict[int, dict[str, int]]:
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    for number, kind, made in connection.execute(_COUNTS, given):
        counts[number][kind] = made
    return counts


# What else is kept of one revision: its votes, what was skipped, what stood behind it; and when a point came.


_VOTES = sql("""
SELECT coalesce(k.name, v.name) AS name, v.tag, v.rationale, v.point_id IS NOT NULL AS matched
FROM votes AS v LEFT JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id
WHERE v.playbook_id = :playbook_id AND v.revision = :revision ORDER BY v.seq
""")
_SKIPPED = sql("""
SELECT seq, operation, reason FROM skipped_operations
WHERE playbook_id = :playbook_id AND revision = :revision ORDER BY seq
""")
_REFLECTIONS = sql("""
SELECT session_id, analysis, curator_reasoning, model, input_tokens, output_tokens, cached_tokens, cost_usd, duration_ms
FROM reflections WHERE playbook_id = :playbook_id AND revision = :revision ORDER BY id
""")
_SPAN = sql("""
SELECT f.number, f.time, l.number, l.time
FROM key_points AS k
JOIN revisions AS f ON f.playbook_id = k.playbook_id AND f.number = k.created_in
JOIN revisions AS l ON l.playbook_id = k.playbook_id
    AND l.number = (SELECT max(c.revision) FROM changes AS c WHERE c.playbook_id = :playbook_id AND c.point_id = k.id)
WHERE k.playbook_id = :playbook_id AND k.name = :name
""")


@dataclass(frozen=True, slots=True)
class KeptOperation:
    """An operation that was not carried out: its place in the batch (from 1), its JSON as it was kept, and why."""

    place: int
    operation: str
    reason: str


@dataclass(frozen=True, slots=True)
class KeptReflection:
    """What stood behind a revision: what the reflector and the curator said, and what asking them took."""

    session_id: str
    analysis: str | None
    curator_reasoning: str | None
    model: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class Span:
    """When a point came, and when it last changed: the revisions and their times."""

    created_in: int
    created_at: str
    changed_in: int
    changed_at: str


def read_votes(connection: Connection, playbook_id: int, revision: int) -> tuple[Vote, ...]:
    """The votes of *revision*, in order."""
    rows = connection.execute(_VOTES, {"playbook_id": playbook_id, "revision": revision})
    return tuple(Vote(row.name, row.tag, row.rationale, bool(row.matched)) for row in rows)


def read_skipped(connection: Connection, playbook_id: int, revision: int) -> tuple[KeptOperation, ...]:
    """The operations that *revision* was asked for and didn't carry out, in order."""
    rows = connection.execute(_SKIPPED, {"playbook_id": playbook_id, "revision": revision})
    return tuple(KeptOperation(*row) for row in rows)


def read_reflections(connection: Connection, playbook_id: int, revision: int) -> tuple[KeptReflection, ...]:
    """What stood behind *revision*, where a model did."""
    rows = connection.execute(_REFLECTIONS, {"playbook_id": playbook_id, "revision": revision})
    return tuple(KeptReflection(*row) for row in rows)


def read_span(connection: Connection, playbook_id: int, name: str) -> Span | None:
    """When the point *name* came and last changed; None where there never was one."""
    row = connection.execute(_SPAN, {"playbook_id": playbook_id, "name": name}).first()
    return Span(*row) if row else None


# The life of one point: what happened to it, in which session, and why.


_LIFE_CHANGES = sql("""
SELECT r.number, r.time, r.source, r.session_id, r.message, c.kind, coalesce(c.text, c.reason) AS told, t.name
FROM changes AS c
JOIN revisions AS r ON r.playbook_id = c.playbook_id AND r.number = c.revision
LEFT JOIN key_points AS t ON t.playbook_id = c.playbook_id AND t.id = c.successor_id
WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id AND c.kind <> 'vote'
ORDER BY c.revision, c.seq
""")
# A vote that counts is found by the change that it made; only neutral ones have an index of their own.
_LIFE_VOTES = sql("""
SELECT r.number, r.time, r.source, r.session_id, r.message, v.tag, v.rationale
FROM (
    SELECT n.playbook_id, n.revision, n.seq FROM votes AS n
    WHERE n.playbook_id = :playbook_id AND n.point_id = :point_id AND n.tag = 'neutral'
    UNION ALL
    SELECT w.playbook_id, w.revision, w.seq
    FROM (SELECT DISTINCT c.revision FROM changes AS c
          WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id) AS made
    CROSS JOIN votes AS w ON w.playbook_id = :playbook_id AND w.revision = made.revision
    WHERE w.point_id = :point_id AND w.tag <> 'neutral'
) AS cast_votes
JOIN votes AS v USING (playbook_id, revision, seq)
JOIN revisions AS r ON r.playbook_id = v.playbook_id AND r.number = v.revision
ORDER BY v.revision, v.seq
""")
_MERGED = sql("""
SELECT DISTINCT k.name FROM changes AS c
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.successor_id = :point_id
ORDER BY k.name
""")


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One thing that happened to a point: `kind` is that of a change (add, edit, move, retire, restore) or a vote's tag
    (helpful, harmful, neutral). `told` is the text it got, the reason, or the vote's rationale; `successor` the point
    that it went into."""

    revision: int
    time: str
    source: str
    session_id: str | None
    message: str | None
    kind: str
    told: str | None
    successor: str | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """All that happened to a point, the oldest first, and the points that were merged into it."""

    events: tuple[LifeEvent, ...]
    merged: tuple[str, ...]


def life(connection: Connection, playbook_id: int, name: str) -> Life | None:
    """The life of the point *name*, live or retired; None where there never was one."""
    point_id = playbooks.point_id(connection, playbook_id, name)
    if point_id is None:
        return None
    of_point = {"playbook_id": playbook_id, "point_id": point_id}
    events = [LifeEvent(*row) for row in connection.execute(_LIFE_CHANGES, of_point)]
    events += [LifeEvent(*row) for row in connection.execute(_LIFE_VOTES, of_point)]
    events.sort(key=lambda event: event.revision)
    return Life(tuple(events), tuple(name for (name,) in connection.execute(_MERGED, of_point)))
