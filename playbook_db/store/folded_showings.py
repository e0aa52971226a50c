"""What is left of the showings that are long past: counts by point and event, and when each session began.

A session's rows become counts in one go, so that no transaction sees it half counted, or counted twice.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import text as sql

from playbook_db.store.repository import PlaybookRepository

_OVER = sql("""
SELECT session_id FROM injections WHERE playbook_id = :playbook_id
GROUP BY session_id HAVING max(time) < :before ORDER BY session_id
""")
_SHOWN = sql("""
SELECT session_id, event, points, time FROM injections
WHERE playbook_id = :playbook_id AND session_id IN :sessions ORDER BY session_id, seq
""").bindparams(bindparam("sessions", expanding=True))
_USES = sql("""
SELECT k.id, u.event, sum(u.cited), sum(u.helpful), sum(u.harmful)
FROM use_by_event AS u JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.name = u.name
WHERE u.playbook = :key AND u.session_id IN :sessions GROUP BY k.id, u.event
""").bindparams(bindparam("sessions", expanding=True))
# A list may name what is no point of the playbook: the hooks' spool isn't ours alone.
_COUNT = sql("""
INSERT INTO folded_showings (playbook_id, point_id, event, sessions, cited, helpful, harmful, first_at, last_at)
SELECT k.playbook_id, k.id, :event, :sessions, :cited, :helpful, :harmful, :first_at, :last_at
FROM key_points AS k WHERE k.playbook_id = :playbook_id AND k.id = :point_id
ON CONFLICT (playbook_id, point_id, event) DO UPDATE SET
    sessions = folded_showings.sessions + excluded.sessions, cited = folded_showings.cited + excluded.cited,
    helpful = folded_showings.helpful + excluded.helpful, harmful = folded_showings.harmful + excluded.harmful,
    first_at = CASE WHEN excluded.first_at < folded_showings.first_at THEN excluded.first_at
                    ELSE folded_showings.first_at END,
    last_at = CASE WHEN excluded.last_at > folded_showings.last_at THEN excluded.last_at
                   ELSE folded_showings.last_at END
""")
# A session that was resumed much later is past for the second time.
_PASS = sql("""
INSERT INTO folded_sessions (playbook_id, session_id, first_at, was_shown)
VALUES (:playbook_id, :session_id, :first_at, :was_shown)
ON CONFLICT (playbook_id, session_id) DO UPDATE SET was_shown = 1 WHERE excluded.was_shown = 1
""")
_DROP = sql("DELETE FROM injections WHERE playbook_id = :playbook_id AND session_id IN :sessions").bindparams(
    bindparam("sessions", expanding=True)
)


def sessions_over(book: PlaybookRepository, *, before: str) -> list[str]:
    """The sessions that were shown nothing any more since *before*, and whose showings are still single rows."""
    rows = book.connection.execute(_OVER, {"playbook_id": book.playbook_id, "before": before})
    return list(rows.scalars())


def fold(book: PlaybookRepository, sessions: Sequence[str], *, before: str) -> int:
    """Let counts take the place of the showings of *sessions*; how many sessions that were. One that was shown
    something since *before* is left as it is."""
    of_book = {"playbook_id": book.playbook_id}
    rows = book.connection.execute(_SHOWN, {**of_book, "sessions": sessions})
    by_session = {session: list(shown) for session, shown in groupby(rows, key=lambda row: row.session_id)}
    past = {session: shown for session, shown in by_session.items() if max(row.time for row in shown) < before}
    if not past:
        return 0
    given = {**of_book, "sessions": list(past)}
    counts = _counted(past)
    for point_id, event, *used in book.connection.execute(_USES, {**given, "key": book.key}):
        counts[point_id, event] |= dict(zip(("cited", "helpful", "harmful"), used, strict=True))
    told = [{**of_book, "point_id": point, "event": event, **count} for (point, event), count in sorted(counts.items())]
    if told:
        book.connection.execute(_COUNT, told)
    over = [
        {"session_id": session, "first_at": shown[0].time, "was_shown": int(any(row.points != "[]" for row in shown))}
        for session, shown in past.items()
    ]
    book.connection.execute(_PASS, [{**of_book, **each} for each in over])
    book.connection.execute(_DROP, given)
    return len(past)


def _counted(past: dict[str, list[Any]]) -> defaultdict[tuple[int, str], dict[str, Any]]:
    """By point and the event that first told a session of it: in how many sessions, and from when to when."""
    counts: defaultdict[tuple[int, str], dict[str, Any]] = defaultdict(
        lambda: {"sessions": 0, "cited": 0, "helpful": 0, "harmful": 0, "first_at": "~", "last_at": ""}
    )
    for shown in past.values():
        told_by: dict[int, str] = {}
        for row in shown:
            for point_id in dict.fromkeys(json.loads(row.points)):
                is_new = point_id not in told_by
                count = counts[point_id, told_by.setdefault(point_id, row.event)]
                count["sessions"] += is_new
                count["first_at"] = min(count["first_at"], row.time)
                count["last_at"] = max(count["last_at"], row.time)
    return counts
