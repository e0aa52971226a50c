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


def test_kept_apart_points_are_not_listed(stocked: Project) -> None:
    """Keeping points apart makes no revision."""
    before = read_playbook(stocked)
    assert listed(stocked) == [{"oth-001", "oth-003"}]

    edit.keep_apart(stocked, "oth-003", "oth-001")
    edit.keep_apart(stocked, "oth-001", "oth-003")

    assert listed(stocked) == []
    assert read_playbook(stocked).content == before.content
    with stocked.store.read(stocked.key) as book:
        assert book.distinct_points() == [("oth-001", "oth-003")]
        assert book.revision == 6


def test_reworded_pairs_are_listed_again(stocked: Project) -> None:
    """Votes and other changes don't list the pair again."""
    edit.keep_apart(stocked, "oth-001", "oth-003")
    edit.vote(stocked, "oth-001", "helpful")
    edit.edit(stocked, "oth-003", section="ctx")
    edit.edit(stocked, "oth-002", text="Never push to main, open a pull request")
    assert listed(stocked) == []

    edit.edit(stocked, "oth-003", text="Use pip and not uv for packages")
    assert listed(stocked) == [{"oth-001", "oth-003"}]

    edit.keep_apart(stocked, "oth-001", "oth-003")
    assert listed(stocked) == []


def test_verdict_on_older_texts_does_not_count(stocked: Project) -> None:
    """A model answers late, and meanwhile somebody may have reworded a point."""
    edit.edit(stocked, "oth-003", text="Use pip, never uv, for packages")
    with stocked.store.write(stocked.key) as book:
        book.keep_apart([("oth-001", "oth-003")], actor="s-1", judged_in=book.revision - 1)

    assert listed(stocked) == [{"oth-001", "oth-003"}]


def test_retired_points_are_not_listed(stocked: Project) -> None:
    edit.keep_apart(stocked, "oth-001", "oth-003")
    edit.retire(stocked, "oth-003")

    assert listed(stocked) == []
    with stocked.store.read(stocked.key) as book:
        assert book.distinct_points() == []


@pytest.mark.postgres
def test_merging_adds_votes_and_can_be_undone(stocked: Project) -> None:
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


def test_unusable_pairs_are_refused(stocked: Project) -> None:
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
