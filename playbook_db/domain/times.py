"""Times as people write them, and as databases and files store them. The present time is always an argument."""

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
_TICK = timedelta(microseconds=1)  # the history's times are no finer


def revision_number(text: str) -> int | None:
    """Parse the number of a revision in *text* (`12`, `r12`, `revision 12`). Return None if there is none."""
    match = _REVISION.fullmatch(text.strip().casefold())
    return int(match[1]) if match else None


def parse_time(text: str, *, now: datetime, zone: tzinfo | None = None, end: bool = True) -> datetime | None:
    """Parse the moment that *text* names. Return it in UTC, or None.

    *text* is an ISO 8601 date or time, a time before *now* (`2h`, `3 days ago`), `now`, `today` or `yesterday`. A time
    without a zone is in *zone*, by default this machine's. A day, minute or second means its last moment; without *end*
    its first.
    """
    text = " ".join(text.casefold().split())
    try:
        moment = _ago(text, now) or _day(text, now, zone, end=end) or _clock(text, zone, end=end)
        return moment and moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def timestamp(moment: datetime) -> str:
    """Write *moment* as databases and files store it: UTC, ISO 8601, always with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def read_timestamp(value: object) -> datetime | None:
    """Parse the time *value* of a file, in UTC if it has no zone. Return None if it isn't a time."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment


def local(time: str) -> str:
    """Write a time of the history for people: local, to the second, with offset, as in `2026-03-01 14:30:05+01:00`."""
    return datetime.fromisoformat(time).astimezone().isoformat(" ", "seconds")


def day_begin(now: datetime) -> datetime:
    """Return the beginning of the day of *now*, in UTC."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def ago(moment: datetime, *, now: datetime) -> str:
    """Write the time from *moment* to *now* in the largest whole unit, as in `5 minutes ago`, or `just now`."""
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
