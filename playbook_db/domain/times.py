"""What a person calls a time, as a time. Pure: what the clock says now, and the zone, are arguments."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

EXAMPLES = "2026-03-01, 2026-03-01 14:30, 2h, 3d, 2 weeks ago, yesterday, now"
_UNITS_S = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("w", "week", "weeks"), 604_800),
}
_AGO = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]+)(?: ago)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[t ](\d\d:\d\d)(:\d\d)?([.,]\d+)?(z|[+-]\d\d(:?\d\d)?)?", re.ASCII)
_TICK = timedelta(microseconds=1)  # the history's times are no finer


def read_moment(text: str, *, now: datetime, zone: tzinfo, end: bool = True) -> datetime | None:
    """The moment that *text* names, in UTC; None where it names none.

    It is an ISO 8601 date or time (in *zone* where it names none), a length of time before *now* (`2h`, `3 days ago`),
    `now`, `today` or `yesterday`. What is told to the day, the minute or the second means the end of it, or with
    *end* off its beginning, so that a time as it was printed takes in what happened then.
    """
    asked = " ".join(text.casefold().split())
    try:
        found = _ago(asked, now) or _day(asked, now, zone, end=end) or _clock(asked, zone, end=end)
        return found and found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _ago(asked: str, now: datetime) -> datetime | None:
    if asked == "now":
        return now
    told = _AGO.fullmatch(asked)
    if told is None or told[2] not in _UNITS_S:
        return None
    return now - timedelta(seconds=float(told[1]) * _UNITS_S[told[2]])


def _day(asked: str, now: datetime, zone: tzinfo, *, end: bool) -> datetime | None:
    today = now.astimezone(zone).date()
    if asked in ("today", "yesterday"):
        day = today - timedelta(days=asked == "yesterday")
    elif _DATE.fullmatch(asked):
        day = date.fromisoformat(asked)
    else:
        return None
    if not end:
        return datetime.combine(day, time(), zone)
    return datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC) - _TICK


def _clock(asked: str, zone: tzinfo, *, end: bool) -> datetime | None:
    told = _CLOCK.fullmatch(asked)
    if told is None:
        return None
    moment = datetime.fromisoformat(asked.replace(",", ".").upper())
    # An hour that comes twice, when summer time ends, is meant from its first beginning to its last end.
    moment = (moment if moment.tzinfo else moment.replace(tzinfo=zone, fold=int(end))).astimezone(UTC)
    if end and not told[3]:
        moment += timedelta(seconds=1 if told[2] else 60) - _TICK
    return moment


# The time zone of this machine, as the rules take one.


class _LocalZone(tzinfo):
    """What the system says, for each moment: unlike the offset of today, it knows of summer time."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        return moment.replace(tzinfo=None).astimezone().utcoffset() if moment else None

    def dst(self, moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        return moment.replace(tzinfo=None).astimezone().tzname() if moment else None

    def fromutc(self, moment: datetime) -> datetime:
        return moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)


LOCAL = _LocalZone()


def timestamp(moment: datetime) -> str:
    """*moment* as the database and the files have it: UTC, ISO 8601, microseconds always."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
