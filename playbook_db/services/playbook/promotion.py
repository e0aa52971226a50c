"""Moving a point between a project's playbook and the personal one. The point is copied first, and then retired.

The playbooks may be in two databases, so there are two commits. The reason of each change names the point in the other
playbook. So if the command is killed, running it again does the rest. An undo in one playbook doesn't change the other.
"""

import re
from dataclasses import dataclass, replace

from playbook_db import settings
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import is_users_name
from playbook_db.errors import PointRuleError, Remedy, unknown_point
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.repository import FileFields, RevisionResult
from playbook_db.store.queries import list_queries, log_queries

_OWN = "your personal playbook"
# The reasons of our changes: the direction, and the point on the other side.
_WAY = re.compile(r"(promoted|demoted) (from|to) (\S+)(?: of (.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Move:
    """A move of the point `name`. Its copy is named `copy`. `copied` and `retired` are the results of the two commits.
    `retired` is None if the point was kept; both are None if the move was done before. `notes` are for the user."""

    name: str
    copy: str
    copied: RevisionResult | None
    retired: RevisionResult | None
    notes: tuple[str, ...] = ()


def promote(project: Project, name: str, *, keeps: bool, dry_run: bool = False) -> Move:
    """Copy the point *name* of *project* into the personal playbook. Retire it in the project unless *keeps* is set.
    Raises NotFoundError, PointRuleError."""
    if is_users_name(name):
        text = f"{name} is in {_OWN} already."
        raise PointRuleError(text, Remedy("To move it into this project: {}", ("demote", name)))
    return _move(project, Project.of_user(project.own.store), name, keeps=keeps, dry_run=dry_run)


def demote(project: Project, name: str, *, keeps: bool, dry_run: bool = False) -> Move:
    """Copy the point *name* of the personal playbook into the project's. Retire the original unless *keeps* is set.
    Raises NotFoundError, PointRuleError."""
    if not is_users_name(name):
        text = f"{name} is not in {_OWN}: its points have names such as upat-001."
        raise PointRuleError(text, Remedy("See them with: {}", ("list", "--user")))
    return _move(Project.of_user(project.own.store), project, name, keeps=keeps, dry_run=dry_run)


def _move(source: Project, target: Project, name: str, *, keeps: bool, dry_run: bool) -> Move:
    with source.store.read(source.key) as book:
        details, point = list_queries.require_point(book, name), book.live_point(name)
    if details.retired is not None or point is None:
        match = _WAY.fullmatch((details.retired and details.retired.reason) or "")
        if match is None or match[0] != _went(source, match[3], target):
            raise unknown_point(name, retired=True)
        return Move(name, match[3], None, None, (f"{name} was {match[0]} before",))
    extra = details.extra if details.extra != "{}" else ""
    is_pinned = bool(details.lifespan.pinned)
    copy, copied = _copy(source, target, point, extra, is_pinned=is_pinned, dry_run=dry_run)
    retired = None if keeps else _retire(source, target, point, copy, dry_run=dry_run)
    return Move(name, copy, copied, retired, tuple(copied.notes))


@retry_on_conflict
def _copy(
    source: Project, target: Project, point: KeyPoint, extra: str, *, is_pinned: bool, dry_run: bool
) -> tuple[str, RevisionResult]:
    """Copy *point* with its votes into *target*. Return the copy's name and the result of the commit.

    If *target* has an earlier copy or a point with the same text, that one becomes the copy. Its counters are raised to
    those of *point* if they are lower.
    """
    reason = _came(source, point.name, target)
    with target.store.write(target.key, dry_run=dry_run) as book:
        draft, notes = book.draft, []
        earlier = next((draft[name] for name, _ in log_queries.changed_because(book, reason) if name in draft), None)
        if earlier is not None and earlier.text != point.text:
            raise PointRuleError(
                f"{point.name} was already {reason.split()[0]} to {earlier.name}, and their texts differ by now. "
                "Nothing was changed. Give both the same text, or retire one of them."
            )
        copy = earlier or draft.find_text(point.text)
        if copy is None:
            copy = draft.add(replace(point, name=draft.new_name(point.section)), reason=reason)
        else:
            helpful, harmful = max(copy.helpful, point.helpful), max(copy.harmful, point.harmful)
            voted = replace(copy, helpful=helpful, harmful=harmful)
            if voted != copy:
                draft.change(voted, kind="edit", reason=reason)
            notes += [] if earlier else [f"{copy.name} says this already, so it is the copy"]
        extras = {copy.name: extra} if extra and not earlier else {}
        revised = book.commit("edit", f"{copy.name}: {reason}", file=FileFields(extras=extras), notes=notes)
        if is_pinned and not earlier and not dry_run:
            book.set_pinned(copy.name, True)
    return copy.name, revised


@retry_on_conflict
def _retire(source: Project, target: Project, point: KeyPoint, copy: str, *, dry_run: bool) -> RevisionResult:
    with source.store.write(source.key, dry_run=dry_run) as book:
        if edit.live_point(book, point.name).text != point.text:
            raise PointRuleError(f"{point.name} was copied to {copy}, but not retired: it was reworded meanwhile.")
        reason = _went(source, copy, target)
        book.draft.retire(point.name, cause="moved", reason=reason)
        return book.commit("edit", f"{point.name}: {reason}")


def elsewhere(project: Project, revisions: RevisionRange) -> list[str]:
    """Return a note for each point that *revisions* moved to or from another playbook: the undo changes only this
    one."""
    with project.store.read(project.key) as book:
        reasons = [each for way in ("promoted ", "demoted ") for each in log_queries.reasons_in(book, revisions, way)]
    return [f"{name} was {reason}; undo that in the other playbook, too" for name, reason in dict.fromkeys(reasons)]


def _came(source: Project, name: str, target: Project) -> str:
    """Return the reason to store when the point *name* is copied into *target*. In a team's playbook, the reason also
    names the member, as members' points may have the same name."""
    if not source.is_users:
        return f"promoted from {name} of {source.own.key}"
    return f"demoted from {name}" + (f" of {settings.member()}" if target.is_team else "")


def _went(source: Project, copy: str, target: Project) -> str:
    return f"demoted to {copy} of {target.own.key}" if source.is_users else f"promoted to {copy}"
