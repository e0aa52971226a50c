"""The time zone of this machine, as the rules take one."""

from datetime import UTC, datetime, timedelta, tzinfo


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
