"""What differs between two playbooks. Pure."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from playbook_db.rules.playbook import Header, KeyPoint, Playbook
from playbook_db.rules.rising import rising

_NOT_COMPARED = ("last_updated", "sections")  # a time of its own each file has; where the points stand is no content


@dataclass(frozen=True, slots=True)
class Pair:
    """One point in both playbooks."""

    before: KeyPoint
    after: KeyPoint


@dataclass(frozen=True, slots=True)
class Placed:
    """A point at a place: `behind` names the one before it in its section, None where it is the first."""

    point: KeyPoint
    behind: str | None


@dataclass(frozen=True, slots=True)
class Moved:
    """A point at another place than before, in its section or in another."""

    before: KeyPoint
    now: Placed


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A top-level key of the file with another value, as JSON; None where the file has no such key."""

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of one playbook in another.

    A point that is in both may be reworded, moved and voted on at once. Of those that stayed in their section as few
    count as moved as explain the order; what came or went between them moves nobody.
    """

    added: tuple[Placed, ...]
    retired: tuple[KeyPoint, ...]
    reworded: tuple[Pair, ...]
    moved: tuple[Moved, ...]
    voted: tuple[Pair, ...]
    keys: tuple[KeyChange, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.retired or self.reworded or self.moved or self.voted or self.keys)


def compare(before: Playbook, after: Playbook) -> Comparison:
    """What differs from *before* to *after*; each list in the order of the playbook that the points stand in."""
    old, new = before.by_name, after.by_name
    pairs = [Pair(old[name], point) for name, point in new.items() if name in old]
    placed = _placed(after.points)
    moved = _moved(before, after)
    return Comparison(
        added=tuple(placed[name] for name in new if name not in old),
        retired=tuple(point for name, point in old.items() if name not in new),
        reworded=_where(pairs, lambda pair: pair.before.text != pair.after.text),
        moved=tuple(Moved(old[name], placed[name]) for name in new if name in moved),
        voted=_where(pairs, lambda pair: _counters(pair.before) != _counters(pair.after)),
        keys=changed_keys(before.header, after.header),
    )


def changed_keys(before: Header, after: Header) -> tuple[KeyChange, ...]:
    """The top-level keys whose value differs, to JSON, in which 1, 1.0 and true do."""
    old, new = dict(before.fields), dict(after.fields)
    told = ((key, _json(old, key), _json(new, key)) for key in {**old, **new} if key not in _NOT_COMPARED)
    return tuple(KeyChange(key, was, now) for key, was, now in told if was != now)


def _where(pairs: Sequence[Pair], claim: Callable[[Pair], bool]) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if claim(pair))


def _counters(point: KeyPoint) -> tuple[int, int]:
    return point.helpful, point.harmful


def _placed(points: Sequence[KeyPoint]) -> dict[str, Placed]:
    placed: dict[str, Placed] = {}
    previous: KeyPoint | None = None
    for point in points:
        is_first = previous is None or previous.section != point.section
        placed[point.name] = Placed(point, None if is_first or previous is None else previous.name)
        previous = point
    return placed


def _moved(before: Playbook, after: Playbook) -> set[str]:
    """The points in both that changed section, and of the others the fewest that explain the order."""
    old = before.by_name
    both = [point for point in after.points if point.name in old]
    moved = {point.name for point in both if old[point.name].section != point.section}
    was_at = {point.name: place for place, point in enumerate(before.points)}
    # Both playbooks are in the same order of sections, so that one run over all points does for each section.
    stayed = [point.name for point in both if point.name not in moved]
    in_order = set(rising([was_at[name] for name in stayed]))
    return moved | {name for at, name in enumerate(stayed) if at not in in_order}


def _json(fields: dict[str, Any], key: str) -> str | None:
    return json.dumps(fields[key], ensure_ascii=False) if key in fields else None
