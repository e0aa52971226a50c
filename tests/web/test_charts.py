"""The axis and the columns of a chart, and the SVG that is made of it."""

import re
from datetime import UTC, datetime, timedelta
from math import log10
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.services.reading.statistics import Week
from playbook_db.web.numbers import Chart, by_period
from playbook_db.web.page_request import templates

_HOSTILE = "</text><script>alert(1)</script> & 'quotes' \x1b[2J"


def _drawn(chart: Chart) -> ElementTree.Element:
    text = templates().from_string("{% from 'charts.html' import drawn %}<svg>{{ drawn(chart) }}</svg>")
    return ElementTree.fromstring(text.render(chart=chart))  # noqa: S314 - our own


def _numbers(rect: ElementTree.Element) -> tuple[float, ...]:
    return tuple(float(rect.attrib[name]) for name in ("x", "y", "width", "height"))


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


def test_bars_are_stacked() -> None:
    chart = Chart("", ["a", "b"], [("x", 1, 3)])

    bars = [
        _numbers(rect) for rect in _drawn(chart).iter("rect") if rect.attrib["class"] in "ab" and "y" in rect.attrib
    ]

    assert bars[2:] == [(-20, -44.5, 40, 44.5), (-20, -178, 40, 133.5)]


@pytest.mark.parametrize("count", [1, 5, 6, 17, 60, 200])
def test_axis_has_at_most_five_labels(count: int) -> None:
    chart = Chart("", ["points"], [(f"day-{number}", 1) for number in range(count)])

    groups = list(_drawn(chart).iter("g"))

    assert len(groups) == count
    assert [group.findtext("title") for group in groups] == [f"day-{number}: 1" for number in range(count)]
    labelled = [group for group in groups if "day" in "".join(text.text or "" for text in group.iter("text"))]
    assert 1 <= len(labelled) <= 5
    places = [float(re.findall(r"[\d.]+", group.attrib["transform"])[0]) for group in labelled]
    assert all(32 <= place <= 440 - 32 for place in places)  # half of a date


def test_legend_needs_several_series() -> None:
    several, one = Chart("", ["live", "retired"], [("x", 1, 2)]), Chart("", ["live"], [("x", 1)])

    assert {"live", "retired"} <= {text.text for text in _drawn(several).iter("text")}
    assert "live" not in {text.text for text in _drawn(one).iter("text")}


@pytest.mark.parametrize(("weeks", "period", "count"), [(60, "week", 60), (61, "month", 15)])
def test_many_weeks_are_summed_by_month(weeks: int, period: str, count: int) -> None:
    """A chart has at most 60 bars."""
    now = datetime(2026, 11, 18, 12, tzinfo=UTC)
    every = [Week((now - timedelta(weeks=number)).date(), helpful=2, cost_usd=0.5) for number in range(weeks)]

    by, sums = by_period(every[::-1], "helpful", "cost_usd")

    assert (by, len(sums)) == (period, count)
    assert [sum(column) for column in zip(*(counts for _, counts in sums), strict=True)] == [2 * weeks, 0.5 * weeks]
