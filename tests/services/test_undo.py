"""Undoing revisions in a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import playbook_file
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import KeyPoint, Playbook
from playbook_db.errors import ChangedError, NotFoundError, PlaybookError, PointRuleError, UndoCollisionError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit
from playbook_db.services.playbook import undo as undo_service
from playbook_db.services.playbook.forget import Request, forget
from playbook_db.services.playbook.undo import go_back, restore_as_of, undo
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.builders import last_revision
from tests.databases import NewProject
from tests.services.histories import Step, histories, live_through
from tests.tiers import few

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]  # databases of many states


def last(project: Project) -> int:
    return last_revision(project)


def at(project: Project, revision: int) -> Playbook:
    """The playbook as it was, without its date."""
    with project.store.read(project.key) as book:
        return timeless(book.at(revision))


def now(project: Project) -> Playbook:
    """The playbook as it is, without its date."""
    return timeless(read_playbook(project))


def timeless(playbook: Playbook) -> Playbook:
    return Playbook(playbook.points, header=playbook.header.stamped(None))


def touched(project: Project, revision: int) -> set[str]:
    with project.store.read(project.key) as book:
        return set(book.states_at(revision, changed_in=RevisionRange(revision, revision)))


@pytest.mark.postgres
def test_undo_of_an_undo_redoes(project: Project) -> None:
    edit.add(project, "use ruff")
    edit.retire(project, "oth-001")

    undone = undo(project)
    points = now(project).points
    redone = undo(project)

    assert (undone.message, undone.is_last) == ("undid revision 2 (edit: retired oth-001)", True)
    assert (undone.result.revision, [point.name for point in points]) == (3, ["oth-001"])
    assert redone.message == "undid revision 3 (the undo of revision 2)"
    assert now(project) == at(project, 2)


def test_undo_passes_over_revisions_without_changes(project: Project) -> None:
    edit.add(project, "use ruff")
    edit.vote(project, "oth-001", "neutral")

    assert undo(project).revisions == RevisionRange(1, 1)
    assert undo(project).revisions == RevisionRange(3, 3)


def test_undo_does_not_pass_over_forgetting(project: Project) -> None:
    edit.add(project, "use ruff")
    edit.retire(project, "oth-001")
    forget(project, Request(name="oth-001"))

    assert undo(project, dry_run=True).revisions == RevisionRange(3, 3)


def test_each_undo_says_how_to_go_further_back(project: Project) -> None:
    """Two undos cancel each other out; a revision without changes is passed over."""
    edit.add(project, "use ruff")
    edit.add(project, "use mypy")
    edit.vote(project, "oth-001", "neutral")
    edit.add(project, "use uv")

    assert [undo(project).before for _ in range(4)] == ["2", "2..4", "2", "2..4"]


def test_collision_changes_nothing(project: Project) -> None:
    edit.add(project, "use ruff")
    edit.add(project, "use mypy")
    batch = [{"type": "UPDATE", "target_id": "oth-001", "text": "b"}, {"type": "DELETE", "target_id": "oth-002"}]
    edit.apply_batch(project, batch, origin="a test")
    edit.edit(project, "oth-001", text="c\x1b[2J")
    before = now(project)

    with pytest.raises(UndoCollisionError) as caught:
        undo(project, RevisionRange(3, 3))

    assert caught.value.collisions == (("oth-001, its text", "c\x1b[2J", "use ruff"),)
    for part in ("Revision 3", "now:  c [2J", "undo: use ruff", "playbook undo 3 --ours", "playbook undo 3 --theirs"):
        assert part in str(caught.value)
    assert (now(project), last(project)) == (before, 4)
    undo(project, RevisionRange(3, 3), prefer="theirs", dry_run=True)
    assert (now(project), last(project)) == (before, 4)
    undo(project, RevisionRange(3, 3), prefer="ours")
    assert [p.text for p in now(project).points] == ["c\x1b[2J", "use mypy"]


def test_undo_after_newer_changes_is_refused(project: Project) -> None:
    """`was` is the revision that the person saw last."""
    edit.add(project, "use ruff")
    edit.edit(project, "oth-001", text="b")
    edit.edit(project, "oth-001", text="c")
    before = now(project)

    for undone in (
        lambda was: undo(project, RevisionRange(2, 2), prefer="theirs", was=was),
        lambda was: undo_service.undo_session(project, "nobody", was=was),
    ):
        with pytest.raises(ChangedError, match="changed meanwhile, in revision 3"):
            undone(2)
        assert (now(project), last(project)) == (before, 3)
    undo(project, RevisionRange(2, 2), prefer="theirs", was=3)
    assert [p.text for p in now(project).points] == ["use ruff"]


def test_colliding_undo_of_a_session_changes_nothing(project: Project) -> None:
    """A dry run reports the same as the undo."""
    edit.add(project, "use ruff")
    for session, text in (("s-1", "b"), ("s-2", "c")):
        with project.store.write(project.key) as book:
            book.draft.change(replace(book.draft["oth-001"], text=text), kind="edit")
            book.commit("learn", text, origin=RevisionOrigin(session))

    with pytest.raises(UndoCollisionError, match=r"Revision 2 (?s:.)*playbook undo --session=s-1 --ours"):
        undo_service.undo_session(project, "s-1")
    (planned,) = undo_service.undo_session(project, "s-2", dry_run=True)
    assert (planned.result.revision, last(project)) == (None, 3)
    (done,) = undo_service.undo_session(project, "s-2")

    assert (done.message, done.result.changes) == (planned.message, planned.result.changes)
    assert now(project) == at(project, 2)


def test_no_vote_is_undone_twice(project: Project) -> None:
    edit.add(project, "use ruff")
    for _ in range(3):
        edit.vote(project, "oth-001", "helpful")

    undo(project, RevisionRange(2, 2))
    again = undo(project, RevisionRange(2, 2))

    assert again.result.revision is None
    assert again.result.notes == ["revision 2 was undone already; to redo: playbook undo 5"]
    with pytest.raises(
        PointRuleError, match="Revisions 2 to 3 can't be undone: revision 2 would be undone again, after revision 5"
    ):
        undo(project, RevisionRange(2, 3))
    assert now(project).by_name["oth-001"].helpful == 2
    undo(project, RevisionRange(5, 5))
    undo(project, RevisionRange(2, 2))
    assert now(project).by_name["oth-001"].helpful == 2


def test_missing_revisions_are_refused(project: Project) -> None:
    with pytest.raises(PointRuleError, match="no revisions yet"):
        undo(project)
    edit.add(project, "use ruff")
    with pytest.raises(PointRuleError, match="Revision 0 is the empty playbook"):
        undo(project, RevisionRange(0, 1))
    with pytest.raises(NotFoundError, match="no revision 2"):
        undo(project, RevisionRange(1, 2))


def test_forgotten_point_is_never_restored(project: Project) -> None:
    edit.add(project, "use ruff")
    edit.add(project, "use mypy")
    forget(project, Request(name="oth-001"))

    for undone in (undo(project), go_back(project, "1")):
        assert undone.result.notes[0] == "oth-001 was erased for good, so it doesn't come back"
    assert now(project).points == ()
    for restore in (lambda: edit.restore(project, "oth-001"), lambda: restore_as_of(project, "oth-001", "1")):
        with pytest.raises(PointRuleError, match="oth-001 was forgotten; none of its text is left"):
            restore()


def test_going_back_takes_a_revision_or_a_time(project: Project) -> None:
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for hour, text in enumerate(("one", "two", "three")):
        with project.store.write(project.key, now=start + timedelta(hours=hour)) as book:
            book.draft.add(KeyPoint(book.draft.new_name("OTHERS"), text))
            book.commit("edit", text)

    assert go_back(project, "2026-03-01T13:30:00+00:00").message == "undid revision 3 (all after revision 2)"
    assert now(project) == at(project, 2)
    assert go_back(project, "r1", dry_run=True).message == "undid revisions 2 to 4 (all after revision 1)"
    assert go_back(project, "0").result.revision == 5
    assert now(project) == at(project, 0)
    assert go_back(project, "5").result.notes == ["there is nothing to undo after revision 5"]
    with pytest.raises(PlaybookError, match="no revision 9"):
        go_back(project, "9")


def test_one_point_is_restored_as_of_a_revision(project: Project) -> None:
    edit.add(project, "use ruff")
    edit.add(project, "use mypy")
    edit.edit(project, "oth-001", text="use ruff always", section="pat")
    edit.vote(project, "oth-002", "helpful")
    then = at(project, 2).by_name["oth-001"]

    restore_as_of(project, "oth-001", "2")
    assert (now(project).by_name["oth-001"], now(project).by_name["oth-002"].helpful) == (then, 1)
    assert restore_as_of(project, "oth-001", "2").revision is None
    edit.retire(project, "oth-001")
    restore_as_of(project, "oth-001", "3")
    assert now(project).by_name["oth-001"] == at(project, 3).by_name["oth-001"]
    with pytest.raises(PointRuleError, match="didn't exist after revision 1: revision 2 added it"):
        restore_as_of(project, "oth-002", "1")
    with pytest.raises(PointRuleError, match="oth-001 was retired at revision 6"):
        restore_as_of(project, "oth-001", "6")


def test_restored_point_goes_last_if_its_place_is_taken(project: Project) -> None:
    for text in ("use ruff", "use mypy"):
        edit.add(project, text)
    edit.edit(project, "oth-001", section="pat")
    with project.store.write(project.key) as book:
        book.draft.place(replace(book.draft["oth-002"], position=1), kind="move")
        book.commit("edit", "moved")

    restore_as_of(project, "oth-001", "1")

    assert [(point.name, point.position) for point in now(project).points] == [("oth-002", 1), ("oth-001", 4)]


@few
@given(history=histories)
def test_undo_and_redo_are_exact(new_project: NewProject, history: list[Step]) -> None:
    """After any history."""
    project = new_project()
    revision = live_through(project, history)

    undone = undo(project).revisions
    assert undone is not None
    before = at(project, undone.first - 1)
    assert now(project) == before
    assert playbook_file.encode(now(project)) == playbook_file.encode(before)
    if last(project) > revision:
        undo(project)
        assert now(project) == at(project, revision)
    assert maintenance.check(project.store) == []


@few
@given(history=histories, data=st.data())
def test_undo_changes_only_its_points(new_project: NewProject, history: list[Step], data: Any) -> None:
    project = new_project()
    revision = data.draw(st.integers(1, live_through(project, history)))
    before, number = now(project), last(project)

    try:
        undo(project, RevisionRange(revision, revision))
    except UndoCollisionError:
        assert (now(project), last(project)) == (before, number)
        undo(project, RevisionRange(revision, revision), prefer=data.draw(st.sampled_from(["ours", "theirs"])))

    mine = touched(project, revision)
    untouched = [point for point in before.points if point.name not in mine]
    assert [point for point in now(project).points if point.name not in mine] == untouched
    assert maintenance.check(project.store) == []


@pytest.mark.nightly(after=1)
@few
@given(history=histories, data=st.data())
@pytest.mark.postgres
def test_going_back_is_exact(new_project: NewProject, history: list[Step], data: Any) -> None:
    project = new_project()
    number = live_through(project, history)
    revision = data.draw(st.integers(0, number))
    before = now(project)

    undone = go_back(project, str(revision))

    assert now(project) == at(project, revision)
    assert playbook_file.encode(now(project)) == playbook_file.encode(at(project, revision))
    if undone.result.revision is not None:
        undo(project)
        assert now(project) == before
    assert maintenance.check(project.store) == []
