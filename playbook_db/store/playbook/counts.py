"""Count a playbook's points, votes, sessions and costs. Days are in UTC. A missing playbook has zeros."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from playbook_db.store.dialect import dialect_of
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.queries.hook_queries import rows
from playbook_db.store.queries.log_queries import USE_BY_EVENT
from playbook_db.store.tables import metadata

# The actor. NULL for a session in a file, since all sessions there belong to one person.
_WHO = """
CASE WHEN r.actor = r.session_id OR r.actor LIKE '________-____-____-____-____________' THEN NULL ELSE r.actor END
"""
# This doesn't use `vote_log`, which looks up the point of each vote. Votes are summed by revision first: sorting all
# votes by day takes 4 times as long.
VOTES_BY_DAY = f"""
SELECT substr(r.time, 1, 10) AS day, {_WHO} AS who,
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
GROUP BY day, who
"""
_CALLS = """
SELECT day, calls, input_tokens, output_tokens, cached_tokens, coalesce(cost_usd, 0.0)
FROM cost_by_day WHERE playbook = :key ORDER BY day DESC
"""
# The sessions that cited a point, each with the event that first showed the point, if that is still recorded.
CITATIONS = """
SELECT c.session_id, c.time, c.chunks,
       (SELECT i.event FROM showings AS i
        WHERE i.playbook_id = c.playbook_id AND i.session_id = c.session_id
          AND instr(replace(replace(replace(i.points, ' ', ''), '[', ','), ']', ','), ',' || c.point_id || ',') > 0
        ORDER BY i.seq LIMIT 1)
FROM key_points AS k JOIN citations AS c ON c.playbook_id = k.playbook_id AND c.point_id = k.id
WHERE k.playbook_id = :playbook_id AND k.name = :name ORDER BY c.time DESC, c.session_id LIMIT :most
"""
# How often sessions followed a point that they were shown, and how often they ignored one.
FOLLOWED = """
SELECT coalesce(sum(followed), 0), count(CASE WHEN ignored > 0 THEN 1 END)
FROM trials WHERE playbook_id = (SELECT id FROM playbooks WHERE key = :key)
"""
_QUESTIONS = {
    "live": "SELECT name, section, text, helpful, harmful, created_at FROM live_key_points WHERE playbook = :key",
    "retired": "SELECT section, count(*) FROM retired_key_points WHERE playbook = :key GROUP BY section",
    "shown in": """
        SELECT min(i.time), count(DISTINCT i.session_id)
        FROM showings AS i JOIN playbooks AS p ON p.id = i.playbook_id WHERE i.points <> '[]' AND p.key = :key
    """,
    "shown": """
        SELECT k.name, w.sessions FROM playbooks AS p JOIN showing_counts AS w ON w.playbook_id = p.id
        JOIN key_points AS k ON k.playbook_id = w.playbook_id AND k.id = w.point_id WHERE p.key = :key
    """,
    "cited in": "SELECT min(time), count(DISTINCT session_id) FROM cited_points WHERE playbook = :key",
    "cited": "SELECT name, count(*) FROM cited_points WHERE playbook = :key GROUP BY name",
    "uses": USE_BY_EVENT,
    "votes": VOTES_BY_DAY,
    "learned from": """
        SELECT count(DISTINCT session_id), count(*) FROM reflection_log
        WHERE playbook = :key AND finished_at IS NOT NULL
    """,
    "revisions": f"""
        SELECT r.source, {_WHO} AS who, count(*), max(r.time)
        FROM revisions AS r JOIN playbooks AS p ON p.id = r.playbook_id WHERE p.key = :key GROUP BY r.source, who
    """,
    "followed": FOLLOWED,
    "tables": " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in metadata.tables),
}

_OF_COSTS = {
    "calls": _CALLS,
    "unpriced": """
        SELECT count(*) FROM model_calls AS m JOIN playbooks AS p ON p.id = m.playbook_id
        WHERE p.key = :key AND m.cost_usd IS NULL
    """,
}


class LivePoint(NamedTuple):
    """A live point with its counts of votes."""

    name: str
    section: str
    text: str
    helpful: int
    harmful: int
    created_at: str


class Revisions(NamedTuple):
    """The number of revisions by one source and actor, and the last revision's time. `actor` is None for sessions in a
    file."""

    source: str
    actor: str | None
    number: int
    last_at: str


class DayVotes(NamedTuple):
    """The votes of one actor on one day, without undone votes. `unmatched` votes name no live point."""

    day: str
    actor: str | None
    helpful: int
    harmful: int
    neutral: int
    unmatched: int


class DayCalls(NamedTuple):
    """The number and cost of the model calls of one day."""

    day: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float

    @property
    def tokens(self) -> int:
        """The number of all tokens: sent, received and read from a cache."""
        return self.input_tokens + self.output_tokens + self.cached_tokens


class Citation(NamedTuple):
    """A session that cited a point: the time of the last citation, and the number of chunks that cited the point.
    `event` first showed the point in the session, or is None if that is no longer recorded."""

    session_id: str
    time: str
    chunks: int
    event: str | None


def count(book: PlaybookRepository) -> dict[str, Sequence[Any]]:
    """Run _QUESTIONS about *book*. Return each question's rows by its title."""
    return {title: list(rows(book, question, key=book.key)) for title, question in _QUESTIONS.items()}


def count_costs(book: PlaybookRepository) -> dict[str, Sequence[Any]]:
    """Run _OF_COSTS about *book*. Return each question's rows by its title."""
    return {title: list(rows(book, question, key=book.key)) for title, question in _OF_COSTS.items()}


def sizes(book: PlaybookRepository) -> tuple[int | None, Mapping[str, int]]:
    """Return the database's size in bytes, or None if unknown. Also return the size of each table whose size is
    known."""
    return dialect_of(book.connection).sizes(book.connection)


def citations_of(book: PlaybookRepository, name: str, *, most: int) -> tuple[Citation, ...]:
    """Return the last *most* sessions that cited the point *name*, newest first."""
    return tuple(Citation(*row) for row in rows(book, CITATIONS, name=name, most=most))
