"""Rendering a playbook for the model that learns: first the texts of all points, then a line of marks for each point.

Marks are the counters and dates of a point, and whether the session was shown the point. Votes change only the marks,
so the model's server can cache the texts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.prompt_text import beside_headers, escaped, render_header, render_playbooks, shown
from playbook_db.domain.proposals import Proposal, name_of

PLACEHOLDER = "{marks}"
WAITING = "WAITING"  # the header of the proposals that wait for a person
MAX_WAITING_CHARS = 6000


@dataclass(frozen=True, slots=True)
class PointMarks:
    """The counters, dates and states of the key point `name`. Dates are texts such as "2026-11-22", or None.

    `was_shown` and `was_cited` concern the judged session. `confirmed` is the day on which the point was last added,
    reworded or voted helpful. `shown_in_vain` counts sessions that were shown the point since its last vote, citation
    or rewording. `ignored` counts sessions that ignored the point since its last rewording.
    `taught_in` counts sessions that taught the point. `helpful_since` and `harmful_since` are its votes since its last
    rewording, or None if it was never reworded.
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
    taught_in: int = 0
    helpful_since: int | None = None
    harmful_since: int | None = None

    @property
    def was_reworded(self) -> bool:
        """Whether the text has changed since the point was added."""
        return self.helpful_since is not None


@dataclass(frozen=True, slots=True)
class ShownPlaybook:
    """A playbook in a prompt. `text` replaces `{playbook}`, and `marks` replaces `{marks}`. None: marks are unknown."""

    text: str
    marks: str | None = None

    def stable_names(self, template: str) -> tuple[str, ...]:
        """Return the placeholders of *template* whose values stay the same from call to call."""
        return () if self.marks is None or PLACEHOLDER not in template else ("playbook",)


def show(
    template: str,
    playbooks: Sequence[Sequence[KeyPoint]],
    marks: Iterable[PointMarks],
    waiting: Sequence[Sequence[Proposal]] = (),
) -> ShownPlaybook:
    """Render *playbooks*, whose points are in canonical order, and the points' *marks*, as *template* needs them.

    After the points come the newest proposals that are *waiting*, the project's before the personal ones.

    An older template has no placeholder for marks. For such a template, the counters are before the texts.
    """
    if PLACEHOLDER not in template:
        return ShownPlaybook(_joined([render_playbooks(playbooks), _waiting(waiting)]), "")
    text = _joined([*map(_points, playbooks), _waiting(waiting)])
    return ShownPlaybook(text, "\n".join(_line(each) for each in marks))


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _waiting(waiting: Sequence[Sequence[Proposal]]) -> str:
    lines: list[str] = []
    space = MAX_WAITING_CHARS
    for is_users, proposals in enumerate(waiting):
        for each in reversed(proposals):
            names = f" {', '.join(each.names)}" if each.names else ""
            text = each.text or str(each.operation.get("reason") or "")
            line = shown(f"[{name_of(each.id, is_users=bool(is_users))}] {each.kind}{names}: {escaped(text)}")
            if each.kind != "VOTE" and len(line) <= space:
                lines.append(line)
                space -= len(line)
    return "\n".join([render_header(WAITING), *lines]) if lines else ""


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
        *([f"{marks.helpful_since} and {marks.harmful_since} since its rewording"] if marks.was_reworded else []),
        *(["shown"] if marks.was_shown else []),
        *(["cited"] if marks.was_cited else []),
        *(f"{what} {date}" for what, date in dates.items() if date),
        *([f"shown in vain in {marks.shown_in_vain} sessions"] if marks.shown_in_vain else []),
        *([f"ignored in {marks.ignored} sessions"] if marks.ignored else []),
        *([f"seen in {marks.taught_in} sessions"] if marks.taught_in > 1 else []),
        *(["resting"] if marks.is_resting else []),
        *(["pinned"] if marks.is_pinned else []),
    ]
    return shown(f"[{marks.name}] {', '.join(parts)}")
