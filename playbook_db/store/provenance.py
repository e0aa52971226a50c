"""The life of one point: what happened to it, in which session, and why."""

from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy import text as sql

from playbook_db.store import playbooks

_CHANGES = sql("""
SELECT r.number, r.time, r.source, r.session_id, r.message, c.kind, coalesce(c.text, c.reason) AS told, t.name
FROM changes AS c
JOIN revisions AS r ON r.playbook_id = c.playbook_id AND r.number = c.revision
LEFT JOIN key_points AS t ON t.playbook_id = c.playbook_id AND t.id = c.successor_id
WHERE c.playbook_id = :playbook_id AND c.point_id = :point_id AND c.kind <> 'vote'
ORDER BY c.revision, c.seq
""")
# A vote that counts is found by the change that it made; only neutral ones have an index of their own.
_VOTES = sql("""
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
    events = [LifeEvent(*row) for row in connection.execute(_CHANGES, of_point)]
    events += [LifeEvent(*row) for row in connection.execute(_VOTES, of_point)]
    events.sort(key=lambda event: event.revision)
    return Life(tuple(events), tuple(name for (name,) in connection.execute(_MERGED, of_point)))
