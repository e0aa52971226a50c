"""Points whose texts name their batch, so that half a batch can be recognized.

A text reads `[tag/size number] ...`: *size* points of one batch carry the same tag. A batch adds, rewords or retires
a whole group; whenever one looks, all points of a group must have met the same fate.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

_TEXT = re.compile(r"\[(?P<group>\S+/(?P<size>\d+)) \d+\]")


def texts(tag: str, size: int) -> list[str]:
    """The texts of a group of *size* points."""
    return [f"[{tag}/{size} {number}] what the batch {tag} has to say" for number in range(1, size + 1)]


def group_of(text: str) -> str | None:
    """The group that *text* belongs to, or None."""
    found = _TEXT.match(text)
    return found["group"] if found else None


def members(points: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The names in each group of *points*, which are names and texts."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, text in points:
        group = group_of(text)
        if group is not None:
            found[group].append(name)
    return found


def halves(live: Iterable[tuple[str, str]], retired: Iterable[tuple[str, str]]) -> list[str]:
    """The groups of which only some points are *live* or *retired*, in words."""
    alive, gone = members(live), members(retired)
    found = []
    for group in sorted(alive.keys() | gone.keys()):
        size = int(group.rpartition("/")[2])
        counts = len(alive.get(group, ())), len(gone.get(group, ()))
        if counts not in ((size, 0), (0, size)):
            found.append(f"{group}: {counts[0]} live and {counts[1]} retired")
    return found
