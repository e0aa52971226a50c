"""A playbook over time: its points, each week's votes, its use in sessions, the cost of learning."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from playbook_db.services.project import Project
from playbook_db.services.reading.statistics import Week, weeks_of
from playbook_db.store.playbook import statistics
from playbook_db.store.playbook.log_queries import USE_BY_EVENT, EventUse, use_by_event
from playbook_db.store.playbook.statistics import DayCalls

MOST_BARS = 60  # of a chart: days, weeks; more of them are shown as months
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Trends:
    """A playbook over time. `points` has the number of live points at the end of each day, week or month (`points_by`).
    `uses` has the use of points by event, and `days` the model calls of the last MOST_BARS days."""

    points_by: str
    points: tuple[tuple[str, int], ...]
    weeks: tuple[Week, ...]
    uses: tuple[EventUse, ...]
    days: tuple[DayCalls, ...]


def gather(project: Project, *, now: datetime | None = None) -> Trends:
    """Return the trends of the project's playbook. They are empty if there is none."""
    today = (now or datetime.now(UTC)).astimezone(UTC).date()
    with project.store.read(project.key) as book:
        of = {"key": book.key}
        book.foresee((statistics.POINTS_BY_DAY, of), (statistics.VOTES_BY_DAY, of), (USE_BY_EVENT, {}))
        changes, votes = statistics.points_by_day(book), statistics.votes_by_day(book)
        uses = use_by_event(book)
    with project.own.store.snapshot() as connection:
        calls = statistics.days_of_calls(connection, project.own.key)
    points_by, points = _points_over_time(changes, today)
    return Trends(points_by, points, weeks_of(votes, calls, today), uses, _last_days(calls, today))


def by_period(weeks: Sequence[Week], *fields: str) -> tuple[str, list[tuple[str, *tuple[float, ...]]]]:
    """Add up the *fields* of *weeks* by period. Return the period, and the name and the sums of each one. The period is
    `week`, or `month` if a chart has no room for all weeks. A week counts in the month in which it begins."""
    period, length = ("month", 7) if len(weeks) > MOST_BARS else ("week", 10)
    groups = groupby(weeks, key=lambda week: week.monday.isoformat()[:length])
    bars = [(name, list(some)) for name, some in groups]
    return period, [(name, *(sum(getattr(week, field) for week in some) for field in fields)) for name, some in bars]


def _points_over_time(changes: Iterable[tuple[str, int]], today: date) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return the period, and the number of live points at the end of each one. The period is the shortest for which a
    chart has room: a day, a week or a month. *changes* says how much the number changed on each day."""
    by_day = dict(sorted(changes))
    if not by_day:
        return "day", ()
    first = date.fromisoformat(min(by_day))
    last = max(today, date.fromisoformat(max(by_day)))
    span = (last - first) // _DAY + 1
    by = "day" if span <= MOST_BARS else "week" if span <= 7 * MOST_BARS else "month"
    count, at_end = 0, {}
    for number in range(span):
        day = first + number * _DAY
        count += by_day.get(day.isoformat(), 0)
        at_end[_begin(day, by)] = count
    return by, tuple(at_end.items())


def _begin(day: date, by: str) -> str:
    """Return the name of the day, week or month that contains *day*."""
    if by == "month":
        return day.isoformat()[:7]
    return (day - timedelta(days=day.weekday()) if by == "week" else day).isoformat()


def _last_days(calls: Iterable[DayCalls], today: date) -> tuple[DayCalls, ...]:
    """Return the calls of each of the last MOST_BARS days. Days before the first call are left out."""
    by_day: Mapping[str, DayCalls] = {each.day: each for each in calls}
    days = [(today - number * _DAY).isoformat() for number in reversed(range(MOST_BARS))]
    begin = next((place for place, day in enumerate(days) if day in by_day), len(days))
    return tuple(by_day.get(day, DayCalls(day, 0, 0, 0, 0, 0.0)) for day in days[begin:])
