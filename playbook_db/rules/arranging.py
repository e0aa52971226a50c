"""The order of the points where two playbooks become one: whose it is, and putting ours into it."""

from collections.abc import Sequence
from dataclasses import replace

from playbook_db.rules.draft import Draft
from playbook_db.rules.playbook import KeyPoint, Playbook
from playbook_db.rules.sections import SECTION_ORDER


def theirs_decides(base: Playbook, ours: Playbook, theirs: Playbook) -> bool:
    """Whether the order is to be the other side's: we left it alone, and they changed it or we added nothing."""
    if _common_order(ours, base, theirs) != _common_order(base, ours, theirs):
        return False
    they_moved = _common_order(theirs, base, ours) != _common_order(base, theirs, ours)
    return they_moved or ours.by_name.keys() == base.by_name.keys()


def arrange(draft: Draft, like: Playbook) -> None:
    """Put the draft's points into the order of *like*; those that it doesn't have come last in their section."""
    rank = {point.name: place for place, point in enumerate(like.points)}
    by_section: dict[str, list[KeyPoint]] = {section: [] for section in SECTION_ORDER}
    for point in draft.points():
        by_section[point.section].append(point)
    for points in by_section.values():
        wanted = sorted(points, key=lambda point: rank.get(point.name, len(rank)))
        if wanted != points:
            _renumber(draft, wanted)


def _common_order(of: Playbook, *others: Playbook) -> list[str]:
    """The names of *of* that all the *others* have too, in the order of *of*."""
    return [point.name for point in of.points if all(point.name in other.by_name for other in others)]


def _renumber(draft: Draft, points: Sequence[KeyPoint]) -> None:
    for point in points:
        draft.place(replace(point, position=draft.free_position()), kind="move")
