"""Undoing revisions, by merging the playbook before the revisions, after the revisions, and now (the draft).

An undo subtracts votes. So the points don't show whether a revision is already undone: only the list of undos does.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from playbook_db.domain.draft import Draft
from playbook_db.domain.merging.diff import value_as_json
from playbook_db.domain.playbook import Header, KeyPoint, PointState, RetiredPoint
from playbook_db.errors import ArgumentError

_RANGE = re.compile(r"r?(\d{1,18})(?:\.\.r?(\d{1,18}))?", re.ASCII)
_MAX_QUOTED = 100  # characters of the revisions' messages that the message of their undo quotes
_NOT_THERE = "not in the playbook"

_Moves = dict[str, tuple[PointState, PointState]]  # the present and the new state of each point that changes
Side = Literal["ours", "theirs"]  # the present state, or the state before the revisions


class RevisionRange(NamedTuple):
    """The revisions from `first` to `last`, including both."""

    first: int
    last: int

    def __str__(self) -> str:
        if self.first == self.last:
            return f"revision {self.first}"
        return f"revisions {self.first} to {self.last}"

    def holds(self, other: "RevisionRange") -> bool:
        """Return whether the range contains all revisions of *other*."""
        return self.first <= other.first and other.last <= self.last

    def overlap(self, other: "RevisionRange") -> "RevisionRange | None":
        """Return the revisions that both ranges contain, or None if there are none."""
        first, last = max(self.first, other.first), min(self.last, other.last)
        return RevisionRange(first, last) if first <= last else None

    @property
    def was(self) -> str:
        """The verb to use after the range in a sentence: `was` or `were`."""
        return "was" if self.first == self.last else "were"

    @property
    def as_argument(self) -> str:
        """The range as a user types it after `playbook undo`."""
        return f"{self.first}" if self.first == self.last else f"{self.first}..{self.last}"


class Undo(NamedTuple):
    """A revision that undid other revisions: its number, and the range of the undone revisions."""

    number: int
    undone: RevisionRange


class Effect(NamedTuple):
    """The effect of some revisions: the points that they changed, and the header, before and after."""

    before: Mapping[str, PointState]
    after: Mapping[str, PointState]
    header_before: Header
    header_after: Header


class Collision(NamedTuple):
    """A field that later revisions changed, too. `ours`: its value now. `theirs`: its value before the revisions."""

    what: str
    ours: str
    theirs: str


@dataclass(slots=True)
class UndoOutcome:
    """The result of an undo: the new header, notes for the user, and all collisions, including resolved ones."""

    header: Header
    notes: list[str] = field(default_factory=list)
    collisions: list[Collision] = field(default_factory=list)


def parse_range(text: str) -> RevisionRange:
    """Return the revisions that *text* gives as `8`, `r8` or `3..8`. Raises ArgumentError."""
    match = _RANGE.fullmatch(text.strip().casefold())
    if match is None:
        raise ArgumentError(f"{text!r} is not a revision. Give a number like 8, or a range like 3..8.")
    span = RevisionRange(int(match[1]), int(match[2] or match[1]))
    if span.first > span.last:
        raise ArgumentError(f"{text!r} is not a range: put the older revision first ({span.last}..{span.first}).")
    return span


def undo_message(revisions: RevisionRange, summary: str) -> str:
    """Return the message of the revision that undoes *revisions*. *summary* sums up the revisions' own messages."""
    short = summary if len(summary) <= _MAX_QUOTED else summary[: _MAX_QUOTED - 1] + "…"
    return f"undid {revisions} ({short})"


def effective_undos(undos: Iterable[Undo]) -> list[Undo]:
    """Return those *undos* (newest first) that are in effect. If two undid the same revision, the newer one counts."""
    effective: list[Undo] = []
    undone: set[int] = set()
    for undo in undos:
        revisions = range(undo.undone.first, undo.undone.last + 1)
        if undo.number not in undone and undone.isdisjoint(revisions):
            effective.append(undo)
            undone.update(revisions)
    return effective


def undone_twice(undos: Sequence[Undo]) -> dict[Undo, Undo]:
    """Return those *undos* (newest first) that undid revisions which a newer undo in effect undid, too. Each has that
    newer undo. A new undo must add none, or votes would be subtracted twice."""
    effective = effective_undos(undos)
    undone = {number for undo in effective for number in range(undo.undone.first, undo.undone.last + 1)}
    return {
        undo: newer
        for undo in undos
        for newer in effective
        if undo.number not in undone and undo.number < newer.number and undo.undone.overlap(newer.undone)
    }


def undo_revisions(
    draft: Draft,
    effect: Effect,
    retired: Mapping[str, RetiredPoint],
    *,
    revisions: RevisionRange,
    prefer: Side | None = None,
) -> UndoOutcome:
    """Undo the *effect* of *revisions* in the draft.

    Votes are subtracted. A text, section or top-level key gets its old value. If later revisions changed it, there is a
    collision, and *prefer* decides which side wins. If there are collisions and no preference, don't use the draft.
    """
    outcome = UndoOutcome(draft.playbook().header)
    merge = _Merge(outcome, prefer)
    moves: _Moves = {}
    for name, after in effect.after.items():
        before = effect.before.get(name) or PointState(after.point, is_live=False)
        if name in retired and retired[name].is_forgotten:
            if before.is_live:
                outcome.notes.append(f"{name} was erased for good, so it doesn't come back")
            continue
        is_live = name in draft
        now = PointState(draft[name] if is_live else retired[name].point, is_live)
        new = merge.point(before, after, now)
        if new != now:
            moves[name] = now, new
    _carry_out(draft, moves, retired, f"{revisions} {revisions.was} undone")
    outcome.header = merge.header(effect, outcome.header)
    return outcome


def restore_state(draft: Draft, now: PointState, then: KeyPoint) -> None:
    """Restore a point from its state *now* to *then*. If its place is taken, put it last in its section."""
    if (not now.is_live or _place(now.point) != _place(then)) and draft.is_taken(*_place(then)):
        then = replace(then, position=draft.free_position())
    if then != now.point or not now.is_live:
        draft.place(then, kind=_kind(now, then))


class _Merge:
    """Merges single points and top-level keys, and adds notes and collisions to the outcome."""

    def __init__(self, outcome: UndoOutcome, prefer: Side | None) -> None:
        self._outcome = outcome
        self._prefer = prefer

    def point(self, before: PointState, after: PointState, now: PointState) -> PointState:
        """Return the state that a point has after the undo."""
        counted = replace(
            now.point,
            helpful=self._votes("helpful", before.point, after.point, now.point),
            harmful=self._votes("harmful", before.point, after.point, now.point),
        )
        if now.is_live and after.is_live and not before.is_live:
            return self._without_added(before.point, after.point, counted)
        is_live = now.is_live or (before.is_live and not after.is_live)
        states = before.point, after.point, now.point
        text, section = (
            self._field(f"{now.point.name}, its {key}", *(getattr(state, key) for state in states), is_seen=is_live)
            for key in ("text", "section")
        )
        is_in_its_place = is_live and now.point.position == after.point.position
        position = (before if is_in_its_place else now).point.position
        return PointState(replace(counted, text=text, section=section, position=position), is_live)

    def header(self, effect: Effect, now: Header) -> Header:
        """Return the header after the undo, but with an old `last_updated`."""
        before, after = effect.header_before, effect.header_after
        if _undated(now) == _undated(after):
            return before
        old, new, fields = dict(before.fields), dict(after.fields), dict(now.fields)
        for key in sorted((old.keys() | new.keys()) - {"sections", "last_updated"}):
            values = (value_as_json(side, key) or _NOT_THERE for side in (old, new, fields))
            value = self._field(f"the file's {key!r}", *values)
            if value == _NOT_THERE:
                fields.pop(key, None)
            else:
                fields[key] = json.loads(value)
        newline = before.final_newline if now.final_newline == after.final_newline else now.final_newline
        return Header(tuple(fields.items()), newline)

    def _without_added(self, before: KeyPoint, after: KeyPoint, now: KeyPoint) -> PointState:
        """Retire a point that the revisions added. If later revisions changed the point, report a collision."""
        if (now.text, now.section) == (after.text, after.section):
            return PointState(replace(now, text=before.text, section=before.section), is_live=False)
        self._collide(f"{now.name}, changed since it came", f"[{now.section}] {now.text}", _NOT_THERE)
        return PointState(now, is_live=self._prefer != "theirs")

    def _field(self, what: str, before: str, after: str, now: str, *, is_seen: bool = True) -> str:
        """Return a field's value after the undo. If later revisions changed a visible value, report a collision."""
        if now == after:
            return before
        if before in (after, now) or not is_seen:
            return now
        self._collide(what, now, before)
        return before if self._prefer == "theirs" else now

    def _votes(self, tag: str, before: KeyPoint, after: KeyPoint, now: KeyPoint) -> int:
        count: int = getattr(now, tag) - (getattr(after, tag) - getattr(before, tag))
        if count < 0:
            self._outcome.notes.append(f"{now.name} has fewer {tag} votes than the undo removes; it is left with 0")
        return max(0, count)

    def _collide(self, what: str, ours: str, theirs: str) -> None:
        self._outcome.collisions.append(Collision(what, ours, theirs))
        if self._prefer == "ours":
            self._outcome.notes.append(f"{what}: stays as it is now")


def _carry_out(draft: Draft, moves: _Moves, retired: Mapping[str, RetiredPoint], reason: str) -> None:
    """Give each point in *moves* its new state. No two live points get the same place.

    *reason* is the reason for retiring live points. A point that is already retired keeps its reason.
    """
    stays = {
        name
        for name, (now, new) in moves.items()
        if now.is_live and new.is_live and _place(now.point) == _place(new.point)
    }
    taken = {_place(point) for point in draft.points() if point.name not in moves or point.name in stays}
    for name, (now, new) in moves.items():
        point = new.point
        if new.is_live and name not in stays:
            if _place(point) in taken:
                point = replace(point, position=draft.free_position())
            taken.add(_place(point))
        if point != now.point or not now.is_live:
            draft.place(point, kind=_kind(now, point))
        if not new.is_live:
            before = RetiredPoint(point, 0, reason, cause="undo") if now.is_live else retired[name]
            draft.retire(name, cause=before.cause, reason=before.reason)


def _kind(now: PointState, new: KeyPoint) -> str:
    if not now.is_live:
        return "restore"
    if replace(now.point, position=new.position) == new:
        return "move"
    return "vote" if replace(now.point, helpful=new.helpful, harmful=new.harmful) == new else "edit"


def _place(point: KeyPoint) -> tuple[str, int]:
    return point.section, point.position


def _undated(header: Header) -> Header:
    return Header(tuple(item for item in header.fields if item[0] != "last_updated"), header.final_newline)
