"""Which points rest, and what wakes them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from playbook_db.domain import operations
from playbook_db.domain.playbook import Vote
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.services.playbook import edit, import_export, undo
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.store.queries import hook_queries, list_queries
from playbook_db.store.upkeep import check
from tests.databases import raw_connection

pytestmark = pytest.mark.postgres


@pytest.fixture
def raw(project: Project) -> Iterator[Any]:
    """A plain connection to a playbook of two points."""
    for text in ("run the tests", "say what was run"):
        edit.add(project, text, section="pat")
    with raw_connection(project.store) as connection:
        yield connection


def show(raw: Any, *sessions: str, points: tuple[int, ...] = (1, 2)) -> None:
    """Record that *sessions* were shown *points*."""
    for session in sessions:
        row = (session, json.dumps(points), "2026-11-21T01:05:00.123456+00:00")
        raw.execute("INSERT INTO showings VALUES (1, ?, 1, 'startup', 2, ?, 9, ?, 'SessionStart', NULL)", row)


def learn(project: Project, *votes: Vote, cited: tuple[str, ...] = ()) -> set[str]:
    """Let a session cast *votes* and cite *cited*. Returns the points that rest then."""
    with project.store.write(project.key) as book:
        book.commit("learn", "a lesson", votes=operations.cast_votes(book.draft, votes), origin=RevisionOrigin("s"))
        book.add_citations(cited, session_id="s")
        book.rest_points()
    return resting(project)


def resting(project: Project) -> set[str]:
    """The names of the points that rest: live points that no session is shown."""
    with project.store.read(project.key) as book:
        names = {name for name, marks in list_queries.marks(book).items() if marks.resting}
    shown = import_export.prompt(project)
    assert {point.name for point in read_playbook(project).points if f"[{point.name}] helpful" not in shown} == names
    with project.store.snapshot() as connection:
        assert check.run(connection, check.THOROUGH) == []
    return names


HELPFUL, HARMFUL = Vote("pat-001", "helpful"), Vote("pat-001", "harmful")
AGAIN = Vote("pat-001", "again", evidence=(Evidence("done so", "the user's words", "user"),))


def test_reworded_point_loses_its_votes_rank(project: Project, raw: Any) -> None:
    """Its counters stay."""
    learn(project, HARMFUL, HARMFUL)
    assert order(project) == ["pat-002", "pat-001"]

    edit.edit(project, "pat-001", text="run all tests")

    assert order(project) == ["pat-001", "pat-002"]
    assert learn(project, HARMFUL, HELPFUL, HELPFUL, HELPFUL, HARMFUL, HARMFUL) == set()
    assert read_playbook(project).by_name["pat-001"].harmful == 5
    edit.edit(project, "pat-001", text="run every test")
    assert learn(project, HARMFUL, HARMFUL) == set()
    assert learn(project, HARMFUL) == {"pat-001"}


def test_learning_again_raises_a_point_a_little(project: Project, raw: Any) -> None:
    """It confirms the point and ends its rest, but changes no counter."""
    assert learn(project, HARMFUL, HARMFUL, HARMFUL) == {"pat-001"}
    before = rank_of(raw, "pat-002")

    assert learn(project, AGAIN, replace(AGAIN, name="pat-002")) == set()

    point = read_playbook(project).by_name["pat-002"]
    assert (point.helpful, point.harmful) == (0, 0)
    again = rank_of(raw, "pat-002")
    learn(project, Vote("pat-002", "helpful"))
    assert before + 0.02 < again < rank_of(raw, "pat-002") - 0.02
    times = raw.execute("SELECT confirmed_at, created_at FROM live_key_points WHERE name = 'pat-001'").fetchone()
    assert times[0] > times[1]


def _use(project: Project, use: str) -> None:
    if use == "vote":
        edit.vote(project, "pat-001", "helpful")
    elif use == "cited":
        learn(project, cited=("pat-001",))
    elif use == "edit":
        edit.edit(project, "pat-001", text="run all tests")
    elif use == "pin":
        edit.pin(project, "pat-001")
    else:
        edit.retire(project, "pat-001")
        edit.restore(project, "pat-001")


def order(project: Project) -> list[str]:
    """The names of the points by rank."""
    with project.store.read(project.key) as book:
        return [
            point.name for point in map(hook_queries.StoredPoint, hook_queries.rows(book, hook_queries.RANKED_POINTS))
        ]


def rank_of(raw: Any, name: str) -> float:
    """The stored rank of a point."""
    return float(raw.execute(f"SELECT rank FROM key_points WHERE name = '{name}'").fetchone()[0])


@pytest.mark.parametrize("use", ["vote", "cited", "edit", "pin"])
def test_use_is_counted_with_its_showings(project: Project, raw: Any, use: str) -> None:
    """The row has the number of sessions at the point's last use."""
    show(raw, "1", "2")
    _use(project, use)
    show(raw, "3", "4")

    assert last_uses(raw) == [(1, 4, 2), (2, 4, 0)]


def last_uses(raw: Any) -> list[tuple[int, int, int]]:
    """Each point, its number of sessions, and that number at its last use."""
    query = "SELECT point_id, sessions, sessions_at_last_use FROM showing_counts ORDER BY point_id"
    return [tuple(row) for row in raw.execute(query)]


@pytest.mark.parametrize("use", ["vote", "cited", "edit", "pin", "retire and restore"])
def test_any_use_ends_a_rest(project: Project, raw: Any, use: str) -> None:
    learn(project, *[HELPFUL] * 9)
    assert learn(project, HARMFUL, HARMFUL, HARMFUL) == {"pat-001"}

    _use(project, use)

    assert resting(project) == set()
    assert learn(project) == set()


def test_three_harmful_votes_let_a_point_rest(project: Project, raw: Any) -> None:
    """A helpful vote between them starts the count again; a neutral one doesn't."""
    learn(project, *[HELPFUL] * 9)
    assert learn(project, HARMFUL, HARMFUL) == set()
    assert learn(project, HELPFUL, HARMFUL, Vote("pat-001", "neutral")) == set()
    assert learn(project, HARMFUL) == set()

    assert learn(project, HARMFUL) == {"pat-001"}
    assert learn(project, HELPFUL) == set()


@pytest.mark.sqlite
def test_peoples_votes_let_no_point_rest(project: Project, raw: Any) -> None:
    """They count for the next harmful vote of a session."""
    edit.vote(project, "pat-001", "helpful")
    learn(project, *[HELPFUL] * 9)
    for _ in range(3):
        edit.vote(project, "pat-001", "harmful")
    assert resting(project) == set()
    assert learn(project, Vote("pat-002", "harmful")) == set()

    assert learn(project, HARMFUL) == {"pat-001"}


@pytest.mark.sqlite
def test_undone_votes_let_no_point_rest(project: Project, raw: Any) -> None:
    learn(project, *[HELPFUL] * 9)
    learn(project, HARMFUL, HARMFUL)
    undo.undo(project)

    assert learn(project, HARMFUL) == set()


@pytest.mark.sqlite
def test_pinned_point_never_rests(project: Project, raw: Any) -> None:
    edit.pin(project, "pat-001")
    learn(project, *[HELPFUL] * 9)

    assert learn(project, HARMFUL, HARMFUL, HARMFUL) == set()


@pytest.mark.sqlite
def test_best_points_are_read_by_an_index(project: Project, raw: Any) -> None:
    """So a start costs the same in a playbook of any size."""
    plan = raw.execute(f"EXPLAIN QUERY PLAN {hook_queries.RANKED_POINTS}", {"playbook_id": 1}).fetchall()

    assert [row["detail"] for row in plan] == ["SEARCH k USING INDEX ix_key_points_rank (playbook_id=?)"]
