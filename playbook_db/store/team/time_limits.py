"""Limit the time that this process waits for an answer of a server.

If no caller sets a limit (as in the worker, a transfer or a check), an answer may take LONG_S seconds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from playbook_db import settings

REPLICA_S = 4.0  # for a command that can show the replica instead
ANSWER_S = 30.0  # for a person who waits for a command, a page or a tool
LONG_S = 300.0  # if no person is waiting
FOREVER_S = 0.0  # for a migration, which would only have to start again
_LOCK_SHARE = 0.9

_limit: ContextVar[float] = ContextVar("limit", default=LONG_S)
_end: ContextVar[float | None] = ContextVar("end", default=None)  # on the clock of `monotonic`


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """In the `with` block, wait at most *seconds* for a connection, and for each answer."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def in_total() -> Iterator[None]:
    """Give all waits in the `with` block one common time limit. A nested block changes nothing."""
    token = _end.set(_end.get() or (monotonic() + _limit.get() if _limit.get() else None))
    try:
        yield
    finally:
        _end.reset(token)


def remaining_s() -> float:
    """Return how many seconds the next answer may take, or FOREVER_S."""
    end = _end.get()
    return _limit.get() if end is None else max(0.01, end - monotonic())  # 0 would mean no limit


def limit_s() -> float:
    """Return the time limit in seconds, as messages tell it."""
    return _limit.get()


def lock_s() -> float:
    """Return how many seconds a transaction may wait for a lock. The wait ends before the transaction's time limit, so
    that the server can report the lock."""
    return min(settings.LOCK_WAIT_S, _limit.get() * _LOCK_SHARE or settings.LOCK_WAIT_S)
