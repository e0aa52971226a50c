"""The classes that make up a playbook, and the rules for the names and texts of key points."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple
from unicodedata import normalize

from playbook_db.domain.json_text import write_json
from playbook_db.domain.sections import OTHERS, SECTION_ORDER, SECTION_SLUGS, USERS_MARK
from playbook_db.domain.trust.evidence import INVISIBLE, Evidence

MAX_COUNTER = 2**63 - 1  # the largest integer in a database; counters don't exceed it
LEGACY_PREFIX = "kpt"  # names of flat files: kpt_001
MAX_NAME_LENGTH = 200  # characters
MAX_DIGITS = 18  # of the number in a name; a longer number doesn't count
NOTE = "a note: "  # begins the reason of a skipped item that isn't an operation
# By what a point is retired: a person, an operation DELETE, a merge, the same text, votes, `promote` or `demote`, an
# import with --replace, the other side of a merged file, an undo, `forget`, or a repair.
Cause = Literal[
    "user", "curator", "merged", "duplicate", "harmful", "moved", "import", "other_side", "undo", "forgotten", "repair"
]
_TRAILING_PUNCTUATION = ".,;:!?…。！？ "


@dataclass(frozen=True, slots=True)
class KeyPoint:
    """A piece of advice and its votes.

    `name` is unique in the playbook and never used again. `helpful` and `harmful` count votes (>= 0). `position` orders
    the points of a section and may have gaps.
    """

    name: str
    text: str
    section: str = OTHERS
    helpful: int = 0
    harmful: int = 0
    position: int = 0

    @property
    def folded(self) -> str:
        """The text as `normalised` returns it, for comparisons."""
        return normalised(self.text)


def canonical_order(point: KeyPoint) -> tuple[int, int]:
    """Return a key that sorts points by section, then by position, as all listings, exports and prompts do."""
    return SECTION_ORDER[point.section], point.position


@dataclass(frozen=True, slots=True, eq=False)
class Header:
    """Everything in a playbook file except the points.

    `fields` are the file's top-level keys in order. The key `sections`, with the value None, marks the place of the
    points. `final_newline` says whether the file ends with a newline.
    """

    fields: tuple[tuple[str, Any], ...] = (("version", "1.0"), ("last_updated", None), ("sections", None))
    final_newline: bool = True

    def __eq__(self, other: object) -> bool:
        """Return whether both headers have the same JSON text. There, 1, 1.0, 1.00 and true differ."""
        return isinstance(other, Header) and self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

    @property
    def _json(self) -> tuple[str, bool]:
        return write_json(dict(self.fields)), self.final_newline

    def get(self, key: str) -> Any:
        """Return the value of *key*, or None."""
        return dict(self.fields).get(key)

    @property
    def last_updated(self) -> str | None:
        """The time of the file's last change (ISO 8601), or None if the file has no such time."""
        value = self.get("last_updated")
        return value if isinstance(value, str) else None

    def stamped(self, last_updated: object) -> "Header":
        """Return a copy of the header with this *last_updated*."""
        return replace(self, fields=tuple({**dict(self.fields), "last_updated": last_updated}.items()))


@dataclass(frozen=True)
class Playbook:
    """A playbook: its live points in canonical order, its header, and the names and positions of retired points.

    `spent` has the names of retired points, which are never used again. `last_position` is at least the highest
    position of a retired point, because a point may be restored to its place. `is_users` marks the personal playbook.
    """

    points: tuple[KeyPoint, ...] = ()
    spent: frozenset[str] = frozenset()
    header: Header = field(default_factory=Header)
    last_position: int = 0
    is_users: bool = False

    @cached_property
    def by_name(self) -> dict[str, KeyPoint]:
        """A dict of the live points by name, in canonical order."""
        return {point.name: point for point in self.points}

    @property
    def content(self) -> tuple[tuple[str, str, str, int, int], ...]:
        """The exported fields of all points. Playbooks with equal content have equal exports."""
        return tuple((p.name, p.text, p.section, p.helpful, p.harmful) for p in self.points)


def playbook_of(points: Iterable[KeyPoint], *, header: Header | None = None) -> Playbook:
    """Create a playbook from *points*. Within a section they keep their order. Positions count from 1."""
    numbered = [replace(point, position=place) for place, point in enumerate(points, 1)]
    return Playbook(tuple(sorted(numbered, key=canonical_order)), header=header or Header())


class PointState(NamedTuple):
    """A point as it was at some time, and whether it was live at that time."""

    point: KeyPoint
    is_live: bool


class RetiredPoint(NamedTuple):
    """A retired point, the revision that retired it, the reason and the cause. A forgotten point has lost its text."""

    point: KeyPoint
    revision: int
    reason: str | None = None
    is_forgotten: bool = False
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change to one point: the kind of change, the point after the change, and the reason.

    `kind` is one of `add`, `vote`, `edit` (text, section or counters), `move` (within its section), `retire`,
    `restore`. `cause` is that of a retirement. `successor` names the point that replaces a merged or duplicate point.
    `reworded` says whether the text changed. `evidence` is the session's evidence for the change.
    """

    kind: str
    point: KeyPoint
    reason: str | None = None
    successor: str | None = None
    reworded: bool = False
    evidence: tuple[Evidence, ...] = ()
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """A vote for the point `name`. Its `tag` is helpful, harmful, neutral or again. `matched`: the point is live.

    `ignored`: the session was shown the point but didn't follow it, and so had trouble. `evidence` is from the session.
    """

    name: str
    tag: str
    rationale: str | None = None
    matched: bool = True
    ignored: bool = False
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item of a list that was skipped: its index (from 0), the item, and the reason."""

    index: int
    item: object
    reason: str


def format_name(prefix: str, number: int) -> str:
    """Return the name that has *prefix* and *number*: `pat-007`, or `kpt_007` for the legacy prefix."""
    return f"{before_number(prefix)}{number:03d}"


def before_number(prefix: str) -> str:
    """Return the beginning of names with *prefix*, up to the number: `pat-`, or `kpt_` for the legacy prefix."""
    return f"{prefix}_" if prefix == LEGACY_PREFIX else f"{prefix}-"


def number_of(name: str, prefix: str) -> int:
    """Return the number in *name*, or 0 if *name* isn't a name with *prefix*."""
    return highest_number((name,), prefix)


def highest_number(names: Iterable[str], prefix: str) -> int:
    """Return the highest number in the *names* with *prefix*, or 0 if there are none."""
    start = before_number(prefix)
    digits = [name.removeprefix(start) for name in names if name.startswith(start)]
    numbers = [int(each) for each in digits if each.isdigit() and each.isascii() and len(each) <= MAX_DIGITS]
    return max(numbers, default=0)


def name_pattern() -> str:
    """Return a regular expression that matches the names of points in any playbook. It has no groups."""
    return rf"(?:{USERS_MARK}?(?:{'|'.join(SECTION_SLUGS.values())})-\d+|{LEGACY_PREFIX}_\d+)"


def next_name(names: Iterable[str], prefix: str) -> str:
    """Return the next name with *prefix*: its number follows the highest in *names*. Source: contract, section 2."""
    return format_name(prefix, highest_number(names, prefix) + 1)


def why_name_unusable(name: str) -> str | None:
    """Return the reason why *name* is invalid, or None. In a prompt, a name must not break its line or brackets."""
    if not name.strip():
        return "a name must not be blank"
    if not name.isprintable() or "[" in name or "]" in name:
        return "a name must not hold brackets, line breaks or control characters"
    if len(name) > MAX_NAME_LENGTH:
        return f"a name must not be longer than {MAX_NAME_LENGTH} characters"
    return None


def why_text_unusable(text: object) -> str | None:
    """Return the reason why *text* is invalid as the text of a point, or None."""
    if not isinstance(text, str):
        return "a text must be a string"
    if not text.translate(INVISIBLE).strip():
        return "a text must not be blank"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"a text must be Unicode, but this one contains half a surrogate pair at character {error.start}"
    return None


def storable(text: str) -> str:
    """Replace lone surrogates in *text* with `?`, since UTF-8 can't encode them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def normalised(text: str) -> str:
    """Normalize *text* for comparisons: case-folded, with single spaces, without trailing punctuation.

    A letter with an accent equals the letter followed by that accent. A text of only punctuation keeps it. Source:
    contract, section 10.
    """
    letters = text.casefold() if text.isascii() else normalize("NFC", normalize("NFD", text).casefold())
    folded = " ".join(letters.split())
    return folded.rstrip(_TRAILING_PUNCTUATION) or folded
