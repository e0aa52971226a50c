"""A draft: a playbook that is being changed. The draft records each change and leaves the original as it is.

Votes, operations and pruning change a draft, so that several steps can be stored as one revision.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from playbook_db.domain.playbook import (
    LEGACY_PREFIX,
    MAX_COUNTER,
    Cause,
    Change,
    KeyPoint,
    Playbook,
    canonical_order,
    format_name,
    highest_number,
    normalised,
    number_of,
)
from playbook_db.domain.sections import SECTION_SLUGS, USERS_MARK, is_users_name

_WORDS = {
    "add": "added", "edit": "edited", "vote": "with other votes", "move": "moved", "restore": "restored",
    "retire": "retired",
}  # fmt: skip
_WRONG_KIND = "a name of the other kind of playbook"  # of a personal playbook in a project's, or the reverse


def summary(changes: Iterable[Change]) -> str:
    """Return the numbers of *changes* by kind, as in "2 added, 1 retired"."""
    last = {change.point.name: change.kind for change in changes}
    counts = Counter(last.values())
    return ", ".join(f"{counts[kind]} {word}" for kind, word in _WORDS.items() if counts[kind]) or "no points changed"


class PlaybookSource(Protocol):
    """A stored playbook, from which a draft reads only the points that it needs. `PlaybookRepository` explains the
    methods."""

    @property
    def is_users(self) -> bool: ...
    def playbook(self) -> Playbook: ...
    def live_points(self) -> Sequence[KeyPoint]: ...
    def live_texts(self) -> Iterable[tuple[str, str]]: ...
    def live_point(self, name: str) -> KeyPoint | None: ...
    def highest_number(self, prefix: str) -> int: ...
    def last_position(self) -> int: ...
    def names_at(self, section: str, position: int) -> Sequence[str]: ...


class Draft:
    """A playbook that is being changed. `changes` lists the changes in order.

    A draft of a PlaybookSource reads single points as needed, and all live points only if a step needs all of them.
    `flat`: new names are `kpt_NNN`, as in flat files.
    """

    def __init__(self, source: Playbook | PlaybookSource, *, flat: bool = False) -> None:
        self._source = None if isinstance(source, Playbook) else source  # None once the draft has read all of it
        self._has_all_points = self._source is None
        self._original = source if isinstance(source, Playbook) else Playbook()
        self._points: dict[str, KeyPoint | None] = dict(self._original.by_name)  # as they are now; None: not live
        self._spent = set(self._original.spent)
        self._last_position: int | None = None
        self._reserved: frozenset[str] = frozenset()
        self._flat = flat
        self._is_users = source.is_users
        self._highest: dict[str, int] = {}
        self._names_by_text: dict[str, set[str]] | None = None  # of live points, by normalized text
        self.changes: list[Change] = []

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def __getitem__(self, name: str) -> KeyPoint:
        point = self._find(name)
        if point is None:
            raise KeyError(name)
        return point

    def points(self) -> list[KeyPoint]:
        """Return the draft's live points in canonical order."""
        if self._source is not None and not self._has_all_points:
            self._points = {**{point.name: point for point in self._source.live_points()}, **self._points}
            self._has_all_points = True
        return self._known_points()

    def playbook(self) -> Playbook:
        """Return the changed playbook with the header of the original."""
        original = self._read_all()
        if not self.changes:
            return original
        points, last_position = tuple(self.points()), self.free_position() - 1
        return Playbook(points, frozenset(self._spent), original.header, last_position, self._is_users)

    def is_used(self, name: str) -> bool:
        """Return whether a live or retired point has this *name*."""
        self._read_all()
        return name in self or name in self._spent

    def with_text(self, text: str) -> list[KeyPoint]:
        """Return the live points with the same normalized text as *text*, in canonical order."""
        if self._names_by_text is None:
            others = self._source.live_texts() if self._source is not None and not self._has_all_points else ()
            texts = {name: text for name, text in others if name not in self._points}
            self._names_by_text = {}
            for name, each in (texts | {point.name: point.text for point in self._known_points()}).items():
                self._names_by_text.setdefault(normalised(each), set()).add(name)
        return sorted((self[name] for name in self._names_by_text.get(normalised(text), ())), key=canonical_order)

    def find_text(self, text: str) -> KeyPoint | None:
        """Return the first live point with the same normalized text as *text*, or None."""
        return next(iter(self.with_text(text)), None)

    def is_taken(self, section: str, position: int) -> bool:
        """Return whether a live point of *section* has this *position*."""
        if self._source is not None and not self._has_all_points:
            for name in self._source.names_at(section, position):
                self._find(name)
        places = ((point.section, point.position) for point in self._points.values() if point is not None)
        return (section, position) in places

    def new_name(self, section: str) -> str:
        """Return a name for a new point of *section* that no point of this playbook has ever had."""
        prefix = LEGACY_PREFIX if self._flat else USERS_MARK * self._is_users + SECTION_SLUGS[section]
        if prefix not in self._highest:
            live = [point.name for point in self._points.values() if point is not None]
            last = self._source.highest_number(prefix) if self._source is not None else 0
            self._highest[prefix] = max(last, *(highest_number(n, prefix) for n in (live, self._spent, self._reserved)))
        self._highest[prefix] += 1
        return format_name(prefix, self._highest[prefix])

    def reserve(self, names: Iterable[str]) -> None:
        """Reserve *names* for incoming points, so that `new_name` doesn't return them."""
        self._reserved = frozenset(names)
        self._highest.clear()

    def add(self, point: KeyPoint, *, reason: str | None = None) -> KeyPoint:
        """Add *point* at the end of its section. Return the point with its new position."""
        placed = replace(point, position=self.free_position())
        self.place(placed, kind="add", reason=reason)
        return placed

    def add_incoming(self, point: KeyPoint) -> tuple[str, ...]:
        """Add *point* of another playbook, under a new name if its own can't be used here. Return notes on the name."""
        fits = is_users_name(point.name) == self._is_users  # personal playbooks have names of another form
        if fits and not self.is_used(point.name):
            self.add(point)
            return ()
        name = self.new_name(point.section)
        why = "a name that belongs to another text here" if fits else _WRONG_KIND
        self.add(replace(point, name=name), reason=f"imported as {point.name}, {why}")
        if fits:
            return (f"{point.name} belongs to another text here; the incoming one is now {name}",)
        return (f"{point.name} is {_WRONG_KIND}; the point is {name} here",)

    def update(self, point: KeyPoint) -> None:
        """Give the live point of the same name the text, section and counters of *point*. Its position stays."""
        here = self[point.name]
        point = replace(point, position=here.position)
        if point != here:
            only_votes = replace(point, helpful=here.helpful, harmful=here.harmful) == here
            self.change(point, kind="vote" if only_votes else "edit")

    def change(self, point: KeyPoint, *, kind: str, reason: str | None = None) -> None:
        """Replace a live point with *point*, which has the same name. In a new section, the point comes last."""
        if point.section != self[point.name].section:
            point = replace(point, position=self.free_position())
        self.place(point, kind=kind, reason=reason)

    def place(self, point: KeyPoint, *, kind: str, reason: str | None = None) -> None:
        """Add or replace the live point *point* without changing its position. Counters are limited to MAX_COUNTER."""
        if point.helpful > MAX_COUNTER or point.harmful > MAX_COUNTER:
            helpful, harmful = min(point.helpful, MAX_COUNTER), min(point.harmful, MAX_COUNTER)
            point = replace(point, helpful=helpful, harmful=harmful)
        before = self._find(point.name)
        if before is None:
            self._spent.discard(point.name)
            for prefix, highest in self._highest.items():
                self._highest[prefix] = max(highest, number_of(point.name, prefix))
        else:
            self._without_text(before)
        if self._names_by_text is not None:
            self._names_by_text.setdefault(point.folded, set()).add(point.name)
        if self._last_position is not None:
            self._last_position = max(self._last_position, point.position)
        self._points[point.name] = point
        self.changes.append(Change(kind, point, reason, reworded=before is None or before.text != point.text))

    def retire(
        self, name: str, *, cause: Cause | None = None, reason: str | None = None, successor: str | None = None
    ) -> None:
        """Retire the live point *name*. No new point ever gets this name."""
        point = self[name]
        self._without_text(point)
        self._points[name] = None
        self._spent.add(name)
        self.changes.append(Change("retire", point, reason, successor, cause=cause))

    def free_position(self) -> int:
        """Return a position that is higher than all others in the playbook."""
        if self._last_position is None:
            last = self._original.last_position if self._source is None else self._source.last_position()
            points = [*self._original.points, *(change.point for change in self.changes)]
            self._last_position = max((last, *(point.position for point in points)))
        return self._last_position + 1

    def _known_points(self) -> list[KeyPoint]:
        return sorted((point for point in self._points.values() if point is not None), key=canonical_order)

    def _find(self, name: str) -> KeyPoint | None:
        if name not in self._points and self._source is not None and not self._has_all_points:
            self._points[name] = self._source.live_point(name)
        return self._points.get(name)

    def _read_all(self) -> Playbook:
        """Read the whole original playbook and return it. The draft keeps its changes."""
        if self._source is not None:
            self._original, self._source, self._has_all_points = self._source.playbook(), None, True
            self._points = {**self._original.by_name, **self._points}
            self._spent |= {name for name in self._original.spent if self._points.get(name) is None}
        return self._original

    def _without_text(self, point: KeyPoint) -> None:
        if self._names_by_text is not None:
            self._names_by_text[point.folded].discard(point.name)
