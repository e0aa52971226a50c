"""Many processes change one playbook at once: nothing is lost, and what our floors cost beside bare SQLite."""

import dataclasses
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import crowd, raw, samples, sandbox
from benchmarks.figures import Figures, ratio, times
from playbook_db.services import edit, maintenance
from playbook_db.services.projects import Project
from playbook_db.store.engine import open_store

POINTS = 60
AIM = 3.0  # times the time of bare sqlite3, at most


@dataclasses.dataclass(frozen=True, slots=True)
class Round:
    """One crowd's run: from the first beginning to the last end, and processor time of all, in seconds."""

    elapsed_s: float
    cpu_s: float
    slowest_s: float


def run(folder: Path, *, quick: bool) -> Figures:
    """8 processes x 200 batches, and one process alone, ours beside raw sqlite3 in turns."""
    rows = []
    for processes, batches, rounds in ((8, 200, 5), (1, 400, 5)) if not quick else ((2, 5, 1), (1, 10, 1)):
        ours, bare = [], []
        for _ in range(rounds):
            ours.append(race(folder, "ours", processes=processes, batches=batches))
            bare.append(race(folder, "raw", processes=processes, batches=batches))
        elapsed, bare_elapsed = [r.elapsed_s for r in ours], [r.elapsed_s for r in bare]
        rate, bare_rate = (processes * batches / sorted(seconds)[rounds // 2] for seconds in (elapsed, bare_elapsed))
        rows.append(
            (
                f"{processes} x {batches} batches",
                f"{rate:,.0f}/s",
                f"{bare_rate:,.0f}/s",
                times(ratio(elapsed, bare_elapsed)),
                f"{min(a / b for a, b in zip(elapsed, bare_elapsed, strict=True)):.2f} to "
                f"{max(a / b for a, b in zip(elapsed, bare_elapsed, strict=True)):.2f}",
                times(ratio([r.cpu_s for r in ours], [r.cpu_s for r in bare])),
                f"{max(r.slowest_s for r in ours):.2f} / {max(r.slowest_s for r in bare):.2f} s",
            )
        )
    return Figures(
        f"Processes that change one playbook of {POINTS} points at once",
        ("", "playbook-db", "raw sqlite3", "time ratio", "of each round", "CPU ratio", "slowest batch"),
        rows,
        (
            "a batch: ADD, UPDATE and DELETE in one revision, through services.edit.apply_batch",
            "no update lost, no lock error in any round (checked); "
            f"aim: the time ratio of the crowd at most {AIM:g}x; medians of rounds in turns",
        ),
    )


def race(folder: Path, kind: str, *, processes: int, batches: int) -> Round:
    """One run on a database of its own, of *kind* `ours` or `raw`. Raises AssertionError where an update is lost."""
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        place = Path(inner)
        with sandbox.opened(place) as (_, project):
            sandbox.fill(project, POINTS)
        work = _ours if kind == "ours" else _raw
        given = [(work, {"folder": str(place), "number": number, "batches": batches}) for number in range(processes)]
        found = crowd.together(given, sandbox.environment(place))
        _check_nothing_lost(place, processes, batches)
    began, ended = min(f["began"] for f in found), max(f["ended"] for f in found)
    return Round(ended - began, sum(f["cpu"] for f in found), max(f["slowest"] for f in found))


def _ours(begin: Callable[[], object], folder: str, number: int, batches: int) -> dict[str, float]:
    with open_store(sandbox.database_url(Path(folder))) as store:
        project = Project.in_folder(store, str(sandbox.project_folder(Path(folder))))

        def step(batch: raw.Batch) -> str:
            operations: list[dict[str, Any]] = [
                {"type": "ADD", "text": batch.added, "section": "OTHERS"},
                {"type": "UPDATE", "target_id": batch.reworded, "text": batch.text},
            ]
            if batch.retired is not None:
                operations.append({"type": "DELETE", "target_id": batch.retired})
            revised = edit.apply_batch(project, operations, origin="benchmark")
            assert not revised.skipped, revised.skipped
            return revised.changes[0].point.name

        return _timed(begin, step, number, batches)


def _raw(begin: Callable[[], object], folder: str, number: int, batches: int) -> dict[str, float]:
    path = sandbox.database_path(Path(folder))
    key = Project.in_folder(None, str(sandbox.project_folder(Path(folder)))).key  # type: ignore[arg-type]
    with closing(raw.connect(path)) as connection:
        raw.read_live(connection, 1)
        return _timed(begin, lambda batch: raw.apply(connection, path, key, batch), number, batches)


def _timed(
    begin: Callable[[], object], step: Callable[[raw.Batch], str], number: int, batches: int
) -> dict[str, float]:
    names = [point.name for point in samples.playbook(POINTS).points]
    mine: str | None = None
    slowest = 0.0
    begin()
    began, cpu = time.monotonic(), time.process_time()
    for count in range(batches):
        said = f"of process {number}, batch {count}: {'x' * samples.TEXT_LENGTH}"
        started = time.monotonic()
        mine = step(raw.Batch(f"new {said}", names[(number + count) % POINTS], f"again {said}", mine))
        slowest = max(slowest, time.monotonic() - started)
    return {"began": began, "ended": time.monotonic(), "cpu": time.process_time() - cpu, "slowest": slowest}


def _check_nothing_lost(folder: Path, processes: int, batches: int) -> None:
    total = processes * batches
    with closing(sqlite3.connect(sandbox.database_path(folder))) as connection:
        (revisions,) = connection.execute("SELECT count(*) FROM revisions").fetchone()
        kinds = Counter(row[0] for row in connection.execute("SELECT kind FROM changes WHERE revision > 1"))
        (texts,) = connection.execute("SELECT count(DISTINCT text) FROM changes WHERE revision > 1").fetchone()
        (names,) = connection.execute("SELECT count(DISTINCT name) FROM key_points").fetchone()
    wanted = {"add": total, "edit": total, "retire": total - processes}
    assert revisions == total + 1, f"{total} batches made {revisions - 1} revisions"
    assert dict(kinds) == {kind: count for kind, count in wanted.items() if count}, f"changes: {kinds}, not {wanted}"
    assert texts == 2 * total, f"{2 * total} texts were written, {texts} are in the history"
    assert names == POINTS + total, f"{POINTS + total} points were made, {names} have a name"
    with open_store(sandbox.database_url(folder)) as store:
        problems = maintenance.check(store)
    assert not problems, problems
