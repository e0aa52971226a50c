"""A playbook while it is being changed: every step is noted as a Change, and the original stays as it was.

The rules (votes, operations, pruning ...) each take a draft and work on it, so that several of them
make one revision.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from playbook_db.domain.playbook import (
    LEGACY_PREFIX,
    MAX_COUNTER,
    Change,
    KeyPoint,
    Playbook,
    canonical_order,
    format_name,
    highest_number,
    normalised,
    number_of,
)
from playbook_db.domain.sections import SECTION_SLUGS


class Draft:
    """The live points of a playbook, to be changed; `changes` lists what was done, in order.

    With `flat`, new names are `kpt_NNN` whatever the section, as flat files have them.
    """

    def __init__(self, playbook: Playbook, *, flat: bool = False) -> None:
        self._original = playbook
        self._live = dict(playbook.by_name)
        self._spent = set(playbook.spent)
        self._reserved: frozenset[str] = frozenset()
        self._flat = flat
        self._highest: dict[str, int] = {}
        self._texts: Counter[str] | None = None
        self._last_position = max((playbook.last_position, *(point.position for point in playbook.points)))
        self.changes: list[Change] = []

    def __contains__(self, name: object) -> bool:
        return name in self._live

    def __getitem__(self, name: str) -> KeyPoint:
        return self._live[name]

    def points(self) -> list[KeyPoint]:
        """The live points as they are now, in canonical order."""
        return sorted(self._live.values(), key=canonical_order)

    def playbook(self) -> Playbook:
        """The playbook as it is now; its header is still the original's."""
        if not self.changes:
            return self._original
        header, last_position = self._original.header, self._last_position
        return Playbook(tuple(self.points()), frozenset(self._spent), header, last_position)

    def is_used(self, name: str) -> bool:
        """Whether *name* belongs to a point, live or gone, and so can't be given again."""
        return name in self._live or name in self._spent

    def has_text(self, text: str) -> bool:
        """Whether a live point says *text* already, up to case, white space and trailing punctuation."""
        if self._texts is None:
            self._texts = Counter(normalised(point.text) for point in self._live.values())
        return self._texts[normalised(text)] > 0

    def new_name(self, section: str) -> str:
        """A name for a new point of *section*, never used before in this playbook."""
        prefix = LEGACY_PREFIX if self._flat else SECTION_SLUGS[section]
        if prefix not in self._highest:
            used = (self._live, self._spent, self._reserved)
            self._highest[prefix] = max(highest_number(names, prefix) for names in used)
        self._highest[prefix] += 1
        return format_name(prefix, self._highest[prefix])

    def reserve(self, names: Iterable[str]) -> None:
        """Keep `new_name` off *names*, which points still to come have as their own."""
        self._reserved = frozenset(names)
        for prefix, highest in self._highest.items():
            self._highest[prefix] = max(highest, highest_number(self._reserved, prefix))

    def add(self, point: KeyPoint, *, kind: str = "add", reason: str | None = None) -> KeyPoint:
        """Put *point* at the end of its section, under its own name."""
        self._last_position += 1
        placed = KeyPoint(point.name, point.text, point.section, point.helpful, point.harmful, self._last_position)
        self._spent.discard(placed.name)
        self._note(kind, placed, reason)
        return placed

    def change(self, point: KeyPoint, *, kind: str, reason: str | None = None) -> KeyPoint:
        """Let *point* take the place of the live one of its name; a new section puts it at that section's end."""
        if point.section != self._live[point.name].section:
            self._last_position += 1
            point = replace(point, position=self._last_position)
        self._note(kind, point, reason)
        return point

    def place(self, point: KeyPoint, *, kind: str, reason: str | None = None) -> None:
        """Let *point*, live or coming back, stand exactly as it is given, position included."""
        self._last_position = max(self._last_position, point.position)
        self._spent.discard(point.name)
        self._note(kind, point, reason)

    def retire(self, name: str, *, reason: str | None = None, successor: str | None = None) -> None:
        """Take the point out of the playbook; its name stays used."""
        point = self._live[name]
        self._count_text(point.text, -1)
        del self._live[name]
        self._spent.add(name)
        self.changes.append(Change("retire", point, reason, successor))

    def free_position(self) -> int:
        """A position behind all others."""
        return self._last_position + 1

    def _note(self, kind: str, point: KeyPoint, reason: str | None) -> None:
        if point.helpful > MAX_COUNTER or point.harmful > MAX_COUNTER:
            helpful, harmful = min(point.helpful, MAX_COUNTER), min(point.harmful, MAX_COUNTER)
            point = replace(point, helpful=helpful, harmful=harmful)
        before = self._live.get(point.name)
        change = Change(kind, point, reason, reworded=before is None or before.text != point.text)
        if before is not None:
            self._count_text(before.text, -1)
        else:
            for prefix, highest in self._highest.items():
                self._highest[prefix] = max(highest, number_of(point.name, prefix))
        self._count_text(point.text, +1)
        self._live[point.name] = point
        self.changes.append(change)

    def _count_text(self, text: str, by: int) -> None:
        if self._texts is not None:
            self._texts[normalised(text)] += by
