"""Learning from one session piece by piece, as PreCompact and SessionEnd ask for it, beside learning from it in one."""

import os
import shutil
from itertools import count
from pathlib import Path

from benchmarks import sandbox
from benchmarks.figures import Figures, alternate, ratio, times
from benchmarks.learning import AtOnce
from playbook_db.claude_code import learner

_BYTES, _PIECES, _ROUNDS = 50_000_000, 50, 3
_QUICK_BYTES, _QUICK_PIECES, _QUICK_ROUNDS = 500_000, 5, 1


def run(folder: Path, *, quick: bool) -> Figures:
    """A transcript of 50 MB at once and in 50 pieces: the CPU time of one process, git's included, in turns."""
    from tests.transcripts import write_long

    size, pieces, rounds = (_QUICK_BYTES, _QUICK_PIECES, _QUICK_ROUNDS) if quick else (_BYTES, _PIECES, _ROUNDS)
    content = Path(write_long(folder / "source.jsonl", size)).read_bytes()
    numbers, chunks = count(), {1: 0, pieces: 0}

    def work(cuts: int) -> None:
        home = folder / f"round-{next(numbers)}"
        chunks[cuts] = _learn(home, content, cuts)
        shutil.rmtree(home)

    whole, cut = alternate(lambda: work(1), lambda: work(pieces), rounds=rounds, clock=_cpu_seconds)
    rows = [
        ("in one", f"{min(whole):.1f} s", f"{chunks[1]:,}", times(1)),
        (f"in {pieces} pieces", f"{min(cut):.1f} s", f"{chunks[pieces]:,}", times(ratio(cut, whole))),
    ]
    return Figures(
        f"Learning from a session of {size // 10**6} MB, with a model that answers at once",
        ("", "CPU time", "chunks", "ratio"),
        rows,
        ("one process, which learns whenever a piece was written; the least of all rounds, and the median ratio",),
    )


def _learn(home: Path, content: bytes, pieces: int) -> int:
    """Learn from a transcript whenever a further one of so many *pieces* stands in it: how many chunks that were."""
    path = home / "session.jsonl"
    ends = [content.find(b"\n", len(content) * number // pieces - 1) + 1 for number in range(1, pieces + 1)]
    chunks = 0
    with sandbox.opened(home) as (_, project):
        for start, end in zip([0, *ends], ends, strict=False):
            with path.open("ab") as file:
                file.write(content[start:end])
            chunks += len(learner.learn_transcript(project, str(path), AtOnce()).learned)
    return chunks


def _cpu_seconds() -> float:
    return sum(os.times()[:4])
