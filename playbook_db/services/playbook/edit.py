"""Changes to a playbook by people and curators, one revision each, and the search for similar points."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from playbook_db.domain import duplicates, prompt_text
from playbook_db.domain import operations as operation_rules
from playbook_db.domain.merging.undo_rules import restore_state
from playbook_db.domain.playbook import Change, KeyPoint, PointState, RetiredPoint, Vote, why_text_unusable
from playbook_db.domain.sections import OTHERS, section_named
from playbook_db.errors import ChangedError, PointRuleError, unknown_point
from playbook_db.services.project import Project
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionResult
from playbook_db.store.queries import list_queries
from playbook_db.store.queries.list_queries import PointRecord

_MOST_UNITS = prompt_text.LIMIT_UNITS - 1000  # of a text; the rest is for the template and the point's header


@retry_on_conflict
def add(project: Project, text: str, *, section: str | None = None) -> RevisionResult:
    """Add a point. Raises PointRuleError if the text is blank, or if the playbook has the same text already."""
    chosen = OTHERS if section is None else section_named(section)
    text = usable(text)
    with project.store.write(project.key) as book:
        draft = book.draft
        if same := draft.find_text(text):
            raise PointRuleError(f"The playbook says this already: {same.name}. Nothing was added.")
        added = draft.add(KeyPoint(draft.new_name(chosen), text, chosen))
        return book.commit("edit", f"added {added.name}")


@retry_on_conflict
def edit(
    project: Project,
    name: str,
    *,
    text: str | None = None,
    section: str | None = None,
    was: str | None = None,
    was_in: str | None = None,
) -> RevisionResult:
    """Change a point's text, section or both. Its name and counters stay. Raises ChangedError if its text isn't
    *was*, or its section isn't *was_in*: the values that the user saw."""
    chosen = section_named(section) if section is not None else None
    text = None if text is None else usable(text)
    with project.store.write(project.key) as book:
        point = live_point(book, name)
        _require_same(point, was, f"; your text was: {text}" if text else ".")
        if was_in is not None and point.section != section_named(was_in):
            change = f"moved to {point.section} meanwhile. Nothing was changed."
            raise ChangedError(f"{name} was {change}")
        edited = replace(point, text=text or point.text, section=chosen or point.section)
        if edited != point:
            book.draft.change(edited, kind="edit")
        return book.commit("edit", f"edited {name}")


@retry_on_conflict
def retire(project: Project, *names: str, reason: str | None = None, was: str | None = None) -> RevisionResult:
    """Retire the points *names*, all or none. They can be restored. Raises ChangedError if a text isn't *was*."""
    with project.store.write(project.key) as book:
        for name in dict.fromkeys(names):
            _require_same(live_point(book, name), was)
            book.draft.retire(name, cause="user", reason=reason or "retired by hand")
        return book.commit("edit", f"retired {', '.join(names)}")


@retry_on_conflict
def restore(project: Project, *names: str) -> RevisionResult:
    """Restore the retired points *names* as they were, all or none."""
    with project.store.write(project.key) as book:
        for name in dict.fromkeys(names):
            if name in book.draft:
                raise PointRuleError(f"{name} is live; there is nothing to restore.")
            point = retired_point(book, name).point
            restore_state(book.draft, PointState(point, is_live=False), point)
        return book.commit("edit", f"restored {', '.join(names)}")


@retry_on_conflict
def vote(project: Project, name: str, tag: str, *others: str, was: str | None = None) -> RevisionResult:
    """Record a person's vote on one or more points. `neutral` is stored but not counted. Raises ChangedError if a
    text isn't *was*."""
    names = tuple(dict.fromkeys((name, *others)))
    with project.store.write(project.key) as book:
        for each in names:
            _require_same(live_point(book, each), was)
        votes = operation_rules.cast_votes(book.draft, [Vote(each, tag) for each in names])
        return book.commit("edit", f"voted {', '.join(names)} {tag}", votes=votes)


@retry_on_conflict
def pin(project: Project, *names: str) -> list[str]:
    """Pin the points *names*, all or none, so that they come first in every session. Return notes for the user.

    Pins are not part of the history: there is no revision and no undo. A point that is retired and restored keeps its
    pin.
    """
    with project.store.write(project.key) as book:
        points = [live_point(book, name) for name in dict.fromkeys(names)]
        for point in points:
            book.set_pinned(point.name, True)
    return [
        f"{point.name} has {point.harmful} harmful votes and {point.helpful} helpful ones: the next pruning retires "
        f"it, pinned or not. To see why it has them: playbook why {point.name}"
        for point in points
        if operation_rules.is_harmful(point)
    ]


@retry_on_conflict
def unpin(project: Project, *names: str) -> None:
    """Unpin the points *names*, live or retired, all or none."""
    with project.store.write(project.key) as book:
        for name in dict.fromkeys(names):
            list_queries.require_point(book, name)
            book.set_pinned(name, False)


@retry_on_conflict
def apply_batch(
    project: Project, operations: Sequence[object], evaluations: object = (), *, origin: str, dry_run: bool = False
) -> RevisionResult:
    """Apply a curator's *operations*, and then count the votes in *evaluations*, in one revision.

    An operation that breaks a rule is skipped, and stored with its reason. A vote that can't count gets a note. The
    history names the *origin* of the batch. Nothing is written with `dry_run`, or if every operation was skipped.
    """
    unknown = operation_rules.unknown_sections(operations)
    notes = [f"operation {index + 1}: there is no section {section!r}" for index, section in unknown]
    ballots, unread = operation_rules.read_votes(evaluations, tag_key="rating")
    notes += [f"evaluation {item.index + 1} is skipped: {item.reason}" for item in unread]
    with project.store.write(project.key, dry_run=dry_run) as book:
        skipped = operation_rules.apply_operations(book.draft, operations)
        votes = operation_rules.cast_votes(book.draft, ballots)
        notes += [f"there is no point {vote.name}; the vote isn't counted" for vote in votes if not vote.matched]
        recorded = skipped if book.draft.changes or votes else ()
        revised = book.commit("edit", f"applied a batch from {origin}", votes=votes, skipped=recorded, notes=notes)
        return replace(revised, skipped=skipped)


@retry_on_conflict
def prune(project: Project, *, dry_run: bool = False) -> RevisionResult:
    """Retire the points that are harmful by the pruning rule."""
    with project.store.write(project.key, dry_run=dry_run) as book:
        pruned = operation_rules.prune(book.draft)
        return book.commit("prune", f"pruned {len(pruned)} point{'s' * (len(pruned) != 1)}")


def find(project: Project, name: str) -> PointRecord:
    """Return the point *name*, live or retired. Raises NotFoundError."""
    with project.store.read(project.key) as book:
        return list_queries.require_point(book, name)


def retired_point(book: PlaybookRepository, name: str) -> RetiredPoint:
    """Return the retired point *name*. Raises NotFoundError, and PointRuleError if the point was forgotten."""
    retired = book.retired_point(name)
    if retired is None:
        raise list_queries.no_such_point(book, name)
    if retired.is_forgotten:
        raise PointRuleError(f"{name} was forgotten; none of its text is left.")
    return retired


def find_live(project: Project, name: str) -> KeyPoint:
    """Return the live point *name*. Raises NotFoundError."""
    with project.store.read(project.key) as book:
        return live_point(book, name)


def alike_points(project: Project, *, limit: int) -> list[tuple[KeyPoint, KeyPoint, float]]:
    """Return the *limit* most similar pairs of points, with their similarity (0 to 1). Leave out pairs that are known
    not to be duplicates."""
    with project.store.read(project.key) as book:
        return duplicates.near_pairs(book.live_points(), apart=book.distinct_points(), limit=limit)


@retry_on_conflict
def merge_points(project: Project, name: str, duplicate: str) -> RevisionResult:
    """Retire the point *duplicate*, and give its votes to the point *name*. Raises NotFoundError."""
    with project.store.write(project.key) as book:
        _require_two(book, name, duplicate)
        duplicates.fold_into(book.draft, name, duplicate)
        return book.commit("dedup", f"merged {duplicate} into {name}")


@retry_on_conflict
def keep_apart(project: Project, name: str, other: str) -> None:
    """Record that two points are not duplicates, until one is reworded. There is no revision and no undo. Raises
    NotFoundError."""
    with project.store.write(project.key) as book:
        _require_two(book, name, other)
        book.keep_apart([(name, other)])


def _require_two(book: PlaybookRepository, name: str, other: str) -> None:
    if name == other:
        raise PointRuleError(f"{name} was named twice. Name two different points.")
    for each in (name, other):
        live_point(book, each)


def live_point(book: PlaybookRepository, name: str) -> KeyPoint:
    """Return the live point *name* as *book* has it. Raises NotFoundError."""
    if name in book.draft:
        return book.draft[name]
    if book.retired_point(name) is not None:
        raise unknown_point(name, retired=True)
    raise list_queries.no_such_point(book, name)


def _require_same(point: KeyPoint, was: str | None, more: str = ".") -> None:
    """Raise ChangedError if *was* is given and *point* has another text. The error's message ends with *more*."""
    if was is not None and point.text != was:
        raise ChangedError(f"{point.name} was reworded meanwhile. Nothing was changed{more}")


def usable(text: str) -> str:
    """Return *text* without spaces around it. Raises PointRuleError if a point can't have this text, or if it is longer
    than everything that a session is shown."""
    if problem := why_text_unusable(text) or why_too_long(text):
        raise PointRuleError(f"This text can't be stored: {problem}.")
    return text.strip()


def why_too_long(text: str) -> str | None:
    """Return a reason if *text* is too long for any session, else None. Texts from files are stored anyway, with a
    note."""
    units, limit = prompt_text.utf16_units(text), _MOST_UNITS
    return f"it has {units:,} characters, and a session is shown {limit:,} at most" if units > limit else None


def notes_on_length(changes: Iterable[Change]) -> list[str]:
    """Return a note for each point in *changes* that is too long to be shown in any session."""
    return [
        f"{change.point.name} is too long to be shown in any session ({len(change.point.text):,} characters); "
        f"shorten it with: playbook edit {change.point.name}"
        for change in changes
        if change.kind in ("add", "edit", "restore") and why_too_long(change.point.text)
    ]
