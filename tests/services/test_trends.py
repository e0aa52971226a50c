"""A playbook over time."""

from datetime import UTC, datetime, timedelta

import pytest

from playbook_db.services.playbook import edit, undo
from playbook_db.services.project import Project
from playbook_db.services.reading import statistics, trends
from playbook_db.store.playbook.learning import Call
from tests.builders import a_key_point

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday


def _add(project: Project, number: int, *, days_ago: int) -> None:
    with project.store.write(project.key, now=NOW - timedelta(days=days_ago)) as book:
        book.draft.add(a_key_point(f"pat-{number:03}", text=f"Advice number {number}."))
        book.commit("edit", "added")


def _retire(project: Project, number: int, *, days_ago: int) -> None:
    with project.store.write(project.key, now=NOW - timedelta(days=days_ago)) as book:
        book.draft.retire(f"pat-{number:03}")
        book.commit("edit", "retired")


def test_where_there_is_no_playbook_there_is_nothing(project: Project) -> None:
    """And none is made."""
    found = trends.gather(project, now=NOW)

    assert (found.points, found.weeks, found.uses, found.days) == ((), (), (), ())


@pytest.mark.smoke
def test_points_are_counted_at_the_end_of_each_day(project: Project) -> None:
    """Without a gap, up to today; what was retired is gone from its day on."""
    _add(project, 1, days_ago=4)
    _add(project, 2, days_ago=4)
    _retire(project, 1, days_ago=2)
    _add(project, 3, days_ago=1)

    found = trends.gather(project, now=NOW)

    assert found.points_by == "day"
    assert found.points == (
        ("2026-11-14", 2), ("2026-11-15", 2), ("2026-11-16", 1), ("2026-11-17", 2), ("2026-11-18", 2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("days_ago", "by", "first", "count"),
    [(59, "day", "2026-09-20", 60), (60, "week", "2026-09-14", 10), (419, "week", "2025-09-22", 61),
     (420, "month", "2025-09", 15), (4000, "month", "2015-12", 132)],
)  # fmt: skip
def test_a_long_time_is_told_by_week_or_by_month(
    project: Project, days_ago: int, by: str, first: str, count: int
) -> None:
    """So that a picture has no more than some sixty steps, or as many as there were months."""
    _add(project, 1, days_ago=days_ago)

    found = trends.gather(project, now=NOW)

    assert (found.points_by, found.points[0], len(found.points)) == (by, (first, 1), count)
    assert found.points[-1][1] == 1


def test_the_last_count_is_that_of_the_live_points(project: Project) -> None:
    """Whatever brought them or took them: a merge, an undo, a restored point, one that was retired and came back."""
    for number in range(6):
        edit.add(project, f"Advice number {number} on something.")
    edit.retire(project, "oth-001", "oth-002", reason="no use")
    edit.restore(project, "oth-001")
    merged = {"type": "MERGE", "source_ids": ["oth-003", "oth-004"], "merged_text": "Both in one."}
    edit.apply_batch(project, [merged], origin="a test")
    undo.undo(project)
    edit.vote(project, "oth-005", "helpful")

    assert trends.gather(project).points[-1][1] == statistics.gather(project).live == 5


@pytest.mark.smoke
def test_the_last_sixty_days_are_told_with_what_they_cost(project: Project) -> None:
    """From the first of them on which a model was asked, without a gap; what was before is left out."""
    for days_ago in (60, 5, 3):
        with project.store.write(project.key, now=NOW - timedelta(days=days_ago)) as book:
            book.add_call(Call("reflect", "a-model", 100, 10, 1, 0.5, 5), session_id="s")

    days = trends.gather(project, now=NOW).days

    assert [(day.day[-2:], day.calls, day.cost_usd) for day in days] == [
        ("13", 1, 0.5), ("14", 0, 0), ("15", 1, 0.5), ("16", 0, 0), ("17", 0, 0), ("18", 0, 0),
    ]  # fmt: skip
