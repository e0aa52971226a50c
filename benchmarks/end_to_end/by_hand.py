"""sde-bench with answers that people write, so it needs no key: the trial of docs/internals/trial.md.

    export SDEBENCH_BOLTONS_HOST=/path/to/boltons
    python -m benchmarks sde-bench --corpus DIR --by-hand FOLDER

The command asks questions as files in FOLDER, and waits for the answers. You can stop it at any time: the same command
goes on. Its figures so far are in FOLDER/figures.txt.

1. Learning: three people answer at once, one for each of FOLDER/learn/1, 2 and 3. A question's answer decides what the
   next question is. So each folder has one open question at a time.
2. Acting: all questions in FOLDER/act/a, b, c and d are open at once. Each of these folders is an arm, and
   FOLDER/act/key.json says which one. Whoever answers must not read that file, and answers for one arm only.
3. Grading: each answer is graded as soon as it is there.

To answer, run `python -m benchmarks.end_to_end.questions FOLDER/learn/1` until it prints DONE. Write your answer to
`FOLDER/learn/1/a/NNN.new`, then rename that to `NNN.txt`. An answer of the wrong form is renamed to `NNN.refused`, and
`NNN.why` gives the reason; then answer again. A question in FOLDER/act says how to answer it.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.end_to_end import hand_acting, hand_learning, sde_bench
from benchmarks.end_to_end.hand_acting import Arms
from benchmarks.end_to_end.hand_learning import Part
from benchmarks.figures import Figures, show

_PAUSE_S = 0.5
_QUICK = 3  # tasks, and decoys


def run(_: Path, *, quick: bool, corpus: Path, folder: Path) -> Figures:
    """Run or go on with a trial in *folder*, and show its results. Raises CorpusError."""
    tasks, decoys = sde_bench.read(corpus), sde_bench.decoys(corpus)
    if quick:
        tasks, decoys = tasks[:_QUICK], decoys[:_QUICK]
    folder = folder.absolute()
    arms = Arms(folder / "act", tasks)
    _say(f"Building the repositories of {len(tasks)} tasks.")
    arms.build()
    parts = hand_learning.parts_of(folder / "learn", tasks, decoys)
    _say(f"Learning. Answer: {', '.join(str(part.questions.folder) for part in parts)}")
    learned = _learn(parts, folder)
    arms.ask([part.export() for part in parts], hand_learning.points_by_task(parts))
    _say(f"{show(learned)}\n\nActing. Answer the questions in each arm's folder in {folder / 'act'}.")
    while not arms.grade():
        _keep(folder, hand_acting.figures(arms.results, len(tasks)), learned)
        time.sleep(_PAUSE_S)
    graded = hand_acting.figures(arms.results, len(tasks))
    _keep(folder, graded, learned)
    return Figures(graded.title, graded.columns, graded.rows, graded.notes, [learned])


def _learn(parts: Sequence[Part], folder: Path) -> Figures:
    """Learn until all conversations of all *parts* are learned. Return the figures."""
    counts: list[int] = []
    while True:
        done = [part.advance() for part in parts]
        if counts != (counts := [part.learned for part in parts]):
            learned = hand_learning.figures(parts)
            _keep(folder, learned)
        if all(done):
            return learned
        time.sleep(_PAUSE_S)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _keep(folder: Path, *figures: Figures) -> None:
    (folder / "figures.txt").write_text("\n\n".join(map(show, figures)) + "\n", "utf-8")
