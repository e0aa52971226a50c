"""Times as people write them: dates, times, lengths of time ago."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.times import ago, parse_time

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 29, 22, 30, tzinfo=UTC)  # in Berlin it is the 30th already, and summer time since a day
TICK = timedelta(microseconds=1)


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026-03-28", utc(2026, 3, 27, 23), utc(2026, 3, 28, 23) - TICK),
        ("2026-03-29", utc(2026, 3, 28, 23), utc(2026, 3, 29, 22) - TICK),  # an hour shorter
        ("today", utc(2026, 3, 29, 22), utc(2026, 3, 30, 22) - TICK),
        ("Yesterday", utc(2026, 3, 28, 23), utc(2026, 3, 29, 22) - TICK),
        ("2026-03-28 14:30", utc(2026, 3, 28, 13, 30), utc(2026, 3, 28, 13, 31) - TICK),
        ("2026-03-30T14:30:05", utc(2026, 3, 30, 12, 30, 5), utc(2026, 3, 30, 12, 30, 6) - TICK),
        ("2026-10-25 02:30", utc(2026, 10, 25, 0, 30), utc(2026, 10, 25, 1, 31) - TICK),  # the hour that comes twice
        ("2026-03-28 14:30Z", utc(2026, 3, 28, 14, 30), utc(2026, 3, 28, 14, 31) - TICK),
        ("2026-03-28 14:30 UTC", utc(2026, 3, 28, 14, 30), utc(2026, 3, 28, 14, 31) - TICK),
        ("2026-03-28 14:30:05 -02:30", utc(2026, 3, 28, 17, 0, 5), utc(2026, 3, 28, 17, 0, 6) - TICK),
    ],
)
def test_day_or_minute_has_a_begin_and_an_end(text: str, begin: datetime, end: datetime) -> None:
    """Without a time zone, it is local."""
    assert parse_time(text, now=NOW, zone=BERLIN, end=False) == begin
    assert parse_time(text, now=NOW, zone=BERLIN) == end


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", NOW),
        ("2h", NOW - timedelta(hours=2)),
        ("90 min ago", NOW - timedelta(minutes=90)),
        ("3d", NOW - timedelta(days=3)),
        ("2 weeks ago", NOW - timedelta(weeks=2)),
        ("1.5h", NOW - timedelta(minutes=90)),
        ("  1  Day   ago ", NOW - timedelta(days=1)),
        ("2026-03-01T10:00:00.000001+01:00", utc(2026, 3, 1, 9, 0, 0, 1)),
        ("2026-03-01 10:00:00.5-0230", utc(2026, 3, 1, 12, 30, 0, 500_000)),
    ],
)
def test_exact_time_is_exact(text: str, moment: datetime) -> None:
    assert parse_time(text, now=NOW, zone=BERLIN) == moment
    assert parse_time(text, now=NOW, zone=BERLIN, end=False) == moment


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "12", "r12", "2026", "20260301", "2026-02-30", "2026-03-01T25:00", "2 fortnights ago", "ago", "-2h",
        "99999999999999999d", "0001-01-01T00:00+10:00", "٢h", "2026-03-01 10", "9999-12-31",
    ],
)  # fmt: skip
def test_other_texts_are_no_time(text: str) -> None:
    assert parse_time(text, now=NOW, zone=BERLIN) is None


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)), st.integers(-12 * 60, 12 * 60))
def test_times_of_the_history_are_read(moment: datetime, minutes: int) -> None:
    known = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))

    read = parse_time(known.isoformat(timespec="microseconds"), now=NOW, zone=BERLIN)

    assert read == known


@given(st.text(max_size=30))
def test_any_text_is_a_utc_time_or_none(text: str) -> None:
    read = parse_time(text, now=NOW, zone=BERLIN)

    assert read is None or read.tzinfo is UTC


@pytest.mark.parametrize(
    ("passed", "said"),
    [({"seconds": 20}, "just now"), ({"minutes": 1}, "1 minute ago"), ({"hours": 5}, "5 hours ago"),
     ({"days": 40}, "40 days ago"), ({"hours": -1}, "just now")],
)  # fmt: skip
def test_age_has_one_unit(passed: dict[str, int], said: str) -> None:
    assert ago(NOW - timedelta(**passed), now=NOW) == said
