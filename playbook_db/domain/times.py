"""Parsing and formatting times for people, databases and files. The current time is always an argument."""

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
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[t ](\d\d:\d\d)(:\d\d)?([.,]\d+)?( ?(?:z|utc|[+-]\d\d(:?\d\d)?))?", re.ASCII)
_REVISION = re.compile(r"(?:r|revision )?(\d{1,100})", re.ASCII)
_TICK = timedelta(microseconds=1)  # the precision of stored times


def revision_number(text: str) -> int | None:
    """Return the revision number that *text* gives (`12`, `r12`, `revision 12`), or None."""
    match = _REVISION.fullmatch(text.strip().casefold())
    return int(match[1]) if match else None


def parse_time(text: str, *, now: datetime, zone: tzinfo | None = None, end: bool = True) -> datetime | None:
    """Return the time that *text* means, in UTC. Return None if *text* isn't a time.

    *text* is an ISO 8601 date or time, a time before *now* (`2h`, `3 days ago`), `now`, `today` or `yesterday`. A time
    without a zone is in *zone*, by default this machine's. A day, minute or second means its last moment, or its first
    moment if *end* is false.
    """
    text = " ".join(text.casefold().split())
    try:
        moment = _ago(text, now) or _day(text, now, zone, end=end) or _clock(text, zone, end=end)
        return moment and moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def timestamp(moment: datetime) -> str:
    """Format *moment* for databases and files: UTC, ISO 8601, always with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def read_timestamp(value: object) -> datetime | None:
    """Parse a time from a file. Without a zone, the time is in UTC. Return None if *value* isn't a time."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def local(time: str) -> str:
    """Format a stored time for people: local time, to the second, with offset, as in `2026-03-01 14:30:05+01:00`."""
    return datetime.fromisoformat(time).astimezone().isoformat(" ", "seconds")


def day_begin(now: datetime) -> datetime:
    """Return the time at which the UTC day of *now* began."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def ago(moment: datetime, *, now: datetime) -> str:
    """Return how long ago *moment* was, in the largest whole unit: `5 minutes ago`, or `just now`."""
    seconds = (now - moment).total_seconds()
    for unit in ("day", "hour", "minute"):
        count = int(seconds // _UNITS_S[unit])
        if count > 0:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def _ago(text: str, now: datetime) -> datetime | None:
    if text == "now":
        return now
    match = _AGO.fullmatch(text)
    if match is None or match[2] not in _UNITS_S:
        return None
    return now - timedelta(seconds=float(match[1]) * _UNITS_S[match[2]])


def _day(text: str, now: datetime, zone: tzinfo | None, *, end: bool) -> datetime | None:
    today = now.astimezone(zone).date()
    if text in ("today", "yesterday"):
        day = today - timedelta(days=text == "yesterday")
    elif _DATE.fullmatch(text):
        day = date.fromisoformat(text)
    else:
        return None
    if not end:
        return datetime.combine(day, time(), zone)
    return datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC) - _TICK


def _clock(text: str, zone: tzinfo | None, *, end: bool) -> datetime | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    clock = text[11:].replace(" ", "").replace(",", ".").replace("utc", "z")
    moment = datetime.fromisoformat(f"{text[:10]}T{clock.upper()}")
    # The hour that is repeated when summer time ends lasts from its first beginning to its last end.
    moment = (moment if moment.tzinfo else moment.replace(tzinfo=zone, fold=int(end))).astimezone(UTC)
    if end and not match[3]:
        moment += timedelta(seconds=1 if match[2] else 60) - _TICK
    return moment
