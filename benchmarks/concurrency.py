"""Many processes change one playbook at once: nothing is lost, and what our floors cost beside the bare database."""

import dataclasses
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import make_url
from sqlalchemy import text as sql

from benchmarks import crowd, raw, samples, sandbox
from benchmarks.figures import Figures, ratio, times
from playbook_db import settings
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import migrate
from playbook_db.store.engine import Store, open_store
from tests import postgres

POINTS = 60
AIM = 3.0  # times the time of bare sqlite3, at most
CROWD_AIM = 4.0  # times the processor time of one process with as many batches, at most
SERVER_AIM = 0.4  # of the rate of bare psycopg, at least


@dataclasses.dataclass(frozen=True, slots=True)
class Round:
    """One crowd's run: from the first beginning to the last end, and processor time of all, in seconds."""

    elapsed_s: float
    cpu_s: float
    slowest_s: float


def run(folder: Path, *, quick: bool) -> Figures:
    """8 processes x 200 batches, and one process alone, ours beside raw sqlite3 in turns."""
    rows = _rows(folder, _new_file, quick=quick)
    return Figures(
        f"Processes that change one playbook of {POINTS} points at once",
        ("", "playbook-db", "raw sqlite3", *_COLUMNS),
        rows,
        (_A_BATCH, f"{_CHECKED}; aim: the time ratio of the crowd at most {AIM:g}x; medians of rounds in turns"),
        [_crowd_beside_one(folder, quick=quick)],
    )


def _crowd_beside_one(folder: Path, *, quick: bool) -> Figures:
    """As many batches by a crowd and by one process alone, in turns."""
    processes, batches, rounds = (4, 3, 1) if quick else (32, 12, 10)
    many, alone = [], []
    for _ in range(rounds):
        many.append(race(folder, _new_file, _ours, processes=processes, batches=batches))
        alone.append(race(folder, _new_file, _ours, processes=1, batches=processes * batches))
    row = (
        f"{processes} x {batches} batches",
        times(ratio([each.cpu_s for each in many], [each.cpu_s for each in alone])),
        times(CROWD_AIM),
        times(ratio([each.elapsed_s for each in many], [each.elapsed_s for each in alone])),
        f"{median(each.slowest_s for each in many):.2f} s",
    )
    columns = ("", "CPU ratio", "aim", "time ratio", "slowest batch")
    return Figures("A crowd beside one process with as many batches", columns, [row], (f"medians of {rounds} rounds",))


def run_on_server(folder: Path, *, quick: bool) -> Figures:
    """The same on a PostgreSQL server with the settings that it comes with, ours beside raw psycopg in turns."""
    server = postgres.Server()
    try:
        rows = _rows(folder, lambda _: _new_database(server.url), quick=quick)
    finally:
        server.remove()
    return Figures(
        f"Processes that change one playbook of {POINTS} points on a server at once",
        ("", "playbook-db", "raw psycopg", *_COLUMNS),
        rows,
        (
            _A_BATCH,
            f"{_CHECKED}; aim: the crowd's rate at least {SERVER_AIM:g} of psycopg's ({1 / SERVER_AIM:g}x its time); "
            "medians of rounds in turns",
        ),
    )


_COLUMNS = "time ratio", "of each round", "CPU ratio", "slowest batch"
_A_BATCH = "a batch: ADD, UPDATE and DELETE in one revision, through services.edit.apply_batch"
_CHECKED = "no update lost, no lock error in any round (checked)"


def _rows(folder: Path, new: Callable[[Path], str], *, quick: bool) -> list[tuple[str, ...]]:
    rows = []
    for processes, batches, rounds in ((8, 200, 5), (1, 400, 5)) if not quick else ((2, 5, 1), (1, 10, 1)):
        ours, bare = [], []
        for _ in range(rounds):
            ours.append(race(folder, new, _ours, processes=processes, batches=batches))
            bare.append(race(folder, new, _raw, processes=processes, batches=batches))
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
    return rows


def _new_file(folder: Path) -> str:
    return sandbox.database_url(folder)


def _new_database(server: Any) -> str:
    made = postgres.new_database(server=server).render_as_string(hide_password=False)
    migrate.migrate(made)
    return made


def race(folder: Path, new: Callable[[Path], str], work: crowd.Work, *, processes: int, batches: int) -> Round:
    """One run of *work* on a *new* database. Raises AssertionError where an update is lost."""
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        place = Path(inner)
        environment = sandbox.environment(place) | {"PLAYBOOK_DB_URL": new(place)}
        with sandbox.living_in(environment), open_store(settings.database_url()) as store:
            project = Project.in_folder(store, str(sandbox.project_folder(place)))
            sandbox.fill(project, POINTS)
            given = {"key": project.key, "batches": batches}
            found = crowd.together([(work, {**given, "number": number}) for number in range(processes)], environment)
            _check_nothing_lost(store, processes, batches)
    began, ended = min(f["began"] for f in found), max(f["ended"] for f in found)
    return Round(ended - began, sum(f["cpu"] for f in found), max(f["slowest"] for f in found))


def _ours(begin: Callable[[], object], key: str, number: int, batches: int) -> dict[str, float]:
    with open_store(settings.database_url()) as store:
        project = Project(store, key)

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


def _raw(begin: Callable[[], object], key: str, number: int, batches: int) -> dict[str, float]:
    url = make_url(settings.database_url())
    if url.get_backend_name() == "postgresql":
        with closing(raw.ServerConnection(url)) as server:
            raw.read_live(server, 1)
            return _timed(begin, lambda batch: raw.apply_on_server(server, key, batch), number, batches)
    path = str(url.database)
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


def _check_nothing_lost(store: Store, processes: int, batches: int) -> None:
    total = processes * batches
    with store.snapshot() as connection:
        revisions = connection.scalar(sql("SELECT count(*) FROM revisions"))
        kinds = Counter(connection.scalars(sql("SELECT kind FROM changes WHERE revision > 1")))
        texts = connection.scalar(sql("SELECT count(DISTINCT text) FROM changes WHERE revision > 1"))
        names = connection.scalar(sql("SELECT count(DISTINCT name) FROM key_points"))
    wanted = {"add": total, "edit": total, "retire": total - processes}
    assert revisions == total + 1, f"{total} batches made {revisions} revisions and not one more"
    assert dict(kinds) == {kind: count for kind, count in wanted.items() if count}, f"changes: {kinds}, not {wanted}"
    assert texts == 2 * total, f"{2 * total} texts were written, {texts} are in the history"
    assert names == POINTS + total, f"{POINTS + total} points were made, {names} have a name"
    problems = maintenance.check(store)
    assert not problems, problems
