"""Rendering a playbook for the model that learns: first the texts of all points, then a line of marks for each point.

Marks are the counters and dates of a point, and whether the session was shown the point. Votes change only the marks,
so the model's server can cache the texts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.prompt_text import beside_headers, escaped, render_header, render_playbooks, shown

PLACEHOLDER = "{marks}"


@dataclass(frozen=True, slots=True)
class PointMarks:
    """The counters, dates and states of the key point `name`. Dates are texts such as "2026-11-22", or None.

    `was_shown` and `was_cited` concern the judged session. `confirmed` is the day on which the point was last added,
    reworded or voted helpful. `shown_in_vain` counts sessions that were shown the point since its last vote, citation
    or rewording. `ignored` counts sessions that ignored the point since its last rewording.
    """

    name: str
    helpful: int
    harmful: int
    was_shown: bool = False
    was_cited: bool = False
    since: str | None = None
    confirmed: str | None = None
    last_vote: str | None = None
    last_shown: str | None = None
    last_cited: str | None = None
    shown_in_vain: int = 0
    ignored: int = 0
    is_resting: bool = False
    is_pinned: bool = False


@dataclass(frozen=True, slots=True)
class ShownPlaybook:
    """A playbook in a prompt. `text` replaces `{playbook}`, and `marks` replaces `{marks}`. None: marks are unknown."""

    text: str
    marks: str | None = None

    def stable_names(self, template: str) -> tuple[str, ...]:
        """Return the placeholders of *template* whose values stay the same from call to call."""
        return () if self.marks is None or PLACEHOLDER not in template else ("playbook",)


def show(template: str, playbooks: Sequence[Sequence[KeyPoint]], marks: Iterable[PointMarks]) -> ShownPlaybook:
    """Render *playbooks*, whose points are in canonical order, and the points' *marks*, as *template* needs them.

    An older template has no placeholder for marks. For such a template, the counters are before the texts.
    """
    if PLACEHOLDER not in template:
        return ShownPlaybook(render_playbooks(playbooks), "")
    text = "\n\n".join(filter(None, map(_points, playbooks)))
    return ShownPlaybook(text, "\n".join(_line(each) for each in marks))


def _points(points: Sequence[KeyPoint]) -> str:
    lines: list[str] = []
    for place, point in enumerate(points):
        if not place or points[place - 1].section != point.section:
            lines += [*([""] if lines else []), render_header(point.section) + beside_headers(points)]
        lines.append(shown(f"[{point.name}] {escaped(point.text)}"))
    return "\n".join(lines)


def _line(marks: PointMarks) -> str:
    dates = {
        "since": marks.since,
        "last confirmed": marks.confirmed,
        "last vote": marks.last_vote,
        "last shown": marks.last_shown,
        "last cited": marks.last_cited,
    }
    parts = [
        f"helpful={marks.helpful} harmful={marks.harmful}",
        *(["shown"] if marks.was_shown else []),
        *(["cited"] if marks.was_cited else []),
        *(f"{what} {date}" for what, date in dates.items() if date),
        *([f"shown in vain in {marks.shown_in_vain} sessions"] if marks.shown_in_vain else []),
        *([f"ignored in {marks.ignored} sessions"] if marks.ignored else []),
        *(["resting"] if marks.is_resting else []),
        *(["pinned"] if marks.is_pinned else []),
    ]
    return shown(f"[{marks.name}] {', '.join(parts)}")
