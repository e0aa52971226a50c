"""How much of what matters in a tool's output is left when it is shortened for the reflector, against head and tail.

The decisive lines are planted (see `tool_output`); one survives where all of it stands in the shortened text.
"""

import re
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from benchmarks.figures import Figures
from benchmarks.quality import held_out_tools, known_tools
from benchmarks.quality.tool_output import PLACES, Case, Kind, cases
from playbook_db.claude_code.transcripts.condensing import RESULT_LIMIT, condense, cut_middle
from playbook_db.claude_code.transcripts.parts import Part

_SIZES = {1_000: 8, 10_000: 8, 100_000: 8, 1_000_000: 2, 5_000_000: 1}  # characters, seeds of each
_QUICK = {1_000: 2, 10_000: 2, 100_000: 1}
_SEED = 14_000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Kept:
    """How many of a case's decisive lines survive in ours and in head and tail, and the seconds ours took."""

    kind: str
    size: int
    place: str
    lines: int
    ours: int
    ends: int
    seconds: float


def run(*, quick: bool) -> Figures:
    """The share of decisive lines that survive, by tool, size and place; the milliseconds a megabyte takes."""
    sizes = _QUICK if quick else _SIZES
    known, held_out = (list(measure(tools.KINDS, sizes)) for tools in (known_tools, held_out_tools))
    both = [*known, *held_out]
    rows = [_row("tools the rules were written with", known), _row("tools held out", held_out)]
    rows.append(_row("both, where the output is longer", [kept for kept in both if kept.size > RESULT_LIMIT]))
    rows += [_row(f"  {place}", [kept for kept in both if kept.place == place]) for place in PLACES]
    rows += [_row(f"  {size:,} characters", [kept for kept in both if kept.size == size]) for size in sizes]
    for part in known, held_out:
        rows += [_row(f"  {name}", of_kind) for name, of_kind in _grouped(part, lambda kept: kept.kind)]
    return Figures(
        f"Decisive lines that survive in {RESULT_LIMIT:,} characters",
        ("", "cases", "lines", "ours", "head and tail", "ms of CPU a megabyte"),
        rows,
        ("The output is made up, by the authors of the rules; of a thousand characters everything survives.",),
    )


def measure(kinds: Iterable[Kind], sizes: dict[int, int]) -> Iterator[Kept]:
    """Every case of *kinds*, for as many seeds as *sizes* says."""
    for kind in kinds:
        for seed in range(max(sizes.values())):
            for case in cases(kind, _SEED + seed, [size for size, seeds in sizes.items() if seed < seeds]):
                started = time.process_time()
                ours = condense(Part("result", case.text))
                seconds = time.process_time() - started
                ends = cut_middle(case.text, RESULT_LIMIT)
                lines = len(case.decisive)
                survivors = _survivors(case, ours), _survivors(case, ends)
                yield Kept(case.kind, case.size, case.place, lines, *survivors, seconds)


def _survivors(case: Case, text: str) -> int:
    plain = _COLOURS.sub("", text)
    return sum(line in plain for line in case.decisive)


def _row(name: str, part: Iterable[Kept]) -> tuple[str, ...]:
    part = list(part)
    lines = sum(kept.lines for kept in part)
    ours, ends = sum(kept.ours for kept in part), sum(kept.ends for kept in part)
    largest = max(kept.size for kept in part)
    speed = statistics.median(kept.seconds / kept.size * 1e9 for kept in part if kept.size == largest)
    return (
        name,
        f"{len(part)}",
        f"{lines}",
        f"{100 * ours / lines:.1f} %",
        f"{100 * ends / lines:.1f} %",
        f"{speed:.0f}",
    )


def _grouped(part: Iterable[Kept], key: Callable[[Kept], str]) -> Iterator[tuple[str, list[Kept]]]:
    groups: dict[str, list[Kept]] = defaultdict(list)
    for kept in part:
        groups[key(kept)].append(kept)
    yield from groups.items()
