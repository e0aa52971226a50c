"""The log of a playbook: its revisions, newest first, and what each did. SQL text and what runs it, without SQLAlchemy,
so that `playbook log` can read the file as a hook does.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from playbook_db.domain.exact_json import read_json as read_exact_json
from playbook_db.domain.merging.diff import changed_keys
from playbook_db.domain.merging.undo import RevisionRange
from playbook_db.domain.playbook import Header, KeyPoint
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.domain.trust.evidence import Evidence, read_json

Execute = Callable[[str, Mapping[str, Any]], Iterable[Any]]

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
    WHERE c.playbook_id = :playbook_id AND c.revision IN ({numbers}) AND c.seq BETWEEN :first AND :last
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
_COUNTS = """
SELECT c.revision, c.kind, count(*) FROM changes AS c
WHERE c.playbook_id = :playbook_id AND c.revision IN ({numbers})
GROUP BY c.revision, c.kind
"""
_POINT_NAME = "SELECT name FROM key_points WHERE playbook_id = :playbook_id AND id = :point_id"


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


def _logged(row: Sequence[Any], counts: dict[str, int], changes: Sequence[LoggedChange]) -> LoggedRevision:
    (
        number,
        time,
        source,
        actor,
        role,
        session_id,
        message,
        first,
        last,
        undone_in,
        neutral,
        unmatched,
        skipped,
        *rest,
    ) = row
    cost_usd, header, header_before = rest
    keys: tuple[str, ...] = ()
    if header is not None:
        before = Header() if header_before is None else header_of(header_before, True)
        keys = tuple(change.key for change in changed_keys(before, header_of(header, True)))
    undoes = None if first is None else RevisionRange(first, last)
    return LoggedRevision(
        number, time, source, actor, role, session_id, message, undone_in, neutral, unmatched, skipped, cost_usd,
        undoes, keys, counts, tuple(changes),
    )  # fmt: skip


def header_of(fields: str, final_newline: int) -> Header:
    """The header that the two columns `header` and `final_newline` hold."""
    return Header(tuple(read_exact_json(fields).items()), bool(final_newline))


class RevisionLog:
    """The log of the playbook *playbook_id*. *execute* runs a statement, and *index_hint* says what holds the planner
    to an index."""

    def __init__(self, execute: Execute, index_hint: Callable[[str], str], playbook_id: int) -> None:
        self._run, self._index_hint, self._playbook_id = execute, index_hint, playbook_id

    def _execute(self, statement: str, **values: Any) -> list[Any]:
        return list(self._run(statement, {"playbook_id": self._playbook_id, **values}))

    def _changes(self, numbers: Sequence[int], first: int, most: int) -> dict[int, list[LoggedChange]]:
        """Of each of the revisions *numbers*, by its number, *most* changes from the *first* (from 1) on."""
        by_text = self._index_hint("ix_changes_text")
        statement = _CHANGES.format(
            numbers=_listed(numbers),
            before=_BEFORE.format(by_text="", only_texts=""),
            text_before=_BEFORE.format(by_text=by_text, only_texts="AND b.text IS NOT NULL"),
        )
        changes: dict[int, list[LoggedChange]] = defaultdict(list)
        for row in self._execute(statement, first=first, last=min(first + most - 1, EVERY_CHANGE)):
            number, kind, reason, successor, evidence, name, *states = row
            before = _point(name, states[5:]) if states[6] is not None else None
            point = _point(name, states[:5])
            changes[number].append(LoggedChange(kind, point, before, reason, successor, read_json(evidence)))
        return changes

    def _changes_of_point(self, point_id: int, *, oldest: int, newest: int) -> dict[int, list[LoggedChange]]:
        """All that was done to the point from the revision *oldest* to *newest*, by the revision's number."""
        values = {"point_id": point_id, "oldest": oldest, "newest": newest}
        ((name,),) = self._execute(_POINT_NAME, **values)
        by_point, by_text = (self._index_hint(index) for index in ("ix_changes_point", "ix_changes_text"))
        before: KeyPoint | None = None
        for earlier in self._execute(_EARLIER.format(index_hint=by_point, only_texts=""), **values):
            texts = _EARLIER.format(index_hint=by_text, only_texts="AND c.text IS NOT NULL")
            ((text, *_),) = self._execute(texts, **values)
            before = _point(name, (text, *earlier[1:]))
        life: dict[int, list[LoggedChange]] = defaultdict(list)
        changes = self._execute(_LIFE.format(by_point=by_point), **values)
        for number, kind, reason, successor, evidence, text, *state in changes:
            point = _point(name, (text if text is not None or before is None else before.text, *state))
            life[number].append(LoggedChange(kind, point, before, reason, successor, read_json(evidence)))
            before = point
        return life

    def read(
        self, log_filter: LogFilter, *, limit: int, most_changes: int, first_change: int = 1
    ) -> list[LoggedRevision]:
        """The newest *limit* revisions that pass *log_filter*, newest first, each with *most_changes* changes from
        the place *first_change* on.

        Of a filter that names a point, the changes are all those of that point and nothing else.
        """
        rows = self._execute(self._revisions(log_filter), **asdict(log_filter), most=limit)
        if not rows:
            return []
        counts: dict[int, dict[str, int]] = defaultdict(dict)
        if log_filter.point_id is None:
            numbers = [number for number, *_ in rows]
            changes = self._changes(numbers, first_change, most_changes)
            for number, kind, count in self._execute(_COUNTS.format(numbers=_listed(numbers))):
                counts[number][kind] = count
        else:
            changes = self._changes_of_point(log_filter.point_id, oldest=rows[-1][0], newest=rows[0][0])
            counts.update((number, Counter(change.kind for change in each)) for number, each in changes.items())
        return [_logged(row, counts.get(row[0], {}), changes.get(row[0], ())) for row in rows]

    def _revisions(self, log_filter: LogFilter) -> str:
        filters = "" if log_filter.session_id is None else "AND r.session_id = :session_id"
        filters += "" if log_filter.source is None else " AND r.source = :source"
        if log_filter.actor is not None:
            filters += " AND (r.actor = :actor OR substr(r.actor, 1, length(:actor) + 1) = :actor || '@')"
        if log_filter.point_id is None:
            which = f"r.number BETWEEN :first AND :last {filters}"
            parts = {"of_voted": "AND v.point_id IS NOT NULL", "by_voted": ""}
        else:
            of_change, of_vote = (_AMONG.format(table=table, filters=filters) if filters else "" for table in "cv")
            by_voted = self._index_hint("ix_votes_point")
            which = _TOUCHING.format(of_change=of_change, of_vote=of_vote, by_voted=by_voted)
            parts = {"of_voted": "AND v.point_id = :point_id", "by_voted": by_voted}
        return _REVISIONS.format(which=which, **parts)


def _listed(numbers: Sequence[int]) -> str:
    """Revisions as SQL lists them."""
    return ", ".join(f"{number:d}" for number in numbers)
