"""Which revisions were taken back by which. Pure.

Votes are subtracted however they stand, so that an undo can't see by the points alone that it has been done.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from playbook_db.errors import UndoError

_SPAN = re.compile(r"r?(\d{1,18})(?:\.\.r?(\d{1,18}))?", re.ASCII)
_TOLD_LENGTH = 100  # characters of what a revision said of itself, in the message of its undo


@dataclass(frozen=True, slots=True)
class Span:
    """The revisions from `first` to `last`, both of them too."""

    first: int
    last: int

    def __str__(self) -> str:
        if self.first == self.last:
            return f"revision {self.first}"
        return f"revisions {self.first} to {self.last}"

    def holds(self, other: "Span") -> bool:
        """Whether all of *other* is in it."""
        return self.first <= other.first and other.last <= self.last

    @property
    def was(self) -> str:
        """The verb that goes with it."""
        return "was" if self.first == self.last else "were"

    @property
    def as_argument(self) -> str:
        """How `playbook undo` is told of it."""
        return f"{self.first}" if self.first == self.last else f"{self.first}..{self.last}"


@dataclass(frozen=True, slots=True)
class Undo:
    """A revision that took others back: its number, and which."""

    number: int
    span: Span


def read_span(text: str) -> Span:
    """The revisions that *text* names: `8`, `r8`, `3..8`. Raises UndoError."""
    told = _SPAN.fullmatch(text.strip().casefold())
    if told is None:
        raise UndoError(f"{text!r} names no revisions. Give a number like 8, or a range like 3..8.")
    span = Span(int(told[1]), int(told[2] or told[1]))
    if span.first > span.last:
        raise UndoError(f"{text!r} is no range: the older revision comes first ({span.last}..{span.first}).")
    return span


def message(span: Span, told: str) -> str:
    """What an undo of *span* says of itself; *told* is what those revisions did."""
    short = told if len(told) <= _TOLD_LENGTH else told[: _TOLD_LENGTH - 1] + "…"
    return f"took back {span} ({short})"


def in_force(undos: Iterable[Undo]) -> list[Undo]:
    """Those of *undos*, newest first, that weren't taken back themselves."""
    found: list[Undo] = []
    for undo in undos:
        if taken_back_in(undo.number, found) is None:
            found.append(undo)
    return found


def taken_back_in(revision: int, undos: Iterable[Undo]) -> int | None:
    """Which of *undos*, all in force, took *revision* back."""
    return next((undo.number for undo in undos if undo.span.holds(Span(revision, revision))), None)
