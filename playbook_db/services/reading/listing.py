"""Finding points by their text, and listing them page by page: filtered by words, section and state, and sorted."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.domain.times import timestamp
from playbook_db.errors import Remedy
from playbook_db.services.project import Project
from playbook_db.store.playbook import point_rows, searching
from playbook_db.store.playbook.point_rows import Order, PointRow, RowFilter, State
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.playbook.searching import HistoryHit

TREND = timedelta(weeks=4)  # over which the votes of a point are compared
STATES: tuple[State, ...] = ("live", "pinned", "resting", "retired")
ORDERS: tuple[Order, ...] = ("rank", "votes", "age", "used", "ignored")
DAMAGED = Remedy(
    "The full-text index is damaged or out of date, so parts of words were searched. Rebuild it: {}",
    ("db", "check", "--rebuild-search"),
)


@dataclass(frozen=True, slots=True)
class PointList:
    """One page of a list of points, and the `count` of all matches. If `is_damaged`, the full-text index can't be used,
    so parts of words were searched."""

    points: tuple[PointRow, ...]
    count: int
    page: int
    pages: int
    is_damaged: bool = False


def read(
    project: Project,
    words: str = "",
    *,
    state: State = "live",
    section: str | None = None,
    order: Order | None = None,
    page: int = 1,
    page_rows: int,
    now: datetime | None = None,
) -> PointList:
    """Return one *page* of the points that match *words*, a *state* and a *section* (its slug). A page has *page_rows*
    points. If there are fewer pages, return the last one.

    Without an *order*, retired points come most recent first. Live points come best match first, or without *words* in
    the order in which a session gets them. If no word matches, parts of texts are searched.
    """
    section = section if section in SLUG_SECTIONS else None
    with project.store.read(project.key) as book:
        row_filter, is_damaged = _filter(book, words, RowFilter(state, section))
        by_default: Order = "left" if state == "retired" else "rank" if row_filter.ids is None else "given"
        order = order or by_default
        ids = point_rows.ids_of(book, row_filter, order)
        pages = -(-len(ids) // page_rows)
        page = max(1, min(page, pages))
        on_page = ids[(page - 1) * page_rows : page * page_rows]
        since = timestamp((now or datetime.now(UTC)) - TREND)
        return PointList(tuple(point_rows.rows(book, on_page, since=since)), len(ids), page, pages, is_damaged)


def search_history(project: Project, question: str, *, proposed: bool) -> tuple[tuple[HistoryHit, float], ...]:
    """Return the texts that match *question*, best first, from retired points, earlier texts, reasons and evidence.
    With *proposed*, include waiting proposals."""
    with project.store.read(project.key) as book:
        return searching.search_history(book, question, proposed=proposed)


def _filter(book: PlaybookRepository, words: str, row_filter: RowFilter) -> tuple[RowFilter, bool]:
    if not words.strip():
        return row_filter, False
    is_damaged = False
    if row_filter.state != "retired":
        result = searching.search(book, words)
        is_damaged = result.is_damaged
        if result.points:
            ids = tuple(point.id for point, _ in result.points)
            return RowFilter(row_filter.state, row_filter.section, ids=ids), is_damaged
    return RowFilter(row_filter.state, row_filter.section, words=tuple(words.split())), is_damaged
