"""A playbook over time."""

from datetime import UTC, datetime, timedelta

import pytest

from playbook_db.domain.trust.following import Trial
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.services.reading import statistics, trends
from playbook_db.services.reading.statistics import Week
from playbook_db.store.playbook.learning import Call

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday


def test_where_there_is_no_playbook_there_is_nothing(project: Project) -> None:
    """And none is made."""
    found = trends.gather(project, now=NOW)

    assert found.weeks == ()
    assert not any(found.use.values())


@pytest.mark.postgres
def test_each_week_has_its_votes_and_costs_and_use_is_counted(project: Project) -> None:
    """The numbers of the page are those of `stats`."""
    edit.add(project, "Run the tests with make check.")
    edit.vote(project, "oth-001", "helpful")
    with project.store.write(project.key) as book:
        for session, trial in (("s-1", Trial(followed=True)), ("s-2", Trial(True, 1, 1)), ("s-3", Trial(False, 4, 0))):
            book.add_trial(1, trial, session_id=session)
    with project.store.write(project.key, now=NOW - timedelta(days=20)) as book:
        book.add_call(Call("reflect", "a-model", 100, 10, 1, 0.5, 5), session_id="s")

    found, stats = trends.gather(project), statistics.gather(project)

    assert found.weeks == stats.weeks
    assert found.weeks[0].cost_usd == 0.5
    assert found.use == {name: getattr(stats.use, name) for name in found.use}
    assert (found.use["followed"], found.use["ignored"]) == (2, 2)


@pytest.mark.parametrize(("weeks", "period", "count"), [(60, "week", 60), (61, "month", 15)])
def test_many_weeks_are_told_by_month(weeks: int, period: str, count: int) -> None:
    """So that a chart has no more than 60 bars; nothing is left out."""
    every = [Week((NOW - timedelta(weeks=number)).date(), helpful=2, cost_usd=0.5) for number in range(weeks)]

    by, sums = trends.by_period(every[::-1], "helpful", "cost_usd")

    assert (by, len(sums)) == (period, count)
    assert [sum(column) for column in zip(*(counts for _, counts in sums), strict=True)] == [2 * weeks, 0.5 * weeks]
