"""Which key points go before a prompt when not all of them fit.

Pure, and imports next to nothing, so that a hook may use it. Nothing here looks at a clock: the same playbook is
always told in the same bytes, which is what a model's prompt cache lives from.
"""

from playbook_db.domain.sections import SECTION_ORDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol, TypeVar

    class Candidate(Protocol):
        """A key point, as any reader has it."""

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

    P = TypeVar("P", bound=Candidate)


CLIENT_LIMIT_UNITS = 10_000  # UTF-16 units; of a longer text Claude Code shows the model the first 2,000 only
LIMIT_UNITS = CLIENT_LIMIT_UNITS - 200  # what we ever print
FADING_REVISIONS = 2000  # after so many revisions without a change, a point has lost as much as its votes can give
UNJUDGED_SHARE = 8  # one part in so many is kept for the newest points without votes, so that they can get some
SHORTEST_ENTRY_UNITS = 30  # `[pat-001] helpful=0 harmful=0 :: ` before the text; less room takes no further entry
MISFITS = 50  # points too long for the room left that are passed over in search of shorter ones
LEFT_OUT = "({} more key points don't fit here; the user sees all with: playbook list)"
_LEFT_OUT_UNITS = len(LEFT_OUT) + 20


def rank(helpful: int, harmful: int, changed_in: int) -> float:
    """How much a point deserves to be shown: more is better.

    The lower bound of Wilson's score interval (one standard deviation, one imagined vote on either side) of the
    share of helpful votes, so that 10 of 10 stand above 1 of 1; and a little for each revision that the last change
    to the point, such as a vote, is younger than another's: what is used stays, what isn't any more sinks.
    """
    votes = helpful + harmful + 2
    share = (helpful + 1) / votes
    spread: float = (share * (1 - share) / votes + 1 / (4 * votes * votes)) ** 0.5
    bound = (share + 1 / (2 * votes) - spread) / (1 + 1 / votes)
    return bound + changed_in / FADING_REVISIONS


def tell(
    template: str, ranked: "Iterable[P]", unjudged: "Sequence[P]", total: int, *, limit_units: int = LIMIT_UNITS
) -> "tuple[str, list[P]]":
    """The text that goes before a prompt, never longer than *limit_units* UTF-16 units, and the points in it.

    *ranked* comes best first and is read no further than needed, *unjudged* are the newest points without votes;
    *total* is how many live points there are. Where not all fit, the last line says how many are left out. `""`
    where there is nothing to say, or *template* leaves no room.
    """
    room = limit_units - utf16_units(fill_template(template, "-")) - _LEFT_OUT_UNITS
    chosen = choose(ranked, unjudged, room)
    if not chosen:
        return "", []
    points_text = render_points(chosen)
    if len(chosen) < total:
        points_text += "\n\n" + LEFT_OUT.format(total - len(chosen))
    return fill_template(template, points_text), chosen


def choose(ranked: "Iterable[P]", unjudged: "Sequence[P]", room_units: int) -> "list[P]":
    """The points that fit into *room_units* UTF-16 units of rendered text, whole ones only, in canonical order.

    A point that is too long for the room left makes way for the next one.
    """
    chosen: dict[str, P] = {}
    told: set[str] = set()
    share = max(room_units, 0) // UNJUDGED_SHARE
    left = _fill(chosen, told, unjudged, share)
    _fill(chosen, told, ranked, room_units - share + left)
    return sorted(chosen.values(), key=_canonical_place)


def utf16_units(text: str) -> int:
    """The length of *text* as Claude Code counts it: a character outside the basic plane counts two."""
    return len(text) if text.isascii() else len(text) + sum([char > "\uffff" for char in text])


def _fill(chosen: "dict[str, P]", told: "set[str]", points: "Iterable[P]", room: int) -> int:
    """Take of *points* what fits, noting the sections that are *told*; the room that is left."""
    misfits = 0
    for point in points:
        if room < SHORTEST_ENTRY_UNITS or misfits > MISFITS:
            break
        if point.name in chosen:
            continue
        cost = utf16_units(render_point(point.name, point.helpful, point.harmful, point.text)) + 1
        if point.section not in told:
            cost += len(render_header(point.section)) + 2  # with the blank line before it
        if cost > room:
            misfits += 1
            continue
        room -= cost
        chosen[point.name] = point
        told.add(point.section)
    return room


def _canonical_place(point: "Candidate") -> "tuple[int, int]":
    return SECTION_ORDER[point.section], point.position


PLACEHOLDER = "{key_points}"
# One entry is one line: a text must not be able to forge another entry or a section's header.
_LINE_BREAKS = str.maketrans(
    {
        "\r": "\\r",
        **dict.fromkeys("\n\v\f\x1c\x1d\x1e\x85\u2028\u2029", "\\n"),
    }
)


def render_point(name: str, helpful: int, harmful: int, text: str) -> str:
    """One point as one line; line breaks inside the text are written as `\\n`.

    Source: scoring contract, Formatted Output Contract.
    """
    told = text if text.isprintable() else text.translate(_LINE_BREAKS)
    return f"[{name}] helpful={helpful} harmful={harmful} :: {told}"


def render_header(section: str) -> str:
    """The line above a section's points."""
    return f"## {section}"


def render_points(points: "Iterable[Candidate]") -> str:
    """All *points*, which come in canonical order: a header line above each section, a blank line between sections.

    Sections without points are left out; nothing at all for no points. Source: contract, section 1.
    """
    lines: list[str] = []
    section = None
    for point in points:
        if point.section != section:
            if lines:
                lines.append("")
            section = point.section
            lines.append(render_header(section))
        lines.append(render_point(point.name, point.helpful, point.harmful, point.text))
    return "\n".join(lines)


def fill_template(template: str, points_text: str) -> str:
    """*template* with *points_text* at its placeholder; nothing else in either is read as one.

    `""` where there is nothing to say. The caller has seen to it that the placeholder is there.
    """
    if not points_text:
        return ""
    before, _, after = template.partition(PLACEHOLDER)
    return before + points_text + after
