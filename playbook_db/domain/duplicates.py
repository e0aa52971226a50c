"""Merging duplicate points, and finding points that may be duplicates.

"Use X, not Y" and "use Y, not X" have the same words. So points with similar words are only candidates: the curator or
a person decides about them. `fold_similar` merges points by another measure, which its caller gives. The constants of
this module were chosen on benchmarks/quality/pairs.json (docs/internals/evidence.md).
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import KeyPoint

DEFAULT_THRESHOLD = 0.85  # cosine; source: contract, section 10
MAX_PAIRS = 10
_MAX_COMPARED = 500_000  # pairs, so that a huge playbook takes seconds at most
MIN_LIKENESS = 0.26  # of two candidates, from 0 to 1
_BEGINNING = 4  # letters of a word that are compared: commit, commits, committing
# Short words ("uv", "CI", "Go") and short options ("-x") count; a Chinese or Japanese character is a word.
_WORD = r"(?<![\w-])-[^\W_](?!\w)|[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+"
_WORD_IN_ASCII = r"(?<![\w-])-[^\W_](?!\w)|[^\W_]+"  # is compiled much faster
# Words without a topic, in the languages of known playbooks.
_EMPTY_WORDS = """
    a all also always an and any are as at be been before after both but by can do does don each else every for from
    has have here how i if in into is isn it its just like make me must need needs never no not of off on one only or
    other our out over should so some such t than that the their them then there these they this those to too under up
    use used uses using via was we were what when where which while who will with without you your
    als am auch auf aus bei bevor das dass dem den der des die dies diese dort du ein eine einem einen einer eines er es
    für hat hier ich im immer ins ist kann kein keine man mit muss müssen nach nicht nie noch nur nutze oder per sich
    sie sind soll statt über um und uns vom von vor während wenn werden wie wird wir zu zum zur
    au aux avant avec ce cette dans de du elle en est et il jamais la le les leur mais même n ne nous ou où par pas pour
    qu que qui s sa sans se ses si son sont sur toujours un une utilise y à être
    al antes como con cuando del el ella es este esta hay las lo los más muy nunca o para pero por sí siempre sin sobre
    su sus una usa usar ya
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())

Similarity = Callable[[KeyPoint, KeyPoint], float]


def fold_similar(draft: Draft, similarity: Similarity, *, threshold: float) -> tuple[KeyPoint, ...]:
    """Merge each point into the first remaining earlier point whose similarity is at least *threshold*.

    Return the retired points. A retired point isn't compared again, so a chain of similar points can't merge different
    ones. *threshold* is limited to 0..1; NaN means the default.
    """
    bound = DEFAULT_THRESHOLD if math.isnan(threshold) else min(1.0, max(0.0, threshold))
    survivors: list[KeyPoint] = []
    folded: list[KeyPoint] = []
    for point in draft.points():
        survivor = next((other for other in survivors if similarity(point, other) >= bound), None)
        if survivor is None:
            survivors.append(point)
        else:
            fold_into(draft, survivor.name, point.name)
            folded.append(point)
    return tuple(folded)


def near_pairs(
    points: Sequence[KeyPoint], *, apart: Collection[tuple[str, str]] = (), limit: int = MAX_PAIRS
) -> list[tuple[KeyPoint, KeyPoint, float]]:
    """Return at most *limit* pairs of *points* with similar words, most similar first, each pair with its likeness.

    *apart*: pairs of names that somebody decided not to merge. In a huge playbook, only pairs that share two rare
    words are compared. Equally similar pairs keep their order.
    """
    words = [words_of(point.text) for point in points]
    holders: dict[str, list[int]] = {}
    for place, words_here in enumerate(words):
        for word in words_here:
            holders.setdefault(word, []).append(place)
    shared: Counter[tuple[int, int]] = Counter()
    compared = 0
    for places in sorted(holders.values(), key=len):  # rare words first
        compared += len(places) * (len(places) - 1) // 2
        if compared > _MAX_COMPARED:
            break
        shared.update(combinations(places, 2))
    names = {frozenset(pair) for pair in apart}
    pairs = []
    for (first, second), count in shared.items():
        one, other = words[first], words[second]
        alike = likeness(one, other) if count > 1 or one == other else 0.0
        if alike >= MIN_LIKENESS and frozenset((points[first].name, points[second].name)) not in names:
            pairs.append((-alike, first, second))
    return [(points[first], points[second], -less) for less, first, second in sorted(pairs)[:limit]]


def near_points(text: str, points: Sequence[KeyPoint], *, limit: int = MAX_PAIRS) -> list[tuple[KeyPoint, float]]:
    """Return at most *limit* points with words similar to *text*, most similar first, each with its likeness."""
    return _near_words(words_of(text), [(point, words_of(point.text)) for point in points], limit)


def _near_words(
    words: frozenset[str], points: Sequence[tuple[KeyPoint, frozenset[str]]], limit: int
) -> list[tuple[KeyPoint, float]]:
    scored = [(point, likeness(words, of_point)) for point, of_point in points]
    return sorted((each for each in scored if each[1] >= MIN_LIKENESS), key=lambda each: -each[1])[:limit]


def candidates(
    points: Sequence[KeyPoint], texts: Sequence[str] = (), *, apart: Collection[tuple[str, str]] = ()
) -> tuple[list[tuple[str, str]], dict[int, list[str]]]:
    """Return possible duplicates for the curator: pairs of similar *points*, and points similar to new *texts*.

    Points are given by name. Pairs in *apart* are left out. The second result has a list for the index of each text.
    """
    pairs = [(one.name, other.name) for one, other, _ in near_pairs(points, apart=apart)]
    known = [(point, words_of(point.text)) for point in points] if texts else []
    near = {place: _near_words(words_of(text), known, MAX_PAIRS) for place, text in enumerate(texts)}
    return pairs, {place: [point.name for point, _ in matches] for place, matches in near.items() if matches}


def names_in(item: Any, names: Iterable[str]) -> list[str]:
    """Return those of the points' *names* that the texts of *item*, a lesson or a tag, mention."""
    texts = [value for value in item.values() if isinstance(value, str)] if isinstance(item, dict) else []
    words = set(re.findall(r"[\w-]+", " ".join(texts)))
    return [name for name in names if name in words]


def fold_into(draft: Draft, name: str, duplicate: str) -> None:
    """Add the votes of the point *duplicate* to the point *name*, and retire *duplicate*."""
    survivor, point = draft[name], draft[duplicate]
    if point.helpful or point.harmful:
        helpful, harmful = survivor.helpful + point.helpful, survivor.harmful + point.harmful
        reason = f"added the votes of its duplicate {duplicate}"
        draft.change(replace(survivor, helpful=helpful, harmful=harmful), kind="edit", reason=reason)
    draft.retire(duplicate, cause="duplicate", reason=f"duplicate of {name}", successor=name)


def words_of(text: str) -> frozenset[str]:
    """Return the words of *text*, cut to their beginnings. Words such as "the" count only if there are no others."""
    words = set(re.findall(_WORD_IN_ASCII if text.isascii() else _WORD, text.casefold()))
    return frozenset(word[:_BEGINNING] if word.isalpha() else word for word in words - _EMPTY or words)


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how alike two texts with the words *one* and *other* are, from 0 to 1 (the same words).

    The likeness is the number of shared words divided by the number of all words. Both numbers are reduced by one, so
    different texts that share a single word have 0.
    """
    shared = len(one & other)
    if not shared:
        return 0.0
    return 1.0 if one == other else (shared - 1) / (len(one | other) - 1)
