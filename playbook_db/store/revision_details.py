"""What else is kept of one revision: its votes, what was skipped, what stood behind it; and when a point came."""

from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy import text as sql

from playbook_db.rules.playbook import Vote

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
