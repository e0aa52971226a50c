"""The page with charts and their tables, and the image that `playbook stats --svg` writes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import ceil, floor, log10

from starlette.responses import Response

from playbook_db.domain.trust.outcomes import EVENTS
from playbook_db.services.project import Project
from playbook_db.services.reading import trends
from playbook_db.services.reading.trends import Trends, by_period
from playbook_db.web.page_request import PageRequest, Routes, rendered

_MIN_STEPS, _MAX_STEPS = 3, 6  # of the axis
_MIN_STEP = 0.0001  # of values that have decimals


@dataclass(frozen=True)
class Chart:
    """A bar chart, drawn by `charts.html`. Each row has a label and its values (>= 0), one for each of the `series`.

    The bars of a label are drawn side by side, or on top of each other if `is_stacked`. `unit` is the format of a
    value's text. A value has at least this many `decimals`; 0 means whole numbers.
    """

    heading: str
    series: Sequence[str]
    rows: Sequence[tuple[str, *tuple[float, ...]]]
    is_stacked: bool = False
    unit: str = "{}"
    decimals: int = 0

    @cached_property
    def largest(self) -> float:
        """Return the value of the highest column, or 0 if there is nothing to draw."""
        return max((end for _, bars in self.columns for _, _, end in bars), default=0)

    @property
    def values(self) -> int:
        """Return how many bars aren't 0."""
        return sum(value > 0 for _, bars in self.columns for _, value, _ in bars)

    @cached_property
    def guides(self) -> list[float]:
        """Return the values of the guide lines, from 0 on. Their distance is 1, 2 or 5 times a power of ten."""
        exact = self.largest / _MAX_STEPS
        power = 10.0 ** floor(log10(max(exact, _MIN_STEP if self.decimals else 1)))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= exact)
        return [number * step for number in range(max(ceil(self.largest / step), _MIN_STEPS) + 1)]

    @property
    def columns(self) -> Iterator[tuple[str, list[tuple[str, float, float]]]]:
        """Yield each label with its bars. A bar has the name of its series, its value, and the value at its top."""
        for label, *values in self.rows:
            ends = accumulate(values) if self.is_stacked else values
            yield label, list(zip(self.series, values, ends, strict=True))

    def text(self, value: float) -> str:
        """Format *value* with its unit, and with enough decimals to tell two guide lines apart."""
        decimals = max(self.decimals, -floor(log10(self.guides[1])))
        return self.unit.format(f"{value:,.{decimals}f}")


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart on the page with its table. `key` is its id. `words` sum it up, or say why there is no chart.

    `head` has the titles of the table's columns. Without `rows`, the table has the rows of the chart.
    """

    key: str
    chart: Chart
    words: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]] = ()


def shown(request: PageRequest) -> Response:
    """Show the page with all charts."""
    return request.page("numbers.html", title="Numbers", pictures=_pictures(request.project))


def as_svg(project: Project, *, title: str, subtitle: str) -> bytes:
    """Return the charts of the page as an SVG image. It has no scripts and no links."""
    return rendered("picture.svg", title=title, subtitle=subtitle, pictures=_pictures(project)).encode()


def _pictures(project: Project) -> list[Picture]:
    numbers = trends.gather(project)
    return [_points(numbers), _votes(numbers), _uses(numbers), _costs(numbers)]


def _points(numbers: Trends) -> Picture:
    chart = Chart("Points over time", ["points"], numbers.points)
    words = "This playbook has no points yet."
    if chart.largest:
        (first, _), (_, last) = numbers.points[0], numbers.points[-1]
        words = f"{last:,} live point{'' if last == 1 else 's'} now; at most {chart.largest:,}, since {first}."
    by = {"day": "Day (UTC)", "week": "Week from", "month": "Month"}[numbers.points_by]
    return Picture("points", chart, words, (by, "Live points at the end"))


def _votes(numbers: Trends) -> Picture:
    by, votes = by_period(numbers.weeks, "helpful", "harmful")
    chart = Chart(f"Helpful and harmful by {by}", ["helpful", "harmful"], votes, is_stacked=True)
    words = "No point was voted on yet."
    if chart.largest:
        helpful, harmful = (sum(getattr(week, kind) for week in numbers.weeks) for kind in chart.series)
        words = f"{helpful:,} helpful and {harmful:,} harmful votes since {votes[0][0]}."
    return Picture("votes", chart, words, ("Week from" if by == "week" else "Month", "Helpful", "Harmful"))


def _uses(numbers: Trends) -> Picture:
    uses = [(EVENTS[use.event], use.shown, use.cited, use.helpful, use.harmful) for use in numbers.uses]
    words = "No session was shown a point yet."
    if uses:
        parts = (
            f"{use.shown:,} {EVENTS[use.event]}, of which {use.cited:,} were cited and {use.voted:,} voted on"
            for use in numbers.uses
        )
        words = f"Points shown to sessions, each once in a session: {'; '.join(parts)}."
    chart = Chart("Shown and cited", ["shown", "cited", "helpful", "harmful"], uses)
    return Picture("uses", chart, words, ("First shown", "Shown", "Cited", "Helpful votes", "Harmful votes"))


def _costs(numbers: Trends) -> Picture:
    costs = [(day.day, day.cost_usd) for day in numbers.days]
    chart = Chart("Cost a day", ["cost"], costs, unit="${}", decimals=2)
    words = f"No model was called in the last {trends.MOST_BARS} days."
    if chart.largest:
        total = sum(cost for _, cost in costs)
        words = f"{chart.text(total)} since {costs[0][0]}, at most {chart.text(chart.largest)} on one day."
    elif costs:
        words = "The prices of the models that were called are unknown."
    rows = [
        (day.day, f"{day.calls:,}", f"{day.tokens:,}", chart.text(day.cost_usd) if day.cost_usd else "–")
        for day in reversed(numbers.days)
        if day.calls
    ]
    return Picture("cost", chart, words, ("Day (UTC)", "Calls", "Tokens", "Cost"), rows)


ROUTES: Routes = {("GET", "/numbers"): shown}
