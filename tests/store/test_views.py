"""The views: what their columns count."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playbook_db import store
from playbook_db.domain import operations
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import Vote
from playbook_db.services.playbook import edit, undo
from playbook_db.services.project import Project
from playbook_db.services.reading import history
from tests.databases import REFUSALS, raw_connection

pytestmark = pytest.mark.postgres

TIME = "2026-11-21T01:05:52.123456+00:00"


@pytest.fixture
def raw(project: Project) -> Iterator[Any]:
    """A plain connection to a playbook of three points."""
    for text in ("one", "two", "three"):
        edit.add(project, text, section="pat")
    with raw_connection(project.store) as connection:
        yield connection


def show(raw: Any, session: str, seq: int, points: str, time: str = TIME) -> None:
    """Record that *session* was shown *points*."""
    raw.execute(
        "INSERT INTO showings VALUES (1, ?, ?, 'startup', 3, ?, 0, ?, 'SessionStart', NULL)",
        (session, seq, points, time),
    )


def cite(raw: Any, session: str, point: int) -> None:
    """Record that *session* cited *point*."""
    raw.execute("INSERT INTO citations VALUES (1, ?, ?, 1, ?)", (session, point, TIME))


def use(raw: Any, name: str) -> Any:
    """The row of `point_use` for one point."""
    return raw.execute("SELECT * FROM point_use WHERE name = ?", (name,)).fetchone()


def test_unused_point_has_no_rates(raw: Any) -> None:
    row = use(raw, "pat-001")

    assert (row["sessions_shown"], row["sessions_cited"], row["helpful"], row["harmful"]) == (0, 0, 0, 0)
    assert [row[c] for c in ("cited_rate", "helpful_rate", "last_shown_at", "last_cited_at")] == [None] * 4


def test_session_counts_once_for_a_point(raw: Any) -> None:
    """A compaction shows points again."""
    show(raw, "a", 1, "[1, 2]")
    show(raw, "a", 2, "[1]", later := TIME.replace("01:05", "02:05"))
    show(raw, "b", 1, "[1]")
    cite(raw, "a", 1)

    assert (use(raw, "pat-001")["sessions_shown"], use(raw, "pat-001")["cited_rate"]) == (2, 0.5)
    assert (use(raw, "pat-002")["sessions_shown"], use(raw, "pat-002")["cited_rate"]) == (1, 0.0)
    assert [use(raw, name)["last_shown_at"] for name in ("pat-001", "pat-002", "pat-003")] == [later, TIME, None]


def test_cited_rate_is_of_sessions_that_were_shown_it(raw: Any) -> None:
    show(raw, "a", 1, "[1]")
    show(raw, "b", 1, "[2]")
    for session in ("a", "b", "c"):
        cite(raw, session, 1)

    row = use(raw, "pat-001")

    assert (row["sessions_shown"], row["sessions_cited"], row["cited_rate"]) == (1, 3, 1.0)


def test_neutral_votes_leave_the_helpful_rate(project: Project, raw: Any) -> None:
    for tag in ("helpful", "helpful", "helpful", "harmful", "neutral"):
        edit.vote(project, "pat-003", tag)

    row = use(raw, "pat-003")

    assert (row["helpful"], row["harmful"], row["helpful_rate"]) == (3, 1, 0.75)
    votes = raw.execute("SELECT name, helpful, harmful, neutral FROM votes_by_point").fetchall()
    assert votes == [("pat-003", 3, 1, 1)]


def test_rewordings_have_the_text_before(project: Project, raw: Any) -> None:
    """Votes and retirements between two wordings don't matter."""
    edit.edit(project, "pat-001", text="uno")
    edit.vote(project, "pat-001", "helpful")
    edit.retire(project, "pat-001")
    edit.restore(project, "pat-001")
    edit.edit(project, "pat-001", text="une")

    rows = raw.execute("SELECT before, after FROM rewordings ORDER BY revision").fetchall()

    assert [tuple(row) for row in rows] == [("one", "uno"), ("uno", "une")]


def test_point_states_give_each_past_playbook(project: Project, raw: Any) -> None:
    edit.edit(project, "pat-001", text="one and more")
    edit.vote(project, "pat-001", "helpful")
    edit.retire(project, "pat-002")
    edit.restore(project, "pat-002")
    undo.undo(project)
    held = (
        "SELECT name, section, text, helpful, harmful FROM point_states"
        " WHERE valid_from <= ? AND (valid_to IS NULL OR valid_to > ?) ORDER BY name"
    )

    for number in range(1, 9):
        past = history.at(project, str(number))
        points = sorted((p.name, p.section, p.text, p.helpful, p.harmful) for p in past.playbook.points)
        assert [tuple(row) for row in raw.execute(held, (past.time, past.time)).fetchall()] == points
    assert past.revision == number


def test_each_retirement_has_a_cause(project: Project, raw: Any) -> None:
    """Nobody can change it, and no other change has one."""
    for number in range(4, 8):
        edit.add(project, f"advice number {number}", section="pat")
    edit.retire(project, "pat-001", reason="stale")
    edit.apply_batch(project, [{"type": "DELETE", "target_id": "pat-002", "reason": "stale"}], origin="a test")
    merge = {"type": "MERGE", "source_ids": ["pat-003", "pat-004"], "merged_text": "both"}
    edit.apply_batch(project, [merge], origin="a test")
    for _ in range(3):
        edit.vote(project, "pat-005", "harmful")
    edit.prune(project)
    edit.merge_points(project, "pat-007", "pat-006")
    edit.add(project, "by mistake", section="oth")
    undo.undo(project)

    causes = dict(map(tuple, raw.execute("SELECT name, cause FROM retired_key_points").fetchall()))
    assert causes == {
        "pat-001": "user", "pat-002": "curator", "pat-003": "merged", "pat-004": "merged", "pat-005": "harmful",
        "pat-006": "duplicate", "oth-001": "undo",
    }  # fmt: skip
    with pytest.raises(REFUSALS):
        raw.execute("UPDATE changes SET cause = NULL")
    assert raw.execute("SELECT count(*) FROM changes WHERE kind <> 'retire' AND cause IS NOT NULL").fetchone()[0] == 0


def test_duckdb_can_parse_each_view() -> None:
    """If it can't parse one view, it lists no table."""
    folder = Path(store.__file__).parent
    made = (folder / "views.sql").read_text() + (folder / "search.sql").read_text().partition("CREATE VIEW")[2]

    assert not re.search(r" GLOB |RECURSIVE|\) (=|<) \((\s|SELECT)|\bcount\(\*\) FROM citations", made)


def test_undone_vote_counts_nowhere(project: Project, raw: Any) -> None:
    """Undoing the undo counts it again."""

    def counted() -> tuple[object, ...]:
        votes = raw.execute("SELECT helpful, harmful FROM votes_by_point WHERE name = 'pat-001'").fetchone()
        return (use(raw, "pat-001")["helpful"], *(tuple(votes) if votes else ()))

    for tag in ("helpful", "helpful", "harmful"):
        edit.vote(project, "pat-001", tag)
    undo.undo(project, RevisionRange(5, 5))
    assert counted() == (1, 1, 1)
    undo.undo(project, RevisionRange(4, 4))
    assert counted() == (0, 0, 1)
    undo.undo(project, RevisionRange(7, 7))
    assert counted() == (1, 1, 1)
    log = raw.execute("SELECT revision, undone_in FROM vote_log ORDER BY revision")
    assert [tuple(row) for row in log] == [(4, 8), (5, None), (6, None)]


def test_each_row_has_its_undo(project: Project, raw: Any) -> None:
    for _ in range(5):
        with project.store.write(project.key) as book:
            votes = [Vote("pat-001", "helpful"), Vote("pat-404", "harmful")]
            book.commit("edit", "voted", votes=operations.cast_votes(book.draft, votes))
    merged = {"type": "MERGE", "source_ids": ["pat-002", "pat-003"], "merged_text": "two and three"}
    edit.apply_batch(project, [merged], origin="a test")
    for first, last in ((4, 5), (7, 7), (9, 9), (6, 6), (13, 13)):
        undo.undo(project, RevisionRange(first, last))

    for name, is_matched in (("pat-001", 1), ("pat-404", 0)):
        rows = raw.execute("SELECT * FROM vote_log WHERE name = ? ORDER BY revision", (name,)).fetchall()
        undone_ranges = [(4, 10), (5, 10), (6, None), (7, 11), (8, None)]
        assert [(row["revision"], row["undone_in"]) for row in rows] == undone_ranges
        assert {row["is_matched"] for row in rows} == {is_matched}
    assert use(raw, "pat-001")["helpful"] == 2
    assert raw.execute("SELECT helpful FROM votes_by_point WHERE name = 'pat-001'").fetchone()["helpful"] == 2
    assert {row["undone_in"] for row in raw.execute("SELECT * FROM lineage")} == {12}
    undos = raw.execute("SELECT revision, undone_in FROM undos ORDER BY revision")
    assert [tuple(row) for row in undos] == [(10, None), (11, None), (12, None), (13, 14), (14, None)]
