"""Taking revisions back, and a playbook or one point back to what it was. Each is a revision like any other."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from playbook_db.domain import undo as undo_rules
from playbook_db.domain.diff import changed_keys
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import PointState
from playbook_db.domain.undo import Collision, Effect, Gone, RevisionRange, Side, put_back, take_back
from playbook_db.errors import PointRuleError, RevisionNotFoundError, UndoCollisionError, UndoError
from playbook_db.services import edit
from playbook_db.services.history import find_revision
from playbook_db.services.projects import Project
from playbook_db.services.revise import Proposal, Revised, rehearse, revise
from playbook_db.store.past import Past

_Choice = Callable[[Past], tuple[RevisionRange | None, str]]


@dataclass(frozen=True, slots=True)
class Undone:
    """Which revisions were asked for, None where nothing came after the one to go back to, and what came of it.

    `told` is the new revision's message, None where nothing was left to take back; `is_last` says that the last
    revision alone was meant.
    """

    span: RevisionRange | None
    told: str | None
    is_last: bool
    revised: Revised


def undo(
    project: Project, span: RevisionRange | None = None, *, prefer: Side | None = None, dry_run: bool = False
) -> Undone:
    """Take the revisions of *span* back, by default the last one.

    What was changed again since collides: *prefer* says whether it stays (`ours`) or what the undo brings back wins
    (`theirs`). With `dry_run` nothing is written. Raises UndoCollisionError, UndoError, RevisionNotFoundError.
    """

    def choose(past: Past) -> tuple[RevisionRange, str]:
        wanted = _chosen(past, span)
        return wanted, _told(past, wanted)

    return _take_back(project, choose, prefer=prefer, dry_run=dry_run)


def go_back(project: Project, moment: str, *, dry_run: bool = False, now: datetime | None = None) -> Undone:
    """Let the playbook become what it was at *moment*, a revision or a time: all that came later is taken back."""
    asked_at = now or datetime.now(UTC)

    def choose(past: Past) -> tuple[RevisionRange | None, str]:
        revision = find_revision(past, moment, now=asked_at)
        later = RevisionRange(revision + 1, past.revision) if revision < past.revision else None
        return later, f"all after revision {revision}"

    return _take_back(project, choose, prefer=None, dry_run=dry_run)


def restore_as_of(project: Project, name: str, moment: str, *, now: datetime | None = None) -> Revised:
    """Let the point *name* become what it was at *moment*, whether it is live now or not; all else stays.

    Raises PointNotFoundError, and PointRuleError where it wasn't live then or was forgotten.
    """
    asked_at = now or datetime.now(UTC)

    def plan(draft: Draft, past: Past) -> Proposal:
        revision = find_revision(past, moment, now=asked_at)
        if name in draft:
            here = PointState(draft[name], is_live=True)
        else:
            here = PointState(edit.retired_point(draft, past, name).point, is_live=False)
        then = past.at(revision).by_name.get(name)
        if then is None:
            raise PointRuleError(_not_live_then(past, name, revision))
        put_back(draft, here, then)
        return Proposal("undo", f"restored {name} as it was after revision {revision}")

    return revise(project, plan)


def _chosen(past: Past, span: RevisionRange | None) -> RevisionRange:
    """The revisions that are meant. Raises where there are no such."""
    if not past.revision:
        raise UndoError("There is nothing to take back: this playbook has no revisions yet.")
    if span is None:
        return RevisionRange(past.revision, past.revision)
    if span.first == 0:
        raise UndoError("Revision 0 is the empty playbook before the first one; there is nothing to take back in it.")
    if span.last > past.revision:
        raise RevisionNotFoundError(f"{span.last}", past.revision)
    return span


def _taken_back_in(past: Past, span: RevisionRange) -> int | None:
    """The undo that took back all of *span* already, None where it is in force. Raises where it is so in part."""
    for other in undo_rules.in_force(past.undos_after(span.last)):
        if other.span.holds(span):
            return other.number
        part = RevisionRange(max(span.first, other.span.first), min(span.last, other.span.last))
        if part.first <= part.last:
            raise UndoError(
                f"Of {span}, {part} {part.was} taken back already, in revision {other.number}. Take back "
                f"the others, or first bring those back with: playbook undo {other.number}"
            )
    return None


def _take_back(project: Project, choose: _Choice, *, prefer: Side | None, dry_run: bool) -> Undone:
    """Take back the revisions that *choose* names, with what is to be said of them."""
    made: list[tuple[RevisionRange | None, bool, Proposal]] = []

    def plan(draft: Draft, past: Past) -> Proposal:
        span, told = choose(past)
        proposal = _proposal(draft, past, span, told, prefer)
        made.append((span, span == RevisionRange(past.revision, past.revision), proposal))
        return proposal

    revised = rehearse(project, plan) if dry_run else revise(project, plan)
    span, is_last, proposal = made[0]
    is_effective = bool(revised.changes) or proposal.header is not None
    return Undone(span, proposal.message if is_effective else None, is_last, revised)


def _proposal(draft: Draft, past: Past, span: RevisionRange | None, told: str, prefer: Side | None) -> Proposal:
    if span is None:
        return Proposal("undo", "", notes=[f"nothing came after revision {past.revision}; nothing is to be taken back"])
    message = undo_rules.message(span, told)
    by = _taken_back_in(past, span)
    if by is not None:
        note = f"{span} {span.was} taken back already; to bring that back: playbook undo {by}"
        return Proposal("undo", message, notes=[note])
    forgotten = past.forgotten()
    gone = {name: Gone(left.point, left.reason, name in forgotten) for name, left in past.retired().items()}
    outcome = take_back(draft, _effect(past, span), gone, span=span, prefer=prefer)
    if outcome.collisions and prefer is None:
        raise _collision(span, outcome.collisions)
    if outcome.header.stamped(None) != past.standing.header.stamped(None):
        keys = ", ".join(repr(change.key) for change in changed_keys(past.standing.header, outcome.header))
        notes = [*outcome.notes, f"top-level keys of the file are taken back too: {keys}"] if keys else outcome.notes
        return Proposal("undo", message, notes=notes, header=outcome.header, took_back=span)
    notes = outcome.notes if draft.changes else [*outcome.notes, f"nothing of {span} is left to take back"]
    return Proposal("undo", message, notes=notes, took_back=span)


def _effect(past: Past, span: RevisionRange) -> Effect:
    before = span.first - 1
    return Effect(
        past.states_at(before, first=span.first, last=span.last),
        past.states_at(span.last, first=span.first, last=span.last),
        past.header_at(before),
        past.header_at(span.last),
    )


def _collision(span: RevisionRange, collisions: list[Collision]) -> UndoCollisionError:
    command = f"playbook undo {span.as_argument}"
    sides = tuple((collision.what, collision.ours, collision.theirs) for collision in collisions)
    return UndoCollisionError(str(span).capitalize(), sides, keep=f"{command} --ours", take=f"{command} --theirs")


def _told(past: Past, span: RevisionRange) -> str:
    """What the revisions of *span* did, in a few words."""
    if span.first != span.last:
        return f"{span.last - span.first + 1} revisions"
    source, message = past.said_by(span.first)
    return f"{source}: {message}" if message else source


def _not_live_then(past: Past, name: str, revision: int) -> str:
    came = past.created_in().get(name, 0)
    if came > revision:
        return f"{name} wasn't there yet after revision {revision}: it came in revision {came}. Nothing was changed."
    return f"{name} was retired at revision {revision}; there is nothing to restore it to. Nothing was changed."
