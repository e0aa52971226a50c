"""Many processes vote and add at once, through the dict functions and through batches: nothing is lost."""

import contextlib
import io
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import crowd, samples, sandbox
from benchmarks.torture.promises import promise
from playbook_db import contract
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import open_store

BASE_POINTS = 60
_RENAMED = "belongs to another text here"
_VOTES = 3  # in each round of a process that uses the dict functions


@dataclass(frozen=True, slots=True)
class Crowd:
    """The processes, votes and points of a crowd, its seconds, its slowest step, its renamed points and its errors."""

    processes: int
    votes: int
    added: int
    elapsed_s: float
    slowest_s: float
    renamed: int
    other_notes: tuple[str, ...]


def run(folder: Path, *, processes: int, rounds: int, seed: int) -> Crowd:
    """Let *processes* processes, every other one by the dict functions, go *rounds* rounds on one playbook.

    Raises AssertionError where a vote or point is lost or doubled, or the database or mirror isn't right after it.
    """
    with sandbox.opened(folder) as (_, project):
        sandbox.fill(project, BASE_POINTS)
        before = {point.name: point.helpful for point in read_playbook(project).points}
    works = [
        (
            _by_dict if number % 2 == 0 else _by_batch,
            {"folder": str(folder), "number": number, "rounds": rounds, "seed": f"{seed}-{number}"},
        )
        for number in range(processes)
    ]
    found = crowd.together(works, sandbox.environment(folder))
    votes: Counter[str] = sum((Counter(f["votes"]) for f in found), Counter())
    added = [text for f in found for text in f["added"]]
    _check(folder, before, votes, added)
    elapsed = max(f["ended"] for f in found) - min(f["began"] for f in found)
    lines = [line for f in found for line in f["told"]]
    others = tuple(line for line in lines if _RENAMED not in line)
    slowest = max(f["slowest"] for f in found)
    return Crowd(processes, votes.total(), len(added), elapsed, slowest, len(lines) - len(others), others)


def _check(folder: Path, before: dict[str, int], votes: Counter[str], added: list[str]) -> None:
    with sandbox.opened(folder) as (store, project):
        points = read_playbook(project).points
        wrong = [
            f"{name}: {before[name]} + {votes[name]} votes, has {point.helpful}"
            for point in points
            if (name := point.name) in before and point.helpful != before[name] + votes[name]
        ]
        promise(not wrong, f"votes were lost or doubled: {wrong[:5]}")
        there = Counter(point.text for point in points if point.name not in before)
        promise(there == Counter(added), f"of {len(added)} points added {there.total()} are there, each once")
        promise(len(points) == len(before) + len(added), "points were lost")
        problems = maintenance.check(store)
        promise(not problems, f"the database is not sound: {problems}")
        notes = mirror.sync(project).notes
        promise(not notes, f"the mirror: {notes}")
        text = import_export.export_playbook(project).encode()
        promise(Path(project.mirror_path).read_bytes() == text, "the mirror is not the playbook")
    with closing(sqlite3.connect(sandbox.database_path(folder))) as connection:
        promise(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "integrity_check finds faults")


def _by_dict(begin: Callable[[], object], folder: str, number: int, rounds: int, seed: str) -> dict[str, Any]:
    """Load, change and save the playbook as a program does that was written against the JSON file."""

    def step(count: int, names: list[str]) -> tuple[list[str], list[str]]:
        playbook = contract.load_playbook()
        text = f"by dict {number}, round {count}"
        result = {
            "operations": [{"type": "ADD", "text": text, "section": "MISTAKES TO AVOID"}],
            "evaluations": [{"name": name, "rating": "helpful"} for name in names],
        }
        contract.save_playbook(contract.update_playbook_data(playbook, result))
        return names, [text]

    return _go(begin, step, rounds, seed)


def _by_batch(begin: Callable[[], object], folder: str, number: int, rounds: int, seed: str) -> dict[str, Any]:
    """Apply a batch and vote, as the command does."""
    with open_store(sandbox.database_url(Path(folder))) as store:
        project = Project.in_folder(store, str(sandbox.project_folder(Path(folder))))

        def step(count: int, names: list[str]) -> tuple[list[str], list[str]]:
            texts = [f"by batch {number}, round {count}, {which}" for which in ("one", "two")]
            adds = [{"type": "ADD", "text": text, "section": "MISTAKES TO AVOID"} for text in texts]
            edit.apply_batch(project, adds, origin="torture")
            edit.vote(project, names[0], "helpful")
            return names[:1], texts

        return _go(begin, step, rounds, seed)


def _go(
    begin: Callable[[], object], step: Callable[[int, list[str]], tuple[list[str], list[str]]], rounds: int, seed: str
) -> dict[str, Any]:
    rng = random.Random(seed)
    names = [point.name for point in samples.playbook(BASE_POINTS).points]
    votes: Counter[str] = Counter()
    added: list[str] = []
    slowest = 0.0
    stderr = io.StringIO()
    begin()
    began = time.monotonic()
    with contextlib.redirect_stderr(stderr):
        for count in range(rounds):
            started = time.monotonic()
            voted, texts = step(count, rng.sample(names, _VOTES))
            slowest = max(slowest, time.monotonic() - started)
            votes.update(voted)
            added += texts
    ended = time.monotonic()
    lines = stderr.getvalue().splitlines()
    return {
        "began": began, "ended": ended, "slowest": slowest, "votes": dict(votes), "added": added, "told": lines,
    }  # fmt: skip
