"""What people and curators do to a playbook, one revision each."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from playbook_db.domain import operations as operation_rules
from playbook_db.domain.playbook import (
    KeyPoint,
    PointState,
    RetiredPoint,
    Vote,
    normalised,
    section_named,
    why_text_unusable,
)
from playbook_db.domain.sections import OTHERS
from playbook_db.domain.undo import restore_state
from playbook_db.errors import PointNotFoundError, PointRuleError
from playbook_db.services.projects import Project
from playbook_db.store.repository import PlaybookRepository, RevisionResult


@dataclass(frozen=True, slots=True)
class PointDetails:
    """A point, live or retired; where it is retired, when and why; what a file's entry said of it beside, as JSON."""

    point: KeyPoint
    retired: RetiredPoint | None = None
    extra: str = "{}"


def add(project: Project, text: str, *, section: str | None = None) -> RevisionResult:
    """Add a point. Raises PointRuleError where the text is blank or the playbook says it already."""
    chosen = OTHERS if section is None else section_named(section)
    text = _usable(text)
    with project.store.write(project.key) as book:
        draft = book.draft
        if draft.has_text(text):
            same = next(point.name for point in draft.points() if normalised(point.text) == normalised(text))
            raise PointRuleError(f"The playbook says this already: {same}. Nothing was added.")
        added = draft.add(KeyPoint(draft.new_name(chosen), text, chosen))
        return book.commit("edit", f"added {added.name}")


def edit(project: Project, name: str, *, text: str | None = None, section: str | None = None) -> RevisionResult:
    """Give a point another text or section, or both; its name and counters stay."""
    chosen = section_named(section) if section is not None else None
    text = None if text is None else _usable(text)
    with project.store.write(project.key) as book:
        point = _live_point(book, name)
        edited = replace(point, text=text or point.text, section=chosen or point.section)
        if edited != point:
            book.draft.change(edited, kind="edit")
        return book.commit("edit", f"edited {name}")


def retire(project: Project, name: str, *, reason: str | None = None) -> RevisionResult:
    """Take a point out of the playbook; it stays in the history and can be restored."""
    with project.store.write(project.key) as book:
        _live_point(book, name)
        book.draft.retire(name, reason=reason or "retired by hand")
        return book.commit("edit", f"retired {name}")


def restore(project: Project, name: str) -> RevisionResult:
    """Bring a retired point back as it was when it was retired."""
    with project.store.write(project.key) as book:
        if name in book.draft:
            raise PointRuleError(f"{name} is live; there is nothing to restore.")
        point = retired_point(book, name).point
        restore_state(book.draft, PointState(point, is_live=False), point)
        return book.commit("edit", f"restored {name}")


def vote(project: Project, name: str, tag: str) -> RevisionResult:
    """Record a vote of a person on a point; `neutral` is kept but counts nowhere."""
    with project.store.write(project.key) as book:
        _live_point(book, name)
        votes = operation_rules.cast_votes(book.draft, [Vote(name, tag)])
        return book.commit("edit", f"voted {name} {tag}", votes=votes)


def apply_batch(
    project: Project, operations: Sequence[object], *, origin: str, dry_run: bool = False
) -> RevisionResult:
    """Carry out a curator's batch as one revision; what breaks a rule is skipped and kept with its reason.

    *origin* says in the history where the batch came from. With `dry_run` nothing is written.
    """
    unknown = operation_rules.unknown_sections(operations)
    notes = [f"operation {index + 1}: there is no section {section!r}" for index, section in unknown]
    with project.store.write(project.key, dry_run=dry_run) as book:
        skipped = operation_rules.apply_operations(book.draft, operations)
        return book.commit("edit", f"applied a batch from {origin}", skipped=skipped, notes=notes)


def prune(project: Project, *, dry_run: bool = False) -> RevisionResult:
    """Retire the points whose votes say that they harm."""
    with project.store.write(project.key, dry_run=dry_run) as book:
        pruned = operation_rules.prune(book.draft)
        return book.commit("prune", f"pruned {len(pruned)} point{'s' * (len(pruned) != 1)}")


def find(project: Project, name: str) -> PointDetails:
    """The point *name*, live or retired. Raises PointNotFoundError."""
    with project.store.read(project.key) as book:
        return find_in(book, name)


def find_in(book: PlaybookRepository, name: str) -> PointDetails:
    """The point *name* of *book*, live or retired. Raises PointNotFoundError."""
    point, extra = book.live_point(name), book.extra_of(name)
    if point is not None:
        return PointDetails(point, extra=extra)
    retired = book.retired_point(name)
    if retired is None:
        raise no_such_point(book, name)
    return PointDetails(retired.point, retired, extra)


def list_retired(project: Project) -> dict[str, RetiredPoint]:
    """The retired points, by name, the last to be retired first."""
    with project.store.read(project.key) as book:
        return book.retired()


def retired_point(book: PlaybookRepository, name: str) -> RetiredPoint:
    """The point *name*, which isn't live, to be brought back. Raises where it can't be."""
    retired = book.retired_point(name)
    if retired is None:
        raise no_such_point(book, name)
    if retired.is_forgotten:
        raise PointRuleError(f"{name} was forgotten for good; nothing of its text is left.")
    return retired


def _live_point(book: PlaybookRepository, name: str) -> KeyPoint:
    if name in book.draft:
        return book.draft[name]
    if book.retired_point(name) is not None:
        raise PointNotFoundError(name, retired=True)
    raise no_such_point(book, name)


def no_such_point(book: PlaybookRepository, name: str) -> PointNotFoundError:
    """The error that there is no point *name*, with the names in *book* that look like it."""
    return PointNotFoundError(name, similar=tuple(difflib.get_close_matches(name, book.playbook().by_name, n=3)))


def _usable(text: str) -> str:
    problem = why_text_unusable(text)
    if problem:
        raise PointRuleError(f"This text can't be kept: {problem}.")
    return text.strip()
