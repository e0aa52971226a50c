"""The page of numbers: how sessions used points, and charts of votes and costs with their tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from math import ceil, floor, log10

from starlette.responses import Response

from playbook_db.services.reading import statistics
from playbook_db.services.reading.statistics import Statistics, Week
from playbook_db.web.page_request import PageRequest, Routes

_USE = ("shown", "followed", "cited", "ignored", "helpful", "harmful")  # the columns of the table of use
MOST_BARS = 60  # weeks of a chart; more of them are shown as months
_MIN_STEPS, _MAX_STEPS = 3, 6  # of the axis
_MIN_STEP = 0.0001  # of values that have decimals


@dataclass(frozen=True)
class Chart:
    """A bar chart, drawn by `charts.html`. Each row has a label and its values (>= 0), one for each of the `series`.

    The bars of a label are drawn on top of each other. `unit` is the format of a value's text. A value has at least
    this many `decimals`; 0 means whole numbers.
    """

    heading: str
    series: Sequence[str]
    rows: Sequence[tuple[str, *tuple[float, ...]]]
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
            yield label, list(zip(self.series, values, accumulate(values), strict=True))

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
    """Show the page with all numbers."""
    numbers = statistics.gather(request.project)
    use = {name: getattr(numbers.use, name) for name in _USE}
    return request.page("numbers.html", title="Numbers", use=use, pictures=[_votes(numbers), _costs(numbers)])


def _votes(numbers: Statistics) -> Picture:
    by, sums = by_period(numbers.weeks, "helpful", "harmful")
    votes = [(period, helpful, harmful) for period, (helpful, harmful) in sums]
    chart = Chart(f"Helpful and harmful by {by}", ["helpful", "harmful"], votes)
    words = "No point was voted on yet."
    if chart.largest:
        helpful, harmful = (sum(getattr(week, kind) for week in numbers.weeks) for kind in chart.series)
        words = f"{helpful:,} helpful and {harmful:,} harmful votes since {votes[0][0]}."
    return Picture("votes", chart, words, ("Week from" if by == "week" else "Month", "Helpful", "Harmful"))


def _costs(numbers: Statistics) -> Picture:
    by, sums = by_period(numbers.weeks, "calls", "tokens", "cost_usd")
    costs = [(period, cost) for period, (_, _, cost) in sums]
    chart = Chart(f"Cost by {by}", ["cost"], costs, unit="${}", decimals=2)
    words = "No model was called yet."
    if chart.largest:
        total = sum(cost for _, cost in costs)
        words = f"{chart.text(total)} since {costs[0][0]}, at most {chart.text(chart.largest)} in one {by}."
    elif any(calls for _, (calls, _, _) in sums):
        words = "The prices of the models that were called are unknown."
    rows = [
        (period, f"{calls:,}", f"{tokens:,}", chart.text(cost) if cost else "–")
        for period, (calls, tokens, cost) in reversed(sums)
        if calls
    ]
    return Picture("cost", chart, words, ("Week from" if by == "week" else "Month", "Calls", "Tokens", "Cost"), rows)


def by_period(weeks: Sequence[Week], *fields: str) -> tuple[str, list[tuple[str, list[float]]]]:
    """Add up the *fields* of *weeks* by period. Return the period, and the name and the sums of each one. The period is
    `week`, or `month` if a chart has no room for all weeks. A week counts in the month in which it begins."""
    period, length = ("month", 7) if len(weeks) > MOST_BARS else ("week", 10)
    groups = groupby(weeks, key=lambda week: week.monday.isoformat()[:length])
    bars = [(name, list(some)) for name, some in groups]
    return period, [(name, [sum(getattr(week, field) for week in some) for field in fields]) for name, some in bars]


ROUTES: Routes = {("GET", "/numbers"): shown}
