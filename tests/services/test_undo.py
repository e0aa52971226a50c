"""Taking revisions back, on a real database with a real history."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import operations, playbook_file
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import Header, KeyPoint, Playbook, Vote
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import ChangedError, NotFoundError, PlaybookError, PointRuleError, UndoCollisionError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.playbook import undo as undo_service
from playbook_db.services.playbook.forget import Request, forget
from playbook_db.services.playbook.undo import go_back, restore_as_of, undo
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.playbook.repository import FileFields, PlaybookRepository
from tests.builders import few_texts, headers, last_revision, playbooks_of_few_texts
from tests.databases import NewProject
from tests.tiers import few

pytestmark = pytest.mark.slow  # databases of many states

Step = tuple[str, Any]
_names = st.sampled_from([f"{slug}-{number:03d}" for slug in ("oth", "pat") for number in (1, 2, 3)])
_votes = st.lists(st.builds(Vote, _names, st.sampled_from(operations.TAGS)), min_size=1, max_size=4)
_adds = st.builds(
    lambda text, section: {"type": "ADD", "text": text, "section": section},
    few_texts,
    st.sampled_from([*SECTION_SLUGS]),
)
_operations = st.one_of(
    _adds,
    st.builds(lambda name, text: {"type": "UPDATE", "target_id": name, "text": text}, _names, few_texts),
    st.builds(lambda name: {"type": "DELETE", "target_id": name}, _names),
    st.builds(
        lambda names, text: {"type": "MERGE", "source_ids": names, "merged_text": text},
        st.lists(_names, min_size=2, max_size=3),
        few_texts,
    ),
)
_files = st.builds(lambda playbook, header: replace(playbook, header=header), playbooks_of_few_texts(), headers())
_steps = st.one_of(
    st.tuples(st.just("apply"), st.lists(_operations, min_size=1, max_size=5)),
    st.tuples(st.just("vote"), _votes),
    st.tuples(st.just("move"), st.tuples(_names, st.sampled_from(["pat", "oth"]))),
    st.tuples(st.just("restore"), _names),
    st.tuples(st.just("import"), _files),
    st.tuples(st.just("replace"), _files),
    st.tuples(st.just("prune"), st.none()),
    st.tuples(st.just("undo"), st.integers(1, 9)),
)
_first = st.tuples(st.just("apply"), st.lists(_adds, min_size=1, max_size=5))
histories = st.builds(lambda first, rest: [first, *rest], _first, st.lists(_steps, max_size=7))


def vote(project: Project, votes: Sequence[Vote]) -> None:
    """One revision of votes."""

    with project.store.write(project.key) as book:
        book.commit("learn", "learned from a session", votes=operations.cast_votes(book.draft, votes))


def do(project: Project, step: str, what: Any) -> None:
    reading = (
        playbook_file.decode(playbook_file.encode(what), source="a test") if step in ("import", "replace") else None
    )
    deeds: dict[str, Callable[[], object]] = {
        "apply": lambda: edit.apply_batch(project, what, origin="a test"),
        "vote": lambda: vote(project, what),
        "move": lambda: edit.edit(project, what[0], section=what[1]),
        "restore": lambda: edit.restore(project, what),
        "import": lambda: reading and import_export.import_playbook(project, reading, source="a test"),
        "replace": lambda: reading and import_export.import_playbook(project, reading, source="a test", replace=True),
        "prune": lambda: edit.prune(project),
        "undo": lambda: undo(project, RevisionRange(what, what)),
    }
    with suppress(PointRuleError, NotFoundError, PointRuleError, NotFoundError):
        deeds[step]()


def live_through(project: Project, history: Sequence[Step]) -> int:
    for step, what in history:
        do(project, step, what)
    return last(project)


def last(project: Project) -> int:
    return last_revision(project)


def at(project: Project, revision: int) -> Playbook:
    """The playbook as it was, in all but when."""
    with project.store.read(project.key) as book:
        return timeless(book.at(revision))


def now(project: Project) -> Playbook:
    """The playbook as it is, in all but when."""
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

    assert (undone.message, undone.is_last) == ("undid revision 2 (edit: retired oth-001)", True)
    assert (undone.result.revision, list(now(project).by_name)) == (3, ["oth-001"])
    undo(project)
    assert now(project) == at(project, 2)
    with project.store.snapshot() as connection:
        source, message = PlaybookRepository(connection, project.key).source_and_message(4)
    assert source == "undo"
    assert message == "undid revision 3 (the undo of revision 2)"


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


def test_no_vote_is_undone_twice(project: Project) -> None:
    edit.add(project, "use ruff")
    for _ in range(3):
        edit.vote(project, "oth-001", "helpful")

    undo(project, RevisionRange(2, 2))
    again = undo(project, RevisionRange(2, 2))

    assert (again.result.revision, again.message) == (None, None)
    assert again.result.notes == ["revision 2 was undone already; to redo: playbook undo 5"]
    with pytest.raises(
        PointRuleError, match="Revisions 2 to 3 can't be undone: revision 2 would be undone again, after revision 5"
    ):
        undo(project, RevisionRange(2, 3))
    undo(project, RevisionRange(3, 4))
    with pytest.raises(
        PointRuleError, match="Revisions 1 to 3 can't be undone: revision 3 would be undone again, after revision 6"
    ):
        undo(project, RevisionRange(1, 3))
    undo(project, RevisionRange(6, 6))
    assert now(project).by_name["oth-001"].helpful == 2
    undo(project, RevisionRange(5, 5))
    undo(project, RevisionRange(2, 2))
    assert now(project).by_name["oth-001"].helpful == 2
    assert last(project) == 9


def test_undo_that_would_repeat_is_refused(project: Project) -> None:
    edit.add(project, "use type hints")
    edit.vote(project, "oth-001", "helpful")
    edit.vote(project, "oth-001", "helpful")
    undo(project, RevisionRange(2, 3))
    undo(project, RevisionRange(4, 4))
    undo(project, RevisionRange(2, 2))

    told = "Revision 5 can't be undone: revision 2 would be undone again, after revision 6"
    with pytest.raises(PointRuleError, match=f"{told}. First redo that with: playbook undo 6"):
        undo(project, RevisionRange(5, 5))
    assert read_playbook(project).by_name["oth-001"].helpful == 1

    undo(project, RevisionRange(6, 6))
    undo(project, RevisionRange(5, 5))
    assert read_playbook(project).by_name["oth-001"].helpful == 0
    assert maintenance.check(project.store) == []


def test_missing_revisions_are_refused(project: Project) -> None:
    with pytest.raises(PointRuleError, match="no revisions yet"):
        undo(project)
    edit.add(project, "use ruff")
    with pytest.raises(PointRuleError, match="Revision 0 is the empty playbook"):
        undo(project, RevisionRange(0, 1))
    with pytest.raises(NotFoundError, match="no revision 2"):
        undo(project, RevisionRange(1, 2))


def test_top_level_keys_are_undone_too(project: Project) -> None:
    header = Header((("version", "1.0"), ("last_updated", None), ("sections", None), ("team", "a")))
    with project.store.write(project.key) as book:
        book.commit("edit", "a key", file=FileFields(header))

    undone = undo(project)

    assert undone.message == "undid revision 1 (edit: a key)"
    assert undone.result.notes == ["top-level keys of the file are undone too: 'team'"]
    assert now(project).header == Header()
    undo(project)
    assert now(project).header == header


def test_forgotten_point_is_never_restored(project: Project) -> None:
    edit.add(project, "use ruff")
    edit.add(project, "use mypy")
    forget(project, Request(name="oth-001"))
    told = "oth-001 was erased for good, so it doesn't come back"

    assert undo(project).result.notes == [
        told,
        "nothing is left to undo in revision 3; to find another revision: playbook log",
    ]
    assert go_back(project, "1").result.notes == [told]
    assert now(project).points == ()
    for attempt in (lambda: edit.restore(project, "oth-001"), lambda: restore_as_of(project, "oth-001", "1")):
        with pytest.raises(PointRuleError, match="oth-001 was forgotten; none of its text is left"):
            attempt()


def test_going_back_takes_a_revision_or_a_time(project: Project) -> None:
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for hour, text in enumerate(("one", "two", "three")):
        with project.store.write(project.key, now=start + timedelta(hours=hour)) as book:
            book.draft.add(KeyPoint(book.draft.new_name("OTHERS"), text))
            book.commit("edit", text)

    undone = go_back(project, "2026-03-01T13:30:00+00:00")
    assert undone.message == "undid revision 3 (all after revision 2)"
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
    edit.vote(project, "oth-001", "harmful")
    edit.vote(project, "oth-002", "helpful")
    then = at(project, 2).by_name["oth-001"]

    restore_as_of(project, "oth-001", "2")
    assert (now(project).by_name["oth-001"], now(project).by_name["oth-002"].helpful) == (then, 1)
    assert restore_as_of(project, "oth-001", "2").revision is None
    edit.retire(project, "oth-001")
    restore_as_of(project, "oth-001", "4")
    assert now(project).by_name["oth-001"] == at(project, 4).by_name["oth-001"]
    for name, moment, problem in (
        ("oth-002", "1", "didn't exist after revision 1: revision 2 added it"),
        ("oth-001", "7", "oth-001 was retired at revision 7"),
    ):
        with pytest.raises(PointRuleError, match=problem):
            restore_as_of(project, name, moment)
    with pytest.raises(NotFoundError, match="Did you mean oth-00"):
        restore_as_of(project, "oth-003", "2")


def test_point_without_its_place_goes_to_the_end(project: Project) -> None:
    edit.add(project, "one")
    edit.add(project, "two")
    turned = Playbook(tuple(reversed(now(project).points)))
    import_export.import_playbook(project, Reading(turned), source="a test", replace=True)
    undo(project)
    edit.add(project, "three")

    undo(project, RevisionRange(4, 4))
    assert [(p.text, p.position) for p in now(project).points] == [("three", 3), ("one", 4), ("two", 5)]
    undo(project)
    edit.retire(project, "oth-003")
    undo(project, RevisionRange(4, 4))
    assert [(p.text, p.position) for p in now(project).points] == [("two", 3), ("one", 4)]
    edit.restore(project, "oth-003")
    assert [(p.text, p.position) for p in now(project).points] == [("two", 3), ("one", 4), ("three", 5)]


@few
@given(history=histories)
def test_undo_and_redo_are_exact(new_project: NewProject, history: list[Step]) -> None:
    """After any history."""
    project = new_project()
    revision = live_through(project, history)

    undo(project)
    assert now(project) == at(project, revision - 1)
    assert playbook_file.encode(now(project)) == playbook_file.encode(at(project, revision - 1))
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


@pytest.mark.nightly(after=1)
@few
@given(rounds=st.lists(_votes, min_size=1, max_size=5), data=st.data())
@pytest.mark.postgres
def test_votes_are_undone_in_any_order(new_project: NewProject, rounds: list[list[Vote]], data: Any) -> None:
    project = new_project()
    adds = [{"type": "ADD", "text": f"advice {n}", "section": "OTHERS"} for n in range(3)]
    edit.apply_batch(project, adds, origin="a test")
    for votes in rounds:
        vote(project, votes)
    left = dict(enumerate(rounds, 2))

    for revision in data.draw(st.permutations(list(left))):
        undo(project, RevisionRange(revision, revision))
        del left[revision]
        given_still = [(v.name, v.tag) for votes in left.values() for v in votes]
        for point in now(project).points:
            counted = [given_still.count((point.name, tag)) for tag in ("helpful", "harmful")]
            assert [point.helpful, point.harmful] == counted
    assert maintenance.check(project.store) == []
