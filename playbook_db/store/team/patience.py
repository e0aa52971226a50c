"""How long this process waits for a server: its callers say so, and each transaction starts anew.

Without a caller's word each answer may take LONG_S seconds, as for the worker, a transfer and a check.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from playbook_db import settings

REPLICA_S = 4.0  # for a command that can show the replica instead
ANSWER_S = 30.0  # for somebody who waits for a command, a page or a tool
LONG_S = 300.0  # for a single answer, when nobody waits
_LOCK_SHARE = 0.9
FOREVER_S = 0.0  # for a migration: stopping it would only mean starting again

_limit: ContextVar[float] = ContextVar("limit", default=LONG_S)
_remaining: ContextVar["list[float] | None"] = ContextVar("left", default=None)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Let the transactions inside wait for a server for at most *seconds* in all, each of them."""
    token = _limit.set(seconds)
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def started() -> Iterator[None]:
    """The time of one transaction, its connection included. One inside another has no time of its own."""
    if _remaining.get() is not None:
        yield
        return
    token = _remaining.set([_limit.get()])
    try:
        yield
    finally:
        _remaining.reset(token)


def remaining_s() -> float:
    """How many seconds the transaction under way may still wait; FOREVER_S for no limit."""
    remaining = _remaining.get()
    return _limit.get() if remaining is None else remaining[0]


def limit_s() -> float:
    """How many seconds a transaction may wait."""
    return _limit.get()


def lock_s() -> float:
    """How many seconds of these a transaction may wait for a lock: the server's word on it comes before we give up."""
    return min(settings.LOCK_WAIT_S, _limit.get() * _LOCK_SHARE or settings.LOCK_WAIT_S)


def note_wait(seconds: float) -> None:
    """Count *seconds* that the transaction under way has waited. LONG_S is for each answer, so they don't add up."""
    remaining = _remaining.get()
    if remaining is not None and remaining[0] != FOREVER_S and _limit.get() < LONG_S:
        remaining[0] = max(0.01, remaining[0] - seconds)  # not 0, which is no limit
