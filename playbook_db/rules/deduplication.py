"""Which points say the same, and how they become one. What "similar" means is an argument."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from playbook_db.rules.draft import Draft
from playbook_db.rules.playbook import KeyPoint
from playbook_db.rules.texts import normalised

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
