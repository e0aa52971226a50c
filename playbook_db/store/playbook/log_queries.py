"""The append-only history read as a log: revisions, newest first, with what each did; all that is kept of one; the
life of one point."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Row, TextClause, bindparam
from sqlalchemy import text as sql

from playbook_db.domain.merging.diff import changed_keys
from playbook_db.domain.merging.undo import RevisionRange
from playbook_db.domain.playbook import MAX_COUNTER, Header, KeyPoint, Vote
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.domain.trust.evidence import Evidence, read_json
from playbook_db.store import quick_sql
from playbook_db.store.playbook.playbook_rows import IS_WEAK, PlaybookRows
from playbook_db.store.playbook.snapshots import header_of
from playbook_db.store.quick_sql import PointLifespan

# The change to the same point before this one, and the text that it had, are one step down an index each.
_BEFORE = """
FROM changes AS b {by_text}
WHERE b.playbook_id = :playbook_id AND b.point_id = c.point_id AND (b.revision, b.seq) < (c.revision, c.seq)
    {only_texts}
ORDER BY b.revision DESC, b.seq DESC LIMIT 1
"""
_CHANGES = """
WITH made AS MATERIALIZED (
    SELECT c.*, (SELECT b.revision {before}) AS was_in, (SELECT b.seq {before}) AS was_seq,
           (SELECT b.text {text_before}) AS text_before
    FROM changes AS c
    WHERE c.playbook_id = :playbook_id AND c.revision IN :numbers AND c.seq BETWEEN :first AND :last
)
SELECT m.revision, m.kind, m.reason, t.name, m.evidence,
       k.name, coalesce(m.text, m.text_before), m.section, m.helpful, m.harmful, m.position,
       m.text_before, w.section, w.helpful, w.harmful, w.position
FROM made AS m
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = m.point_id
LEFT JOIN key_points AS t ON t.playbook_id = :playbook_id AND t.id = m.successor_id
LEFT JOIN changes AS w ON w.playbook_id = :playbook_id AND w.revision = m.was_in AND w.seq = m.was_seq
ORDER BY m.revision, m.seq
"""
# One point's changes in a row tell each what was before it; only the first must be asked for.
_LIFE = """
SELECT c.revision, c.kind, c.reason, t.name AS successor, c.evidence,
       c.text, c.section, c.helpful, c.harmful, c.position
FROM changes AS c {by_point}
LEFT JOIN key_points AS t ON t.playbook_id = :playbook_id AND t.id = c.successor_id
WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id AND c.revision BETWEEN :oldest AND :newest
ORDER BY c.revision, c.seq
"""
_EARLIER = """
SELECT c.text, c.section, c.helpful, c.harmful, c.position FROM changes AS c {index_hint}
WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id AND c.revision < :oldest {only_texts}
ORDER BY c.revision DESC, c.seq DESC LIMIT 1
"""
_CHANGED_BECAUSE = sql("""
SELECT k.name, c.revision FROM changes AS c
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.reason = :reason ORDER BY c.revision DESC, c.seq DESC
""")
_REASONS = sql("""
SELECT k.name, c.reason FROM changes AS c
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.revision BETWEEN :first AND :last
  AND substr(c.reason, 1, length(:beginning)) = :beginning
ORDER BY c.revision DESC, c.seq DESC
""")
_POINT_ID = sql("SELECT id FROM key_points WHERE playbook_id = :playbook_id AND name = :name")
_POINT_NAME = sql("SELECT name FROM key_points WHERE playbook_id = :playbook_id AND id = :point_id")


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change with the point before it: as it was live, or when it had left; None where it wasn't there yet. What a
    session showed for it is its `evidence`."""

    kind: str
    point: KeyPoint
    before: KeyPoint | None
    reason: str | None
    successor: str | None
    evidence: tuple[Evidence, ...] = ()

    @property
    def is_reworded(self) -> bool:
        """Whether the text is another than before, if there was one."""
        return self.before is None or self.before.text != self.point.text


def _point(name: str, columns: Sequence[Any]) -> KeyPoint:
    text, slug, helpful, harmful, position = columns
    return KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position)


EVERY_CHANGE = 2**31 - 1

# What a revision did besides its changes is counted by steps down the indexes of those tables.
_REVISIONS = """
SELECT r.number, r.time, r.source, r.actor, r.role, r.session_id, r.message, r.undoes_from, r.undoes_to,
    (SELECT CASE WHEN t.last >= r.number THEN t.undo END FROM undone_ranges AS t
     WHERE t.playbook_id = :playbook_id AND t.first <= r.number ORDER BY t.first DESC LIMIT 1) AS undone_in,
    (SELECT count(*) FROM votes AS v {by_voted}
     WHERE v.playbook_id = :playbook_id AND v.revision = r.number AND v.tag = 'neutral' {of_voted}) AS neutral_votes,
    CASE WHEN CAST(:point_id AS BIGINT) IS NULL THEN (
        SELECT count(*) FROM votes AS v
        WHERE v.playbook_id = :playbook_id AND v.revision = r.number AND v.point_id IS NULL
    ) END AS unmatched_votes,
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
# Both halves come in the order of their index and are merged, so that the end of a long life is found at once.
_TOUCHING = """r.number IN (
    SELECT c.revision AS number FROM changes AS c
    WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id AND c.revision BETWEEN :first AND :last {of_change}
    UNION
    SELECT v.revision FROM votes AS v {by_voted}
    WHERE v.playbook_id = :playbook_id AND v.point_id = :point_id AND v.revision BETWEEN :first AND :last {of_vote}
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
_OF_SESSION = sql("""
SELECT number FROM revisions WHERE playbook_id = :playbook_id AND session_id = :session_id ORDER BY number DESC
""")
_SESSIONS = sql("""
SELECT DISTINCT session_id FROM revisions
WHERE playbook_id = :playbook_id AND substr(session_id, 1, length(:beginning)) = :beginning ORDER BY session_id
""")


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which revisions are asked for: those from `first` to `last`, of a session, a source or an actor (whose name may
    stand before a machine's), that touched a point."""

    first: int
    last: int
    session_id: str | None = None
    source: str | None = None
    actor: str | None = None
    point_id: int | None = None


@dataclass(frozen=True, slots=True)
class LoggedRevision:
    """A revision and what it did.

    `role` is who logged in at the server, None in a file. `changes` are the first of them, in order, `counts` all of
    them by kind. `keys` are the file's top-level keys that have another value since. `unmatched_votes` named no live
    point; None where one point is asked for. `cost_usd` is None where no price is known. `undoes` are the revisions
    that it undid; `undone_in` is the undo in force that undid it itself.
    """

    number: int
    time: str
    source: str
    actor: str
    role: str | None
    session_id: str | None
    message: str | None
    undone_in: int | None
    neutral_votes: int
    unmatched_votes: int | None
    skipped: int
    cost_usd: float | None
    undoes: RevisionRange | None
    keys: tuple[str, ...]
    counts: dict[str, int]
    changes: tuple[LoggedChange, ...]


def _logged(row: "Row[Any]", counts: dict[str, int], changes: Sequence[LoggedChange]) -> LoggedRevision:
    fields: dict[str, Any] = dict(row._mapping)
    header, header_before = fields.pop("header"), fields.pop("header_before")
    first, last = fields.pop("undoes_from"), fields.pop("undoes_to")
    undoes = None if first is None else RevisionRange(first, last)
    keys: tuple[str, ...] = ()
    if header is not None:
        before = Header() if header_before is None else header_of(header_before, True)
        keys = tuple(change.key for change in changed_keys(before, header_of(header, True)))
    return LoggedRevision(**fields, undoes=undoes, keys=keys, counts=counts, changes=tuple(changes))


_VOTES = sql(f"""
SELECT coalesce(k.name, v.name), v.tag, v.rationale, v.point_id IS NOT NULL, v.ignored, v.evidence, {IS_WEAK}
FROM votes AS v LEFT JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id
WHERE v.playbook_id = :playbook_id AND v.revision = :revision ORDER BY v.seq LIMIT :most OFFSET :before
""")
_VOTES_COUNT = sql("SELECT count(*) FROM votes WHERE playbook_id = :playbook_id AND revision = :revision")
_SKIPPED = sql("""
SELECT seq, operation, reason FROM skipped_operations
WHERE playbook_id = :playbook_id AND revision = :revision ORDER BY seq LIMIT :most OFFSET :before
""")
_REFLECTIONS = sql("""
SELECT session_id, analysis, curator_reasoning, model, input_tokens, output_tokens, cached_tokens, cost_usd, duration_ms
FROM reflections WHERE playbook_id = :playbook_id AND revision = :revision ORDER BY id
""")
_LIFESPAN = sql(quick_sql.LIFESPAN)


@dataclass(frozen=True, slots=True)
class SkippedOperation:
    """An operation that was not carried out: its place in the batch (from 1), its JSON as it was kept, and why."""

    place: int
    operation: str
    reason: str


@dataclass(frozen=True, slots=True)
class RevisionReflection:
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


_POINT_VOTES = """
SELECT revision, tag, rationale, ignored, evidence FROM votes {by_point}
WHERE playbook_id = :playbook_id AND point_id = :point_id AND revision BETWEEN :oldest AND :newest
ORDER BY revision, seq
"""
_MERGED = sql("""
SELECT DISTINCT k.name FROM changes AS c
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.successor_id = :point_id
  AND coalesce((SELECT t.last FROM undone_ranges AS t
                WHERE t.playbook_id = :playbook_id AND t.first <= c.revision
                ORDER BY t.first DESC LIMIT 1), 0) < c.revision
ORDER BY k.name
""")


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One thing that happened to a point: `kind` is that of a change (add, edit, move, retire, restore; vote where
    counters changed without one, as by an undo) or a vote's tag (helpful, harmful, neutral). `text` is the text it got,
    what else was set and the reason, or the vote's rationale; `successor` the point that it went into; `ignored` says
    that the session had the point, didn't follow it and paid for that, `evidence` is what it showed; `before` is the
    text in whose place a rewording put another."""

    revision: int
    time: str
    source: str
    actor: str
    session_id: str | None
    message: str | None
    kind: str
    text: str | None
    successor: str | None = None
    ignored: bool = False
    evidence: tuple[Evidence, ...] = ()
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """All that happened to a point, the oldest first, and the points that were merged into it, but for merges that were
    undone."""

    events: tuple[LifeEvent, ...]
    merged: tuple[str, ...]


def _change_text(change: LoggedChange, was_voted: bool) -> str | None:
    """What *change* did in words, but for its kind: the text that it gave, else what else it set, and why."""
    point, before = change.point, change.before
    if before is None or change.kind in ("add", "restore") or change.is_reworded:
        return point.text
    parts = []
    if point.section != before.section:
        parts.append(f"from {before.section} to {point.section}")
    if not was_voted and (point.helpful, point.harmful) != (before.helpful, before.harmful):
        counted = (f"{each.helpful} helpful, {each.harmful} harmful" for each in (point, before))
        parts.append("; before: ".join(counted))
    return "; ".join([*parts, *([change.reason] if change.reason else [])]) or None


class LogQueries(PlaybookRows):
    """What the history of one playbook tells."""

    def _changes(self, numbers: Sequence[int], first: int, most: int) -> dict[int, list[LoggedChange]]:
        """Of each of the revisions *numbers*, by its number, *most* changes from the *first* (from 1) on."""
        by_text = self.index_hint("ix_changes_text")
        statement = _CHANGES.format(
            before=_BEFORE.format(by_text="", only_texts=""),
            text_before=_BEFORE.format(by_text=by_text, only_texts="AND b.text IS NOT NULL"),
        )
        changes: dict[int, list[LoggedChange]] = defaultdict(list)
        for row in self._execute(
            sql(statement).bindparams(bindparam("numbers", expanding=True)),
            numbers=numbers,
            first=first,
            last=min(first + most - 1, EVERY_CHANGE),
        ):
            number, kind, reason, successor, evidence, name, *states = row
            before = _point(name, states[5:]) if states[6] is not None else None
            point = _point(name, states[:5])
            changes[number].append(LoggedChange(kind, point, before, reason, successor, read_json(evidence)))
        return changes

    def _changes_of_point(self, point_id: int, *, oldest: int, newest: int) -> dict[int, list[LoggedChange]]:
        """All that was done to the point from the revision *oldest* to *newest*, by the revision's number."""
        values = {"point_id": point_id, "oldest": oldest, "newest": newest}
        name = self._execute(_POINT_NAME, **values).scalar_one()
        by_point, by_text = (self.index_hint(index) for index in ("ix_changes_point", "ix_changes_text"))
        before: KeyPoint | None = None
        earlier = self._execute(sql(_EARLIER.format(index_hint=by_point, only_texts="")), **values).first()
        if earlier is not None:
            texts = sql(_EARLIER.format(index_hint=by_text, only_texts="AND c.text IS NOT NULL"))
            before = _point(name, (self._execute(texts, **values).scalar_one(), *earlier[1:]))
        life: dict[int, list[LoggedChange]] = defaultdict(list)
        changes = self._execute(sql(_LIFE.format(by_point=by_point)), **values)
        for number, kind, reason, successor, evidence, text, *state in changes:
            point = _point(name, (text if text is not None or before is None else before.text, *state))
            life[number].append(LoggedChange(kind, point, before, reason, successor, read_json(evidence)))
            before = point
        return life

    def read_log(
        self, log_filter: LogFilter, *, limit: int, most_changes: int, first_change: int = 1
    ) -> list[LoggedRevision]:
        """The newest *limit* revisions that pass *log_filter*, newest first, each with *most_changes* changes from
        the place *first_change* on.

        Of a filter that names a point, the changes are all those of that point and nothing else.
        """
        rows = self._execute(self._revisions(log_filter), **asdict(log_filter), most=limit).all()
        if not rows:
            return []
        counts: dict[int, dict[str, int]] = defaultdict(dict)
        if log_filter.point_id is None:
            numbers = [row.number for row in rows]
            changes = self._changes(numbers, first_change, most_changes)
            for number, kind, count in self._execute(_COUNTS, numbers=numbers):
                counts[number][kind] = count
        else:
            changes = self._changes_of_point(log_filter.point_id, oldest=rows[-1].number, newest=rows[0].number)
            counts.update((number, Counter(change.kind for change in each)) for number, each in changes.items())
        return [_logged(row, counts.get(row.number, {}), changes.get(row.number, ())) for row in rows]

    def revisions_of_session(self, session_id: str) -> list[int]:
        """The numbers of the revisions that came from a session, the newest first."""
        return list(self._execute(_OF_SESSION, session_id=session_id).scalars())

    def sessions_beginning(self, beginning: str) -> list[str]:
        """The sessions that revisions came from and whose id begins so."""
        return list(self._execute(_SESSIONS, beginning=beginning).scalars())

    def _revisions(self, log_filter: LogFilter) -> TextClause:
        filters = "" if log_filter.session_id is None else "AND r.session_id = :session_id"
        filters += "" if log_filter.source is None else " AND r.source = :source"
        if log_filter.actor is not None:
            filters += " AND (r.actor = :actor OR substr(r.actor, 1, length(:actor) + 1) = :actor || '@')"
        if log_filter.point_id is None:
            which = f"r.number BETWEEN :first AND :last {filters}"
            parts = {"of_voted": "AND v.point_id IS NOT NULL", "by_voted": ""}
        else:
            of_change, of_vote = (_AMONG.format(table=table, filters=filters) if filters else "" for table in "cv")
            by_voted = self.index_hint("ix_votes_point")
            which = _TOUCHING.format(of_change=of_change, of_vote=of_vote, by_voted=by_voted)
            parts = {"of_voted": "AND v.point_id = :point_id", "by_voted": by_voted}
        return sql(_REVISIONS.format(which=which, **parts))

    def read_votes(self, revision: int, *, before: int = 0, most: int = EVERY_CHANGE) -> tuple[Vote, ...]:
        """The votes of *revision*, in order: *most* of them, without the *before* first ones."""
        rows = self._execute(_VOTES, revision=revision, before=before, most=most)
        return tuple(
            Vote(name, tag, rationale, bool(matched), bool(ignored), read_json(evidence), bool(is_weak))
            for name, tag, rationale, matched, ignored, evidence, is_weak in rows
        )

    def count_votes(self, revision: int) -> int:
        """How many votes *revision* has."""
        return int(self._execute(_VOTES_COUNT, revision=revision).scalar_one())

    def read_skipped(self, revision: int, *, before: int = 0, most: int = EVERY_CHANGE) -> tuple[SkippedOperation, ...]:
        """The operations that *revision* was asked for and didn't carry out, in order, as `read_votes` has them."""
        rows = self._execute(_SKIPPED, revision=revision, before=before, most=most)
        return tuple(SkippedOperation(*row) for row in rows)

    def read_reflections(self, revision: int) -> tuple[RevisionReflection, ...]:
        """What stood behind *revision*, where a model did."""
        return tuple(RevisionReflection(*row) for row in self._execute(_REFLECTIONS, revision=revision))

    def lifespan(self, name: str) -> PointLifespan | None:
        """When the point *name* came and last changed; None where there never was one."""
        row = self._execute(_LIFESPAN, name=name).first()
        return PointLifespan(*row) if row else None

    def life(self, name: str, *, last: int = MAX_COUNTER, limit: int = MAX_COUNTER) -> Life | None:
        """The life of the point *name*, live or retired, in the *limit* revisions that touched it up to the *last*;
        None where there never was one."""
        point_id = self.point_id(name)
        if point_id is None:
            return None
        touching = LogFilter(1, last, point_id=point_id)
        revisions = self.read_log(touching, limit=limit, most_changes=EVERY_CHANGE)
        votes: dict[int, list[Any]] = defaultdict(list)
        if revisions:
            statement = sql(_POINT_VOTES.format(by_point=self.index_hint("ix_votes_point")))
            values = {"point_id": point_id, "oldest": revisions[-1].number, "newest": revisions[0].number}
            for number, *vote in self._execute(statement, **values):
                votes[number].append(vote)
        events: list[LifeEvent] = []
        for entry in reversed(revisions):
            origin = (entry.number, entry.time, entry.source, entry.actor, entry.session_id, entry.message)
            was_voted = any(tag != "neutral" for tag, *_ in votes[entry.number])
            events += [
                LifeEvent(
                    *origin,
                    change.kind,
                    _change_text(change, was_voted),
                    change.successor,
                    False,
                    change.evidence,
                    change.before.text if change.before and change.is_reworded else None,
                )
                for change in entry.changes
                if change.kind != "vote" or not was_voted  # else the votes themselves say it
            ]
            events += [
                LifeEvent(*origin, tag, rationale, None, bool(ignored), read_json(evidence))
                for tag, rationale, ignored, evidence in votes[entry.number]
            ]
        return Life(tuple(events), tuple(self._execute(_MERGED, point_id=point_id).scalars()))

    def changed_because(self, reason: str) -> list[tuple[str, int]]:
        """Which points were changed for this *reason*, by name, and by which revisions, the newest first."""
        return [(name, number) for name, number in self._execute(_CHANGED_BECAUSE, reason=reason)]

    def reasons_in(self, revisions: RevisionRange, beginning: str) -> list[tuple[str, str]]:
        """Why *revisions* changed points, by name, where the reason has this *beginning*; the newest first."""
        values = {"first": revisions.first, "last": revisions.last, "beginning": beginning}
        return [(name, reason) for name, reason in self._execute(_REASONS, **values)]

    def point_id(self, name: str) -> int | None:
        """The number of the point *name*, live or retired; None where there never was one."""
        number: int | None = self._execute(_POINT_ID, name=name).scalar()
        return number
