"""What comes in from an older copy of a playbook: nothing that was forgotten here since comes back with it.

Pure. A forgotten point is known by its name, and a passage that was taken out by what stands around its mark.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from playbook_db.rules.erasing import MARK, encoded
from playbook_db.rules.playbook import Header, KeyPoint, Playbook


def may_have_been(text: str, blanked: str) -> bool:
    """Whether *text* may be what stood in *blanked* before something of it was forgotten."""
    if MARK not in blanked or text == blanked:
        return False
    return bool(re.fullmatch(".*".join(map(re.escape, blanked.split(MARK))), text, re.DOTALL))


def as_forgotten(known: Mapping[str, KeyPoint], theirs: Playbook) -> tuple[Playbook, tuple[str, ...]]:
    """*theirs*, which may come from before something was forgotten in the points *known* by name, and a word on each.

    Where a text may be what stood in one of them, it is taken for what that says now: the other side hasn't changed it.
    """
    points, notes = [], []
    for point in theirs.points:
        before = known.get(point.name)
        if before is not None and may_have_been(point.text, before.text):
            notes.append(f"{point.name}: the text that came in may hold what was forgotten here; ours stays")
            point = replace(point, text=before.text)
        points.append(point)
    return replace(theirs, points=tuple(points)), tuple(notes)


def header_as_forgotten(base: Header, theirs: Header) -> Header:
    """*theirs*, likewise: the top-level keys and values that may be what was forgotten in *base* count as unchanged."""
    known = dict(base.fields)
    if MARK not in encoded(known):
        return theirs
    kept: dict[str, Any] = {}
    for key, value in theirs.fields:
        twins = [key] if key in known else [twin for twin in known if may_have_been(key, twin)]
        old = next((twin for twin in twins if _is_unchanged(value, known[twin], is_named=twin == key)), None)
        kept[key if old is None else old] = value if old is None else known[old]
    return Header(tuple(kept.items()), theirs.final_newline)


def without_forgotten(theirs: Playbook, forgotten: Collection[str]) -> tuple[Playbook, tuple[str, ...]]:
    """*theirs* without the points whose names are *forgotten* here, and a word on each for the user."""
    left_out = [point.name for point in theirs.points if point.name in forgotten]
    if not left_out:
        return theirs, ()
    kept = tuple(point for point in theirs.points if point.name not in forgotten)
    return replace(theirs, points=kept), tuple(
        f"{name} was forgotten here; the text that came in for it was left out" for name in left_out
    )


def _is_unchanged(value: object, known: object, *, is_named: bool) -> bool:
    """Whether *value* may be what *known* was; under the same name equal ones need no second look."""
    now, before = encoded(value), encoded(known)
    return may_have_been(now, before) or (now == before and not is_named)
