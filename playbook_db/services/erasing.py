"""Erasing from one playbook: which points go, which fields are blanked, and one revision that does it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db.rules.draft import Draft
from playbook_db.rules.erasing import SHORTEST_PASSAGE, Eraser
from playbook_db.services.project import Project
from playbook_db.services.revising import Proposal, revise, timestamp
from playbook_db.store import erasing, written
from playbook_db.store.past import Past
from playbook_db.store.written import Passage, StoredPoint

_MOST_PASSAGES = 500  # that a pattern matched and that files are searched for besides the pattern itself


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be forgotten of a playbook: the points `names` with all that they ever said, `texts` and what
    `pattern` matches wherever it stands, and with `takes_matching` the points whose present text it matches.

    Where `texts` are given the playbook is an older copy, and a name counts only for a point that said one of them.
    """

    names: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    takes_matching: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """What goes from one playbook: the points that are forgotten whole, those that lose something of their present
    text and stay, every field that loses something, the texts that are erased wherever they stand, what the pattern
    `matched`, the last revision that was looked at with its time, and the revision that did it (None: not done)."""

    going: tuple[StoredPoint, ...] = ()
    staying: tuple[StoredPoint, ...] = ()
    found: tuple[Passage, ...] = ()
    texts: frozenset[str] = frozenset()
    matched: frozenset[str] = frozenset()
    seen: tuple[int, str | None] = (0, None)
    revision: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the points that are forgotten whole."""
        return tuple(point.name for point in self.going)

    @property
    def revisions(self) -> tuple[int, ...]:
        """The revisions whose texts lose something."""
        of_history = (passage.revision for passage in self.found if passage.is_history)
        return tuple(sorted({revision for revision in of_history if revision is not None}))


class _NothingError(Exception):
    """There is nothing to erase; the transaction is rolled back."""


def look(past: Past, wanted: Wanted, before: Share | None = None) -> Share:
    """What *wanted* would take from the playbook, as the transaction sees it; nothing is written.

    Where a look *before* took the same from the history, only what came since is read: that holds no lock for long.
    """
    connection, playbook_id = past.connection, past.playbook_id or 0
    points = [point for point in written.read_points(connection, playbook_id) if not point.is_forgotten]
    chosen = {point.id for point in points if _is_chosen(past, wanted, point)}
    eraser = Eraser(wanted.texts | written.wordings(connection, playbook_id, chosen), wanted.pattern)
    going = {point.id for point in points if point.id in chosen or eraser.leaves_nothing(point.text)}
    known = before if before is not None and _still_holds(past, before, eraser, going) else Share()
    found = [passage for passage in known.found if passage.is_history]
    found += written.find(connection, playbook_id, eraser, going, after=known.seen[0])
    lost = {passage.row["id"] for passage in found if passage.field == "key_points.text"} - going
    return Share(
        tuple(point for point in points if point.id in going),
        tuple(point for point in points if point.id in lost),
        tuple(found),
        eraser.texts,
        _matched(wanted.pattern, found),
        (past.revision, past.last_time),
    )


def erase(project: Project, wanted: Wanted, *, asked: str, message: str, before: Share | None = None) -> Share | None:
    """Erase what is *wanted* from the project's playbook, as one revision with *message*; what went, None where there
    was nothing. *asked* is how it was asked for, by `name` or by `match`; *before* is what a look found already."""
    done: list[Share] = []

    def plan(draft: Draft, past: Past) -> Proposal:
        share = look(past, wanted, before)
        if not share.going and not share.found:
            raise _NothingError
        for name in share.names:
            if name in draft:
                draft.retire(name, reason=written.REASON)
        done.append(share)
        return Proposal("edit", message, is_kept_anyway=True, then=carry_out)

    def carry_out(past: Past, revision: int | None) -> None:
        share = done.pop()
        done.append(_carry_out(past, revision or 0, share, wanted, asked))

    try:
        revise(project, plan)
    except _NothingError:
        return None
    return done.pop()


def mask(past: Past, wanted: Wanted) -> None:
    """Blank what is *wanted* in a copy of an older schema, which knows no forgotten points and is out of its triggers'
    way."""
    erasing.blank(past.connection, look(past, wanted).found)


def _carry_out(past: Past, revision: int, share: Share, wanted: Wanted, asked: str) -> Share:
    connection, playbook_id = past.connection, past.playbook_id or 0
    ids = {point.id for point in share.going}
    # The new revision has written the header anew.
    eraser = Eraser(share.texts, wanted.pattern)
    found = [passage for passage in share.found if not passage.field.startswith("playbooks.")]
    found += written.find(connection, playbook_id, eraser, ids, within=["playbooks"])
    now = timestamp(datetime.now(UTC))
    number = erasing.begin(connection, playbook_id, revision, asked=asked, names=share.names, now=now)
    erasing.blank(connection, found)
    erasing.entomb(connection, playbook_id, ids)
    erasing.finish(connection, playbook_id, number, fields=len(found), now=timestamp(datetime.now(UTC)))
    return replace(share, found=tuple(found), revision=revision)


def _still_holds(past: Past, before: Share, eraser: Eraser, going: set[int]) -> bool:
    """Whether a look *before* is true of the history as far as it went: the same was looked for, no erasure came since,
    and no backup has taken the place of all."""
    revision, time = before.seen
    return (
        before.texts == eraser.texts
        and {point.id for point in before.going} == going
        and past.last_erased_in() <= revision
        and past.time_of(revision) == time
    )


def _is_chosen(past: Past, wanted: Wanted, point: StoredPoint) -> bool:
    if wanted.takes_matching and Eraser(pattern=wanted.pattern).finds(point.text):
        return True
    if point.name not in wanted.names:
        return False
    if not wanted.texts:
        return True
    return bool(written.wordings(past.connection, past.playbook_id or 0, {point.id}) & wanted.texts)


def _matched(pattern: re.Pattern[str] | None, found: Iterable[Passage]) -> frozenset[str]:
    """What *pattern* matched, to be found in files in whatever form it stands there."""
    if pattern is None:
        return frozenset()
    eraser = Eraser(pattern=pattern)
    pieces = {piece for passage in found for piece in eraser.passages(passage.before)}
    longest = sorted((piece for piece in pieces if len(piece.strip()) >= SHORTEST_PASSAGE), key=len, reverse=True)
    return frozenset(longest[:_MOST_PASSAGES])
