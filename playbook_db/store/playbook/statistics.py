"""Counts of a playbook's points, uses, votes and costs, from the views if they are fast enough.

Days are in UTC. A playbook that doesn't exist gives zeros and empty lists.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy import text as sql

from playbook_db.domain.playbook import MAX_COUNTER
from playbook_db.domain.trust.outcomes import FEWEST_SESSIONS, Sample
from playbook_db.store.dialect import dialect_of
from playbook_db.store.engine import Store
from playbook_db.store.tables import EVENTS, metadata

_LIVE = sql("SELECT name, section, text, helpful, harmful, created_at FROM live_key_points WHERE playbook = :key")
_RETIRED = sql("SELECT section, count(*) FROM retired_key_points WHERE playbook = :key GROUP BY section")
_SHOWN = sql("""
SELECT k.name, w.sessions FROM playbooks AS p JOIN showings AS w ON w.playbook_id = p.id
JOIN key_points AS k ON k.playbook_id = w.playbook_id AND k.id = w.point_id WHERE p.key = :key
""")
_SHOWN_IN = sql("""
SELECT min(i.time), count(DISTINCT i.session_id)
FROM injections AS i JOIN playbooks AS p ON p.id = i.playbook_id WHERE i.points <> '[]' AND p.key = :key
""")
_BY_EVENT = """
SELECT event, sum(shown), sum(cited), sum(helpful), sum(harmful) FROM use_by_event
WHERE playbook = :key {of_point} GROUP BY event HAVING sum(shown) > 0
"""
# The sessions that cited a point, with the event that first showed it to them, if that is still on record.
_CITATIONS = sql("""
SELECT c.session_id, c.time, c.chunks,
       (SELECT i.event FROM injections AS i
        WHERE i.playbook_id = c.playbook_id AND i.session_id = c.session_id
          AND instr(replace(replace(replace(i.points, ' ', ''), '[', ','), ']', ','), ',' || c.point_id || ',') > 0
        ORDER BY i.seq LIMIT 1)
FROM playbooks AS p
JOIN key_points AS k ON k.playbook_id = p.id AND k.name = :name
JOIN citations AS c ON c.playbook_id = k.playbook_id AND c.point_id = k.id
WHERE p.key = :key ORDER BY c.time DESC, c.session_id LIMIT :most
""")
_CITED = sql("SELECT name, count(*) FROM cited_points WHERE playbook = :key GROUP BY name")
_CITED_IN = sql("SELECT min(time), count(DISTINCT session_id) FROM cited_points WHERE playbook = :key")
# An actor, or NULL for a session: in your own file, sessions don't say who you are.
_WHO = """
CASE WHEN r.actor = r.session_id OR r.actor LIKE '________-____-____-____-____________' THEN NULL ELSE r.actor END
"""
# By how many the live points grew or shrank on each day.
_POINTS = sql("""
SELECT substr(r.time, 1, 10) AS day, sum(CASE c.kind WHEN 'retire' THEN -1 ELSE 1 END) FROM changes AS c
JOIN revisions AS r ON r.playbook_id = c.playbook_id AND r.number = c.revision
WHERE c.playbook_id = (SELECT id FROM playbooks WHERE key = :key) AND c.kind IN ('add', 'restore', 'retire')
GROUP BY day
""")
# `vote_log` would look up the point of each vote. Summed by revision first: sorting all votes by day takes four times
# as long.
_VOTES = sql(f"""
SELECT substr(r.time, 1, 10) AS day, CASE WHEN r.session_id IS NULL THEN 0 ELSE 1 END AS by_session, {_WHO} AS who,
       sum(v.helpful), sum(v.harmful), sum(v.neutral), sum(v.unmatched)
FROM (
    SELECT playbook_id, revision,
           sum(CASE WHEN point_id IS NOT NULL AND tag = 'helpful' THEN 1 ELSE 0 END) AS helpful,
           sum(CASE WHEN point_id IS NOT NULL AND tag = 'harmful' THEN 1 ELSE 0 END) AS harmful,
           sum(CASE WHEN point_id IS NOT NULL AND tag = 'neutral' THEN 1 ELSE 0 END) AS neutral,
           sum(CASE WHEN point_id IS NULL THEN 1 ELSE 0 END) AS unmatched
    FROM votes WHERE playbook_id = (SELECT id FROM playbooks WHERE key = :key) GROUP BY playbook_id, revision
) AS v
JOIN revisions AS r ON r.playbook_id = v.playbook_id AND r.number = v.revision
WHERE coalesce((SELECT t.last FROM undone_ranges AS t
                WHERE t.playbook_id = v.playbook_id AND t.first <= v.revision
                ORDER BY t.first DESC LIMIT 1), 0) < v.revision
GROUP BY day, by_session, who
""")
_CALLS = sql("""
SELECT day, calls, input_tokens, output_tokens, cached_tokens, coalesce(cost_usd, 0.0)
FROM cost_by_day WHERE playbook = :key ORDER BY day DESC LIMIT :most
""")
_UNPRICED = sql("""
SELECT count(*) FROM model_calls AS m JOIN playbooks AS p ON p.id = m.playbook_id
WHERE p.key = :key AND m.cost_usd IS NULL
""")
_LEARNED = sql("""
SELECT count(DISTINCT session_id), count(*) FROM reflection_log WHERE playbook = :key AND finished_at IS NOT NULL
""")
_REVISIONS = sql(f"""
SELECT r.source, {_WHO} AS who, count(*), max(r.time) FROM revisions AS r JOIN playbooks AS p ON p.id = r.playbook_id
WHERE p.key = :key GROUP BY r.source, who
""")
# Only sessions between the first and the last that were held out: before and after, other things differed, too.
_HELD_OUT = sql("""
SELECT min(first_at), max(first_at) FROM session_comparison WHERE playbook = :key AND is_held_out = 1
""")
_MEASURES = ("failed_calls", "corrections", "turns", "tokens")
_COMPARED = sql(f"""
SELECT is_held_out, count(*), {", ".join(f"sum({name}), sum(1.0 * {name} * {name})" for name in _MEASURES)}
FROM session_comparison WHERE playbook = :key AND first_at BETWEEN :since AND :until GROUP BY is_held_out
""")
_ROWS = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in metadata.tables)
_COUNTED = (
    *(each.text for each in (_LIVE, _RETIRED, _SHOWN_IN, _SHOWN, _CITED_IN, _CITED)),
    _BY_EVENT.format(of_point=""),
    *(each.text for each in (_VOTES, _CALLS, _UNPRICED, _LEARNED, _REVISIONS, _HELD_OUT)),
    _ROWS,
)


@dataclass(frozen=True, slots=True)
class Compared:
    """Samples of each measure, for held-out sessions and for those `shown` the playbook, from `since` to `until`.

    Both times are None if no session was held out.
    """

    since: str | None
    until: str | None
    held_out: Mapping[str, Sample]
    shown: Mapping[str, Sample]


@dataclass(frozen=True, slots=True)
class LivePoint:
    """A live point with its counters."""

    name: str
    section: str
    text: str
    helpful: int
    harmful: int
    created_at: str


@dataclass(frozen=True, slots=True)
class Revisions:
    """The revisions of one source that an actor made (None: sessions, in your own file), and the last one's time."""

    source: str
    actor: str | None
    count: int
    last_at: str


@dataclass(frozen=True, slots=True)
class DayVotes:
    """The votes in force of one day and actor (as in `Revisions`); `unmatched` ones are for no live point."""

    day: str
    is_by_session: bool
    actor: str | None
    helpful: int
    harmful: int
    neutral: int
    unmatched: int


@dataclass(frozen=True, slots=True)
class DayCalls:
    """The calls of models on one day, in tokens and US dollars."""

    day: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float

    @property
    def tokens(self) -> int:
        """All tokens, sent, received and read from a cache."""
        return self.input_tokens + self.output_tokens + self.cached_tokens


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions that were shown points, or cited them: the first one's time, their number, and that by point."""

    since: str | None
    count: int
    by_point: Counter[str]


@dataclass(frozen=True, slots=True)
class EventUse:
    """The points that one event showed first: each once a session, how many were cited, and how many got votes."""

    event: str
    shown: int
    cited: int
    helpful: int
    harmful: int

    def share(self, count: int) -> float | None:
        """*count* as a part of `shown`; None for too few sessions."""
        return count / self.shown if self.shown >= FEWEST_SESSIONS else None


@dataclass(frozen=True, slots=True)
class Citation:
    """A session's citations of a point: the last one's time, in how many chunks, and the event that first showed the
    point (None: no longer on record)."""

    session_id: str
    time: str
    chunks: int
    event: str | None


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table's rows, of all projects together, and its part of the file (None: unknown)."""

    name: str
    rows: int
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of one playbook: `retired` points by section, `learned_from` in sessions and chunks, `unpriced` calls.

    `file_bytes` (None on a server) and `tables` (without empty ones) are of the whole database.
    """

    live: list[LivePoint]
    retired: dict[str, int]
    shown: Sessions
    cited: Sessions
    by_event: tuple[EventUse, ...]
    votes: list[DayVotes]
    calls: list[DayCalls]
    unpriced: int
    learned_from: tuple[int, int]
    revisions: list[Revisions]
    compared: Compared
    file_bytes: int | None
    tables: list[TableSize]


def count(store: Store, key: str) -> Counts:
    """The counts of the playbook *key*."""
    of = {"key": key, "most": MAX_COUNTER}
    answers = store.ask(key, *((question, of) for question in _COUNTED))
    live, retired, shown_in, shown, cited_in, cited, uses, *others = answers
    votes, calls, unpriced, learned, revisions, held_out, rows = others
    with store.snapshot() as connection:
        file_bytes, sizes = dialect_of(connection).sizes(connection)
    tables = [TableSize(name, count, sizes.get(name)) for name, count in rows if count]
    return Counts(
        live=[LivePoint(*row) for row in live],
        retired=dict(map(tuple, retired)),
        shown=_sessions(shown_in, shown),
        cited=_sessions(cited_in, cited),
        by_event=_event_uses(uses),
        votes=[DayVotes(*row) for row in votes],
        calls=[DayCalls(*row) for row in reversed(calls)],
        unpriced=unpriced[0][0],
        learned_from=tuple(learned[0]),
        revisions=[Revisions(*row) for row in revisions],
        compared=_compared(store, key, *held_out[0]),
        file_bytes=file_bytes,
        tables=sorted(tables, key=lambda table: (table.size_bytes or 0, table.rows), reverse=True),
    )


def _sessions(totals: Sequence[Any], by_point: Iterable[Any]) -> Sessions:
    ((since, number),) = totals
    return Sessions(since, number, Counter(dict(map(tuple, by_point))))


def use_by_event(connection: Connection, key: str, name: str | None = None) -> tuple[EventUse, ...]:
    """How the points of the playbook *key*, or the point *name*, did, by the event that showed them first."""
    query, values = sql(_BY_EVENT.format(of_point="AND name = :name" if name else "")), {"key": key, "name": name}
    return _event_uses(connection.execute(query, values))


def _event_uses(rows: Iterable[Any]) -> tuple[EventUse, ...]:
    uses = (EventUse(event, *map(int, counts)) for event, *counts in rows)
    return tuple(sorted(uses, key=lambda use: EVENTS.index(use.event)))


def citations_of(connection: Connection, key: str, name: str, *, most: int) -> tuple[Citation, ...]:
    """The last *most* sessions that cited the point *name* of the playbook *key*, newest first."""
    rows = connection.execute(_CITATIONS, {"key": key, "name": name, "most": most})
    return tuple(Citation(*row) for row in rows)


def votes_by_day(connection: Connection, key: str) -> list[DayVotes]:
    """The votes in force, by day and actor."""
    return [DayVotes(*row) for row in connection.execute(_VOTES, {"key": key})]


def points_by_day(connection: Connection, key: str) -> list[tuple[str, int]]:
    """By how many the live points grew (or shrank: below 0) on each day, without days of no change."""
    return [(day, int(more)) for day, more in connection.execute(_POINTS, {"key": key})]


def days_of_calls(connection: Connection, key: str, *, most: int | None = None) -> list[DayCalls]:
    """The calls of models by day, the newest *most* days with any, newest first."""
    rows = connection.execute(_CALLS, {"key": key, "most": MAX_COUNTER if most is None else most})
    return [DayCalls(*row) for row in rows]


def compare(store: Store, key: str) -> Compared:
    """Held-out sessions compared with those that were shown the playbook."""
    ((times,),) = store.ask(key, (_HELD_OUT.text, {"key": key}))
    return _compared(store, key, *times)


def _compared(store: Store, key: str, since: str | None, until: str | None) -> Compared:
    groups = dict.fromkeys((0, 1), dict.fromkeys(_MEASURES, Sample(0, 0, 0)))
    values = {"key": key, "since": since, "until": until}
    for is_held_out, sessions, *sums in store.ask(key, (_COMPARED.text, values))[0] if since else ():
        pairs = zip(sums[::2], sums[1::2], strict=True)
        samples = (Sample(sessions, float(total), float(squares)) for total, squares in pairs)
        groups[is_held_out] = dict(zip(_MEASURES, samples, strict=True))
    return Compared(since, until, groups[1], groups[0])
