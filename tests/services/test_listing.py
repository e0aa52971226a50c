"""Lists of points: filters, order and pages."""

import json
from datetime import UTC, datetime

import pytest
from sqlalchemy import text as sql

from playbook_db.domain import playbook_file
from playbook_db.domain.operations import cast_votes
from playbook_db.domain.playbook import Vote
from playbook_db.services.playbook import edit, import_export, undo
from playbook_db.services.project import Project
from playbook_db.services.reading import listing
from playbook_db.store.playbook.point_rows import Order
from playbook_db.store.queries.hook_queries import ADD_SHOWING
from tests.builders import a_flat_dict, an_entry

pytestmark = pytest.mark.sqlite
STEPS = 100  # of SQLite's machine, counted at once


def names(found: listing.PointList) -> list[str]:
    return [point.name for point in found.points]


def read(project: Project, words: str = "", *, page: int = 1, rows: int = 50, **given: object) -> list[str]:
    return names(listing.read(project, words, page=page, page_rows=rows, **given))  # type: ignore[arg-type]


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what nobody needs", [("reason", "mis-003")]),
        ("old one", [("retired", "mis-003")]),
        ("pytest everywhere", [("old text", "pat-001")]),
        ("it was green", [("vote", "pat-001")]),
        ("proposed bandit", [("proposed", "p1")]),
        ("zebra", []),
    ],
)
def test_history_is_searched(filled: Project, question: str, expected: list[tuple[str, str]]) -> None:
    """Retired points, earlier wordings, reasons and proposals."""
    edit.edit(filled, "pat-001", text="Use pytest everywhere")
    edit.edit(filled, "pat-001", text="Run the tests before a commit")
    with filled.store.write(filled.key) as book:
        cast = cast_votes(book.draft, [Vote("pat-001", "helpful", "it was green")])
        book.commit("learn", "learned", votes=cast)
        book.add_proposal({"type": "ADD", "text": "Run bandit"}, "ADD", (), "outside", "s1")

    hits = listing.search_history(filled, question, proposed=True)

    assert [(hit.kind, hit.name) for hit, _ in hits][:1] == expected


@pytest.fixture
def filled(project: Project) -> Project:
    """Points of each state: pinned, resting, retired, with good and bad votes."""
    for text in (
        "Run the tests before a commit",
        "Never push on Fridays",
        "Ask for parse_header in the API",
        "Old one",
    ):
        edit.add(project, text, section="pat" if "test" in text else "mis")
    edit.vote(project, "pat-001", "helpful")
    edit.vote(project, "mis-001", "harmful")
    edit.pin(project, "mis-001")
    edit.add(project, "Older one", section="oth")
    edit.retire(project, "mis-003", reason="nobody needs it")
    edit.retire(project, "oth-001")
    with project.store.transaction() as connection:
        connection.execute(sql("UPDATE key_points SET resting = 1 WHERE name = 'mis-002'"))
    return project


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["mis-001", "pat-001", "mis-002"]),
        ({"order": "votes"}, ["pat-001", "mis-002", "mis-001"]),
        ({"order": "age"}, ["mis-002", "mis-001", "pat-001"]),
        ({"section": "mis"}, ["mis-001", "mis-002"]),
        ({"state": "pinned"}, ["mis-001"]),
        ({"state": "resting"}, ["mis-002"]),
        ({"state": "retired", "section": "mis"}, ["mis-003"]),
        ({"words": "testing a commit"}, ["pat-001"]),
        ({"words": "parse_head"}, ["mis-002"]),
        ({"words": "one", "state": "retired"}, ["oth-001", "mis-003"]),
        ({"words": "100%"}, []),
    ],
    ids=str,
)
def test_points_can_be_filtered_and_ordered(filled: Project, given: dict[str, str], expected: list[str]) -> None:
    assert read(filled, **given) == expected  # type: ignore[arg-type]


@pytest.mark.postgres
def test_order_used_puts_cited_points_first(filled: Project) -> None:
    with filled.store.write(filled.key) as book:
        ids = dict(book.connection.execute(sql("SELECT name, id FROM key_points")).all())
        of = {"playbook_id": book.playbook_id, "source": "startup", "revision": 1, "left_out": 0, "now": book.now}
        for number, shown in enumerate(([1, 2], [2], [1, 2, 3])):
            listed = str([ids[name] for name in ("pat-001", "mis-001", "mis-002")][: len(shown)])
            given = {**of, "session_id": f"s{number}", "points": listed, "event": "SessionStart"}
            book.connection.execute(sql(ADD_SHOWING), given)
        cite = "INSERT INTO citations (playbook_id, session_id, point_id, chunks, time) VALUES (:p, 's2', :id, 1, :t)"
        book.connection.execute(sql(cite), {"p": book.playbook_id, "id": ids["mis-002"], "t": book.now})

    found = listing.read(filled, order="used", page_rows=50)

    uses = [(point.name, point.sessions_shown, point.sessions_cited) for point in found.points]
    assert uses == [("mis-002", 1, 1), ("pat-001", 3, 0), ("mis-001", 2, 0)]


@pytest.mark.postgres
def test_rows_count_the_votes_of_the_last_weeks(filled: Project) -> None:
    """Undone votes don't count."""
    now = datetime.now(UTC)
    edit.vote(filled, "pat-001", "helpful")
    edit.vote(filled, "pat-001", "harmful")
    edit.vote(filled, "pat-001", "helpful")
    undo.undo(filled)

    found = listing.read(filled, page_rows=50, now=now + listing.TREND)

    (row,) = [each for each in found.points if each.name == "pat-001"]
    assert (row.helpful, row.harmful, row.newly_helpful, row.newly_harmful) == (2, 1, 1, 1)


def test_imported_counters_are_no_recent_votes(filled: Project) -> None:
    entries = [an_entry("pat-001", "Run the tests before a commit", 9), an_entry("pat-002", "New and proven", 8)]
    reading = playbook_file.decode(json.dumps(a_flat_dict(*entries)).encode(), source="a test")
    import_export.import_playbook(filled, reading, source="a test")
    edit.vote(filled, "pat-001", "helpful")

    rows = {row.name: row for row in listing.read(filled, page_rows=50).points}

    assert (rows["pat-001"].helpful, rows["pat-001"].newly_helpful) == (10, 1)
    assert (rows["pat-002"].helpful, rows["pat-002"].newly_helpful) == (8, 0)


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize("order", listing.ORDERS)
def test_pages_contain_each_point_once(project: Project, order: Order) -> None:
    """After the last page comes the last page."""
    for number in range(7):
        edit.add(project, f"point number {number}")
    whole = read(project, order=order)

    pages = [read(project, order=order, page=page, rows=2) for page in range(1, 5)]

    assert [name for page in pages for name in page] == whole
    assert read(project, order=order, page=99, rows=2) == pages[-1]


def test_search_works_with_a_damaged_index(filled: Project) -> None:
    with filled.store.transaction() as connection:
        connection.execute(sql("UPDATE point_search_data SET block = x'ffffffffffffffffffff'"))

    found = listing.read(filled, "commit", page_rows=50)

    assert (names(found), found.is_damaged) == (["pat-001"], True)
