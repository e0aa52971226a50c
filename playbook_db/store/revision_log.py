"""Reading the append-only history as a log: revisions, newest first, with what each did. `timeline` reads states."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, TextClause, bindparam
from sqlalchemy import text as sql

from playbook_db.rules.comparing import changed_keys
from playbook_db.rules.playbook import Header
from playbook_db.rules.taken_back import Span
from playbook_db.store import logged_changes
from playbook_db.store.logged_changes import LoggedChange
from playbook_db.store.playbooks import header_of

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
    took_back: Span | None
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
        changes = logged_changes.read_changes(connection, given)
        counts = _read_counts(connection, given)
    else:
        changes = logged_changes.read_life(connection, {**given, "oldest": rows[-1].number, "newest": rows[0].number})
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
        by_neutral = logged_changes.by_index(connection, "ix_votes_neutral")
        touching = _TOUCHING.format(of_change=among_change, of_vote=among_vote, by_neutral=by_neutral)
        which = f"r.number IN {touching}"
        told = {"of_voted": "AND v.point_id = :point_id", "by_neutral": by_neutral, "unmatched": "NULL"}
    return sql(_REVISIONS.format(which=which, **told))


def _logged(row: "Row[Any]", counts: dict[str, int], changes: Sequence[LoggedChange]) -> LoggedRevision:
    told: dict[str, Any] = dict(row._mapping)
    header, header_before = told.pop("header"), told.pop("header_before")
    first, last = told.pop("took_back_from"), told.pop("took_back_to")
    took_back = None if first is None else Span(first, last)
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
