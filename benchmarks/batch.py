"""One curator batch on small and large playbooks: how its time grows, beside bare SQLite reading the same points."""

import random
import sqlite3
import statistics
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import raw, samples, sandbox
from benchmarks.figures import Figures, alternate, milliseconds, ratio, times
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook

_ROUNDS = {100: 41, 1_000: 31, 10_000: 11, 100_000: 5}  # how often a batch is timed, by size of the playbook


def run(folder: Path, *, quick: bool) -> Figures:
    """A batch of 10 operations on 100 to 100,000 points, in turns with raw sqlite3 reading those points."""
    rows = []
    before: float | None = None
    for points in _ROUNDS:
        if quick and points > 1_000:
            continue
        ours, bare = measure(folder, points, rounds=2 if quick else _ROUNDS[points])
        median = statistics.median(ours)
        grown = times(median / before) if before else "-"
        rows.append((f"{points:,} points", milliseconds(ours), milliseconds(bare), times(ratio(ours, bare)), grown))
        before = median
    return Figures(
        "One curator batch of 10 operations",
        ("", "batch, median", "raw read, median", "time ratio", "grown by"),
        rows,
        (
            "a batch: 3 ADD, 4 UPDATE, 2 DELETE, 1 MERGE of two points, one revision, committed",
            "raw read: sqlite3 fetching the same live points and spent names, no more; in turns with the batch",
        ),
    )


def measure(folder: Path, points: int, *, rounds: int) -> tuple[list[float], list[float]]:
    """The seconds of a batch and of a bare read in each of *rounds* rounds."""
    with tempfile.TemporaryDirectory(dir=folder) as inner, sandbox.opened(Path(inner)) as (_, project):
        sandbox.fill(project, points)
        rng = random.Random(points)
        ours: list[float] = []
        bare: list[float] = []
        with closing(raw.connect(sandbox.database_path(Path(inner)))) as connection:
            for number in range(rounds):
                operations = _batch(project, rng, number)
                (one,), (other,) = alternate(
                    lambda given=operations: _apply(project, given), lambda: _read(connection), rounds=1
                )
                ours.append(one)
                bare.append(other)
        return ours, bare


def _apply(project: Project, operations: list[dict[str, Any]]) -> None:
    revised = edit.apply_batch(project, operations, origin="benchmark")
    assert len(revised.changes) == 12, revised.skipped  # a merge of two is three changes


def _read(connection: sqlite3.Connection) -> None:
    raw.read_live(connection, 1)
    connection.execute("SELECT name FROM key_points WHERE playbook_id = 1 AND retired_in IS NOT NULL").fetchall()


def _batch(project: Project, rng: random.Random, number: int) -> list[dict[str, Any]]:
    """Ten valid operations on the playbook as it is now, after which it has as many points as before."""
    names = rng.sample([point.name for point in read_playbook(project).points], 8)
    said = "x" * samples.TEXT_LENGTH
    return [
        *({"type": "ADD", "text": f"new {number} {n} {said}", "section": "OTHERS"} for n in range(3)),
        *({"type": "UPDATE", "target_id": names[n], "text": f"again {number} {n} {said}"} for n in range(4)),
        *({"type": "DELETE", "target_id": names[n]} for n in (4, 5)),
        {"type": "MERGE", "source_ids": names[6:8], "merged_text": f"both {number} {said}"},
    ]
