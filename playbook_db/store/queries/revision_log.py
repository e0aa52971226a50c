"""Read the log of a playbook: its revisions, newest first, and their changes. Needs no SQLAlchemy."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from playbook_db.domain.merging.diff import changed_keys
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import Header, KeyPoint
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.domain.trust.evidence import Evidence, read_json
from playbook_db.store.queries.hook_queries import rows

if TYPE_CHECKING:
    from playbook_db.store.queries.hook_queries import Reader

# The point's previous change and its previous text. Each needs one lookup in an index.
_BEFORE = """
FROM changes AS b
WHERE b.playbook_id = :playbook_id AND b.point_id = c.point_id AND (b.revision, b.seq) < (c.revision, c.seq)
    {only_texts}
ORDER BY b.revision DESC, b.seq DESC LIMIT 1
"""
_BEFORE_IT, _TEXT_BEFORE = _BEFORE.format(only_texts=""), _BEFORE.format(only_texts="AND b.text IS NOT NULL")
_CHANGES = f"""
WITH made AS MATERIALIZED (
    SELECT c.*, (SELECT b.revision {_BEFORE_IT}) AS was_in, (SELECT b.seq {_BEFORE_IT}) AS was_seq,
           (SELECT b.text {_TEXT_BEFORE}) AS text_before
    FROM changes AS c
    WHERE c.playbook_id = :playbook_id AND {{which}} AND c.seq BETWEEN :first AND :last
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
_OF_POINT = "c.point_id = :point_id AND c.revision BETWEEN :oldest AND :newest"


class LoggedChange(NamedTuple):
    """A change of a point. `point` is the state after the change, `before` the state before (None: a new point)."""

    kind: str
    point: KeyPoint
    before: KeyPoint | None
    reason: str | None
    successor: str | None
    evidence: tuple[Evidence, ...] = ()

    @property
    def is_reworded(self) -> bool:
        """Whether the change gave the point its first text or a new text."""
        return self.before is None or self.before.text != self.point.text


def _point(name: str, columns: Sequence[Any]) -> KeyPoint:
    text, slug, helpful, harmful, position = columns
    return KeyPoint(name, text, SLUG_SECTIONS[slug], helpful, harmful, position)


EVERY_CHANGE = 2**31 - 1

_REVISIONS = """
SELECT r.number, r.time, r.source, r.actor, r.role, r.session_id, r.message,
    (SELECT CASE WHEN t.last >= r.number THEN t.undo END FROM undone_ranges AS t
     WHERE t.playbook_id = :playbook_id AND t.first <= r.number ORDER BY t.first DESC LIMIT 1) AS undone_in,
    (SELECT count(*) FROM votes AS v
     WHERE v.playbook_id = :playbook_id AND v.revision = r.number AND v.tag = 'neutral' {of_voted}) AS neutral_votes,
    CASE WHEN CAST(:point_id AS BIGINT) IS NULL THEN (
        SELECT count(*) FROM votes AS v
        WHERE v.playbook_id = :playbook_id AND v.revision = r.number AND v.point_id IS NULL
    ) END AS unmatched_votes,
    (SELECT count(*) FROM skipped_operations AS o
     WHERE o.playbook_id = :playbook_id AND o.revision = r.number AND substr(o.reason, 1, 8) <> 'a note: ') AS skipped,
    (SELECT count(*) FROM skipped_operations AS o
     WHERE o.playbook_id = :playbook_id AND o.revision = r.number AND substr(o.reason, 1, 8) = 'a note: ') AS notes,
    (SELECT sum(f.cost_usd) FROM reflections AS f
     WHERE f.playbook_id = :playbook_id AND f.revision = r.number) AS cost_usd,
    r.undoes_from, r.undoes_to, r.header, CASE WHEN r.header IS NOT NULL THEN (
        SELECT b.header FROM revisions AS b
        WHERE b.playbook_id = :playbook_id AND b.number < r.number AND b.header IS NOT NULL
        ORDER BY b.number DESC LIMIT 1
    ) END AS header_before
FROM revisions AS r
WHERE r.playbook_id = :playbook_id AND {which}
ORDER BY r.number DESC LIMIT :most
"""
# SQLite merges both halves in index order, so it finds the newest revisions of a long history at once.
_TOUCHING = """r.number IN (
    SELECT c.revision AS number FROM changes AS c
    WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id AND c.revision BETWEEN :first AND :last {of_change}
    UNION
    SELECT v.revision FROM votes AS v
    WHERE v.playbook_id = :playbook_id AND v.point_id = :point_id AND v.revision BETWEEN :first AND :last {of_vote}
    ORDER BY 1 DESC LIMIT :most
)"""
_AMONG = """
AND EXISTS (SELECT 1 FROM revisions AS r
            WHERE r.playbook_id = :playbook_id AND r.number = {table}.revision {filters})"""
_COUNTS = """
SELECT c.revision, c.kind, count(*) FROM changes AS c
WHERE c.playbook_id = :playbook_id AND {which}
GROUP BY c.revision, c.kind
"""


@dataclass(frozen=True, slots=True)
class LogFilter:
    """A filter for revisions from `first` to `last`. It may also select those of one session, source, actor or point.
    The actor `ann` also matches `ann@laptop`."""

    first: int
    last: int
    session_id: str | None = None
    source: str | None = None
    actor: str | None = None
    point_id: int | None = None


class LoggedRevision(NamedTuple):
    """A revision and its changes.

    `role` is the login at the server, or None in a file. `unmatched_votes` named no live point; it is None in the log
    of one point. `uncounted_votes` have a note with the reason. `cost_usd` is None if no price is known. `undone_in` is
    the undo in force that undid the revision. `undoes` are the revisions that this revision undid. `keys` are the
    top-level keys of the file that it changed. `counts` counts all changes by kind; `changes` has only the first ones.
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
    uncounted_votes: int
    cost_usd: float | None
    undoes: RevisionRange | None
    keys: tuple[str, ...]
    counts: dict[str, int]
    changes: tuple[LoggedChange, ...]


def _logged(row: Sequence[Any], counts: dict[str, int], changes: Sequence[LoggedChange]) -> LoggedRevision:
    *fields, first, last, header, header_before = row
    keys: tuple[str, ...] = ()
    if header is not None:
        before = Header() if header_before is None else header_of(header_before, True)
        keys = tuple(change.key for change in changed_keys(before, header_of(header, True)))
    undoes = None if first is None else RevisionRange(first, last)
    values: list[Any] = [*fields, undoes, keys, counts, tuple(changes)]
    return LoggedRevision(*values)


def header_of(fields: str, final_newline: int) -> Header:
    """Return the header, given the values of the columns `header` and `final_newline`."""
    return Header(tuple(json.loads(fields).items()), bool(final_newline))


def read_log(
    book: "Reader", log_filter: LogFilter, *, limit: int, most_changes: int, first_change: int = 1
) -> list[LoggedRevision]:
    """Return the newest *limit* revisions that match *log_filter*, newest first. Each has at most *most_changes*
    changes, starting with number *first_change*. If the filter names a point, return all changes of that point and no
    others."""
    matches = list(rows(book, _revisions_query(log_filter), **asdict(log_filter), most=limit))
    if not matches:
        return []
    span = {"oldest": matches[-1][0], "newest": matches[0][0], "point_id": log_filter.point_id}
    if log_filter.point_id is None:
        which = f"c.revision IN ({', '.join(str(number) for number, *_ in matches)})"
        page = {"first": first_change, "last": min(first_change + most_changes - 1, EVERY_CHANGE)}
    else:
        which, page = _OF_POINT, {"first": 1, "last": EVERY_CHANGE}
    in_each, count_all = _CHANGES.format(which=which), _COUNTS.format(which=which)
    changes: dict[int, list[LoggedChange]] = defaultdict(list)
    for number, kind, reason, successor, evidence, name, *states in rows(book, in_each, **span, **page):
        before = _point(name, states[5:]) if states[6] is not None else None
        point = _point(name, states[:5])
        changes[number].append(LoggedChange(kind, point, before, reason, successor, read_json(evidence)))
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    for number, kind, count in rows(book, count_all, **span):
        counts[number][kind] = count
    return [_logged(row, counts.get(row[0], {}), changes.get(row[0], ())) for row in matches]


def _revisions_query(log_filter: LogFilter) -> str:
    filters = "" if log_filter.session_id is None else "AND r.session_id = :session_id"
    filters += "" if log_filter.source is None else " AND r.source = :source"
    if log_filter.actor is not None:
        filters += " AND (r.actor = :actor OR substr(r.actor, 1, length(:actor) + 1) = :actor || '@')"
    if log_filter.point_id is None:
        which = f"r.number BETWEEN :first AND :last {filters}"
        return _REVISIONS.format(which=which, of_voted="AND v.point_id IS NOT NULL")
    of_change, of_vote = (_AMONG.format(table=table, filters=filters) if filters else "" for table in "cv")
    which = _TOUCHING.format(of_change=of_change, of_vote=of_vote)
    return _REVISIONS.format(which=which, of_voted="AND v.point_id = :point_id")
