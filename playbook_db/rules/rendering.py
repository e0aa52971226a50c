"""The text of a playbook as it is put before a prompt. Imports next to nothing, so that a hook may use it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

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
