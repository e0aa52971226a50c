"""Copying the points of a damaged playbook into an intact one.

The damaged database has a row for each point, and a row for the point's last change. If they differ, the newer one
counts. The revision of a point's row can be computed from its rank.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from playbook_db.domain import prompt_text
from playbook_db.domain.draft import Draft
from playbook_db.domain.erasure import MARK
from playbook_db.domain.playbook import KeyPoint, RetiredPoint

_REASON = "repaired"
_MAX_POSITION = 2**53


@dataclass(frozen=True, slots=True)
class SavedPoint:
    """A point that was read from a damaged database. `number` is its number there.

    `revision` is the revision that last changed the point, or 0 if unknown. `reason` is why the point was retired. An
    unreadable name or text is "".
    """

    number: int
    point: KeyPoint
    is_live: bool = True
    revision: int = 0
    reason: str | None = None

    @property
    def is_forgotten(self) -> bool:
        """Whether the point was forgotten, so that its text is gone for good."""
        return not self.is_live and self.point.text == MARK

    def named(self, name: str) -> "SavedPoint":
        """Return this point, with *name* if its own name is lost."""
        return self if self.point.name or not name else replace(self, point=replace(self.point, name=name))


def changed_in(helpful: int, harmful: int, rank: float) -> int:
    """Return the revision that last changed a point, computed from the *rank*. Return 0 if the votes contradict it."""
    if not 0 <= helpful < 2**53 or not 0 <= harmful < 2**53:
        return 0
    age = (rank - prompt_text.rank(helpful, harmful, 0)) * prompt_text.FADING_REVISIONS
    return round(age) if 0.5 < age < 2**40 and abs(age - round(age)) < 1e-4 else 0


def settle(row: SavedPoint, change: SavedPoint) -> SavedPoint:
    """Return the newer state of a point: either its *row* or its last *change*.

    If the newer text is damaged, use the other text. If the row's revision is unknown, take the votes of *change*.
    """
    if not row.revision:
        point = replace(row.point, helpful=change.point.helpful, harmful=change.point.harmful)
        row = replace(row, point=point, revision=change.revision)
    latest, other = (row, change) if row.revision >= change.revision else (change, row)
    text = other.point.text if is_damaged(latest.point.text) and not is_damaged(other.point.text) else latest.point.text
    return replace(latest, point=replace(latest.point, name=row.point.name, text=text))


def is_damaged(text: str) -> bool:
    """Return whether *text* is blank, or has replacement characters or control characters."""
    return not text.strip() or any(char == "\ufffd" or not (char.isprintable() or char.isspace()) for char in text)


def bring_in(
    draft: Draft, saved: Iterable[SavedPoint], retired: Mapping[str, RetiredPoint], *, known_to: int
) -> list[str]:
    """Add the *saved* points to a draft of the playbook as it was at the revision *known_to*.

    Points that changed later replace the draft's points. Missing points are added, and retired points are retired
    again. *retired*: the draft's retired points; forgotten points stay so. Return the new names of nameless points.
    """
    named, nameless = _by_name(saved)
    draft.reserve(named)
    known = {**{name: each.point for name, each in retired.items()}, **draft.playbook().by_name}
    forgotten = {name for name, each in retired.items() if each.is_forgotten}
    texts = {point.text for point in (*known.values(), *(each.point for each in named.values()))}
    renamed = []
    for each in nameless:
        if each.point.text not in texts and not each.is_forgotten:
            name = draft.new_name(each.point.section)
            named[name] = each.named(name)
            renamed.append(name)
    news = [
        each
        for name, each in named.items()
        if name not in forgotten and (name not in known or each.revision > known_to or each.is_forgotten)
    ]
    changing = {each.point.name for each in news}
    places = {(point.section, point.position) for point in draft.points() if point.name not in changing}
    for each in sorted(news, key=lambda each: each.number):
        _bring_in_one(draft, each, known.get(each.point.name), places)
    return renamed


def _by_name(saved: Iterable[SavedPoint]) -> tuple[dict[str, SavedPoint], list[SavedPoint]]:
    """Return a dict of points by name, and a list of nameless points. A repeated name goes to the newest point."""
    named: dict[str, SavedPoint] = {}
    nameless = []
    for each in sorted(saved, key=lambda each: -each.revision):
        if each.point.name and each.point.name not in named:
            named[each.point.name] = each
        else:
            nameless.append(replace(each, point=replace(each.point, name="")))
    return named, nameless


def _bring_in_one(draft: Draft, saved: SavedPoint, here: KeyPoint | None, places: set[tuple[str, int]]) -> None:
    """Add one *saved* point to the draft. *here* is the draft's version of it. *places* has the live points' places."""
    point = saved.point
    is_live = point.name in draft
    is_taken = saved.is_live and (point.section, point.position) in places
    if is_taken or not 0 <= point.position < _MAX_POSITION:
        point = replace(point, position=draft.free_position())
    if here != point or is_live != saved.is_live:
        if here != point or not is_live:
            draft.place(point, kind="add" if here is None else "edit" if is_live else "restore", reason=_REASON)
        if not saved.is_live:
            draft.retire(point.name, reason=saved.reason)
    if saved.is_live:
        places.add((point.section, point.position))
