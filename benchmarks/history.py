"""What the history weighs on the disk, and how long it takes to look into the past."""

import os
import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event

from benchmarks import raw, samples, sandbox
from benchmarks.figures import Figures, alternate, mebibytes, milliseconds, ratio, times
from playbook_db.rules import document, voting
from playbook_db.rules.draft import Draft
from playbook_db.rules.playbook import Vote
from playbook_db.services import checking, interchange, revising
from playbook_db.services.project import Project
from playbook_db.store import history, timeline
from playbook_db.store.engine import Store
from playbook_db.store.past import Past

POINTS = 500
_REVISIONS_A_COMMIT = 500  # only to be quicker; the rows are the same
_START = datetime(2026, 1, 2, tzinfo=UTC)

# What anyone would write who has the tables before them: the last change of each point, and its last text.
_PLAIN_SQL = """
SELECT k.name, t.text, c.section, c.helpful, c.harmful, c.position
FROM (SELECT point_id, max(revision * 100000 + seq) AS at FROM changes
      WHERE playbook_id = :playbook_id AND revision <= :revision GROUP BY point_id) AS last
JOIN changes AS c ON c.playbook_id = :playbook_id AND c.revision = last.at / 100000 AND c.seq = last.at % 100000
JOIN (SELECT point_id, max(revision * 100000 + seq) AS at FROM changes
      WHERE playbook_id = :playbook_id AND revision <= :revision AND text IS NOT NULL GROUP BY point_id) AS told
  ON told.point_id = last.point_id
JOIN changes AS t ON t.playbook_id = :playbook_id AND t.revision = told.at / 100000 AND t.seq = told.at % 100000
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = last.point_id
JOIN sections AS s ON s.slug = c.section
WHERE c.kind <> 'retire'
ORDER BY s.position, c.position
"""


def run(folder: Path, *, quick: bool) -> Figures:
    """100,000 votes on 500 points, 20 a revision and one a revision."""
    votes, rounds = (100_000, 9) if not quick else (2_000, 3)
    rows = []
    for size in (20, 1):
        with tempfile.TemporaryDirectory(dir=folder) as inner, sandbox.opened(Path(inner)) as (store, project):
            reading = document.decode(samples.file_text(POINTS), source="sample")
            interchange.import_playbook(project, reading, source="sample")
            before = _file_bytes(Path(inner))
            _cast(store, project, votes, a_revision=size)
            grown = _file_bytes(Path(inner)) - before
            past, same, plain = _look_back(store, Path(inner), rounds)
            assert not checking.check(store), "the votes didn't go in as they should"
        rows.append(
            (
                f"{votes:,} votes, {size} a revision",
                mebibytes(grown),
                f"{grown / votes:,.0f}",
                milliseconds(past),
                milliseconds(same),
                milliseconds(plain),
                times(ratio(past, same)),
                times(ratio(past, plain)),
            )
        )
    return Figures(
        f"The history of {POINTS} points",
        (
            "", "file grew by", "bytes a vote", "read_at, middle", "its SQL alone", "plain GROUP BY",
            "to its SQL", "to plain",
        ),
        rows,
        (
            "each vote keeps its own row (with a short rationale) and is part of a change: the counters after it",
            "its SQL alone: the statement of read_at through sqlite3; plain: max(revision) by point, as one writes it",
        ),
    )  # fmt: skip


def _cast(store: Store, project: Project, total: int, *, a_revision: int) -> None:
    """Put *total* votes into the history, as sessions give them, *a_revision* to each revision."""
    rng = random.Random(total)
    left = total // a_revision
    while left:
        with store.transaction() as connection:
            past = Past.open_to_write(connection, project.key, now=revising.timestamp(_START))
            assert past.playbook_id is not None
            playbook, count = past.playbook(), min(left, _REVISIONS_A_COMMIT)
            for number in range(past.revision + 1, past.revision + 1 + count):
                draft = Draft(playbook)
                taken = voting.cast_votes(draft, _votes(rng, list(playbook.by_name), a_revision))
                time = revising.timestamp(_START + timedelta(seconds=number))
                new = history.NewRevision(
                    time, "learn", playbook.header.stamped(time), session_id=f"session-{number:06d}",
                    message="learnt from a session", changes=draft.changes, votes=taken,
                )  # fmt: skip
                history.append(connection, past.playbook_id, number, new)
                playbook = replace(draft.playbook(), header=new.header)
            left -= count


def _votes(rng: random.Random, names: list[str], count: int) -> Iterator[Vote]:
    for name in rng.sample(names, count):
        yield Vote(name, rng.choice(("helpful", "helpful", "harmful")), "the test it led to passed")


def _look_back(store: Store, folder: Path, rounds: int) -> list[list[float]]:
    """The seconds that the state at the middle revision takes: by read_at, by its SQL alone, by plain SQL."""
    with closing(raw.connect(sandbox.database_path(folder))) as bare, store.snapshot() as connection:
        (last,) = bare.execute("SELECT max(number) FROM revisions").fetchone()
        wanted = {"playbook_id": 1, "revision": last // 2}
        statements = _statements(connection, lambda: timeline.read_at(connection, 1, last // 2))

        def replay() -> list[list[tuple[object, ...]]]:
            return [bare.execute(statement, given).fetchall() for statement, given in statements]

        def group() -> list[tuple[object, ...]]:
            return bare.execute(_PLAIN_SQL, wanted).fetchall()

        assert group() in replay(), "the plain SQL tells another past than read_at"
        return alternate(lambda: timeline.read_at(connection, 1, last // 2), replay, group, rounds=rounds)


def _statements(connection: Connection, work: Callable[[], object]) -> list[tuple[str, Any]]:
    """The SQL that *work* runs on *connection*, with its values."""
    found: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        found.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", note)
    work()
    event.remove(connection, "before_cursor_execute", note)
    return found


def _file_bytes(folder: Path) -> int:
    """The size of the database file with all of its log worked in."""
    with closing(sqlite3.connect(sandbox.database_path(folder))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return os.path.getsize(sandbox.database_path(folder))
