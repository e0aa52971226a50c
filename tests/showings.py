"""Counts the showings again, to compare them with the counts of the database's trigger."""

from sqlalchemy import Connection
from sqlalchemy import text as sql

from playbook_db.store.tables import EVENTS

_STORED_COUNTS = "SELECT playbook_id, point_id, sessions, by_prompt, at_error, to_subagent, last_at FROM showing_counts"
_COUNT_EVENTS = ", ".join(
    f"sum(CASE WHEN event = '{event}' THEN {{0}} ELSE 0 END)" for event in EVENTS if event != "SessionStart"
)
_SHOWINGS = sql(f"""
WITH told AS (
    SELECT i.playbook_id, k.id AS point_id, count(DISTINCT i.session_id) AS sessions, 0 AS by_prompt, 0 AS at_error,
           0 AS to_subagent, max(i.time) AS last_at
    FROM showings AS i CROSS JOIN json_each(i.points) AS shown
    CROSS JOIN key_points AS k WHERE k.playbook_id = i.playbook_id AND k.id = CAST(shown.value AS BIGINT)
    GROUP BY i.playbook_id, k.id
    UNION ALL
    SELECT i.playbook_id, k.id, 0, {_COUNT_EVENTS.format("1")}, max(i.time)
    FROM showings AS i CROSS JOIN json_each(i.points) AS shown
    CROSS JOIN key_points AS k WHERE k.playbook_id = i.playbook_id AND k.id = CAST(shown.value AS BIGINT)
      AND i.event <> 'SessionStart' AND NOT EXISTS (
          SELECT 1 FROM showings AS b CROSS JOIN json_each(b.points) AS before
          WHERE b.playbook_id = i.playbook_id AND b.session_id = i.session_id AND b.seq < i.seq
            AND instr(b.points, CAST(k.id AS TEXT)) > 0 AND CAST(before.value AS BIGINT) = k.id)
    GROUP BY i.playbook_id, k.id
), counted AS (
    SELECT playbook_id, point_id, sum(sessions), sum(by_prompt), sum(at_error), sum(to_subagent), max(last_at)
    FROM told GROUP BY playbook_id, point_id
)
SELECT DISTINCT p.key FROM (
    SELECT playbook_id FROM (SELECT * FROM counted EXCEPT {_STORED_COUNTS}) AS less
    UNION ALL
    SELECT playbook_id FROM ({_STORED_COUNTS} EXCEPT SELECT * FROM counted) AS more
    UNION ALL
    SELECT playbook_id FROM showing_counts WHERE sessions_at_last_use > sessions
) AS wrong JOIN playbooks AS p ON p.id = wrong.playbook_id ORDER BY p.key
""")


def wrong_counts(connection: Connection) -> list[str]:
    """The playbooks whose stored counts of showings differ from the rows that they come from."""
    return list(connection.scalars(_SHOWINGS))
