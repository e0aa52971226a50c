"""Duplicates as people see them: which points nearly say the same, and what is decided about two of them."""

from dataclasses import dataclass

from playbook_db.domain import duplicates
from playbook_db.domain.playbook import KeyPoint, normalised
from playbook_db.errors import PointRuleError
from playbook_db.services import edit
from playbook_db.services.projects import Project
from playbook_db.store.engine import tried_again
from playbook_db.store.repository import RevisionResult


@dataclass(frozen=True, slots=True)
class AlikePoints:
    """Two points that may say the same, and how much alike their words are, from 0 to 1."""

    one: KeyPoint
    other: KeyPoint
    likeness: float


def candidates(project: Project, *, limit: int) -> list[AlikePoints]:
    """The *limit* pairs of points that are most alike, without those that are kept apart."""
    with project.store.read(project.key) as book:
        pairs = duplicates.near_pairs(book.live_points(), apart=book.kept_apart(), limit=limit)
    return [AlikePoints(*pair) for pair in pairs]


@tried_again
def merge(project: Project, name: str, duplicate: str, *, text: str | None = None) -> RevisionResult:
    """Retire the point *duplicate* in favour of the point *name*, which takes over its votes; *text* rewords it.

    Raises PointNotFoundError, and PointRuleError where a third point has this text.
    """
    text = None if text is None else edit.usable(text)
    with project.store.write(project.key) as book:
        _require_two(name, duplicate)
        for each in (name, duplicate):
            edit.live_point(book, each)
        for point in book.draft.points() if text else ():
            if point.name not in (name, duplicate) and normalised(point.text) == normalised(text or ""):
                raise PointRuleError(f"The playbook says this already: {point.name}. Nothing was changed.")
        duplicates.fold_into(book.draft, name, duplicate, text=text)
        return book.commit("dedup", f"merged {duplicate} into {name}")


@tried_again
def keep_apart(project: Project, name: str, other: str) -> None:
    """Keep that two points stay two, until the text of one changes. It stands beside the history: no revision, no undo.

    Raises PointNotFoundError.
    """
    with project.store.write(project.key) as book:
        _require_two(name, other)
        for each in (name, other):
            edit.live_point(book, each)
        book.keep_apart([(name, other)])


def _require_two(name: str, other: str) -> None:
    if name == other:
        raise PointRuleError(f"{name} was named twice; two points are wanted.")
