"""Counts of what a playbook holds, what was made of it and what it took; each by one pass over its table.

Days are those of UTC. A playbook that isn't there (number 0) gives zeros and empty lists.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import Connection, func, select
from sqlalchemy import text as sql

from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.store.sqlite import dialect
from playbook_db.store.tables import citations, injections, key_points, metadata, reflections, revisions

_SECTIONS = sql("""
SELECT section, sum(CASE WHEN retired_in IS NULL THEN 1 ELSE 0 END), sum(CASE WHEN retired_in IS NULL THEN 0 ELSE 1 END)
FROM key_points WHERE playbook_id = :playbook_id GROUP BY section
""")
_CAME_SINCE = sql("""
SELECT count(*) FROM key_points AS k
JOIN revisions AS r ON r.playbook_id = k.playbook_id AND r.number = k.created_in
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NULL AND r.time >= :since
""")
# Summed up by revision first, in the order in which the rows lie: sorting all votes by day takes four times as long.
_VOTES = sql("""
SELECT substr(r.time, 1, 10) AS day, CASE WHEN r.session_id IS NULL THEN 0 ELSE 1 END AS by_session,
       sum(v.helpful), sum(v.harmful), sum(v.neutral), sum(v.unmatched)
FROM (
    SELECT revision,
           sum(CASE WHEN point_id IS NOT NULL AND tag = 'helpful' THEN 1 ELSE 0 END) AS helpful,
           sum(CASE WHEN point_id IS NOT NULL AND tag = 'harmful' THEN 1 ELSE 0 END) AS harmful,
           sum(CASE WHEN point_id IS NOT NULL AND tag = 'neutral' THEN 1 ELSE 0 END) AS neutral,
           sum(CASE WHEN point_id IS NULL THEN 1 ELSE 0 END) AS unmatched
    FROM votes WHERE playbook_id = :playbook_id GROUP BY revision
) AS v
JOIN revisions AS r ON r.playbook_id = :playbook_id AND r.number = v.revision
GROUP BY day, by_session ORDER BY day, by_session
""")
_CALLS = sql("""
SELECT substr(time, 1, 10) AS day, count(*), sum(input_tokens), sum(output_tokens), sum(cached_tokens),
       coalesce(sum(cost_usd), 0.0), sum(CASE WHEN cost_usd IS NULL THEN 1 ELSE 0 END)
FROM model_calls WHERE playbook_id = :playbook_id GROUP BY day ORDER BY day
""")


@dataclass(frozen=True, slots=True)
class SectionCount:
    """How many points of a section, named by its slug, are live, and how many have left."""

    slug: str
    live: int
    retired: int


@dataclass(frozen=True, slots=True)
class DayVotes:
    """The votes that were cast on one day, by sessions or by people; `unmatched` ones met no live point."""

    day: str
    by_session: bool
    helpful: int
    harmful: int
    neutral: int
    unmatched: int


@dataclass(frozen=True, slots=True)
class DayCalls:
    """What asking models took on one day: calls, tokens, US dollars; `unpriced` calls have no known price."""

    day: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float
    unpriced: int

    @property
    def tokens(self) -> int:
        """All tokens, sent, received and read from a cache."""
        return self.input_tokens + self.output_tokens + self.cached_tokens


@dataclass(frozen=True, slots=True)
class Sightings:
    """Where points met sessions: since when that is kept, in how many sessions it happened, and in how many each point
    was met, by the point's number."""

    since: str | None
    sessions: int
    by_point: Counter[int]


@dataclass(frozen=True, slots=True)
class CountedPoint:
    """A live point with its number and its counters."""

    id: int
    name: str
    helpful: int
    harmful: int


@dataclass(frozen=True, slots=True)
class TableSize:
    """How many rows a table has, all projects together, and what it takes of the file; None where that isn't known."""

    name: str
    rows: int
    size_bytes: int | None


def sections(connection: Connection, playbook_id: int) -> list[SectionCount]:
    """Live and retired points of every section, in canonical order."""
    found = {row[0]: row for row in connection.execute(_SECTIONS, {"playbook_id": playbook_id})}
    return [SectionCount(*found.get(slug, (slug, 0, 0))) for slug in SECTION_SLUGS.values()]


def came_since(connection: Connection, playbook_id: int, time: str) -> int:
    """How many of the live points came at *time* or later."""
    return int(connection.execute(_CAME_SINCE, {"playbook_id": playbook_id, "since": time}).scalar_one())


def votes_by_day(connection: Connection, playbook_id: int) -> list[DayVotes]:
    """The votes that were cast here, the oldest first."""
    rows = connection.execute(_VOTES, {"playbook_id": playbook_id})
    return [DayVotes(day, bool(by_session), *counts) for day, by_session, *counts in rows]


def calls_by_day(connection: Connection, playbook_id: int) -> list[DayCalls]:
    """What asking models took, the oldest day first."""
    return [DayCalls(*row) for row in connection.execute(_CALLS, {"playbook_id": playbook_id})]


def learnt_from(connection: Connection, playbook_id: int) -> tuple[int, int]:
    """How many sessions were learnt from, and how many stretches of their transcripts."""
    sessions, stretches = connection.execute(
        select(func.count(reflections.c.session_id.distinct()), func.count()).where(
            reflections.c.playbook_id == playbook_id, reflections.c.finished_at.is_not(None)
        )
    ).one()
    return sessions, stretches


def shown(connection: Connection, playbook_id: int) -> Sightings:
    """In how many sessions each point was shown; a session that was shown it twice counts once."""
    rows = connection.execute(
        select(injections.c.session_id, injections.c.points, injections.c.time)
        .where(injections.c.playbook_id == playbook_id)
        .order_by(injections.c.session_id)
    )
    since, sessions, by_point = None, 0, Counter[int]()
    for _, told in groupby(rows, key=lambda row: row.session_id):
        met: set[int] = set()
        for row in told:
            met.update(json.loads(row.points))
            since = min(since or row.time, row.time)
        by_point.update(met)
        sessions += 1
    return Sightings(since, sessions, by_point)


def cited(connection: Connection, playbook_id: int) -> Sightings:
    """In how many sessions each point was cited."""
    of_playbook = citations.c.playbook_id == playbook_id
    since, sessions = connection.execute(
        select(func.min(citations.c.time), func.count(citations.c.session_id.distinct())).where(of_playbook)
    ).one()
    rows = connection.execute(select(citations.c.point_id, func.count()).where(of_playbook).group_by("point_id"))
    return Sightings(since, sessions, Counter(dict(rows.all())))


def live_points(connection: Connection, playbook_id: int) -> list[CountedPoint]:
    """The live points."""
    rows = connection.execute(
        select(key_points.c.id, key_points.c.name, key_points.c.helpful, key_points.c.harmful).where(
            key_points.c.playbook_id == playbook_id, key_points.c.retired_in.is_(None)
        )
    )
    return [CountedPoint(*row) for row in rows]


def texts(connection: Connection, playbook_id: int, ids: Sequence[int]) -> dict[int, str]:
    """The texts of the points with the numbers *ids*, a few."""
    rows = connection.execute(
        select(key_points.c.id, key_points.c.text).where(
            key_points.c.playbook_id == playbook_id, key_points.c.id.in_(ids)
        )
    )
    return dict(rows.all())


def revisions_by_source(connection: Connection, playbook_id: int) -> dict[str, int]:
    """How many revisions came from each source, the most first."""
    rows = connection.execute(
        select(revisions.c.source, func.count())
        .where(revisions.c.playbook_id == playbook_id)
        .group_by(revisions.c.source)
        .order_by(func.count().desc(), revisions.c.source)
    )
    return dict(rows.all())


def file_bytes(connection: Connection) -> int | None:
    """The size of the whole database; None where it isn't one file."""
    return dialect.size_bytes(connection) if connection.dialect.name == "sqlite" else None


def tables(connection: Connection) -> list[TableSize]:
    """The tables of the whole database, all projects together; the largest first, without those that are empty."""
    taken = dialect.table_bytes(connection) if connection.dialect.name == "sqlite" else {}
    found = []
    for name, table in metadata.tables.items():
        rows = connection.scalar(select(func.count()).select_from(table)) or 0
        if rows:
            found.append(TableSize(name, rows, taken.get(name)))
    return sorted(found, key=lambda size: (size.size_bytes or 0, size.rows), reverse=True)
