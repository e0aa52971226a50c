"""Figures: how they are taken (side by side, in turns), and how they are shown."""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """What a benchmark found: a table under a title, with the words that a reader needs."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    more: Sequence["Figures"] = ()  # further tables of the same benchmark


def alternate(
    *works: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> list[list[float]]:
    """The seconds of each of *works* in each of *rounds* rounds: A B A B, so that both meet the same machine."""
    taken: list[list[float]] = [[] for _ in works]
    gc.freeze()  # what was there before is none of the works': it isn't looked at each time
    for _ in range(rounds):
        for work, seconds in zip(works, taken, strict=True):
            gc.collect()
            started = clock()
            work()
            seconds.append(clock() - started)
    return taken


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """How many times as much *ours* is: the median over the rounds of the ratio within one."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def milliseconds(seconds: Sequence[float]) -> str:
    """The median of *seconds*, in ms, as shown."""
    return f"{statistics.median(seconds) * 1000:,.2f} ms"


def times(value: float) -> str:
    """A ratio as shown."""
    return f"{value:.2f}x"


def mebibytes(size_bytes: float) -> str:
    """A size as shown."""
    return f"{size_bytes / 2**20:,.1f} MiB"


def show(figures: Figures) -> str:
    """The figures as text: a title, a table, the notes; then further tables."""
    rows = [list(figures.columns), *(list(row) for row in figures.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(figures.columns))]
    lines = [figures.title, "-" * len(figures.title)]
    for row in rows:
        first, *others = [
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join([first, *others]).rstrip())
    table = "\n".join([*lines, *(f"  {note}" for note in figures.notes)])
    return "\n\n".join([table, *map(show, figures.more)])
