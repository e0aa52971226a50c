"""Undoing revisions, and restoring a playbook or one point to an earlier state. Each of these makes a new revision."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from playbook_db import errors
from playbook_db.domain.merging.diff import changed_keys
from playbook_db.domain.merging.undo_rules import (
    Effect,
    RevisionRange,
    Side,
    Undo,
    restore_state,
    undo_message,
    undo_revisions,
    undone_twice,
)
from playbook_db.domain.playbook import PointState
from playbook_db.services.playbook import edit, promotion
from playbook_db.services.project import Project
from playbook_db.services.reading.history import find_revision, find_session
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.repository import FileFields, PlaybookRepository, RevisionOrigin, RevisionResult
from playbook_db.store.queries import log_queries


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The result of undoing `revisions` (None: there were none). `message` is the new revision's (None: nothing was
    left to undo). If `is_last`, only the last change was undone. `before` names what to undo next to
    go further back, such as `3` or `2..3`, or is ""."""

    revisions: RevisionRange | None
    message: str | None
    is_last: bool
    result: RevisionResult
    before: str = ""


class _RehearsedError(Exception):
    """Raised at the end of a dry run to roll back its transaction."""


@retry_on_conflict
def undo(
    project: Project,
    revisions: RevisionRange | None = None,
    *,
    prefer: Side | None = None,
    dry_run: bool = False,
    was: int | None = None,
) -> UndoResult:
    """Undo *revisions*, by default the last one that changed something.

    If a later change touched the same text, *prefer* keeps that change (`ours`) or undoes it, too (`theirs`). With
    `dry_run` nothing is written. *was* is the last revision that the user saw.

    Raises UndoCollisionError, PointRuleError, NotFoundError, ChangedError.
    """
    with project.store.write(project.key, dry_run=dry_run) as book:
        _refuse_other(book, was)
        chosen = _chosen(book, revisions)
        undone = _undo(book, chosen, _description(book, chosen), prefer=prefer)
    return _with_what_is_elsewhere(project, undone)


@retry_on_conflict
def undo_session(
    project: Project, session: str, *, prefer: Side | None = None, dry_run: bool = False, was: int | None = None
) -> list[UndoResult]:
    """Undo all revisions that were learned from a session, or none of them. *session* is the beginning of its id.
    Adjacent revisions are undone as one, newest first. Raises the errors of `undo`, and NotFoundError."""
    results: list[UndoResult] = []
    session_id = session
    with suppress(_RehearsedError), project.store.write(project.key) as book:
        _refuse_other(book, was)
        session_id = find_session(book, session)
        for revisions in _neighbours(_in_force(book, session_id)):
            # Each undo needs the result of the one before.
            book = PlaybookRepository.open_to_write(book.connection, project.key)
            try:
                results.append(_undo(book, revisions, f"session {session_id}", prefer=prefer))
            except errors.UndoCollisionError as error:
                subject = f"{revisions}".capitalize()
                raise errors.UndoCollisionError(subject, error.collisions, argument=f"--session={session_id}") from None
        if dry_run:
            results = [replace(each, result=replace(each.result, revision=None)) for each in results]
            raise _RehearsedError
    results = [_with_what_is_elsewhere(project, each) for each in results]
    for own in project.playbooks()[1:] if results else ():
        with own.store.read(own.key) as book:
            if _in_force(book, session_id):
                note = (
                    "your personal playbook keeps the points from this session; "
                    f"to undo those: playbook --user undo --session {session}"
                )
                last = results[-1].result
                results[-1] = replace(results[-1], result=replace(last, notes=[*last.notes, note]))
    return results


def _in_force(book: PlaybookRepository, session_id: str) -> list[int]:
    """Return the revisions learned from a session that were not undone."""
    undone = [each.undone for each in book.undos_in_force()]
    numbers = log_queries.revisions_of_session(book, session_id)
    return [each for each in numbers if not any(some.holds(RevisionRange(each, each)) for some in undone)]


def _neighbours(numbers: Sequence[int]) -> list[RevisionRange]:
    """Join adjacent *numbers* into ranges. The numbers must be in descending order."""
    ranges: list[RevisionRange] = []
    for number in numbers:
        if ranges and ranges[-1].first == number + 1:
            ranges[-1] = RevisionRange(number, ranges[-1].last)
        else:
            ranges.append(RevisionRange(number, number))
    return ranges


@retry_on_conflict
def go_back(project: Project, moment: str, *, dry_run: bool = False) -> UndoResult:
    """Restore the playbook as it was at *moment*, a revision or a time. All later revisions are undone."""
    with project.store.write(project.key, dry_run=dry_run) as book:
        revision = find_revision(book, moment)
        if revision == book.revision:
            note = f"there is nothing to undo after revision {revision}"
            return UndoResult(None, None, False, book.commit("undo", "", notes=[note]))
        later = RevisionRange(revision + 1, book.revision)
        undone = _undo(book, later, f"all after revision {revision}", prefer=None)
    return _with_what_is_elsewhere(project, undone)


@retry_on_conflict
def restore_as_of(project: Project, name: str, moment: str) -> RevisionResult:
    """Restore the point *name*, live or retired, to its state at *moment*. Raises PointRuleError if the point wasn't
    live then or was forgotten, and NotFoundError."""
    with project.store.write(project.key) as book:
        revision = find_revision(book, moment)
        if name in book.draft:
            current = PointState(book.draft[name], is_live=True)
        else:
            current = PointState(edit.retired_point(book, name).point, is_live=False)
        then = book.at(revision).by_name.get(name)
        if then is None:
            came = book.created_in().get(name, 0)
            when = f"didn't exist after revision {revision}: revision {came} added it"
            if came <= revision:
                when = f"was retired at revision {revision}, so there is no state to restore"
            raise errors.PointRuleError(f"{name} {when}. Nothing was changed.")
        restore_state(book.draft, current, then)
        return book.commit("undo", f"restored {name} as it was after revision {revision}")


def _refuse_other(book: PlaybookRepository, was: int | None) -> None:
    if was is not None and book.revision != was:
        changed = f"The playbook was changed meanwhile, in revision {book.revision}. Nothing was overwritten."
        raise errors.ChangedError(changed)


def _with_what_is_elsewhere(project: Project, undone: UndoResult) -> UndoResult:
    if undone.message is None or undone.revisions is None:
        return undone
    notes = [*undone.result.notes, *promotion.elsewhere(project, undone.revisions)]
    return replace(undone, result=replace(undone.result, notes=notes))


def _chosen(book: PlaybookRepository, revisions: RevisionRange | None) -> RevisionRange:
    """Return the chosen *revisions*, by default the last change. Raises PointRuleError, NotFoundError."""
    if not book.revision:
        raise errors.PointRuleError("There is nothing to undo: this playbook has no revisions yet.")
    if revisions is None:
        return _last_change(book)
    if revisions.first == 0:
        raise errors.PointRuleError("Revision 0 is the empty playbook before the first revision; it can't be undone.")
    if revisions.last > book.revision:
        raise errors.unknown_revision(f"{revisions.last}", book.revision)
    return revisions


def _last_change(book: PlaybookRepository) -> RevisionRange:
    number = log_queries.last_change(book, book.revision) or book.revision
    return RevisionRange(number, number)


def _undone_in(book: PlaybookRepository, revisions: RevisionRange) -> int | None:
    """Return the number of the undo that already undid all of *revisions*, or None if there is none. Raises
    PointRuleError if a revision would be undone twice: by this undo, or by an earlier one that this undo puts into
    effect again."""
    new, undos = Undo(book.revision + 1, revisions), book.undos()
    known = undone_twice(undos)  # a database of an early version can have some
    for older, newer in undone_twice([new, *undos]).items():
        if older in known:
            continue
        by = older if newer == new else newer
        if by.undone.holds(revisions):
            return by.number
        part = older.undone.overlap(newer.undone)
        raise errors.PointRuleError(
            f"{revisions} can't be undone: {part} would be undone again, after revision {by.number}.".capitalize(),
            errors.Remedy("First redo that with: {}", ("undo", f"{by.number}")),
        )
    return None


def _undo(book: PlaybookRepository, revisions: RevisionRange, description: str, *, prefer: Side | None) -> UndoResult:
    """Undo *revisions* with one new revision. Its message contains their *description*."""
    is_last = revisions == _last_change(book)
    by = _undone_in(book, revisions)
    if by is not None:
        note = f"{revisions} {revisions.was} undone already; to redo: playbook undo {by}"
        return UndoResult(revisions, None, is_last, book.commit("undo", "", notes=[note]))
    number, last = revisions.first - 1, revisions.last
    before, after = book.states_at(number, changed_in=revisions), book.states_at(last, changed_in=revisions)
    effect = Effect(before, after, book.header_at(number), book.header_at(last))
    outcome = undo_revisions(book.draft, effect, book.retired(), revisions=revisions, prefer=prefer)
    if outcome.collisions and prefer is None:
        raise errors.UndoCollisionError(
            str(revisions).capitalize(), tuple(outcome.collisions), argument=revisions.as_argument
        )
    header, notes = None, list(outcome.notes)
    if outcome.header.stamped(None) != book.header.stamped(None):
        header = outcome.header
        keys = ", ".join(repr(change.key) for change in changed_keys(book.header, header))
        if keys:
            notes.append(f"top-level keys of the file are undone too: {keys}")
    elif not book.draft.changes:
        notes.append(f"nothing is left to undo in {revisions}; to find another revision: playbook log")
    if book.draft.changes and (redone := _undone_by(book, revisions)):
        notes.append(f"this redid {redone}, which {revisions} had undone")
    text = undo_message(revisions, description)
    result = book.commit("undo", text, notes=notes, file=FileFields(header), origin=RevisionOrigin(undone=revisions))
    next_back = _before(book, revisions) if is_last else ""
    return UndoResult(revisions, text if result.changes or header else None, is_last, result, next_back)


def _before(book: PlaybookRepository, revisions: RevisionRange) -> str:
    """Return what to undo after *revisions*, the last one, to go one step further back.

    If *revisions* was an undo, what it had undone applies again. It is undone together with the change before it. In a
    chain of undos, each undo cancels the one before."""
    first, is_again = revisions, False
    while undone := _undone_by(book, first):
        first, is_again = undone, not is_again
    number = log_queries.last_change(book, first.first - 1)
    if number < 1 or _undone_by(book, RevisionRange(number, number)):
        return ""
    return RevisionRange(number, first.last if is_again else number).as_argument


def _description(book: PlaybookRepository, revisions: RevisionRange) -> str:
    if revisions.first != revisions.last:
        return f"{revisions.last - revisions.first + 1} revisions"
    if redone := _undone_by(book, revisions):
        return f"the undo of {redone}"
    source, text = book.source_and_message(revisions.first)
    return f"{source}: {text}" if text else source


def _undone_by(book: PlaybookRepository, revisions: RevisionRange) -> RevisionRange | None:
    """If *revisions* is a single undo, return the revisions that it undid, else None. Undoing it redoes them."""
    if revisions.first != revisions.last:
        return None
    return next((each.undone for each in book.undos() if each.number == revisions.first), None)
