"""The numbers as pictures: points over time, votes, what is shown and cited, what learning cost, each with a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pygal
from starlette.responses import Response

from playbook_db.domain.outcomes import EVENTS
from playbook_db.services import drawing, trends
from playbook_db.services.trends import Trends
from playbook_db.web.look import Look, Routes


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart and its numbers: the `key` by which the style sheet knows it, its heading, the `drawing` (SVG) and what
    it says in `words`, both `""` where there is nothing to draw, which `nothing` says; the head and the rows of its
    table."""

    key: str
    heading: str
    drawing: str
    words: str
    nothing: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def shown(look: Look) -> Response:
    """All pictures."""
    numbers = trends.gather(look.project)
    pictures = [_points(numbers), _votes(numbers), _uses(numbers), _costs(numbers)]
    return look.page("numbers.html", title="Numbers", pictures=pictures)


def _points(numbers: Trends) -> Picture:
    times, counts = _columns(numbers.points)
    words = f"{counts[-1]:,} live points now; at most {max(counts):,}, since {times[0]}." if counts else ""
    return _picture(
        pygal.Line, "points", "Points over time", words, "This playbook has no points yet.", times, {"points": counts},
        ({"day": "Day (UTC)", "week": "Week from", "month": "Month"}[numbers.points_by], "Live points at its end"),
        fill=True, include_x_axis=True, margin_right=36, show_dots=len(counts) < 32,
    )  # fmt: skip


def _votes(numbers: Trends) -> Picture:
    by, labels, groups = trends.by_period(numbers.weeks)
    votes = {kind: [sum(getattr(week, kind) for week in some) for some in groups] for kind in ("helpful", "harmful")}
    helpful, harmful = (sum(counts) for counts in votes.values())
    words = f"{helpful:,} helpful and {harmful:,} harmful votes since {labels[0]}." if labels else ""
    return _picture(
        pygal.StackedBar, "votes", f"Helpful and harmful by {by}", words, "No point was voted on yet.", labels, votes,
        ("Week from" if by == "week" else "Month", "Helpful", "Harmful"),
    )  # fmt: skip


def _uses(numbers: Trends) -> Picture:
    labels = [EVENTS[use.event] for use in numbers.uses]
    uses = {name: [getattr(use, name) for use in numbers.uses] for name in ("shown", "cited", "helpful", "harmful")}
    parts = (f"{use.shown:,} {EVENTS[use.event]}, of which {use.cited:,} were cited" for use in numbers.uses)
    words = f"Points shown to sessions, each once in a session: {'; '.join(parts)}." if labels else ""
    return _picture(
        pygal.Bar, "uses", "Shown and cited", words, "No session was shown a point yet.", labels, uses,
        ("First shown", "Shown", "Cited", "Helpful votes", "Harmful votes"),
    )  # fmt: skip


def _costs(numbers: Trends) -> Picture:
    labels, costs = [day.day for day in numbers.days], [day.cost_usd for day in numbers.days]
    words = f"{_dollars(sum(costs))} since {labels[0]}, at most {_dollars(max(costs))} on one day." if labels else ""
    nothing = "No price is known of the models that were asked." if labels else _NOT_ASKED
    made = _picture(
        pygal.Bar, "cost", "Cost a day", words, nothing, labels, {"cost": costs},
        ("Day (UTC)", "Calls", "Tokens", "Cost"), show=_dollars, order_min=-4,
    )  # fmt: skip
    rows = [(day.day, f"{day.calls:,}", f"{day.tokens:,}", _dollars(day.cost_usd)) for day in numbers.days if day.calls]
    return Picture(made.key, made.heading, made.drawing, made.words, made.nothing, made.head, rows[::-1])


def _picture(
    kind: drawing.Chart,
    key: str,
    heading: str,
    words: str,
    nothing: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    head: tuple[str, ...],
    **options: object,
) -> Picture:
    """The chart of *series* along *labels*, and their table."""
    if not any(map(any, series.values())):
        return Picture(key, heading, "", "", nothing, head, ())
    made = drawing.chart(kind, key, "", _NO_COLOURS[: len(series)], labels, series, **{**_SIZE, **options})
    rows = [
        (label, *(f"{count:,}" for count in counts)) for label, *counts in zip(labels, *series.values(), strict=True)
    ]
    return Picture(key, heading, drawing.within_page(made, title=f"{heading}. {words}"), words, nothing, head, rows)


def _columns(rows: Iterable[tuple[str, int]]) -> tuple[list[str], list[int]]:
    pairs = list(rows)
    return [label for label, _ in pairs], [count for _, count in pairs]


def _dollars(cost: float) -> str:
    return f"${cost:,.4f}" if 0 < cost < 0.01 else f"${cost:,.2f}"


_NOT_ASKED = f"No model was asked in the last {trends.MOST_BARS} days."
_NO_COLOURS = ("none",) * 4  # the style sheet has them
_SIZE: dict[str, Any] = {"width": 480, "height": 260, "margin": 8, "max_scale": 6}

ROUTES: Routes = {("GET", "/numbers"): shown}
