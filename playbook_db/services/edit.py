"""What people and curators do to a playbook, one revision each."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from playbook_db.domain import operations as operation_rules
from playbook_db.domain import operations as operations_rules
from playbook_db.domain import playbook
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import KeyPoint, Vote
from playbook_db.domain.sections import OTHERS, SECTION_SLUGS, SLUG_SECTIONS, find_section
from playbook_db.domain.undo import freely_placed
from playbook_db.errors import PointNotFoundError, PointRuleError
from playbook_db.services.projects import Project
from playbook_db.services.revise import Plan, Proposal, Revised, read, rehearse, revise
from playbook_db.store.past import Past
from playbook_db.store.playbooks import RetiredPoint


@dataclass(frozen=True, slots=True)
class Found:
    """A point that was looked up by name: live, or retired with when and why."""

    point: KeyPoint
    retired: RetiredPoint | None = None


def add(project: Project, text: str, *, section: str | None = None) -> Revised:
    """Add a point. Raises PointRuleError where the text is blank or the playbook says it already."""
    wanted = OTHERS if section is None else section_named(section)
    text = _text(text)

    def plan(draft: Draft, _: Past) -> Proposal:
        if draft.has_text(text):
            raise PointRuleError(f"The playbook says this already: {_said_by(draft, text)}. Nothing was added.")
        made = draft.add(KeyPoint(draft.new_name(wanted), text, wanted))
        return Proposal("edit", f"added {made.name}")

    return revise(project, plan)


def edit(project: Project, name: str, *, text: str | None = None, section: str | None = None) -> Revised:
    """Give a point another text or section, or both; its name and counters stay."""
    wanted = section_named(section) if section is not None else None
    text = None if text is None else _text(text)

    def plan(draft: Draft, past: Past) -> Proposal:
        point = _live(draft, name, past)
        after = replace(point, text=text or point.text, section=wanted or point.section)
        if after != point:
            draft.change(after, kind="edit")
        return Proposal("edit", f"edited {name}")

    return revise(project, plan)


def retire(project: Project, name: str, *, reason: str | None = None) -> Revised:
    """Take a point out of the playbook; it stays in the history and can be restored."""

    def plan(draft: Draft, past: Past) -> Proposal:
        _live(draft, name, past)
        draft.retire(name, reason=reason or "retired by hand")
        return Proposal("edit", f"retired {name}")

    return revise(project, plan)


def restore(project: Project, name: str) -> Revised:
    """Bring a retired point back as it was when it left."""

    def plan(draft: Draft, past: Past) -> Proposal:
        if name in draft:
            raise PointRuleError(f"{name} is live; there is nothing to restore.")
        gone = retired_point(draft, past, name)
        draft.place(freely_placed(draft, gone.point), kind="restore")
        return Proposal("edit", f"restored {name}")

    return revise(project, plan)


def vote(project: Project, name: str, tag: str) -> Revised:
    """Record a vote of a person on a point; `neutral` is kept but counts nowhere."""

    def plan(draft: Draft, past: Past) -> Proposal:
        _live(draft, name, past)
        taken = operations_rules.cast_votes(draft, [Vote(name, tag)])
        return Proposal("edit", f"voted {name} {tag}", votes=taken)

    return revise(project, plan)


def apply_batch(project: Project, operations: Sequence[object], *, origin: str, dry_run: bool = False) -> Revised:
    """Carry out a curator's batch as one revision; what breaks a rule is skipped and kept with its reason.

    *origin* says in the history where the batch came from. With `dry_run` nothing is written.
    """

    def plan(draft: Draft, _: Past) -> Proposal:
        skipped = operation_rules.apply_operations(draft, operations)
        unknown = operation_rules.unknown_sections(operations)
        notes = [f"operation {index + 1}: there is no section {section!r}" for index, section in unknown]
        return Proposal("edit", f"applied a batch from {origin}", skipped=skipped, notes=notes)

    return _carry_out(project, plan, dry_run=dry_run)


def prune(project: Project, *, dry_run: bool = False) -> Revised:
    """Retire the points whose votes say that they harm."""

    def plan(draft: Draft, _: Past) -> Proposal:
        left = operations_rules.prune(draft)
        return Proposal("prune", f"pruned {len(left)} points")

    return _carry_out(project, plan, dry_run=dry_run)


def find(project: Project, name: str) -> Found:
    """The point *name*, live or retired. Raises PointNotFoundError."""
    live = read(project)
    if name in live.by_name:
        return Found(live.by_name[name])
    gone = list_retired(project).get(name)
    if gone is None:
        raise _not_found(name, live.by_name)
    return Found(gone.point, gone)


def list_retired(project: Project) -> dict[str, RetiredPoint]:
    """The points that have left, by name, the last to leave first."""
    with project.store.snapshot() as connection:
        return Past.open(connection, project.key).retired()


def section_named(value: str) -> str:
    """The section that *value* names, by its name or its slug. Raises PointRuleError."""
    found = find_section(value)
    if found is None:
        found = SLUG_SECTIONS.get(value.strip().lower())
    if found is None:
        raise PointRuleError(f"There is no section {value!r}. The sections are: {', '.join(SECTION_SLUGS)}.")
    return found


def retired_point(draft: Draft, past: Past, name: str) -> RetiredPoint:
    """The point *name*, which isn't live, to be brought back. Raises where it can't be."""
    gone = past.retired().get(name)
    if gone is None:
        raise _not_found(name, draft.playbook().by_name)
    if name in past.forgotten():
        raise PointRuleError(f"{name} was forgotten for good; nothing of its text is left.")
    return gone


def _carry_out(project: Project, plan: Plan, *, dry_run: bool) -> Revised:
    return rehearse(project, plan) if dry_run else revise(project, plan)


def _live(draft: Draft, name: str, past: Past) -> KeyPoint:
    if name in draft:
        return draft[name]
    if name in past.retired():
        raise PointNotFoundError(name, retired=True)
    raise _not_found(name, draft.playbook().by_name)


def _not_found(name: str, live: dict[str, KeyPoint]) -> PointNotFoundError:
    return PointNotFoundError(name, similar=tuple(difflib.get_close_matches(name, live, n=3)))


def _said_by(draft: Draft, text: str) -> str:
    wanted = playbook.normalised(text)
    return next(point.name for point in draft.points() if playbook.normalised(point.text) == wanted)


def _text(text: str) -> str:
    problem = playbook.why_text_unusable(text)
    if problem:
        raise PointRuleError(f"This text can't be kept: {problem}.")
    return text.strip()
