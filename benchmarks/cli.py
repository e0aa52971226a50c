"""How long each command takes from start to end, beside a bare interpreter."""

import itertools
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import sandbox
from benchmarks.figures import Figures, alternate, milliseconds, ratio, times
from playbook_db.services.sharing import mirror

POINTS = 60
_ROUNDS = 21
_HELP = ("--help", "--version", "list --help", "log --help", "forget --help")
_ERRORS = (
    "lst", "list --sort nothing", "show nothing", "config NOTHING", "vote nothing helpful", "at nothing",
    "textconv nothing",
)  # fmt: skip
_READS = (
    "list", "render", "list --json", "list --retired", "show pat-005", "show pat-005 --json", "search cache", "status",
    "log", "log pat-005 --json", "sessions", "jobs", "review", "project list", "backup --list", "db path", "sql QUERY",
    "config", "show 1", "why pat-005",
)  # fmt: skip
_WRITES = ("vote pat-005 helpful", "add TEXT", "edit pat-010 --text TEXT", "undo")
_OTHERS = ("prune", "export", "at 1", "diff 1", "stats")
# Times the CPU time of a bare interpreter, at most.
AIMS = ((_HELP, 7.0), (_ERRORS, 8.0), (_READS, 10.0), (_WRITES, 34.0), (_OTHERS, 38.0), (("doctor",), 130.0))
_QUERY = "SELECT count(*) FROM live_key_points"


def run(folder: Path, *, quick: bool) -> Figures:
    """The commands on a playbook of 60 points with an up-to-date mirror, in turns with a bare interpreter."""
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    with sandbox.opened(folder) as (_, project):
        sandbox.fill(project, POINTS)
        mirror.switch(project, on=True)
    rows = []
    for commands, aim in AIMS:
        chosen = commands[:2] if quick else commands
        works = [_work(folder, _playbook(command)) for command in chosen]
        start = _work(folder, lambda: [python, "-I", "-S", "-c", "pass"])
        bare, *taken = alternate(start, *works, rounds=2 if quick else _ROUNDS)
        for name, seconds in zip(chosen, taken, strict=True):
            rows.append((name, milliseconds(seconds), times(ratio(seconds, bare)), f"{aim:g}x", _worst(seconds, bare)))
    return Figures(
        f"Commands from start to end, on a playbook of {POINTS} points",
        ("playbook", "time", "/ bare", "aim", "19 of 20 under"),
        rows,
        (
            f"bare: {python} -I -S -c pass; in turns with all commands of one aim; medians",
            "the mirror is kept and up to date: all that only read do so without SQLAlchemy, but for those with 38x",
            "without an aim are db check and upgrade, which load Alembic, and what asks a model",
        ),
    )


def _playbook(command: str) -> Callable[[], list[str]]:
    """The arguments of a process that runs *command*, with another TEXT each time."""
    script = Path(sys.executable).with_name("playbook")
    start = [str(script)] if script.exists() else [sys.executable, "-m", "playbook_db"]
    texts = itertools.count()

    def arguments() -> list[str]:
        words = {"TEXT": f"{next(texts)}: a text of some length", "QUERY": _QUERY}
        return [*start, *(words.get(word, word) for word in command.split())]

    return arguments


def _work(folder: Path, arguments: Callable[[], list[str]]) -> Callable[[], None]:
    environment = sandbox.environment(folder)
    directory = sandbox.project_folder(folder)

    def work() -> None:
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        done = subprocess.run(arguments(), env=environment, cwd=directory, check=False, **silent)
        if done.returncode not in (0, 1, 2):  # doctor and errors exit with 1 or 2
            raise subprocess.CalledProcessError(done.returncode, done.args)

    return work


def _worst(seconds: Sequence[float], bare: Sequence[float]) -> str:
    return times(statistics.quantiles([a / b for a, b in zip(seconds, bare, strict=True)], n=20)[-1])
