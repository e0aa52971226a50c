"""Limit the time that this process waits for a server. Callers set the limit for each transaction.

If no caller sets a limit (as in the worker, a transfer or a check), each single answer may take LONG_S seconds.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from playbook_db import settings

REPLICA_S = 4.0  # for a command that can show the replica instead
ANSWER_S = 30.0  # for a person who waits for a command, a page or a tool
LONG_S = 300.0  # for one answer, if no person is waiting
FOREVER_S = 0.0  # for a migration, which would only have to start again
_LOCK_SHARE = 0.9

_limit: ContextVar[float] = ContextVar("limit", default=LONG_S)
_remaining: ContextVar["list[float] | None"] = ContextVar("remaining", default=None)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Limit each transaction in the `with` block: it waits for a server at most *seconds* in total."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def started() -> Iterator[None]:
    """Start the time limit of one transaction. The time to connect counts. A block inside another block shares its
    time."""
    token = _remaining.set(_remaining.get() or [_limit.get()])
    try:
        yield
    finally:
        _remaining.reset(token)


@contextmanager
def waiting() -> Iterator[float]:
    """Subtract the time of the `with` block from the remaining time. Yield the remaining seconds, or FOREVER_S."""
    began = monotonic()
    try:
        yield remaining_s()
    finally:
        remaining = _remaining.get()
        if remaining and FOREVER_S < _limit.get() < LONG_S:
            remaining[0] = max(0.01, remaining[0] - (monotonic() - began))  # 0 would mean no limit


def remaining_s() -> float:
    """Return how many seconds the transaction may still wait, or FOREVER_S."""
    return (_remaining.get() or [_limit.get()])[0]


def limit_s() -> float:
    """Return how many seconds a transaction may wait in total."""
    return _limit.get()


def lock_s() -> float:
    """Return how many seconds a transaction may wait for a lock. The wait ends before the transaction's time limit, so
    that the server can report the lock."""
    return min(settings.LOCK_WAIT_S, _limit.get() * _LOCK_SHARE or settings.LOCK_WAIT_S)
