"""Both hooks as Claude Code starts them, beside a bare interpreter and one that imports sqlite3 and json."""

import itertools
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from benchmarks import sandbox
from benchmarks.figures import Figures, alternate, milliseconds, ratio, times
from playbook_db.store.sqlite import dialect

_SIZES = ((0, 0), (60, 0), (60, 1_000_000), (500, 10_000), (10_000, 100_000), (100_000, 1_000_000))  # points, history
_VOTES_A_REVISION = 20
_ROUNDS = 60


def run(folder: Path, *, quick: bool) -> Figures:
    """The hooks on playbooks of 0 to 100,000 points with a history of up to 1,000,000 rows."""
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    rows = []
    for points, history in _SIZES:
        if quick and max(points, history) > 100:
            continue
        bare, importing, inject, enqueue = measure(folder, python, points, history, rounds=2 if quick else _ROUNDS)
        rows.append(
            (
                f"{points:,} points, {history:,} rows",
                milliseconds(bare),
                times(ratio(importing, bare)),
                milliseconds(inject),
                times(ratio(inject, bare)),
                milliseconds(enqueue),
                times(ratio(enqueue, bare)),
                f"{statistics.quantiles(inject, n=20)[-1] * 1000:.1f} / "
                f"{statistics.quantiles(enqueue, n=20)[-1] * 1000:.1f} ms",
            )
        )
    return Figures(
        "The hooks, from start to end of the process",
        ("", "bare", "sqlite3, json", "inject", "/ bare", "enqueue", "/ bare", "19 of 20 under"),
        rows,
        (
            f"bare: {python} -I -S -c pass; all four in turns, medians; {_ROUNDS} rounds",
            "inject prints the playbook and records what it showed; enqueue waits until its row is on the disk",
        ),
    )


def measure(folder: Path, python: str, points: int, history: int, *, rounds: int) -> list[list[float]]:
    """The seconds of a bare interpreter, one that imports sqlite3 and json, inject and enqueue, in each round."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        home = Path(made)
        with sandbox.opened(home) as (_, project):
            sandbox.fill(project, points)
        data = home / "home" / ".claude" / "playbook"
        data.mkdir(parents=True, exist_ok=True)
        (data / "worker.lock").touch()  # a worker has looked, as after each session; inject starts none then
        if history and points:
            _add_history(sandbox.database_path(home), points, history)
        bare = [python, "-I", "-S", "-c", "pass"]
        importing = [python, "-I", "-S", "-c", "import sqlite3, json"]
        sessions = itertools.count()
        *taken, _ = alternate(
            _work(home, bare, lambda _: {}, sessions),
            _work(home, importing, lambda _: {}, sessions),
            _work(home, hook(python, "inject"), session_start, sessions, says=points > 0),
            _work(home, hook(python, "enqueue"), session_end, sessions),
            lambda: _be_the_worker(sandbox.database_path(home)),
            rounds=rounds,
        )
        _check(home, rounds)
        return taken


def _be_the_worker(path: str) -> None:
    """What the worker leaves after each session: the jobs done, the write-ahead log worked in."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE jobs SET state = 'done' WHERE state = 'queued'")
    dialect.checkpoint(path, least_bytes=1)


def hook(python: str, name: str, *, root: Path = sandbox.ROOT) -> list[str]:
    """What starts the hook *name* of the checkout *root*."""
    return [python, "-I", "-S", str(root / "hooks" / f"{name}.py"), "user", "/bin/true"]


def session_start(session: str) -> dict[str, str]:
    """What Claude Code tells `inject`."""
    return {"hook_event_name": "SessionStart", "source": "startup", "session_id": session}


def session_end(session: str) -> dict[str, str]:
    """What Claude Code tells `enqueue`."""
    return {
        "hook_event_name": "SessionEnd",
        "reason": "other",
        "session_id": session,
        "transcript_path": f"/transcripts/{session}.jsonl",
    }


def _work(
    home: Path,
    command: list[str],
    event: Callable[[str], dict[str, str]],
    sessions: Iterator[int],
    *,
    says: bool = False,
) -> Callable[[], None]:
    environment = sandbox.environment(home)

    def work() -> None:
        payload = json.dumps(event(f"session-{next(sessions)}")).encode()
        done = subprocess.run(command, input=payload, env=environment, capture_output=True, check=True)
        assert says == (len(done.stdout) > 1000), done.stdout

    return work


def _add_history(path: str, points: int, rows: int) -> None:
    """Let the points have been voted on *rows* times; what the points are afterwards doesn't matter here."""
    with closing(sqlite3.connect(path)) as connection:
        triggers = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        revisions = range(2, 2 + rows // _VOTES_A_REVISION)
        connection.executemany(
            "INSERT INTO revisions (playbook_id, number, time, source, actor) VALUES (1, ?, ?, 'learn', 'ann@laptop')",
            ((number, f"2026-01-01T00:00:00.{number:08d}+00:00") for number in revisions),
        )
        connection.executemany(
            "INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful)"
            " VALUES (1, ?, ?, ?, 'vote', 'pat', 1, 1, 0)",
            (
                (number, seq, (number * _VOTES_A_REVISION + seq) % points + 1)
                for number in revisions
                for seq in range(1, _VOTES_A_REVISION + 1)
            ),
        )
        for statement in dialect.statements("triggers.sql"):
            connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _check(home: Path, rounds: int) -> None:
    """Each end of a session has left its job, each start its record."""
    with closing(sqlite3.connect(sandbox.database_path(home))) as connection:
        (jobs,) = connection.execute("SELECT count(*) FROM jobs").fetchone()
        (live,) = connection.execute("SELECT sum(live_points) FROM heads").fetchone()
        (shown,) = connection.execute("SELECT count(*) FROM injections").fetchone()
    assert jobs == rounds, jobs
    assert shown == (rounds if live else 0), shown
