"""A point's way between a project's playbook and the user's own: copied first, retired second, a revision of each.

The two may be in two databases, so there are two commits. The copy's change says where it came from, the retired
point's where it went: who is killed in between says it again, and what is missing is done; and an undo on either side
knows what the other has.
"""

import re
import shlex
from dataclasses import dataclass, replace

from playbook_db import settings
from playbook_db.domain import duplicates
from playbook_db.domain.merging.undo import RevisionRange
from playbook_db.domain.playbook import KeyPoint, normalised
from playbook_db.domain.sections import is_users_name
from playbook_db.errors import PointNotFoundError, PointRuleError, Remedy
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, find_membership
from playbook_db.store import quick_sql
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook import log_queries
from playbook_db.store.playbook.repository import FileFields, RevisionResult

_OWN = "your own playbook"
# What the reasons that are given here say: which way, and the point at the other end.
_WAY = re.compile(r"(promoted|demoted) (from|to) (\S+)(?: of (.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Move:
    """What became of the point `name`: its copy has the name `copy`; `copied` made that, `retired` took the point out
    where it was (None where it was to stay, or nothing was left to be done). `notes` are for the person."""

    name: str
    copy: str
    copied: RevisionResult | None
    retired: RevisionResult | None
    notes: tuple[str, ...] = ()


def promote(project: Project, name: str, *, keeps: bool, dry_run: bool = False) -> Move:
    """Bring the point *name* of *project* into the user's own playbook, and retire it where it was, unless it *keeps*
    it there. Raises PointNotFoundError, PointRuleError."""
    if is_users_name(name):
        text = f"{name} is in {_OWN}; what is promoted is a point of a project's."
        raise PointRuleError(text, Remedy("Into this project's: {}", ("demote", name)))
    return _move(project, Project.of_user(project.own.store), name, keeps=keeps, dry_run=dry_run)


def demote(project: Project, name: str, *, keeps: bool, dry_run: bool = False) -> Move:
    """Bring the point *name* of the user's own playbook into that of *project*, be it a team's, and retire it where it
    was, unless it *keeps* it there. Raises PointNotFoundError, PointRuleError."""
    if not is_users_name(name):
        text = f"{name} is no point of {_OWN}: those have names such as upat-001."
        raise PointRuleError(text, Remedy("See which are there: {}", ("list", "--user")))
    return _move(Project.of_user(project.own.store), project, name, keeps=keeps, dry_run=dry_run)


def _move(source: Project, target: Project, name: str, *, keeps: bool, dry_run: bool) -> Move:
    with source.store.read(source.key) as book:
        details, lifespan = edit.find_in(book, name), quick_sql.lifespan(book, name)
    if details.retired is not None:
        match = _WAY.fullmatch(details.retired.reason or "")
        if match is None or match[0] != _went(source, match[3], target):
            raise PointNotFoundError(name, retired=True)
        return Move(name, match[3], None, None, (f"{name} was {match[0]} before",))
    extra = details.extra if details.extra != "{}" else ""
    is_pinned = lifespan is not None and bool(lifespan.pinned)
    copy, copied = _copy(source, target, details.point, extra, is_pinned=is_pinned, dry_run=dry_run)
    retired = None if keeps else _retire(source, target, details.point, copy, dry_run=dry_run)
    return Move(name, copy, copied, retired, tuple(copied.notes))


@retry_on_conflict
def _copy(
    source: Project, target: Project, point: KeyPoint, extra: str, *, is_pinned: bool, dry_run: bool
) -> tuple[str, RevisionResult]:
    """Have *point* in *target*, with its votes: the name of its copy there, and what was done for it. What was copied
    before, or says the same, is its copy, and keeps the higher of both counters, as in an import."""
    reason = _came(source, point.name, target)
    with target.store.write(target.key, dry_run=dry_run) as book:
        draft, notes = book.draft, []
        earlier = next((draft[name] for name, _ in log_queries.changed_because(book, reason) if name in draft), None)
        if earlier is not None and earlier.text != point.text:
            raise PointRuleError(
                f"{point.name} was {reason.split()[0]} to {earlier.name} before, and one of the two was reworded since."
                " Nothing was changed. Give both the same text, or retire the one that you don't want."
            )
        equal = (each for each in draft.points() if normalised(each.text) == normalised(point.text))
        copy = earlier or next(equal, None)
        if copy is None:
            near = duplicates.near_points(point.text, draft.points(), limit=1)
            copy = draft.add(replace(point, name=draft.new_name(point.section)), reason=reason)
            notes += [f"{each.name} says nearly the same as {copy.name}: playbook show {each.name}" for each, _ in near]
        else:
            helpful, harmful = max(copy.helpful, point.helpful), max(copy.harmful, point.harmful)
            voted = replace(copy, helpful=helpful, harmful=harmful)
            if voted != copy:
                draft.change(voted, kind="edit", reason=reason)
            notes += [] if earlier else [f"{copy.name} says this already; it is taken for the copy"]
        extras = {copy.name: extra} if extra and not earlier else {}
        revised = book.commit("edit", f"{copy.name}: {reason}", file=FileFields(extras=extras), notes=notes)
        if is_pinned and not earlier and not dry_run:
            book.set_pinned(copy.name, True)
    return copy.name, revised


@retry_on_conflict
def _retire(source: Project, target: Project, point: KeyPoint, copy: str, *, dry_run: bool) -> RevisionResult:
    """Retire *point*, of which *copy* is in *target*; not one that was reworded meanwhile."""
    with source.store.write(source.key, dry_run=dry_run) as book:
        if edit.live_point(book, point.name).text != point.text:
            text = f"{point.name} was reworded meanwhile, and stays; its copy is {copy}. Nothing else was changed."
            raise PointRuleError(text)
        reason = _went(source, copy, target)
        book.draft.retire(point.name, reason=reason)
        return book.commit("edit", f"{point.name}: {reason}")


def elsewhere(project: Project, revisions: RevisionRange) -> list[str]:
    """What the moves in *revisions* of the playbook of *project* did in the other playbook and is in force there, for
    whoever undoes them: each with the command that undoes that, too."""
    with project.store.read(project.key) as book:
        ways = ("promoted ", "demoted ")
        reasons = [each for way in ways for each in log_queries.reasons_in(book, revisions, way)]
    moves = [(name, match) for name, reason in reasons if (match := _WAY.fullmatch(reason))]
    return list(dict.fromkeys(filter(None, (_other_end(project, name, match) for name, match in moves))))


def _other_end(project: Project, name: str, way: "re.Match[str]") -> str:
    """What became of the point at the other end of the *way* that the point *name* of *project* went; `""` where that
    isn't in force, or it isn't our move."""
    at, key = way[3], way[4]
    is_copy_there = way[2] == "to"
    means: tuple[str, ...]
    if is_users_name(at):
        if way[1] == "demoted" and key and key != settings.member():  # another member's
            return ""
        other, means = Project.of_user(project.own.store), ("--user",)
    elif key and project.is_users:
        other, means = Project.in_folder(project.store, key), ("--project", key)
        if find_membership(other) is not None:  # its server is asked by who goes there
            verb = "retire" if is_copy_there else "restore"
            return f"{at} of {key} is as the move left it; to undo that, too: {_command(*means, verb, at)}"
    else:
        return ""
    reason = _came(project, name, other) if is_copy_there else _went(other, name, project)
    with other.store.read(other.key) as book:
        is_live = book.live_point(at) is not None
        numbers = [number for changed, number in log_queries.changed_because(book, reason) if changed == at]
    if not numbers or is_live is not is_copy_there:
        return ""
    where = _OWN if other.is_users else key
    state = "stays there" if is_copy_there else "stays retired there"
    return f"{at} of {where} {state}; to undo that, too: {_command(*means, 'undo', str(numbers[0]))}"


def _command(*arguments: str) -> str:
    return shlex.join(("playbook", *arguments))


def _came(source: Project, name: str, target: Project) -> str:
    """Why the copy of the point *name* is in *target*. In a team's playbook many may have a point of this name."""
    if not source.is_users:
        return f"promoted from {name} of {source.own.key}"
    return f"demoted from {name}" + (f" of {settings.member()}" if target.is_team else "")


def _went(source: Project, copy: str, target: Project) -> str:
    """Why a point of *source* was retired whose *copy* is in *target*."""
    return f"demoted to {copy} of {target.own.key}" if source.is_users else f"promoted to {copy}"
