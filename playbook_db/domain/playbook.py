"""What a playbook is made of: key points, in an order, under a header. Frozen values, no behaviour of their own."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from playbook_db.domain.sections import OTHERS, SECTION_ORDER

MAX_COUNTER = 2**63 - 1  # what a database integer holds; counters stop there


@dataclass(frozen=True, slots=True)
class KeyPoint:
    """One piece of advice and its votes.

    `name` is unique in the playbook and never given again. `helpful` and `harmful` are counts of
    votes (>= 0). `position` orders the points of a section; larger is later, gaps mean nothing.
    """

    name: str
    text: str
    section: str = OTHERS
    helpful: int = 0
    harmful: int = 0
    position: int = 0


def canonical_order(point: KeyPoint) -> tuple[int, int]:
    """The sort key of every listing, export and injected text: section, then position."""
    return SECTION_ORDER[point.section], point.position


@dataclass(frozen=True, slots=True, eq=False)
class Header:
    """All of a playbook file but its points.

    `fields` are the file's top-level keys in its order; the key `sections` stands, with the value
    None, where the points go. `final_newline` says whether the file ends with a newline.
    """

    fields: tuple[tuple[str, Any], ...] = (("version", "1.0"), ("last_updated", None), ("sections", None))
    final_newline: bool = True

    def __eq__(self, other: object) -> bool:
        """Whether both write the same: to JSON, 1, 1.0 and true differ."""
        return isinstance(other, Header) and self._written == other._written

    def __hash__(self) -> int:
        return hash(self._written)

    @property
    def _written(self) -> tuple[str, bool]:
        return json.dumps(dict(self.fields)), self.final_newline

    def get(self, key: str) -> Any:
        """The value under *key*, None where it is absent."""
        return dict(self.fields).get(key)

    @property
    def last_updated(self) -> str | None:
        """When the playbook last changed, ISO 8601, as far as the file says so in text."""
        value = self.get("last_updated")
        return value if isinstance(value, str) else None

    def stamped(self, last_updated: object) -> "Header":
        """The same header with another `last_updated`."""
        fields = dict(self.fields)
        fields["last_updated"] = last_updated
        return replace(self, fields=tuple(fields.items()))


@dataclass(frozen=True)
class Playbook:
    """The live points in canonical order, the names that points which left have used up, and the header.

    `last_position` is the highest position that any point ever had, if it is higher than those of the live ones: a
    point that comes back finds its own place free.
    """

    points: tuple[KeyPoint, ...] = ()
    spent: frozenset[str] = frozenset()
    header: Header = field(default_factory=Header)
    last_position: int = 0

    @cached_property
    def by_name(self) -> dict[str, KeyPoint]:
        """The live points under their names, in canonical order."""
        return {point.name: point for point in self.points}

    @property
    def content(self) -> tuple[tuple[str, str, str, int, int], ...]:
        """What readers of the playbook see of its points: two playbooks of equal content export alike."""
        return tuple((p.name, p.text, p.section, p.helpful, p.harmful) for p in self.points)


def playbook_of(points: Iterable[KeyPoint], *, header: Header | None = None) -> Playbook:
    """A playbook of *points* in the order given within each section, positions counted from 1."""
    numbered = [replace(point, position=place) for place, point in enumerate(points, 1)]
    return Playbook(tuple(sorted(numbered, key=canonical_order)), header=header or Header())


@dataclass(frozen=True, slots=True)
class PointState:
    """A point as it was at some moment: itself, and whether it was live."""

    point: KeyPoint
    is_live: bool


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one point: `kind`, the point as it is afterwards, and why.

    `kind` is one of `add`, `vote`, `edit` (text, section or counters set), `move` (another place in its
    section), `retire`, `restore`. `successor` names the point that took over a merged or duplicate one;
    `reworded` says whether the text is another than that of the live point before.
    """

    kind: str
    point: KeyPoint
    reason: str | None = None
    successor: str | None = None
    reworded: bool = False


@dataclass(frozen=True, slots=True)
class Vote:
    """One tag as it was given; `matched` says whether its name was that of a live point."""

    name: str
    tag: str
    rationale: str | None = None
    matched: bool = True


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was asked for and not done: its place in the list (0-based), itself, and why."""

    index: int
    item: object
    reason: str


# How key points get their names. A name is given once in the life of a playbook.


LEGACY_PREFIX = "kpt"  # names of flat files: kpt_001
MAX_NAME_LENGTH = 200  # characters
_MAX_DIGITS = 18  # of a number that counts; a name with more was made by somebody else


def format_name(prefix: str, number: int) -> str:
    """The name with that number: `pat-007`, or `kpt_007` for the legacy prefix."""
    return f"{prefix}{_joiner(prefix)}{number:03d}"


def number_of(name: str, prefix: str) -> int:
    """The number in *name* if it is one that *prefix* makes, else 0."""
    start = prefix + _joiner(prefix)
    digits = name[len(start) :]
    counts = name.startswith(start) and digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS
    return int(digits) if counts else 0


def highest_number(names: Iterable[str], prefix: str) -> int:
    """The highest number among the *names* of that prefix; 0 where there is none."""
    return max((number_of(name, prefix) for name in names), default=0)


def next_name(names: Iterable[str], prefix: str) -> str:
    """One more than the highest name of that prefix: three digits at least. Source: contract, section 2."""
    return format_name(prefix, highest_number(names, prefix) + 1)


def why_name_unusable(name: str) -> str | None:
    """What is wrong with *name*, or None. A name must not be able to break out of its brackets in a prompt."""
    if not name.strip():
        return "a name must not be blank"
    if not name.isprintable() or "[" in name or "]" in name:
        return "a name must not hold brackets, line breaks or control characters"
    if len(name) > MAX_NAME_LENGTH:
        return f"a name must not be longer than {MAX_NAME_LENGTH} characters"
    return None


def _joiner(prefix: str) -> str:
    return "_" if prefix == LEGACY_PREFIX else "-"


# What a text of a key point may be, and when two texts say the same.


_TRAILING_PUNCTUATION = ".,;:!?…。！？ "


def why_text_unusable(text: object) -> str | None:
    """What is wrong with *text* as the text of a key point, or None."""
    if not isinstance(text, str):
        return "a text must be a string"
    if not text.strip():
        return "a text must not be blank"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"a text must be Unicode, and this one holds half a surrogate pair at character {error.start}"
    return None


def storable(text: str) -> str:
    """*text* with what is no Unicode (half surrogate pairs, as JSON can hold them) replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def normalised(text: str) -> str:
    """*text* without what makes no difference: case, runs of white space, trailing punctuation.

    Source: contract, section 10. A text of nothing but punctuation is kept as it is.
    """
    folded = " ".join(text.casefold().split())
    return folded.rstrip(_TRAILING_PUNCTUATION) or folded
