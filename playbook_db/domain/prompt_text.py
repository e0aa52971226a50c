"""Rendering a playbook for a prompt: choosing and sorting the points that fit, and writing each on a line.

The hooks use this module, so it imports almost nothing. It reads no clock: the same playbook always gives the same
bytes, so that a model's prompt cache works.
"""

from playbook_db.domain.sections import SECTION_ORDER, is_users_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    PromptPoint = Any  # a key point, in the class of whoever read it
    P = TypeVar("P", bound=Any)

PLACEHOLDER = "{key_points}"
CLIENT_LIMIT_UNITS = 10_000  # UTF-16 units; if a text is longer, Claude Code shows the model only the first 2,000
LIMIT_UNITS = CLIENT_LIMIT_UNITS - 200  # the longest text that a hook prints
FADING_REVISIONS = 2000  # a point loses 1 in rank, as much as votes can give, in so many revisions without a change
DEVIATIONS = 0.75  # standard deviations between the share of helpful votes and the upper bound
SHORTEST_ENTRY_UNITS = 30  # of `[pat-001] helpful=0 harmful=0 :: `; with less space, no entry fits
MAX_MISFITS = 10  # points too long for the remaining space; so many are skipped to find shorter points
OLD_MONTHS = 6  # within half a year, most tools have a release that can make a point wrong
DOUBT = " (last confirmed {}; verify first)"
LEFT_OUT = "({} more key points aren't shown here; the user sees all with: playbook list)"
_LEFT_OUT_UNITS = len(LEFT_OUT) + 20
OWN_SHARE = 3  # the personal playbook gets at least a third of the text if it needs it
OWN = " (the user's own, in every project)"  # ends the headers of the personal playbook
OWN_LEFT_OUT = "({} more of the user's own aren't shown here; the user sees all with: playbook list --user)"
_OWN_LEFT_OUT_UNITS = len(OWN_LEFT_OUT) + 20
# Ranges of characters that a reader can't see, or that a terminal obeys: control and format characters except tab,
# newline, the joiners (U+200C, U+200D) and the direction marks (U+200E, U+200F, U+061C); plane 14, whose characters can
# spell words that only a model sees; lone surrogates, which can't be encoded.
NEVER_SHOWN = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x600, 0x605), (0x6DD, 0x6DD), (0x70F, 0x70F),
    (0x890, 0x891), (0x8E2, 0x8E2), (0x180E, 0x180E), (0x200B, 0x200B), (0x202A, 0x202E), (0x2060, 0x206F),
    (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_IN_THEIR_PLACE = "\ufffd"
_PLANE_14 = b"\xf3\xa0"  # the first bytes of its characters in UTF-8; Python calls some of them printable
_UNSEEN = " \t\n\xa0\u200c\u200d\u200e\u200f\u061c"  # invisible characters that a tag may contain
_replacements: "dict[int, str]" = {}  # filled when a text first needs it
# An entry is one line, so that a text can't forge another entry or a header.
_LINE_BREAKS = str.maketrans({"\r": "\\r", **dict.fromkeys("\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", "\\n")})


AGAIN_VOTES = 0.25  # helpful votes that a session counts for if it learned again what a point says


def rank(helpful: int, harmful: int, changed_in: int, again: int = 0) -> float:
    """Return how early a point is shown: points with a higher rank come first.

    The rank is the upper bound of Wilson's score interval for the share of helpful votes (DEVIATIONS, one added vote on
    each side). So a point without votes ranks above a point that harmed as often as it helped, and can get votes. A
    session that learned the same *again* counts as a part of a helpful vote (AGAIN_VOTES). Count votes and sessions
    since the point's last rewording. A more recent last change adds a little, so unused points sink.
    `python -m benchmarks.quality.ranking_worlds` compares such rules; the figures are in docs/internals/evidence.md.
    """
    good = helpful + AGAIN_VOTES * again
    votes = good + harmful + 2
    share = (good + 1) / votes
    square = DEVIATIONS * DEVIATIONS / votes
    spread: float = (square * (share * (1 - share) + square / 4)) ** 0.5
    return (share + square / 2 + spread) / (1 + square) + changed_in / FADING_REVISIONS


class RankedPoints:
    """The points of one playbook that a prompt may show: pinned points first, then the others by rank.

    The points are read only as far as needed, and only once. `total` counts all live points, even those that aren't
    shown because they rest. `time` is the last revision's.
    """

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
        """The time (ISO 8601) before which a point's last confirmation is too old to rely on, or `""`."""
        return months_before(self.time, OLD_MONTHS) if self.time else ""


def compose(
    template: str, playbooks: "Sequence[RankedPoints]", *, limit_units: int = LIMIT_UNITS
) -> "tuple[str, list[list[Any]]]":
    """Return the text of *playbooks* for a prompt, and the points of each playbook that are in the text.

    The text has at most *limit_units* UTF-16 units, and is `""` if no point fits. A point that was last confirmed more
    than OLD_MONTHS before the last revision has a note. The last line says how many points are left out. The personal
    playbook has a share of 1 / OWN_SHARE. A playbook may also use space that the other playbook doesn't need.
    """
    space = limit_units - utf16_units(fill_template(template, "-")) - _LEFT_OUT_UNITS
    space -= sum([_OWN_LEFT_OUT_UNITS for each in playbooks if each.is_users and each.total])
    chosen: list[list[tuple[Any, str]]] = [
        choose(each, space // OWN_SHARE, each.old_before, beside=each.beside) if each.is_users else []
        for each in playbooks
    ]
    for place, each in enumerate(playbooks):
        if len(chosen[place]) < each.total:
            others = [_joined(chosen[other], of.beside) for other, of in enumerate(playbooks) if other != place]
            taken = sum([utf16_units(text) + 2 for text in others if text])  # with the blank line between them
            chosen[place] = choose(each, space - taken, each.old_before, beside=each.beside)
    parts = []
    for place, each in enumerate(playbooks):
        if points := chosen[place]:
            parts.append(_joined(points, each.beside))
            if each.total > len(points):
                parts.append(each.left_out.format(each.total - len(points)))
    return fill_template(template, "\n\n".join(parts)), [[point for point, _ in points] for points in chosen]


def choose(ranked: "Iterable[P]", limit_units: int, old_before: str = "", *, beside: str = "") -> "list[tuple[P, str]]":
    """Return the best points that fit into *limit_units* UTF-16 units, each with its line, in the order of the text.

    A point that is too long for the remaining space is skipped. *beside* is the end of each header.
    """
    chosen: dict[str, tuple[P, str]] = {}
    blocks: set[tuple[bool, str]] = set()
    misfits = 0
    for point in ranked:
        if limit_units < SHORTEST_ENTRY_UNITS or misfits > MAX_MISFITS:
            break
        if point.name in chosen:
            continue
        line = entry(point, old_before)
        cost = utf16_units(line) + 1
        block = (_is_pinned(point), point.section)
        if block not in blocks:
            cost += len(render_header(point.section)) + len(beside) + 2  # with the blank line before it
        if cost > limit_units:
            misfits += 1
            continue
        limit_units -= cost
        chosen[point.name] = point, line
        blocks.add(block)
    return sorted(chosen.values(), key=_place)


def months_before(time: str, months: int) -> str:
    """Return the time *months* before *time* (ISO 8601). Only compare the result: its day may not exist."""
    year, month = divmod(int(time[:4]) * 12 + int(time[5:7]) - 1 - months, 12)
    return f"{year:04d}-{month + 1:02d}{time[7:]}"


def utf16_units(text: str) -> int:
    """Return the length of *text* in UTF-16 units, which Claude Code counts: an emoji, for instance, has two."""
    return len(text) if text.isascii() else len(text.encode("utf-16", "surrogatepass")) // 2 - 1  # without a BOM


def render_point(name: str, helpful: int, harmful: int, text: str) -> str:
    """Render a point as one line, with line breaks as `\\n`. Source: scoring contract, Formatted Output Contract."""
    return shown(f"[{name}] helpful={helpful} harmful={harmful} :: {text}", is_line=True)


def rule_line(point: "PromptPoint") -> str:
    """Return the line of *point* in a rule. The client imports the file NAME for ` @NAME`, so that is escaped."""
    text = " ".join(one_line(point.text).split()).replace("<!", "<\\!")  # a comment could hide the next lines
    return f"- [{point.name}] {text}".replace(" @", " \\@")


def escaped(text: str) -> str:
    """Return *text* with each line break written as `\\n`."""
    return text if text.isprintable() else text.translate(_LINE_BREAKS)


def one_line(text: str) -> str:
    """Return *text* on one line and without unsafe characters (see `shown`)."""
    return shown(text if text.isprintable() else " ".join(text.replace("\t", " ").splitlines()))


def shown(text: str, *, is_line: bool = False) -> str:
    """Return *text*, which anybody may have written, in a form that is safe in a prompt, a terminal or a web page.

    `visible` replaces invisible characters. `</` becomes `<\\/`, so that the text can't close a tag around it.
    """
    text = visible(text, is_line=is_line)
    if "<" not in text:
        return text
    before, *parts = text.split("<")
    return before + "".join([("<\\" if part.lstrip(_UNSEEN)[:1] == "/" else "<") + part for part in parts])


def visible(text: str, *, is_line: bool = False) -> str:
    """Replace the invisible characters of *text* (NEVER_SHOWN) with U+FFFD. *is_line*: write line breaks as `\\n`."""
    if not text.isprintable() or (not text.isascii() and _PLANE_14 in text.encode()):
        if not _replacements:
            for first, last in NEVER_SHOWN:
                _replacements.update(dict.fromkeys(range(first, last + 1), _IN_THEIR_PLACE))
        text = escaped(text) if is_line else text
        text = text.translate(_replacements)
    return text


def render_header(section: str) -> str:
    """Return the header line above the points of *section*."""
    return f"## {section}"


def render_points(points: "Iterable[PromptPoint]", *, beside: str = "") -> str:
    """Render *points* section by section, with a header above each section and a blank line between sections.

    *beside* is the end of each header. Sections without points are left out. Without points, the text is `""`. Source:
    contract, section 1.
    """
    return _joined([(point, entry(point, "")) for point in points], beside)


def _joined(points: "list[tuple[Any, str]]", beside: str) -> str:
    lines: list[str] = []
    section = None
    for point, line in points:
        if point.section != section:
            if lines:
                lines.append("")
            section = point.section
            lines.append(render_header(section) + beside)
        lines.append(line)
    return "\n".join(lines)


def render_playbooks(playbooks: "Iterable[Sequence[PromptPoint]]") -> str:
    """Render all points of several playbooks. The headers tell which points are from the personal playbook."""
    return "\n\n".join([render_points(points, beside=beside_headers(points)) for points in playbooks if points])


def beside_headers(points: "Sequence[PromptPoint]") -> str:
    """Return the end of the headers above *points*: a mark if they are from the personal playbook."""
    return OWN if points and is_users_name(points[0].name) else ""


def entry(point: "PromptPoint", old_before: str) -> str:
    """Return the line of *point*, with a note if the point was last confirmed before the time *old_before*."""
    line = render_point(point.name, point.helpful, point.harmful, point.text)
    confirmed_at = getattr(point, "confirmed_at", None) if old_before else None  # only points of the store have it
    return line + DOUBT.format(confirmed_at[:7]) if confirmed_at and confirmed_at < old_before else line


def _is_pinned(point: "PromptPoint") -> bool:
    return bool(getattr(point, "pinned", False))  # only points of the store have it


def fill_template(template: str, points_text: str) -> str:
    """Replace the first placeholder of *template* with *points_text*. Return `""` if *points_text* is empty."""
    if not points_text:
        return ""
    before, _, after = template.partition(PLACEHOLDER)
    return before + points_text + after


def _place(chosen: "tuple[PromptPoint, str]") -> "tuple[bool, int, int]":
    """Return a sort key for a point and its line: pinned points come first, then the others in the playbook's order."""
    point, _ = chosen
    return not _is_pinned(point), SECTION_ORDER[point.section], point.position
