"""A playbook over time: each week's votes and cost of learning. Also how often sessions used its points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from playbook_db.services.project import Project
from playbook_db.services.reading.statistics import Week, weeks_of
from playbook_db.store.playbook import statistics
from playbook_db.store.queries.log_queries import use_by_event

MOST_BARS = 60  # weeks of a chart; more of them are shown as months


@dataclass(frozen=True, slots=True)
class Trends:
    """The votes and costs of the `weeks`, without gaps, and how often sessions used points. `use` counts a point once
    for each session that was shown it, followed it, cited it or ignored it. Then come the votes of such sessions."""

    weeks: tuple[Week, ...]
    use: Mapping[str, int]


def gather(project: Project, *, now: datetime | None = None) -> Trends:
    """Return the trends of the project's playbook. They are empty if there is none."""
    today = (now or datetime.now(UTC)).astimezone(UTC).date()
    with project.store.read(project.key) as book:
        votes, uses = statistics.votes_by_day(book), use_by_event(book)
        followed, ignored = statistics.followed(book)
    with project.own.store.snapshot() as connection:
        calls = statistics.days_of_calls(connection, project.own.key)
    shown, cited, helpful, harmful = (
        sum(getattr(use, kind) for use in uses) for kind in ("shown", "cited", "helpful", "harmful")
    )
    use = {"shown": shown, "followed": followed, "cited": cited, "ignored": ignored}
    return Trends(weeks_of(votes, calls, today), use | {"helpful": helpful, "harmful": harmful})


def by_period(weeks: Sequence[Week], *fields: str) -> tuple[str, list[tuple[str, list[float]]]]:
    """Add up the *fields* of *weeks* by period. Return the period, and the name and the sums of each one. The period is
    `week`, or `month` if a chart has no room for all weeks. A week counts in the month in which it begins."""
    period, length = ("month", 7) if len(weeks) > MOST_BARS else ("week", 10)
    groups = groupby(weeks, key=lambda week: week.monday.isoformat()[:length])
    bars = [(name, list(some)) for name, some in groups]
    return period, [(name, [sum(getattr(week, field) for week in some) for field in fields]) for name, some in bars]
