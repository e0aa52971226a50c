"""Comparing two playbooks, and the words of two texts."""

import bisect
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from playbook_db.domain.json_text import write_json
from playbook_db.domain.playbook import Header, KeyPoint, Playbook

_NOT_COMPARED = ("last_updated", "sections")  # keys: the file's time, and the place of its points
_TOKEN = re.compile(r"(?<!`)`[^`\n]+`(?!`)|\w+|\s+|[^\w\s]")  # code between backticks changes as a whole
_MAX_PAIRS = 50_000  # of equal words; with more, everything from the first to the last difference counts as changed


class Pair(NamedTuple):
    """A point that is in both playbooks: its state before and its state after."""

    before: KeyPoint
    after: KeyPoint


class Placed(NamedTuple):
    """A point and its place in a section. `behind` names the preceding point, and is None for the first point."""

    point: KeyPoint
    behind: str | None


class Moved(NamedTuple):
    """A point that moved within its section or to another section."""

    before: KeyPoint
    now: Placed


class KeyChange(NamedTuple):
    """A top-level key of a playbook file whose value differs. The values are JSON, or None if a file lacks the key."""

    key: str
    before: str | None
    after: str | None


class Comparison(NamedTuple):
    """The differences between two playbooks.

    A point in both playbooks may be reworded, moved and voted on at once. If the order of a section changed, as few
    points as possible count as moved. Adding or retiring a point doesn't move the others.
    """

    added: tuple[Placed, ...]
    retired: tuple[KeyPoint, ...]
    reworded: tuple[Pair, ...]
    moved: tuple[Moved, ...]
    voted: tuple[Pair, ...]
    keys: tuple[KeyChange, ...]


class Piece(NamedTuple):
    """A part of a text before and after a change. Both are equal if this part didn't change."""

    before: str
    after: str

    @property
    def is_same(self) -> bool:
        """Whether nothing changed."""
        return self.before == self.after


def compare(before: Playbook, after: Playbook) -> Comparison:
    """Compare the playbooks *before* and *after*. Lists are in the order of *after*, `retired` in that of *before*."""
    old, new = before.by_name, after.by_name
    pairs = [Pair(old[name], point) for name, point in new.items() if name in old]
    placed = {
        point.name: Placed(point, previous.name if previous and previous.section == point.section else None)
        for previous, point in zip((None, *after.points), after.points, strict=False)
    }
    moved = _moved(before, after)
    return Comparison(
        added=tuple(placed[name] for name in new if name not in old),
        retired=tuple(point for name, point in old.items() if name not in new),
        reworded=tuple(pair for pair in pairs if pair.before.text != pair.after.text),
        moved=tuple(Moved(old[name], placed[name]) for name in new if name in moved),
        voted=tuple(pair for pair in pairs if _counters(pair.before) != _counters(pair.after)),
        keys=changed_keys(before.header, after.header),
    )


def changed_keys(before: Header, after: Header) -> tuple[KeyChange, ...]:
    """Return the top-level keys whose values differ as JSON. In JSON, 1, 1.0 and true differ."""
    old, new = dict(before.fields), dict(after.fields)
    keys = [key for key in {**old, **new} if key not in _NOT_COMPARED]
    changes = (KeyChange(key, value_as_json(old, key), value_as_json(new, key)) for key in keys)
    return tuple(change for change in changes if change.before != change.after)


def value_as_json(fields: Mapping[str, Any], key: str) -> str | None:
    """Return the value of *key* as JSON, or None if *fields* lacks the key."""
    return write_json(fields[key]) if key in fields else None


def compare_words(before: str, after: str) -> tuple[Piece, ...]:
    """Split two texts into equal and changed pieces. All `before` parts form *before*, all `after` parts *after*."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    head = common_length(old, new)
    tail = common_length(old[head:][::-1], new[head:][::-1])
    end, new_end = len(old) - tail, len(new) - tail
    middle = _middle(old[head:end], new[head:new_end])
    pieces = [_piece(old[:head], old[:head]), *middle, _piece(old[end:], new[new_end:])]
    return tuple(piece for piece in pieces if piece.before or piece.after)


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the beginning that both sequences share."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def marked(before: str, after: str) -> str:
    """Return the text *after* with its changes marked, as in `[-old-]{+new+}`."""
    return "".join(mark(piece) for piece in compare_words(before, after))


def mark(piece: Piece) -> str:
    """Return the text of *piece*. If it changed, mark the change, as in `[-old-]{+new+}`."""
    if piece.is_same:
        return piece.after
    removed = f"[-{piece.before}-]" if piece.before else ""
    return removed + (f"{{+{piece.after}+}}" if piece.after else "")


def longest_increasing(keys: Sequence[Any]) -> list[int]:
    """Return the indices of the longest strictly increasing subsequence of *keys*."""
    ends: list[Any] = []
    places: list[int] = []
    before: list[int] = []
    for place, key in enumerate(keys):
        length = bisect.bisect_left(ends, key)
        before.append(places[length - 1] if length else -1)
        ends[length : length + 1] = [key]
        places[length : length + 1] = [place]
    longest = []
    place = places[-1] if places else -1
    while place >= 0:
        longest.append(place)
        place = before[place]
    return longest[::-1]


def _counters(point: KeyPoint) -> tuple[int, int]:
    return point.helpful, point.harmful


def _moved(before: Playbook, after: Playbook) -> set[str]:
    """Return the names of moved points: those in a new section, and as few others as explain the new order."""
    old = before.by_name
    both = [point for point in after.points if point.name in old]
    moved = {point.name for point in both if old[point.name].section != point.section}
    was_at = {point.name: place for place, point in enumerate(before.points)}
    # Both playbooks have the same order of sections, so one sequence of all points serves for each section.
    stayed = [point.name for point in both if point.name not in moved]
    in_order = set(longest_increasing([was_at[name] for name in stayed]))
    return moved | {name for place, name in enumerate(stayed) if place not in in_order}


def _middle(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    counts = Counter(new)
    if sum(counts[token] for token in old if not token.isspace()) > _MAX_PAIRS:
        yield _piece(old, new)
        return
    # White space alone doesn't make two places equal.
    for _, a, b, c, d in SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes():
        yield _piece(old[a:b], new[c:d])


def _piece(old: Sequence[str], new: Sequence[str]) -> Piece:
    return Piece("".join(old), "".join(new))
