"""Which points say the same: equal texts, texts that a given measure calls similar, and candidates by their words.

"Use X, not Y" and "use Y, not X" share all their words: no measure may merge by itself. Similar points are folded for
callers who give a threshold; candidates are shown to the curator and to people, who decide.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import combinations

from playbook_db.domain.draft import Draft
from playbook_db.domain.likeness import MIN_LIKENESS, likeness, words_of
from playbook_db.domain.playbook import KeyPoint, normalised

DEFAULT_THRESHOLD = 0.85  # cosine; source: contract, section 10
MAX_PAIRS = 10
_MAX_COMPARED = 500_000  # pairs, so that a huge playbook takes seconds at most

Similarity = Callable[[KeyPoint, KeyPoint], float]


def fold_equal(draft: Draft) -> tuple[KeyPoint, ...]:
    """Fold points whose texts are equal after normalising. Returns those that were retired.

    The first in canonical order stays, with its text and the sum of the counters.
    """
    survivors: dict[str, str] = {}
    return _fold(draft, lambda point: survivors.setdefault(normalised(point.text), point.name))


def fold_similar(draft: Draft, similarity: Similarity, *, threshold: float) -> tuple[KeyPoint, ...]:
    """Fold each point into the first earlier survivor that is at least *threshold* similar to it.

    Returns those that were retired. Only survivors are compared: a chain of neighbours can't swallow points that
    have nothing in common, and afterwards no two live points are that similar. *threshold* is clamped to 0..1; NaN
    means the default.
    """
    bound = DEFAULT_THRESHOLD if math.isnan(threshold) else min(1.0, max(0.0, threshold))
    survivors: list[KeyPoint] = []

    def survivor(point: KeyPoint) -> str:
        found = next((other for other in survivors if similarity(point, other) >= bound), None)
        survivors.extend([] if found else [point])
        return (found or point).name

    return _fold(draft, survivor)


def near_pairs(
    points: Sequence[KeyPoint], *, apart: Collection[tuple[str, str]] = (), limit: int = MAX_PAIRS
) -> list[tuple[KeyPoint, KeyPoint, float]]:
    """The *limit* pairs of *points* that are most alike by their words, and how much.

    The most alike come first, ties in the points' order. Not among them are those *apart*: pairs of names of which
    somebody decided that they stay two. In a huge playbook pairs are compared that share two rare words.
    """
    words = [words_of(point.text) for point in points]
    holders: dict[str, list[int]] = {}
    for place, words_here in enumerate(words):
        for word in words_here:
            holders.setdefault(word, []).append(place)
    shared: Counter[tuple[int, int]] = Counter()
    compared = 0
    for places in sorted(holders.values(), key=len):  # rare words first: they say the most
        compared += len(places) * (len(places) - 1) // 2
        if compared > _MAX_COMPARED:
            break
        shared.update(combinations(places, 2))
    names = {frozenset(pair) for pair in apart}
    found = []
    for (first, second), count in shared.items():
        one, other = words[first], words[second]
        alike = likeness(one, other) if count > 1 or one == other else 0.0
        if alike >= MIN_LIKENESS and frozenset((points[first].name, points[second].name)) not in names:
            found.append((-alike, first, second))
    return [(points[first], points[second], -less) for less, first, second in sorted(found)[:limit]]


def near_points(text: str, points: Sequence[KeyPoint], *, limit: int = MAX_PAIRS) -> list[tuple[KeyPoint, float]]:
    """The *limit* of *points* that are most like *text* by their words, and how much; ties in the points' order."""
    return _near_words(words_of(text), [(point, words_of(point.text)) for point in points], limit)


def _near_words(
    words: frozenset[str], points: Sequence[tuple[KeyPoint, frozenset[str]]], limit: int
) -> list[tuple[KeyPoint, float]]:
    scored = [(point, likeness(words, of_point)) for point, of_point in points]
    return sorted((each for each in scored if each[1] >= MIN_LIKENESS), key=lambda each: -each[1])[:limit]


def candidates(
    points: Sequence[KeyPoint], texts: Sequence[str] = (), *, apart: Collection[tuple[str, str]] = ()
) -> tuple[list[tuple[str, str]], dict[int, list[str]]]:
    """What a curator is asked about: the names of *points* that may say the same, two by two, but for those that stay
    *apart*; and by the place of each of the new *texts*, from 0, the names of the points that may say it already."""
    pairs = [(one.name, other.name) for one, other, _ in near_pairs(points, apart=apart)]
    known = [(point, words_of(point.text)) for point in points] if texts else []
    near = {place: _near_words(words_of(text), known, MAX_PAIRS) for place, text in enumerate(texts)}
    return pairs, {place: [point.name for point, _ in found] for place, found in near.items() if found}


def fold_into(draft: Draft, name: str, duplicate: str, *, text: str | None = None) -> None:
    """Retire the point *duplicate* in favour of the point *name*, which takes over its votes, and gets another *text*
    where one is given."""
    kept, point = draft[name], draft[duplicate]
    folded = replace(
        kept,
        text=text or kept.text,
        helpful=kept.helpful + point.helpful,
        harmful=kept.harmful + point.harmful,
    )
    if folded != kept:
        has_votes = point.helpful or point.harmful
        reason = f"took over the votes of its duplicate {duplicate}" if has_votes else f"merged with {duplicate}"
        draft.change(folded, kind="edit", reason=reason)
    draft.retire(duplicate, reason=f"duplicate of {name}", successor=name)


def _fold(draft: Draft, survivor: Callable[[KeyPoint], str]) -> tuple[KeyPoint, ...]:
    """Fold each point into its survivor, of which it is given the name. Returns those that were retired."""
    folded = []
    for point in draft.points():
        name = survivor(point)
        if name == point.name:
            continue
        fold_into(draft, name, point.name)
        folded.append(point)
    return tuple(folded)
