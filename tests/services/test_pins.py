"""Pinned points: first in what a session gets, beside the history."""

import re
from datetime import UTC, datetime

import pytest

from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.operations import REST_HARMFUL, cast_votes
from playbook_db.domain.playbook import Vote
from playbook_db.errors import NotFoundError
from playbook_db.services.playbook import edit, import_export, undo
from playbook_db.services.project import Project
from playbook_db.store.queries import list_queries
from tests.builders import a_key_point, last_revision


@pytest.fixture
def pinned(project: Project) -> Project:
    """Three points, the last of which is pinned."""
    for text in ("one", "two", "three"):
        edit.add(project, text)
    edit.pin(project, "oth-003")
    return project


def _shown(project: Project) -> list[str]:
    return re.findall(r"^\[([\w-]+)\] helpful", import_export.prompt(project), re.MULTILINE)


def test_pin_survives_edits_and_undos(pinned: Project) -> None:
    """A pin is no revision."""
    assert (last_revision(pinned), _shown(pinned)) == (3, ["oth-003", "oth-001", "oth-002"])

    edit.vote(pinned, "oth-003", "harmful", "oth-001")
    edit.edit(pinned, "oth-003", text="another")
    edit.retire(pinned, "oth-003")
    undo.undo(pinned)
    edit.retire(pinned, "oth-003")
    edit.restore(pinned, "oth-003")
    undo.undo(pinned, RevisionRange(4, 4))

    assert _shown(pinned)[0] == "oth-003"
    edit.unpin(pinned, "oth-003")
    assert _shown(pinned)[0] != "oth-003"


def test_merging_a_pinned_point_pins_the_result(pinned: Project) -> None:
    merge = {"type": "MERGE", "source_ids": ["oth-002", "oth-003"], "merged_text": "two and three"}
    edit.apply_batch(pinned, [merge], origin="test")

    assert _shown(pinned) == ["oth-004", "oth-001"]
    undo.undo(pinned)
    assert _shown(pinned) == ["oth-003", "oth-001", "oth-002"]


def test_pinned_points_never_rest(pinned: Project) -> None:
    with pinned.store.write(pinned.key) as book:
        tags = ["helpful"] * 9 + ["harmful"] * REST_HARMFUL
        votes = [Vote(name, tag) for name in ("oth-001", "oth-003") for tag in tags]
        book.commit("learn", "a lesson", votes=cast_votes(book.draft, votes))
        book.rest_points()

    assert _shown(pinned) == ["oth-003", "oth-002"]
    with pinned.store.read(pinned.key) as book:
        marks = list_queries.marks(book)
    assert [(name, each.pinned, each.resting) for name, each in sorted(marks.items())] == [
        ("oth-001", False, True), ("oth-002", False, False), ("oth-003", True, False),
    ]  # fmt: skip
    edit.pin(pinned, "oth-001")
    assert _shown(pinned) == ["oth-001", "oth-003", "oth-002"]


@pytest.mark.postgres
def test_all_are_pinned_or_none(pinned: Project) -> None:
    edit.retire(pinned, "oth-002")
    for name in ("oth-002", "oth-999"):
        with pytest.raises(NotFoundError):
            edit.pin(pinned, "oth-001", name)
    with pytest.raises(NotFoundError):
        edit.unpin(pinned, "oth-003", "oth-999")

    assert _shown(pinned) == ["oth-003", "oth-001"]


def test_old_points_are_marked_for_verification(project: Project) -> None:
    for month, name in ((1, "oth-001"), (7, "oth-002"), (8, "oth-003")):
        with project.store.write(project.key, now=datetime(2020, month, 1, tzinfo=UTC)) as book:
            book.draft.add(a_key_point(name, f"of month {month}", section="OTHERS"))
            book.commit("edit", "added")

    assert "of month 1 (last confirmed 2020-01; verify first)\n" in import_export.prompt(project)
    assert import_export.prompt(project).count("verify first") == 1
