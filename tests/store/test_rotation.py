"""The rotation of backups: which of them stay."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.store.sqlite.backups import daily_to_keep

_A_MONDAY = datetime(2026, 1, 5, 10, tzinfo=UTC)
times = st.lists(st.datetimes(datetime(2025, 11, 1), datetime(2026, 3, 1)).map(lambda t: t.replace(tzinfo=UTC)))


@pytest.mark.parametrize("today", range(40, 47))
def test_seven_days_and_four_weeks_stay(today: int) -> None:
    """Rotating every day gives the same result as rotating once."""
    days = [_A_MONDAY + timedelta(days=number) for number in range(today)]
    there: set[datetime] = set()
    for day in days:
        there = daily_to_keep({*there, day})

    last = max(there)
    assert there == daily_to_keep(days)
    assert {last - timedelta(days=number) for number in range(7)} <= there
    weekly = sorted(there)[:-7]
    assert [time.strftime("%a") for time in weekly] == ["Sun"] * 4
    assert last - weekly[-1] <= timedelta(days=13)


def test_a_week_keeps_one_backup() -> None:
    hourly = [_A_MONDAY + timedelta(hours=number) for number in range(24 * 21)]

    kept = sorted(daily_to_keep(hourly))

    assert [f"{time:%a %H}" for time in kept[:-7]] == ["Sun 23"] * 3


@given(times)
def test_rotating_twice_changes_nothing(taken: list[datetime]) -> None:
    """At most eleven backups stay, and the newest always."""
    kept = daily_to_keep(taken)

    assert kept <= set(taken)
    assert len(kept) <= 11
    assert set(sorted(set(taken))[-7:]) <= kept
    assert daily_to_keep(kept) == kept
    assert daily_to_keep(reversed(taken)) == kept
