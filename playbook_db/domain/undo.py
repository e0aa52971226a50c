"""Which revisions were taken back by which. Pure.

Votes are subtracted however they stand, so that an undo can't see by the points alone that it has been done.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import Header, KeyPoint, PointState
from playbook_db.errors import UndoError

_SPAN = re.compile(r"r?(\d{1,18})(?:\.\.r?(\d{1,18}))?", re.ASCII)
_TOLD_LENGTH = 100  # characters of what a revision said of itself, in the message of its undo


@dataclass(frozen=True, slots=True)
class RevisionRange:
    """The revisions from `first` to `last`, both of them too."""

    first: int
    last: int

    def __str__(self) -> str:
        if self.first == self.last:
            return f"revision {self.first}"
        return f"revisions {self.first} to {self.last}"

    def holds(self, other: "RevisionRange") -> bool:
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
    span: RevisionRange


def read_span(text: str) -> RevisionRange:
    """The revisions that *text* names: `8`, `r8`, `3..8`. Raises UndoError."""
    told = _SPAN.fullmatch(text.strip().casefold())
    if told is None:
        raise UndoError(f"{text!r} names no revisions. Give a number like 8, or a range like 3..8.")
    span = RevisionRange(int(told[1]), int(told[2] or told[1]))
    if span.first > span.last:
        raise UndoError(f"{text!r} is no range: the older revision comes first ({span.last}..{span.first}).")
    return span


def message(span: RevisionRange, told: str) -> str:
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
    return next((undo.number for undo in undos if undo.span.holds(RevisionRange(revision, revision))), None)


# Taking revisions back: what returns, what stays since it was changed again, and what collides.
#
# A merge of three states, point by point and field by field: as the revisions found the playbook, as they left it,
# and as it is now, which is the draft. Pure.


Side = Literal["ours", "theirs"]  # what stands now, or what the undo brings back
_OUT = "not in the playbook"


@dataclass(frozen=True, slots=True)
class Effect:
    """What some revisions did: the points that they changed and the header, before them and after."""

    before: Mapping[str, PointState]
    after: Mapping[str, PointState]
    header_before: Header
    header_after: Header


@dataclass(frozen=True, slots=True)
class Gone:
    """A point that has left, and why; a forgotten one never comes back."""

    point: KeyPoint
    reason: str | None = None
    is_forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Collision:
    """Where what is taken back was changed again since: `what` it is about, what stands now (`ours`), and what the
    undo would bring back (`theirs`)."""

    what: str
    ours: str
    theirs: str


@dataclass(slots=True)
class Outcome:
    """What came of it: the header afterwards, what is worth a word, and the collisions, decided or not."""

    header: Header
    notes: list[str] = field(default_factory=list)
    collisions: list[Collision] = field(default_factory=list)


def take_back(
    draft: Draft, effect: Effect, gone: Mapping[str, Gone], *, span: RevisionRange, prefer: Side | None = None
) -> Outcome:
    """Undo on the draft what the revisions of *span* did, which *effect* tells; *gone* are the points that have left.

    Votes are subtracted. A text, section or top-level key goes back where nobody changed it since; else it
    collides, and *prefer* says which side wins. With collisions and nothing preferred, the draft is of no use.
    """
    outcome = Outcome(draft.playbook().header)
    merge = _Merge(outcome, prefer)
    moves: dict[str, tuple[PointState, PointState]] = {}
    for name, after in effect.after.items():
        before = effect.before.get(name) or PointState(after.point, is_live=False)
        if name in gone and gone[name].is_forgotten:
            if before.is_live:
                outcome.notes.append(f"{name} was forgotten for good; it doesn't come back")
            continue
        now = PointState(draft[name], is_live=True) if name in draft else PointState(gone[name].point, is_live=False)
        wanted = merge.point(before, after, now)
        if wanted != now:
            moves[name] = now, wanted
    _carry_out(draft, moves, {name: left.reason for name, left in gone.items()}, f"{span} {span.was} taken back")
    outcome.header = merge.header(effect, outcome.header)
    return outcome


def put_back(draft: Draft, now: PointState, then: KeyPoint) -> None:
    """Let a point, which stands as *now* says, be live and as it was *then*."""
    _carry_out(draft, {then.name: (now, PointState(then, is_live=True))}, {}, "")


def freely_placed(draft: Draft, point: KeyPoint) -> KeyPoint:
    """*point*, which comes back, in its old place, or at the end of its section where another one stands there now."""
    is_taken = any(_place(other) == _place(point) for other in draft.points())
    return replace(point, position=draft.free_position()) if is_taken else point


class _Merge:
    """The merge of single things; notes and collisions go to the outcome."""

    def __init__(self, outcome: Outcome, prefer: Side | None) -> None:
        self._outcome = outcome
        self._prefer = prefer

    def point(self, before: PointState, after: PointState, now: PointState) -> PointState:
        """How a point is to stand."""
        counted = replace(
            now.point,
            helpful=self._votes("helpful", before.point, after.point, now.point),
            harmful=self._votes("harmful", before.point, after.point, now.point),
        )
        if now.is_live and after.is_live and not before.is_live:
            return self._leave(before.point, after.point, counted)
        if not now.is_live and not (before.is_live and not after.is_live):
            return PointState(_with_words(before.point, after.point, counted), is_live=False)
        return PointState(self._reworded(before.point, after.point, counted), is_live=True)

    def header(self, effect: Effect, now: Header) -> Header:
        """How the header is to stand; its `last_updated` is the revision's affair."""
        before, after = effect.header_before, effect.header_after
        if _undated(now) == _undated(after):
            return before
        old, new, fields = dict(before.fields), dict(after.fields), dict(now.fields)
        for key in sorted((old.keys() | new.keys()) - {"sections", "last_updated"}):
            value = self._field(f"the file's {key!r}", _told(old, key), _told(new, key), _told(fields, key))
            if value == _OUT:
                fields.pop(key, None)
            else:
                fields[key] = json.loads(value)
        newline = before.final_newline if now.final_newline == after.final_newline else now.final_newline
        return Header(tuple(fields.items()), newline)

    def _leave(self, before: KeyPoint, after: KeyPoint, now: KeyPoint) -> PointState:
        """A point that the revisions brought leaves again, unless it says something else since."""
        if (now.text, now.section) == (after.text, after.section):
            return PointState(replace(now, text=before.text, section=before.section), is_live=False)
        self._collide(f"{now.name}, changed since it came", f"[{now.section}] {now.text}", _OUT)
        return PointState(now, is_live=self._prefer != "theirs")

    def _reworded(self, before: KeyPoint, after: KeyPoint, now: KeyPoint) -> KeyPoint:
        """A point that is live, or comes back, with its text, section and place taken back."""
        return replace(
            now,
            text=self._field(f"{now.name}, its text", before.text, after.text, now.text),
            section=self._field(f"{now.name}, its section", before.section, after.section, now.section),
            position=before.position if now.position == after.position else now.position,
        )

    def _field(self, what: str, before: str, after: str, now: str) -> str:
        if before == after or now == before:
            return now
        if now == after:
            return before
        self._collide(what, now, before)
        return before if self._prefer == "theirs" else now

    def _votes(self, tag: str, before: KeyPoint, after: KeyPoint, now: KeyPoint) -> int:
        left: int = getattr(now, tag) - (getattr(after, tag) - getattr(before, tag))
        if left < 0:
            self._outcome.notes.append(f"{now.name} has fewer {tag} votes than are taken back; it is left with 0")
        return max(0, left)

    def _collide(self, what: str, ours: str, theirs: str) -> None:
        self._outcome.collisions.append(Collision(what, ours, theirs))
        if self._prefer == "ours":
            self._outcome.notes.append(f"{what}: stays as it is now")


def _with_words(before: KeyPoint, after: KeyPoint, now: KeyPoint) -> KeyPoint:
    """A point that has left and stays away: what was said of it since stands, so that nothing there collides."""
    text = before.text if now.text == after.text else now.text
    section = before.section if now.section == after.section else now.section
    return replace(now, text=text, section=section)


def _carry_out(
    draft: Draft, moves: Mapping[str, tuple[PointState, PointState]], reasons: Mapping[str, str | None], reason: str
) -> None:
    """Bring each point from where it stands to where it is wanted; no two live ones get the same place."""
    stays = {
        name
        for name, (now, wanted) in moves.items()
        if now.is_live and wanted.is_live and _place(now.point) == _place(wanted.point)
    }
    taken = {_place(point) for point in draft.points() if point.name not in moves or point.name in stays}
    for name, (now, wanted) in moves.items():
        point = wanted.point
        if wanted.is_live and name not in stays:
            if _place(point) in taken:
                point = replace(point, position=draft.free_position())
            taken.add(_place(point))
        if point != now.point or not now.is_live:
            draft.place(point, kind=_kind(now, point))
        if not wanted.is_live:
            draft.retire(name, reason=reason if now.is_live else reasons[name])


def _kind(now: PointState, wanted: KeyPoint) -> str:
    here = now.point
    if not now.is_live:
        return "restore"
    if replace(here, position=wanted.position) == wanted:
        return "move"
    only_votes = replace(here, helpful=wanted.helpful, harmful=wanted.harmful) == wanted
    return "vote" if only_votes else "edit"


def _place(point: KeyPoint) -> tuple[str, int]:
    return point.section, point.position


def _undated(header: Header) -> Header:
    return Header(tuple(item for item in header.fields if item[0] != "last_updated"), header.final_newline)


def _told(fields: Mapping[str, Any], key: str) -> str:
    """The value under *key* as JSON, in which 1, 1.0 and true differ."""
    return json.dumps(fields[key], ensure_ascii=False) if key in fields else _OUT
