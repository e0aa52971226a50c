"""Which points say the same, and how they become one. What "similar" means is an argument."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import KeyPoint, normalised

DEFAULT_THRESHOLD = 0.85  # cosine; source: contract, section 10
Similarity = Callable[[KeyPoint, KeyPoint], float]


def fold_equal(draft: Draft) -> tuple[KeyPoint, ...]:
    """Fold points whose texts are equal after normalising; those that left come back.

    The first in canonical order survives with its text and the summed counters.
    """
    survivors: dict[str, str] = {}
    folded: list[KeyPoint] = []
    for point in draft.points():
        survivor = survivors.setdefault(normalised(point.text), point.name)
        if survivor != point.name:
            _fold(draft, point, survivor)
            folded.append(point)
    return tuple(folded)


def fold_similar(draft: Draft, similarity: Similarity, *, threshold: float) -> tuple[KeyPoint, ...]:
    """Fold each point into the first earlier survivor that is at least *threshold* similar to it.

    Compared with survivors only, so that a chain of neighbours can't swallow points that are nothing alike;
    afterwards no two live points are that similar. *threshold* is clamped to 0..1; what is no number is the default.
    """
    bound = DEFAULT_THRESHOLD if math.isnan(threshold) else min(1.0, max(0.0, threshold))
    survivors: list[KeyPoint] = []
    folded: list[KeyPoint] = []
    for point in draft.points():
        survivor = _first_similar(point, survivors, similarity, bound)
        if survivor is None:
            survivors.append(point)
        else:
            _fold(draft, point, survivor.name)
            folded.append(point)
    return tuple(folded)


def _first_similar(
    point: KeyPoint, survivors: Iterable[KeyPoint], similarity: Similarity, threshold: float
) -> KeyPoint | None:
    return next((other for other in survivors if similarity(point, other) >= threshold), None)


def _fold(draft: Draft, point: KeyPoint, survivor: str) -> None:
    kept = draft[survivor]
    if point.helpful or point.harmful:
        draft.change(
            replace(kept, helpful=kept.helpful + point.helpful, harmful=kept.harmful + point.harmful),
            kind="edit",
            reason=f"took over the votes of its duplicate {point.name}",
        )
    draft.retire(point.name, reason=f"duplicate of {survivor}", successor=survivor)


# Which points may say the same in other words: candidates for the curator and for people, never a reason to merge.
#
# Pure. "Use X, not Y" and "use Y, not X" share all their words: no measure may decide this by itself.


LEAST_LIKENESS = 0.45  # share of common words, from 0 to 1
MOST_PAIRS = 10
_COMMONEST = 50  # points that share a word; a word of more points says little, and pairs grow with their square
_MOST_COMPARED = 500_000  # pairs, so that a huge playbook takes seconds at most
_WORD = re.compile(r"[^\W_]{3,}")


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two points whose words are alike: `likeness` is the share of their words that they have in common."""

    one: KeyPoint
    other: KeyPoint
    likeness: float


def near_pairs(points: Sequence[KeyPoint], *, most: int = MOST_PAIRS) -> list[NearPair]:
    """The *most* alike pairs of *points*, the most alike first; ties in the points' order."""
    words = [frozenset(_WORD.findall(point.text.casefold())) for point in points]
    holders: dict[str, list[int]] = {}
    for place, found in enumerate(words):
        for word in found:
            holders.setdefault(word, []).append(place)
    shared: Counter[tuple[int, int]] = Counter()
    left = _MOST_COMPARED
    for places in sorted(holders.values(), key=len):  # rare words first: they say the most
        left -= len(places) * (len(places) - 1) // 2
        if len(places) > _COMMONEST or left < 0:
            break
        shared.update(combinations(places, 2))
    pairs = []
    for (first, second), count in shared.items():
        if count < 2:
            continue
        likeness = len(words[first] & words[second]) / len(words[first] | words[second])
        if likeness >= LEAST_LIKENESS:
            pairs.append((-likeness, first, second))
    return [NearPair(points[first], points[second], -less) for less, first, second in sorted(pairs)[:most]]
