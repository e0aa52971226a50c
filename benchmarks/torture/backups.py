"""Backups taken again and again while a crowd writes: each is sound, and is one revision of the playbook exactly."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import crowd, samples, sandbox
from benchmarks.torture.promises import promise
from playbook_db.domain import playbook_file
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.sqlite.backups import held_in

BASE_POINTS = 60


@dataclass(frozen=True, slots=True)
class Backups:
    """What was done: processes that wrote, revisions that they made, backups, how many of these fell between two
    writes, and the longest that a backup and a write took."""

    writers: int
    revisions: int
    backups: int
    in_between: int
    slowest_backup_s: float
    slowest_write_s: float


def run(folder: Path, *, writers: int, rounds: int, seed: int) -> Backups:
    """Let *writers* processes write *rounds* times each while two others take backups until those are through.

    Raises AssertionError where a backup isn't sound, or isn't the playbook as it was at its last revision.
    """
    with sandbox.opened(folder) as (_, project):
        sandbox.fill(project, BASE_POINTS)
    given = {"folder": str(folder), "writers": writers}
    works = [(_write, {**given, "number": number, "rounds": rounds, "seed": seed}) for number in range(writers)]
    found = crowd.together([*works, (_back_up, given), (_back_up, given)], sandbox.environment(folder))
    taken = [path for each in found[writers:] for path in each["taken"]]
    revisions = [_look(folder, path) for path in taken]
    with sandbox.opened(folder) as (_, project), project.store.read(project.key) as book:
        last = book.revision
    return Backups(
        writers,
        last,
        len(taken),
        sum(1 < revision < last for revision in revisions),
        max(each["slowest"] for each in found[writers:]),
        max(each["slowest"] for each in found[:writers]),
    )


def _look(folder: Path, path: str) -> int:
    """The last revision in the backup at *path*, which is sound and equals the live database's past there."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        promise(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], f"{path} has faults")
    problems = maintenance.check_database(f"sqlite:///{path}").problems
    promise(not problems, f"{path} is not sound: {problems}")
    (held,) = held_in(path)
    copied = Path(path).with_suffix(".opened")
    copied.write_bytes(Path(path).read_bytes())
    with open_store(f"sqlite:///{copied}") as store:
        told = import_export.export_playbook(Project.in_folder(store, str(sandbox.project_folder(folder))))
    with sandbox.opened(folder) as (store, project), store.snapshot() as connection:
        then = playbook_file.encode(PlaybookRepository(connection, project.key).at(held.revision), layout="sections")
    promise(told == then, f"{path} is not revision {held.revision}")
    return held.revision


def _write(
    begin: Callable[[], object], folder: str, number: int, rounds: int, seed: int, writers: int
) -> dict[str, Any]:
    slowest = 0.0
    names = [point.name for point in samples.playbook(BASE_POINTS).points]
    with open_store(sandbox.database_url(Path(folder))) as store:
        project = Project.in_folder(store, str(sandbox.project_folder(Path(folder))))
        begin()
        for count in range(rounds):
            started = time.monotonic()
            if count % 3:
                edit.vote(project, names[(number + count * seed) % len(names)], "helpful")
            else:
                adds = [{"type": "ADD", "text": f"writer {number}, round {count}, {which}"} for which in ("one", "two")]
                edit.apply_batch(project, adds, origin="torture")
            slowest = max(slowest, time.monotonic() - started)
    Path(folder, f"writer-{number}.done").touch()
    return {"slowest": slowest}


def _back_up(begin: Callable[[], object], folder: str, writers: int) -> dict[str, Any]:
    taken, slowest = [], 0.0
    begin()
    while len(list(Path(folder).glob("writer-*.done"))) < writers or not taken:
        started = time.monotonic()
        taken.append(maintenance.take(sandbox.database_url(Path(folder))).path)
        slowest = max(slowest, time.monotonic() - started)
    return {"taken": taken, "slowest": slowest}
