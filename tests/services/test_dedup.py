"""Points that may say the same: which are listed, and what is decided about two of them."""

import pytest

from playbook_db.errors import NotFoundError, PointRuleError
from playbook_db.services.playbook import edit, undo
from playbook_db.services.project import Project, read_playbook

ONE, OTHER, THIRD = "Use uv, not pip, for packages", "Use pip, not uv, for packages", "Never push to main"


@pytest.fixture
def stocked(project: Project) -> Project:
    """A playbook of which two points are alike."""
    for text in (ONE, THIRD, OTHER):
        edit.add(project, text)
    edit.vote(project, "oth-003", "helpful")
    edit.vote(project, "oth-001", "harmful")
    edit.vote(project, "oth-001", "helpful")
    return project


def listed(project: Project) -> list[set[str]]:
    return [{one.name, other.name} for one, other, _ in edit.alike_points(project, limit=10)]


def test_points_that_are_kept_apart_are_listed_no_more(stocked: Project) -> None:
    """Whichever is named first; it is no revision, and the playbook stays as it was."""
    before = read_playbook(stocked)
    assert listed(stocked) == [{"oth-001", "oth-003"}]

    edit.keep_apart(stocked, "oth-003", "oth-001")
    edit.keep_apart(stocked, "oth-001", "oth-003")

    assert listed(stocked) == []
    assert read_playbook(stocked).content == before.content
    with stocked.store.read(stocked.key) as book:
        assert book.distinct_points() == [("oth-001", "oth-003")]
        assert book.revision == 6


def test_they_are_asked_about_again_when_one_was_reworded(stocked: Project) -> None:
    """Votes, other sections and other points' texts change nothing of the verdict; a second one holds again."""
    edit.keep_apart(stocked, "oth-001", "oth-003")
    edit.vote(stocked, "oth-001", "helpful")
    edit.edit(stocked, "oth-003", section="ctx")
    edit.edit(stocked, "oth-002", text="Never push to main, open a pull request")
    assert listed(stocked) == []

    edit.edit(stocked, "oth-003", text="Use pip and not uv for packages")
    assert listed(stocked) == [{"oth-001", "oth-003"}]

    edit.keep_apart(stocked, "oth-001", "oth-003")
    assert listed(stocked) == []


def test_a_verdict_is_about_the_texts_that_were_judged(stocked: Project) -> None:
    """What rewords one of them in the same transaction makes it another question."""
    with stocked.store.write(stocked.key) as book:
        book.keep_apart([("oth-001", "oth-003"), ("oth-002", "oth-404"), ("oth-002", "oth-002")], actor="s-1")
        point = book.draft["oth-003"]
        book.draft.change(type(point)(point.name, "Use pip, never uv, for packages", point.section), kind="edit")
        book.commit("learn", "learned from a session")

    assert listed(stocked) == [{"oth-001", "oth-003"}]


def test_a_verdict_on_older_texts_does_not_hold_for_newer_ones(stocked: Project) -> None:
    """A model answers late; meanwhile somebody may have reworded a point."""
    edit.edit(stocked, "oth-003", text="Use pip, never uv, for packages")
    with stocked.store.write(stocked.key) as book:
        book.keep_apart([("oth-001", "oth-003")], actor="s-1", judged_in=book.revision - 1)

    assert listed(stocked) == [{"oth-001", "oth-003"}]


def test_a_retired_point_is_no_candidate(stocked: Project) -> None:
    """Neither is it one of a pair that is kept apart."""
    edit.keep_apart(stocked, "oth-001", "oth-003")
    edit.retire(stocked, "oth-003")

    assert listed(stocked) == []
    with stocked.store.read(stocked.key) as book:
        assert book.distinct_points() == []


@pytest.mark.postgres
def test_two_are_merged_into_the_first(stocked: Project) -> None:
    """It keeps its name and takes over the votes; the other names it as its successor. An undo brings both back."""
    before = read_playbook(stocked).content

    revised = edit.merge_points(stocked, "oth-003", "oth-001")

    points = [(point.name, point.text, point.helpful, point.harmful) for point in read_playbook(stocked).points]
    assert points == [("oth-002", THIRD, 0, 0), ("oth-003", OTHER, 2, 1)]
    assert [(change.kind, change.point.name, change.successor) for change in revised.changes] == [
        ("edit", "oth-003", None),
        ("retire", "oth-001", "oth-003"),
    ]
    undo.undo(stocked)
    assert read_playbook(stocked).content == before


def test_what_can_not_be_merged_or_kept_apart_is_refused(stocked: Project) -> None:
    """Nothing changes then."""
    edit.retire(stocked, "oth-001")
    before = read_playbook(stocked).content

    for names in (("oth-001", "oth-003"), ("oth-003", "oth-001"), ("oth-003", "oth-404")):
        for decide in (edit.merge_points, edit.keep_apart):
            with pytest.raises(NotFoundError):
                decide(stocked, *names)
    for decide in (edit.merge_points, edit.keep_apart):
        with pytest.raises(PointRuleError, match="oth-003 was named twice"):
            decide(stocked, "oth-003", "oth-003")

    assert read_playbook(stocked).content == before
