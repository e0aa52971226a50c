"""What the history weighs on the disk, and how long it takes to look into the past and to take something of it back."""

import itertools
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from benchmarks import long_history, raw, sandbox
from benchmarks.figures import Figures, alternate, milliseconds, ratio, times
from playbook_db.domain import prompt_text
from playbook_db.domain.merging.diff import Comparison
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.services import maintenance
from playbook_db.services.playbook import undo as undo_service
from playbook_db.services.project import Project
from playbook_db.services.reading import history, statistics
from playbook_db.services.reading.history import LogQuery

_NAME = "pat-005"

# What anyone would write who has the tables before them: the last change of each point, and its last text.
AT = """
SELECT k.name, t.text, c.section, c.helpful, c.harmful, c.position
FROM (SELECT point_id, max(revision * 100000 + seq) AS at FROM changes
      WHERE playbook_id = 1 AND revision <= :revision GROUP BY point_id) AS last
JOIN changes AS c ON c.playbook_id = 1 AND c.revision = last.at / 100000 AND c.seq = last.at % 100000
JOIN (SELECT point_id, max(revision * 100000 + seq) AS at FROM changes
      WHERE playbook_id = 1 AND revision <= :revision AND text IS NOT NULL GROUP BY point_id) AS told
  ON told.point_id = last.point_id
JOIN changes AS t ON t.playbook_id = 1 AND t.revision = told.at / 100000 AND t.seq = told.at % 100000
JOIN key_points AS k ON k.playbook_id = 1 AND k.id = last.point_id
JOIN sections AS s ON s.slug = c.section
WHERE c.kind <> 'retire'
ORDER BY s.position, c.position
"""
_LOG = """
SELECT r.number, r.time, r.source, r.session_id, r.message, c.kind, c.helpful, c.harmful, c.text, c.reason
FROM key_points AS k
JOIN changes AS c ON c.playbook_id = 1 AND c.point_id = k.id
JOIN revisions AS r ON r.playbook_id = 1 AND r.number = c.revision
WHERE k.playbook_id = 1 AND k.name = :name
ORDER BY r.number DESC
"""
_VOTES = """
SELECT substr(r.time, 1, 10) AS day, v.tag, count(*)
FROM votes AS v JOIN revisions AS r ON r.playbook_id = 1 AND r.number = v.revision
WHERE v.playbook_id = 1 GROUP BY day, v.tag
"""
_DONE = """
SELECT c.point_id, c.section, c.position, c.helpful, c.harmful, k.helpful, k.harmful,
       (SELECT b.helpful FROM changes AS b WHERE b.playbook_id = 1 AND b.point_id = c.point_id
        AND b.revision < :revision ORDER BY b.revision DESC LIMIT 1),
       (SELECT b.harmful FROM changes AS b WHERE b.playbook_id = 1 AND b.point_id = c.point_id
        AND b.revision < :revision ORDER BY b.revision DESC LIMIT 1)
FROM changes AS c JOIN key_points AS k ON k.playbook_id = 1 AND k.id = c.point_id
WHERE c.playbook_id = 1 AND c.revision = :revision
"""


@dataclass(frozen=True, slots=True)
class _Look:
    """What is measured: ours, and the plain SQL that does the same; `is_read` where ours can be replayed as SQL."""

    name: str
    ours: Callable[[], Any]
    plain: Callable[[], Any]
    is_read: bool = True


def run(folder: Path, *, quick: bool) -> Figures:
    """1,000,000 changes over 500 points, 20 a revision; and what 100,000 weigh at one a revision."""
    votes, rounds = (1_000_000, 15) if not quick else (2_000, 1)
    one_each = _weigh(folder, votes // 10, a_revision=1)
    with tempfile.TemporaryDirectory(dir=folder) as inner, sandbox.opened(Path(inner)) as (store, project):
        path = sandbox.database_path(Path(inner))
        bytes_a_vote, shares = _fill(project, path, votes, a_revision=20)
        assert not maintenance.check(store), "the votes didn't go in as they should"
        with closing(raw.connect(path)) as bare:
            rows = [_measured(look, bare, rounds) for look in _looks(project, bare, votes // 20)]
        assert not maintenance.check(store), "the undos aren't what they should be"
    return Figures(
        f"The history: {votes:,} changes over {long_history.POINTS} points, {votes // 20:,} revisions of 20",
        ("", "ours", "its SQL alone", "plain SQL", "to its SQL", "to plain"),
        rows,
        (
            "the processor's time in one process; its SQL alone: our statements by sqlite3, nothing made of the rows",
            "plain SQL: as anyone writes it who has the tables before them; the undo's writes the same rows,",
            "that beside stats only counts the votes by day",
            f"bytes a vote in the file: {bytes_a_vote:,.0f} at 20 a revision ({shares}), {one_each[0]:,.0f} at one",
            "a vote is its own row, with a rationale of 25 characters, and a change with the counters after it",
        ),
        more=(_with_many_points(folder, quick=quick),),
    )


def _with_many_points(folder: Path, *, quick: bool) -> Figures:
    """`at` and `diff` of 10,000 points after 100,000 changes."""
    points, votes, rounds = (10_000, 100_000, 15) if not quick else (60, 300, 1)
    with tempfile.TemporaryDirectory(dir=folder) as inner, sandbox.opened(Path(inner)) as (_, project):
        path = sandbox.database_path(Path(inner))
        sandbox.fill(project, points)
        project.store.tidy()
        long_history.cast(path, votes, a_revision=1)
        with closing(raw.connect(path)) as bare:
            looks = [look for look in _looks(project, bare, votes) if look.name.startswith(("at,", "diff,"))]
            rows = [_measured(look, bare, rounds) for look in looks]
    return Figures(
        f"The history: {votes:,} changes over {points:,} points, one a revision",
        ("", "ours", "its SQL alone", "plain SQL", "to its SQL", "to plain (aim: 3x)"),
        rows,
    )


def _weigh(folder: Path, votes: int, *, a_revision: int) -> tuple[float, str]:
    with tempfile.TemporaryDirectory(dir=folder) as inner, sandbox.opened(Path(inner)) as (store, project):
        weighed = _fill(project, sandbox.database_path(Path(inner)), votes, a_revision=a_revision)
        assert not maintenance.check(store), "the votes didn't go in as they should"
        return weighed


def _fill(project: Project, path: str, votes: int, *, a_revision: int) -> tuple[float, str]:
    """Fill the database; the bytes that a vote took, and which tables and indexes they are in."""
    long_history.make(project, path)
    before = _file_bytes(path)
    long_history.cast(path, votes, a_revision=a_revision)
    grown = _file_bytes(path) - before
    return grown / votes, _shares(path, votes)


def _looks(project: Project, bare: sqlite3.Connection, last: int) -> list[_Look]:
    middle = last // 2
    revisions = itertools.count(middle + 1)

    def diff() -> Comparison:
        return history.difference(history.at(project, str(middle)), history.at(project, "now"))

    def plain_diff() -> dict[str, object]:
        old = {row[0]: row[1:] for row in at()}
        new = {row[1]: row[2:] for row in raw.read_live(bare, 1)}
        return {name: (old.get(name), row) for name, row in new.items() if old.get(name) != row}

    def at() -> list[Any]:
        return bare.execute(AT, {"revision": middle}).fetchall()

    def undo(*, dry_run: bool) -> object:
        number = next(revisions)
        return undo_service.undo(project, RevisionRange(number, number), dry_run=dry_run)

    told = history.at(project, str(middle)).playbook.points
    assert [(p.name, p.text, p.helpful, p.harmful) for p in told] == [(*row[:2], *row[3:5]) for row in at()]
    assert len(diff().voted) == len(plain_diff()), "the plain SQL finds other differences"
    return [
        _Look("at, the middle revision", lambda: history.at(project, str(middle)), at),
        _Look(
            f"log {_NAME}, all of it",
            lambda: list(history.log(project, LogQuery(name=_NAME))),
            lambda: bare.execute(_LOG, {"name": _NAME}).fetchall(),
        ),
        _Look(
            f"log {_NAME}, the newest 20",
            lambda: list(history.log(project, LogQuery(name=_NAME, limit=20))),
            lambda: bare.execute(f"{_LOG} LIMIT 20", {"name": _NAME}).fetchall(),
        ),
        _Look("diff, the middle and now", diff, plain_diff),
        _Look("stats", lambda: statistics.gather(project), lambda: bare.execute(_VOTES).fetchall()),
        _Look(
            "undo of a middle one, rehearsed",
            lambda: undo(dry_run=True),
            lambda: bare.execute(_DONE, {"revision": next(revisions)}).fetchall(),
        ),
        _Look(
            "undo of a middle one",
            lambda: undo(dry_run=False),
            lambda: _plain_undo(bare, next(revisions)),
            is_read=False,
        ),
    ]


def _measured(look: _Look, bare: sqlite3.Connection, rounds: int) -> tuple[str, ...]:
    statements = _statements(look.ours) if look.is_read else []

    def replay() -> None:
        for statement, given in statements:
            bare.execute(statement, given).fetchall()

    ours, same, plain = alternate(look.ours, replay, look.plain, rounds=rounds, clock=time.process_time)
    same_told = (milliseconds(same), times(ratio(ours, same))) if look.is_read else ("", "")
    return look.name, milliseconds(ours), same_told[0], milliseconds(plain), same_told[1], times(ratio(ours, plain))


def _statements(work: Callable[[], object]) -> list[tuple[str, Any]]:
    """The SQL that *work* runs, with its values."""
    found: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        found.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    work()
    event.remove(Engine, "before_cursor_execute", note)
    return found


def _plain_undo(bare: sqlite3.Connection, revision: int) -> None:
    """Take the votes of *revision* back, as a revision."""
    bare.execute("BEGIN IMMEDIATE")
    (number, header) = bare.execute(
        "SELECT max(number) + 1, h.header FROM heads AS h JOIN revisions USING (playbook_id) WHERE playbook_id = 1"
    ).fetchone()
    (time,) = bare.execute("SELECT time FROM revisions WHERE playbook_id = 1 AND number = ?", (number - 1,)).fetchone()
    later = long_history.time_after(time, 1)
    states = [
        (point, section, position, helpful - after_helpful + before_helpful, harmful - after_harmful + before_harmful)
        for point, section, position, after_helpful, after_harmful, helpful, harmful, before_helpful, before_harmful
        in bare.execute(_DONE, {"revision": revision}).fetchall()
    ]  # fmt: skip
    bare.execute(
        "INSERT INTO revisions (playbook_id, number, time, source, actor, message) VALUES (1, ?, ?, 'undo', 'bare', ?)",
        (number, later, f"undid revision {revision} (learn)"),
    )
    bare.executemany(
        "INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful)"
        " VALUES (1, ?, ?, ?, 'edit', ?, ?, ?, ?)",
        [(number, seq, *state) for seq, state in enumerate(states, 1)],
    )
    bare.executemany(
        "UPDATE key_points SET helpful = ?, harmful = ?, rank = ? WHERE playbook_id = 1 AND id = ?",
        [
            (helpful, harmful, prompt_text.rank(helpful, harmful, number), point)
            for point, _, _, helpful, harmful in states
        ],
    )
    bare.execute("UPDATE heads SET header = ? WHERE playbook_id = 1", (long_history.stamped(header, later),))
    bare.execute("COMMIT")


def _shares(path: str, votes: int) -> str:
    """The bytes a vote of what weighs most, in words; empty where this SQLite can't tell."""
    with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.OperationalError):
        rows = connection.execute("SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE ORDER BY 2 DESC LIMIT 4")
        return ", ".join(f"{name} {size / votes:,.0f}" for name, size in rows)
    return ""


def _file_bytes(path: str) -> int:
    """The size of the database file with all of its log worked in."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return os.path.getsize(path)
