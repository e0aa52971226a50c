"""Which of the backups that were taken by themselves stay.

Pure: a backup is its time here. Those that a person took are not asked about: they stay.
"""

from collections.abc import Iterable
from datetime import datetime

DAILY_KEPT = 7
WEEKLY_KEPT = 4  # weeks before those
MIGRATIONS_KEPT = 3


def daily_kept(times: Iterable[datetime]) -> set[datetime]:
    """Of the daily ones the newest DAILY_KEPT, and the newest of each of the last WEEKLY_KEPT weeks before theirs."""
    newest_first = sorted(set(times), reverse=True)
    kept = newest_first[:DAILY_KEPT]
    weeks: dict[tuple[int, int], datetime] = {}
    for time in newest_first[DAILY_KEPT:]:
        if _week(time) < _week(kept[-1]):
            weeks.setdefault(_week(time), time)
    return {*kept, *list(weeks.values())[:WEEKLY_KEPT]}


def before_migrations_kept(times: Iterable[datetime]) -> set[datetime]:
    """Of those taken before migrations the newest MIGRATIONS_KEPT."""
    return set(sorted(set(times), reverse=True)[:MIGRATIONS_KEPT])


def _week(time: datetime) -> tuple[int, int]:
    year, week, _ = time.isocalendar()
    return year, week
