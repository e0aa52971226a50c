"""Which backups stay: the last days, the weeks before, the last migrations."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.store.sqlite.backups import daily_to_keep, rotate

_A_MONDAY = datetime(2026, 1, 5, 10, tzinfo=UTC)
times = st.lists(st.datetimes(datetime(2025, 11, 1), datetime(2026, 3, 1)).map(lambda t: t.replace(tzinfo=UTC)))


def _days(count: int) -> list[datetime]:
    return [_A_MONDAY + timedelta(days=number) for number in range(count)]


@pytest.mark.parametrize("days", [1, 7])
def test_the_first_week_stays_whole(days: int) -> None:
    """Nothing goes while there are seven at most."""
    assert daily_to_keep(_days(days)) == set(_days(days))


@pytest.mark.parametrize("today", range(40, 54))
def test_taken_daily_there_are_seven_days_and_the_ends_of_four_weeks_before(today: int) -> None:
    """Rotating each day, whatever day of the week it is, comes to the same as rotating once."""
    there: set[datetime] = set()
    for day in _days(today):
        there = daily_to_keep({*there, day})

    last = max(there)
    assert there == daily_to_keep(_days(today))
    assert {last - timedelta(days=number) for number in range(7)} <= there
    weekly = sorted(there)[:-7]
    assert [time.strftime("%a") for time in weekly] == ["Sun"] * 4
    assert last - weekly[-1] <= timedelta(days=13)


def test_of_a_day_s_many_the_weeks_keep_one_each() -> None:
    """Also where a clock went wrong, or somebody took them by a script."""
    hourly = [_A_MONDAY + timedelta(hours=number) for number in range(24 * 21)]

    kept = sorted(daily_to_keep(hourly))

    assert kept[-7:] == hourly[-7:]
    assert [f"{time:%a %H}" for time in kept[:-7]] == ["Sun 23"] * 3


@given(times)
def test_what_stays_was_there_and_stays_again(taken: list[datetime]) -> None:
    """At most eleven, the newest among them; rotating twice changes nothing; the order they come in says nothing."""
    kept = daily_to_keep(taken)

    assert kept <= set(taken)
    assert len(kept) <= 11
    assert set(sorted(set(taken))[-7:]) <= kept
    assert daily_to_keep(kept) == kept
    assert daily_to_keep(reversed(taken)) == kept


def test_the_newest_three_before_migrations_stay(tmp_path: Path) -> None:
    """However old they are; what was taken by hand is not counted."""
    folder = tmp_path / "backups"
    folder.mkdir()
    for year in range(2020, 2026):
        (folder / f"playbook-{year}0105T100000Z.schema-0001.db").touch()
        (folder / f"playbook-{year}0105T100000Z.db").touch()

    rotate(str(tmp_path / "playbook.db"))

    kept = sorted(file.name[9:13] for file in folder.glob("*.schema-*"))
    assert kept == ["2023", "2024", "2025"]
    assert len(list(folder.glob("playbook-*Z.db"))) == 6
