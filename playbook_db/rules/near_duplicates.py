"""Which points may say the same in other words: candidates for the curator and for people, never a reason to merge.

Pure. "Use X, not Y" and "use Y, not X" share all their words: no measure may decide this by itself.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from playbook_db.rules.playbook import KeyPoint

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
