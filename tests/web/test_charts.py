"""The axis, bars and labels of a chart."""

from datetime import UTC, datetime, timedelta
from math import log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.services.reading.statistics import Week
from playbook_db.web.numbers import Chart, by_period


@given(st.one_of(st.integers(1, 10**9), st.floats(0.0001, 10**6)))
def test_axis_has_3_to_6_round_steps(largest: float) -> None:
    """A step is 1, 2 or 5 times a power of ten."""
    chart = Chart("", ["cost"], [("a", 0), ("b", largest)], decimals=0 if isinstance(largest, int) else 2)

    assert chart.guides[0] == 0
    assert 3 <= len(chart.guides) - 1 <= 6
    assert chart.guides[-1] >= largest * (1 - 1e-9)
    step = chart.guides[1]
    assert round(step / 10 ** ((log10(step) + 1e-9) // 1), 6) in (1, 2, 5)
    assert not isinstance(largest, int) or step >= 1
    assert len({chart.text(value) for value in chart.guides}) == len(chart.guides)


@pytest.mark.parametrize(("weeks", "period", "count"), [(60, "week", 60), (61, "month", 15)])
def test_many_weeks_are_summed_by_month(weeks: int, period: str, count: int) -> None:
    """A chart has at most 60 bars."""
    now = datetime(2026, 11, 18, 12, tzinfo=UTC)
    every = [Week((now - timedelta(weeks=number)).date(), helpful=2, cost_usd=0.5) for number in range(weeks)]

    by, sums = by_period(every[::-1], "helpful", "cost_usd")

    assert (by, len(sums)) == (period, count)
    assert [sum(column) for column in zip(*(counts for _, counts in sums), strict=True)] == [2 * weeks, 0.5 * weeks]
