"""The text about the playbook in a prompt: which points come first, which fit, and how they are written.

Imports next to nothing, so that a hook may use it. Nothing here depends on a clock: the same playbook always gives
the same bytes, which a model's prompt cache needs.
"""

from playbook_db.domain.sections import SECTION_ORDER, is_users_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Protocol, TypeVar

    class PromptPoint(Protocol):
        """A key point, in the class of whoever read it."""

        @property
        def name(self) -> str: ...
        @property
        def text(self) -> str: ...
        @property
        def section(self) -> str: ...
        @property
        def helpful(self) -> int: ...
        @property
        def harmful(self) -> int: ...
        @property
        def position(self) -> int: ...

    P = TypeVar("P", bound=PromptPoint)


PLACEHOLDER = "{key_points}"
CLIENT_LIMIT_UNITS = 10_000  # UTF-16 units; of a longer text Claude Code shows the model the first 2,000 only
LIMIT_UNITS = CLIENT_LIMIT_UNITS - 200  # the longest text that we print
FADING_REVISIONS = 2000  # after so many revisions without a change, a point has lost as much as its votes can give
SHORTEST_ENTRY_UNITS = 30  # `[pat-001] helpful=0 harmful=0 :: ` before the text; less space takes no further entry
MAX_MISFITS = 10  # points too long for the space that remains, skipped in search of shorter ones
# That a point may go unconfirmed: most tools and libraries bring a version within half a year that can make it wrong.
OLD_MONTHS = 6
DOUBT = " (last confirmed {}; verify first)"
LEFT_OUT = "({} more key points aren't shown here; the user sees all with: playbook list)"
_LEFT_OUT_UNITS = len(LEFT_OUT) + 20
# Of the user's own playbook, behind the project's: it may take one part of so many, and what the project leaves.
OWN_SHARE = 3
OWN = " (the user's own, in every project)"  # ends the headers above its points
OWN_LEFT_OUT = "({} more of the user's own aren't shown here; the user sees all with: playbook list --user)"
_OWN_LEFT_OUT_UNITS = len(OWN_LEFT_OUT) + 20
# First and last of what no text needs and a reader can't see, or a terminal obeys: control and format characters but
# tab, newline, the joiners (U+200C, U+200D) and the direction marks (U+200E, U+200F, U+061C); plane 14, whose tags and
# variation selectors can spell words that a model reads and nobody sees; half pairs, which can't be written at all.
NEVER_SHOWN = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x600, 0x605), (0x6DD, 0x6DD), (0x70F, 0x70F),
    (0x890, 0x891), (0x8E2, 0x8E2), (0x180E, 0x180E), (0x200B, 0x200B), (0x202A, 0x202E), (0x2060, 0x206F),
    (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_IN_THEIR_PLACE = "\ufffd"
_PLANE_14 = b"\xf3\xa0"  # how its first 4,096 begin in UTF-8; some of them Python calls printable
_UNSEEN = " \t\n\xa0\u200c\u200d\u200e\u200f\u061c"  # what may stand in a tag without being seen
_replacements: "dict[int, str]" = {}  # made when the first text needs it
# One entry is one line: a text must not be able to forge another entry or a section's header.
_LINE_BREAKS = str.maketrans({"\r": "\\r", **dict.fromkeys("\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", "\\n")})


def rank(helpful: int, harmful: int, changed_in: int) -> float:
    """How much a point deserves to be shown: more is better.

    The upper bound of Wilson's score interval (one standard deviation, one imagined vote on either side) of the share
    of helpful votes: a point without votes stands above one that harmed as often as it helped, and so gets some. And a
    little for each revision that the last change to the point, such as a vote, is younger than another's: what is used
    stays, what isn't any more sinks. Chosen by `python -m benchmarks quality`; the figures: docs/internals/evidence.md.
    """
    votes = helpful + harmful + 2
    share = (helpful + 1) / votes
    spread: float = (share * (1 - share) / votes + 1 / (4 * votes * votes)) ** 0.5
    bound = (share + 1 / (2 * votes) + spread) / (1 + 1 / votes)
    return bound + changed_in / FADING_REVISIONS


class RankedPoints:
    """The points of one playbook that may go into a prompt: those that don't rest, pinned points before all others,
    then the best first, read no further than needed, and once. `total` is how many points are live, those that rest
    included; `time` is that of the last revision."""

    __slots__ = ("_read", "_unread", "beside", "is_users", "left_out", "time", "total")

    def __init__(self, points: "Iterable[Any]", total: int, time: str = "", *, is_users: bool = False) -> None:
        self.total, self.time, self.is_users = total, time, is_users
        self._unread: Iterator[Any] = iter(points)
        self._read: list[Any] = []
        self.beside, self.left_out = (OWN, OWN_LEFT_OUT) if is_users else ("", LEFT_OUT)

    def __iter__(self) -> "Iterator[Any]":
        yield from self._read
        for point in self._unread:
            self._read.append(point)
            yield point

    @property
    def old_before(self) -> str:
        """The time (ISO 8601) before which a point was last confirmed if the text doubts it; `""` for none."""
        return months_before(self.time, OLD_MONTHS) if self.time else ""


def compose(
    template: str, playbooks: "Sequence[RankedPoints]", *, limit_units: int = LIMIT_UNITS
) -> "tuple[str, list[list[Any]]]":
    """The text for a prompt, of at most *limit_units* UTF-16 units, and the points in it of each of the *playbooks*.

    Pinned points come first. Behind a point that was last confirmed more than OLD_MONTHS before the last revision it
    says so. Where not all are shown, the last line says how many are left out. `""` where no point fits, or there is
    none. The user's own playbook has a share of one part of OWN_SHARE; what one playbook needs less than its share, the
    other may use.
    """
    space = limit_units - utf16_units(fill_template(template, "-")) - _LEFT_OUT_UNITS
    space -= sum([_OWN_LEFT_OUT_UNITS for each in playbooks if each.is_users and each.total])
    chosen: list[list[Any]] = [
        choose(each, space // OWN_SHARE, each.old_before, beside=each.beside) if each.is_users else []
        for each in playbooks
    ]
    for place, each in enumerate(playbooks):
        if len(chosen[place]) < each.total:
            taken = sum([_units_of(chosen[other], of) for other, of in enumerate(playbooks) if other != place])
            chosen[place] = choose(each, space - taken, each.old_before, beside=each.beside)
    parts = [part for place, each in enumerate(playbooks) for part in _parts(chosen[place], each)]
    return fill_template(template, "\n\n".join(parts)), chosen


def _parts(chosen: "list[P]", of: RankedPoints) -> "list[str]":
    """What the text says of one playbook: the *chosen* points, and how many more there are."""
    if not chosen:
        return []
    left_out = of.total - len(chosen)
    more = [of.left_out.format(left_out)] if left_out > 0 else []
    return [render_points(chosen, of.old_before, beside=of.beside), *more]


def _units_of(chosen: "list[P]", of: RankedPoints) -> int:
    """How much of the text *chosen* points take, with the blank line that parts them from what stands beside them."""
    return utf16_units(render_points(chosen, of.old_before, beside=of.beside)) + 2 if chosen else 0


def choose(ranked: "Iterable[P]", limit_units: int, old_before: str = "", *, beside: str = "") -> "list[P]":
    """The points that fit into *limit_units* UTF-16 units of rendered text, whole ones only, in the order of the text.

    A point that is too long for the space that remains is skipped for the next one. *beside* stands behind each header.
    """
    chosen: dict[str, P] = {}
    blocks: set[tuple[bool, str]] = set()
    misfits = 0
    for point in ranked:
        if limit_units < SHORTEST_ENTRY_UNITS or misfits > MAX_MISFITS:
            break
        if point.name in chosen:
            continue
        cost = utf16_units(entry(point, old_before)) + 1
        block = (_is_pinned(point), point.section)
        if block not in blocks:
            cost += len(render_header(point.section)) + len(beside) + 2  # with the blank line before it
        if cost > limit_units:
            misfits += 1
            continue
        limit_units -= cost
        chosen[point.name] = point
        blocks.add(block)
    return sorted(chosen.values(), key=_place)


def months_before(time: str, months: int) -> str:
    """The time (ISO 8601) that many *months* before *time*, to be compared with others as text: its day may be one that
    the month doesn't have."""
    year, month = divmod(int(time[:4]) * 12 + int(time[5:7]) - 1 - months, 12)
    return f"{year:04d}-{month + 1:02d}{time[7:]}"


def utf16_units(text: str) -> int:
    """The length of *text* as Claude Code counts it: a character outside the basic plane counts two."""
    return len(text) if text.isascii() else len(text.encode("utf-16", "surrogatepass")) // 2 - 1  # without its mark


def render_point(name: str, helpful: int, harmful: int, text: str) -> str:
    """One point as one line; line breaks inside the text are written as `\\n`, and the rest as `shown` has it.

    Source: scoring contract, Formatted Output Contract.
    """
    return shown(f"[{name}] helpful={helpful} harmful={harmful} :: {escaped(text)}")


def escaped(text: str) -> str:
    """*text* with its line breaks written as `\\n`."""
    return text if text.isprintable() else text.translate(_LINE_BREAKS)


def one_line(text: str) -> str:
    """*text* on one line, as `shown`."""
    return shown(text if text.isprintable() else " ".join(text.replace("\t", " ").splitlines()))


def shown(text: str) -> str:
    """*text*, which anybody may have written, for a prompt, a terminal or a page; it is stored and exported as given.

    As `visible`, and `</` becomes `<\\/`, so that it closes no tag in which a client or we put it.
    """
    text = visible(text)
    if "<" not in text:
        return text
    before, *parts = text.split("<")
    return before + "".join([("<\\" if part.lstrip(_UNSEEN)[:1] == "/" else "<") + part for part in parts])


def visible(text: str) -> str:
    """*text* with U+FFFD in the place of each character of NEVER_SHOWN."""
    if not text.isprintable() or (not text.isascii() and _PLANE_14 in text.encode()):
        if not _replacements:
            for first, last in NEVER_SHOWN:
                _replacements.update(dict.fromkeys(range(first, last + 1), _IN_THEIR_PLACE))
        text = text.translate(_replacements)
    return text


def render_header(section: str) -> str:
    """The line above a section's points."""
    return f"## {section}"


def render_points(points: "Iterable[PromptPoint]", old_before: str = "", *, beside: str = "") -> str:
    """All *points*, which come section by section: a header line above each section, a blank line between sections.

    Behind those that were last confirmed before the time *old_before* it says so; *beside* stands behind each header.
    Sections without points are left out; `""` for no points. Source: contract, section 1.
    """
    lines: list[str] = []
    section = None
    for point in points:
        if point.section != section:
            if lines:
                lines.append("")
            section = point.section
            lines.append(render_header(section) + beside)
        lines.append(entry(point, old_before))
    return "\n".join(lines)


def render_playbooks(playbooks: "Iterable[Sequence[PromptPoint]]") -> str:
    """All points of several playbooks, one playbook after the other; the headers say which are the user's own."""
    return "\n\n".join([render_points(points, beside=beside_headers(points)) for points in playbooks if points])


def beside_headers(points: "Sequence[PromptPoint]") -> str:
    """What stands behind the headers above the *points* of one playbook."""
    return OWN if points and is_users_name(points[0].name) else ""


def entry(point: "PromptPoint", old_before: str) -> str:
    """The line of *point*; behind one that was last confirmed before the time *old_before* it says so."""
    line = render_point(point.name, point.helpful, point.harmful, point.text)
    confirmed_at = getattr(point, "confirmed_at", None) if old_before else None  # of those that the store read
    return line + DOUBT.format(confirmed_at[:7]) if confirmed_at and confirmed_at < old_before else line


def _is_pinned(point: "PromptPoint") -> bool:
    return bool(getattr(point, "pinned", False))  # of those that the store read


def fill_template(template: str, points_text: str) -> str:
    """*template*, which has the placeholder, with *points_text* in its place; `""` for no text.

    Only the first placeholder counts, and none inside *points_text*.
    """
    if not points_text:
        return ""
    before, _, after = template.partition(PLACEHOLDER)
    return before + points_text + after


def _place(point: "PromptPoint") -> "tuple[bool, int, int]":
    """Where *point* stands in the text: pinned ones first, then as in the playbook."""
    return not _is_pinned(point), SECTION_ORDER[point.section], point.position
