"""A playbook that has been voted on for years: the rows that its sessions would have left."""

import json
import random
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from benchmarks import raw, sandbox
from playbook_db.domain import prompt_text, times
from playbook_db.services.project import Project

POINTS = 500
_REVISIONS_A_COMMIT = 2_000  # only to be quicker; the rows are the same
_RATIONALE = "the test it led to passed"

_REVISION = (
    "INSERT INTO revisions (playbook_id, number, time, source, actor, session_id, message)"
    " VALUES (1, ?, ?, 'learn', 'ann@laptop', ?, ?)"
)
_CHANGE = (
    "INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful)"
    " VALUES (1, ?, ?, ?, 'vote', ?, ?, ?, ?)"
)
_VOTE = "INSERT INTO votes (playbook_id, revision, seq, point_id, tag, rationale) VALUES (1, ?, ?, ?, ?, ?)"
_POINT = "UPDATE key_points SET helpful = ?, harmful = ?, rank = ? WHERE playbook_id = 1 AND id = ?"


@dataclass(slots=True)
class _Tally:
    """A point as its last change left it."""

    id: int
    section: str
    position: int
    helpful: int
    harmful: int
    changed_in: int = 1


def make(project: Project, path: str) -> None:
    """Import POINTS points into the new database in *path*."""
    sandbox.fill(project, POINTS)
    project.store.tidy()


def cast(path: str, votes: int, *, a_revision: int) -> None:
    """Put *votes* votes into the history of the database in *path*, as sessions give them, *a_revision* to a revision.

    Every row goes through the schema's checks, keys and triggers; `checking.check` finds nothing wrong afterwards.
    """
    rng = random.Random(votes)
    connection = raw.connect(path)
    found = connection.execute("SELECT id, section, position, helpful, harmful FROM key_points")
    tallies = [_Tally(*row) for row in found]
    (began,) = connection.execute("SELECT time FROM revisions WHERE number = 1").fetchone()
    last = 1 + votes // a_revision
    for first in range(2, last + 1, _REVISIONS_A_COMMIT):
        connection.execute("BEGIN IMMEDIATE")
        for number in range(first, min(first + _REVISIONS_A_COMMIT, last + 1)):
            session = UUID(int=rng.getrandbits(128), version=4)
            connection.execute(_REVISION, (number, time_after(began, number), str(session), "learned from a session"))
            chosen = rng.sample(tallies, a_revision)
            tags = [rng.choice(("helpful", "helpful", "harmful")) for _ in chosen]
            for tally, tag in zip(chosen, tags, strict=True):
                tally.changed_in = number
                tally.helpful += tag == "helpful"
                tally.harmful += tag == "harmful"
            connection.executemany(
                _CHANGE,
                [(number, seq, t.id, t.section, t.position, t.helpful, t.harmful) for seq, t in enumerate(chosen, 1)],
            )
            connection.executemany(
                _VOTE,
                [
                    (number, seq, t.id, tag, _RATIONALE)
                    for seq, (t, tag) in enumerate(zip(chosen, tags, strict=True), 1)
                ],
            )
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    _settle(connection, tallies, time_after(began, last))
    connection.close()


def time_after(time: str, seconds: int) -> str:
    """The time *seconds* after *time*, as the history has it."""
    return times.timestamp(datetime.fromisoformat(time) + timedelta(seconds=seconds))


def stamped(header: str, time: str) -> str:
    """The header of a playbook that last changed at *time*, as the database has it."""
    return json.dumps({**json.loads(header), "last_updated": time}, ensure_ascii=False)


def _settle(connection: sqlite3.Connection, tallies: list[_Tally], time: str) -> None:
    """Bring the points and the header to where the history leaves them."""
    (header,) = connection.execute("SELECT header FROM heads WHERE playbook_id = 1").fetchone()
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(
        _POINT, [(t.helpful, t.harmful, prompt_text.rank(t.helpful, t.harmful, t.changed_in), t.id) for t in tallies]
    )
    connection.execute("UPDATE heads SET header = ? WHERE playbook_id = 1", (stamped(header, time),))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
