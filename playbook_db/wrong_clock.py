"""Which stored times a wrong clock wrote. Hooks use this module, so it imports almost nothing."""

import time

_DAY_S = 86_400


def is_ahead(moment: str, now_s: float) -> bool:
    """Return whether *moment* is more than a day after *now_s* (seconds since 1970): then a wrong clock wrote it.

    *moment* is in UTC, as databases, files or the names of backups give it. Only its digits count, to the second.
    """
    tomorrow = time.strftime("%Y%m%d%H%M%S", time.gmtime(now_s + _DAY_S))
    return "".join(filter(str.isdigit, moment))[: len(tomorrow)] > tomorrow


def warning(revision: int, moment: str) -> str:
    """Describe a *revision* whose time *moment* `is_ahead`."""
    return (
        f"revision {revision} is dated {moment[:10]}, more than a day ahead: see whether this machine's clock is right"
    )
