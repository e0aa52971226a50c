"""Which key points leave the playbook because their votes say they harm."""

from playbook_db.rules.draft import Draft
from playbook_db.rules.playbook import KeyPoint

PRUNE_MIN_HARMFUL = 3  # votes; fewer are too thin to act on


def is_harmful(point: KeyPoint) -> bool:
    """Whether the votes say that *point* does more harm than good.

    Harmful means at least PRUNE_MIN_HARMFUL harmful votes and more of them than helpful ones; a point
    never voted on stays. Source: scoring specification, REQ-SCORE-007.
    """
    return point.harmful >= PRUNE_MIN_HARMFUL and point.harmful > point.helpful


def prune(draft: Draft) -> tuple[KeyPoint, ...]:
    """Retire every harmful point of the draft; they come back in canonical order."""
    leaving = tuple(point for point in draft.points() if is_harmful(point))
    for point in leaving:
        draft.retire(point.name, reason=f"pruned: {point.harmful} harmful, {point.helpful} helpful")
    return leaving
