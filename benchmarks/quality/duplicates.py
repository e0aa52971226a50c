"""Candidates for duplicates: which pairs of key points the curator and people see, because they may say the same.

The pairs of `pairs.json` were written and split before the rule was chosen. Only paraphrases count as right, although a
curator may want to see contradictions, too. Paraphrases that share no words ("distant") are counted apart: no rule
about words finds them.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figures
from playbook_db.domain.duplicates import MAX_PAIRS, MIN_LIKENESS, likeness, near_pairs, near_points, words_of
from playbook_db.domain.playbook import KeyPoint

PAIRS = Path(__file__).with_name("pairs.json")
SPLITS = ("train", "held-out")
BOUNDS = (0.20, 0.24, MIN_LIKENESS, 0.28, 0.30, 0.34, 0.40, 0.45)
POINTS, PLANTED, RUNS = 60, 10, 200

Measure = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts; the label says whether they say the same."""

    label: str
    one: str
    other: str


def run(*, quick: bool) -> Iterator[Figures]:
    """The table of the pairs, of the bounds, and of playbooks with planted paraphrases."""
    pairs = {split: read_pairs(split) for split in SPLITS}
    yield Figures(
        "Candidates for duplicates: labeled pairs of key points",
        ("", "recall", "precision", "contradictions", "near misses", "unrelated", "distant"),
        [(split, *_row(pairs[split], alike, MIN_LIKENESS)) for split in SPLITS],
        ("Recall is of the paraphrases; wrong is all else that is shown, but the distant paraphrases.",),
    )
    yield Figures(
        "Candidates for duplicates: bounds, on the pairs of train",
        ("likeness from", "recall", "precision", "contradictions", "near misses", "unrelated", "distant"),
        [(f"{bound:.2f}", *_row(pairs["train"], alike, bound)) for bound in BOUNDS],
    )
    runs = 5 if quick else RUNS
    yield Figures(
        f"Candidates for duplicates: playbooks of {POINTS} points, {PLANTED} of them planted paraphrases, {runs} runs",
        ("", "recall", "wrong a run", f"recall in {MAX_PAIRS}", f"wrong in {MAX_PAIRS}"),
        [(split, *_planted(pairs[split], runs)) for split in SPLITS],
        (
            f"A prompt is shown {MAX_PAIRS} pairs of the playbook, and the neighbors of each new lesson:",
            *(f"{split}: {_neighbors(pairs[split])}" for split in SPLITS),
        ),
    )


def read_pairs(split: str) -> list[Pair]:
    """The labeled pairs of that *split*."""
    pairs = json.loads(PAIRS.read_text("utf-8"))["pairs"]
    return [Pair(pair["label"], pair["one"], pair["other"]) for pair in pairs if pair["split"] == split]


def alike(one: str, other: str) -> float:
    """How much alike two texts are, as the playbook's candidates are chosen."""
    return likeness(words_of(one), words_of(other))


def recall_and_precision(pairs: Sequence[Pair], measure: Measure, bound: float) -> tuple[float, float]:
    """Which share of the paraphrases is shown, and which share of what is shown are paraphrases."""
    shown = _shown(pairs, measure, bound)
    shown.pop("distant", None)
    paraphrases = sum(pair.label == "same" for pair in pairs)
    return shown["same"] / paraphrases, shown["same"] / max(1, shown.total())


def _shown(pairs: Sequence[Pair], measure: Measure, bound: float) -> Counter[str]:
    return Counter(pair.label for pair in pairs if measure(pair.one, pair.other) >= bound)


def _row(pairs: Sequence[Pair], measure: Measure, bound: float) -> tuple[str, ...]:
    shown, all_of = _shown(pairs, measure, bound), Counter(pair.label for pair in pairs)
    labels = ("contradiction", "near", "unrelated", "distant")
    figures = recall_and_precision(pairs, measure, bound)
    return (*(f"{figure:.3f}" for figure in figures), *(f"{shown[label]} of {all_of[label]}" for label in labels))


def _planted(pairs: Sequence[Pair], runs: int) -> tuple[str, ...]:
    """Recall and wrong candidates a run, in all that are alike enough, and in as many as a prompt is shown."""
    found, wrong = Counter[str](), Counter[str]()
    texts = [pair for pair in pairs if pair.label in ("same", "distant")]  # no two of them are about the same
    for seed in range(runs):
        chance = random.Random(seed)
        planted = chance.sample([pair for pair in texts if pair.label == "same"], PLANTED)
        others = chance.sample([pair for pair in texts if pair not in planted], POINTS - 2 * PLANTED)
        points = [KeyPoint(str(place), pair.one) for place, pair in enumerate([*planted, *others])]
        points += [KeyPoint(f"{place}'", pair.other) for place, pair in enumerate(planted)]
        chance.shuffle(points)
        for limit in (MAX_PAIRS, POINTS**2):
            names = [{one.name, other.name} for one, other, _ in near_pairs(points, limit=limit)]
            right = sum(names.count({str(place), f"{place}'"}) for place in range(PLANTED))
            found[str(limit)] += right
            wrong[str(limit)] += len(names) - right
    return tuple(
        figure
        for limit in (str(POINTS**2), str(MAX_PAIRS))
        for figure in (f"{found[limit] / runs / PLANTED:.3f}", f"{wrong[limit] / runs:.2f}")
    )


def _neighbors(pairs: Sequence[Pair]) -> str:
    """How often a text's paraphrase is among its neighbors, when all of the pairs' first texts are the playbook."""
    points = [KeyPoint(str(place), pair.one) for place, pair in enumerate(pairs)]
    found = count = shown = 0
    for place, pair in enumerate(pairs):
        if pair.label == "same":
            near = near_points(pair.other, points)
            count, shown = count + 1, shown + len(near)
            found += str(place) in [point.name for point, _ in near]
    return f"the paraphrase is among the neighbors of {found} of {count} new texts, {shown / count:.1f} are shown"
