"""A change to one point, or a search: the CPU time that it takes in a small playbook and in a large one."""

import itertools
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks import sandbox
from benchmarks.figures import Figures, alternate, milliseconds, times
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.playbook.repository import RevisionResult

_ROUNDS = 31
_AIMS = {
    "vote": "1.5x", "edit": "1.5x", "move": "1.5x", "retire": "1.5x", "search": "5x",
}  # fmt: skip
_COMPARES_ALL = "compares all texts"


def run(folder: Path, *, quick: bool) -> Figures:
    """A vote, an edit, a move to another section, a retirement and what takes it back, an added point, a batch that
    adds one, and a search, in turns in both playbooks."""
    sizes = (50, 500) if quick else (1_000, 100_000)
    with ExitStack() as stack:
        projects = []
        for points in sizes:
            _, project = stack.enter_context(sandbox.opened(folder / str(points)))
            sandbox.fill(project, points)
            projects.append(project)
        changes = _changes()
        works = [partial(_changed, change, project) for change in changes.values() for project in projects]
        taken = alternate(*works, rounds=2 if quick else _ROUNDS, clock=time.process_time)
    rows = [
        (
            name,
            milliseconds(small),
            milliseconds(large),
            times(median(large) / median(small)),
            _AIMS.get(name, _COMPARES_ALL),
        )
        for name, small, large in zip(changes, taken[::2], taken[1::2], strict=True)
    ]
    columns = ("", *(f"{points:,} points" for points in sizes), "ratio", "aim")
    notes = ("medians; the aim is the most that the large playbook may take",)
    return Figures("One change to one point, in CPU time", columns, rows, notes)


def _changes() -> dict[str, Callable[[Project], bool]]:
    """Changes, each of which a playbook can take again and again when they come in this order; each tells whether it
    did something."""
    numbers, sections = itertools.count(), itertools.cycle(("oth", "oth", "pat", "pat"))  # one after the other in both
    changes: dict[str, Callable[[Project], RevisionResult]] = {
        "vote": lambda project: edit.vote(project, "pat-005", "helpful"),
        "edit": lambda project: edit.edit(project, "pat-010", text=f"{next(numbers)}: a text of some length"),
        "move": lambda project: edit.edit(project, "pat-015", section=next(sections)),
        "retire": lambda project: edit.retire(project, "pat-020"),
        "restore": lambda project: edit.restore(project, "pat-020"),
        "add": lambda project: edit.add(project, f"{next(numbers)}: a text of some length"),
        "a batch with ADD": lambda project: edit.apply_batch(
            project,
            [
                {"type": "ADD", "text": f"{next(numbers)}: another text of some length"},
                {"type": "UPDATE", "target_id": "pat-010", "text": f"{next(numbers)}: again"},
            ],
            origin="benchmark",
        ),
    }
    return {name: partial(_is_kept, change) for name, change in changes.items()} | {"search": _finds}


def _finds(project: Project) -> bool:
    with project.store.read(project.key) as book:
        return bool(book.search("17: migration and rollback").points)


def _is_kept(change: Callable[[Project], RevisionResult], project: Project) -> bool:
    return change(project).revision is not None


def _changed(change: Callable[[Project], bool], project: Project) -> None:
    assert change(project)
