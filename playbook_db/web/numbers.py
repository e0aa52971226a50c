"""The numbers as charts: the page, where each stands beside a table, and the picture of `playbook stats --svg`."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from playbook_db.domain.times import local
from playbook_db.domain.trust.outcomes import EVENTS
from playbook_db.services.reading import trends
from playbook_db.services.reading.statistics import Statistics
from playbook_db.services.reading.trends import Trends, by_period
from playbook_db.web.charts import Chart
from playbook_db.web.page_request import PageRequest, Routes, rendered

_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart on the page: its id, what it shows in `words` (or why there is none), and the head of its table.

    The table has the rows of the chart if it has no `rows` of its own.
    """

    key: str
    chart: Chart
    words: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]] = ()


def shown(request: PageRequest) -> Response:
    """The page with all charts."""
    numbers = trends.gather(request.project)
    pictures = [_points(numbers), _votes(numbers), _uses(numbers), _costs(numbers)]
    return request.page("numbers.html", title="Numbers", pictures=pictures)


def _points(numbers: Trends) -> Picture:
    chart = Chart("Points over time", ["points"], numbers.points)
    words = "This playbook has no points yet."
    if chart.largest:
        (first, _), (_, last) = numbers.points[0], numbers.points[-1]
        words = f"{last:,} live point{'' if last == 1 else 's'} now; at most {chart.largest:,}, since {first}."
    by = {"day": "Day (UTC)", "week": "Week from", "month": "Month"}[numbers.points_by]
    return Picture("points", chart, words, (by, "Live points at its end"))


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
        parts = (f"{shown:,} {event}, of which {cited:,} were cited" for event, shown, cited, *_ in uses)
        words = f"Points shown to sessions, each once in a session: {'; '.join(parts)}."
    chart = Chart("Shown and cited", ["shown", "cited", "helpful", "harmful"], uses)
    return Picture("uses", chart, words, ("First shown", "Shown", "Cited", "Helpful votes", "Harmful votes"))


def _costs(numbers: Trends) -> Picture:
    costs = [(day.day, day.cost_usd) for day in numbers.days]
    chart = Chart("Cost a day", ["cost"], costs, unit="${}", decimals=2)
    words = f"No model was asked in the last {trends.MOST_BARS} days."
    if chart.largest:
        total = sum(cost for _, cost in costs)
        words = f"{chart.text(total)} since {costs[0][0]}, at most {chart.text(chart.largest)} on one day."
    elif costs:
        words = "No price is known of the models that were asked."
    days = [day for day in reversed(numbers.days) if day.calls]
    rows = [(day.day, f"{day.calls:,}", f"{day.tokens:,}", chart.text(day.cost_usd)) for day in days]
    return Picture("cost", chart, words, ("Day (UTC)", "Calls", "Tokens", "Cost"), rows)


def as_svg(numbers: Statistics, *, title: str, subtitle: str) -> bytes:
    """The statistics as an SVG document: a title and six charts, without scripts or links."""
    period, votes = by_period(numbers.weeks, *numbers.votes)
    _, costs = by_period(numbers.weeks, "cost_usd")
    cost = f"What learning cost by {period}: ${numbers.learning.cost_usd:,.2f} in all"
    sections = [(each.section.capitalize(), each.live, each.retired) for each in numbers.sections]
    use = numbers.use
    counts = {"shown": use.shown, "cited": use.cited, "helpful votes": use.helpful, "harmful votes": use.harmful}
    shares = [(f"{name} ({use.share_of_shown(count) or 0:.1%})", count) for name, count in counts.items()]
    since = f" since {local(use.shown_since)[:10]}" if use.shown_since else ""
    growth, file = "Size of the file (all projects) at each backup", numbers.file
    sizes = [(local(time)[:16], size / _MIB) for time, size in file.backups]
    if file.size_bytes is not None:
        sizes.append(("now", file.size_bytes / _MIB))
        growth += f", {file.size_bytes / _MIB:,.2f} MiB now"
    charts = {
        "votes": Chart(f"Votes by {period}", list(numbers.votes), votes, is_stacked=True),
        "sections": Chart("Points by section", ["live", "retired"], sections, is_stacked=True),
        "use": Chart(f"Points in sessions{since}", ["times"], shares),
        "ages": Chart("Live points by age", ["points"], numbers.age_groups),
        "costs": Chart(cost, ["cost"], costs, unit="${}", decimals=2),
        "sizes": Chart(growth, ["size"], sizes, unit="{} MiB", decimals=2),
    }
    return rendered("picture.svg", title=title, subtitle=subtitle, charts=charts).encode()


ROUTES: Routes = {("GET", "/numbers"): shown}
