"""Erasing from one playbook: which points go, which fields are blanked, and one revision that does it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db.rules.draft import Draft
from playbook_db.rules.erasing import SHORTEST_PASSAGE, Eraser
from playbook_db.services.project import Project
from playbook_db.services.revising import Proposal, revise, timestamp
from playbook_db.store import erasing
from playbook_db.store.erasing import Passage, StoredPoint
from playbook_db.store.past import Past

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
    `matched`, and the revision that did it (None: not done)."""

    going: tuple[StoredPoint, ...] = ()
    staying: tuple[StoredPoint, ...] = ()
    found: tuple[Passage, ...] = ()
    texts: frozenset[str] = frozenset()
    matched: frozenset[str] = frozenset()
    revision: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the points that are forgotten whole."""
        return tuple(point.name for point in self.going)

    @property
    def revisions(self) -> tuple[int, ...]:
        """The revisions whose texts lose something."""
        return tuple(sorted({passage.revision for passage in self.found if passage.revision is not None}))


class _NothingError(Exception):
    """There is nothing to erase; the transaction is rolled back."""


def look(past: Past, wanted: Wanted) -> Share:
    """What *wanted* would take from the playbook, as the transaction sees it; nothing is written."""
    connection, playbook_id = past.connection, past.playbook_id or 0
    points = [point for point in erasing.read_points(connection, playbook_id) if not point.is_forgotten]
    chosen = {point.id for point in points if _is_chosen(past, wanted, point)}
    eraser = Eraser(wanted.texts | erasing.wordings(connection, playbook_id, chosen), wanted.pattern)
    going = {point.id for point in points if point.id in chosen or eraser.leaves_nothing(point.text)}
    found = erasing.find(connection, playbook_id, eraser, going)
    lost = {passage.row["id"] for passage in found if passage.field == "key_points.text"} - going
    return Share(
        tuple(point for point in points if point.id in going),
        tuple(point for point in points if point.id in lost),
        tuple(found),
        eraser.texts,
        _matched(wanted.pattern, found),
    )


def erase(project: Project, wanted: Wanted, *, asked: str, message: str) -> Share | None:
    """Erase what is *wanted* from the project's playbook, as one revision with *message*; what went, None where there
    was nothing. *asked* is how it was asked for, by `name` or by `match`."""
    done: list[Share] = []

    def plan(draft: Draft, past: Past) -> Proposal:
        share = look(past, wanted)
        if not share.going and not share.found:
            raise _NothingError
        for name in share.names:
            if name in draft:
                draft.retire(name, reason=erasing.REASON)
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
    found += erasing.find(connection, playbook_id, eraser, ids, within=["playbooks"])
    now = timestamp(datetime.now(UTC))
    number = erasing.begin(connection, playbook_id, revision, asked=asked, names=share.names, now=now)
    erasing.blank(connection, found)
    erasing.entomb(connection, playbook_id, ids)
    erasing.finish(connection, playbook_id, number, fields=len(found), now=timestamp(datetime.now(UTC)))
    return replace(share, found=tuple(found), revision=revision)


def _is_chosen(past: Past, wanted: Wanted, point: StoredPoint) -> bool:
    if wanted.takes_matching and Eraser(pattern=wanted.pattern).finds(point.text):
        return True
    if point.name not in wanted.names:
        return False
    if not wanted.texts:
        return True
    return bool(erasing.wordings(past.connection, past.playbook_id or 0, {point.id}) & wanted.texts)


def _matched(pattern: re.Pattern[str] | None, found: Iterable[Passage]) -> frozenset[str]:
    """What *pattern* matched, to be found in files in whatever form it stands there."""
    if pattern is None:
        return frozenset()
    eraser = Eraser(pattern=pattern)
    pieces = {piece for passage in found for piece in eraser.passages(passage.before)}
    longest = sorted((piece for piece in pieces if len(piece.strip()) >= SHORTEST_PASSAGE), key=len, reverse=True)
    return frozenset(longest[:_MOST_PASSAGES])
