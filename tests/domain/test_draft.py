"""A playbook while it is being changed."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.draft import Draft
from playbook_db.domain.operations import cast_votes
from playbook_db.domain.playbook import MAX_COUNTER, Playbook, Vote, normalised
from tests.builders import (
    a_draft,
    a_key_point,
    a_playbook,
    few_texts,
    playbook_values,
    playbooks_of_few_texts,
    section_names,
    texts,
)

PATTERNS, OTHERS = "PATTERNS & APPROACHES", "OTHERS"


def names_of(draft: Draft) -> list[str]:
    return [point.name for point in draft.points()]


def test_draft_without_changes_is_the_playbook() -> None:
    playbook = a_playbook(a_key_point())
    draft = Draft(playbook)

    draft.new_name(PATTERNS)

    assert draft.playbook() is playbook
    assert draft.changes == []


def test_changes_are_in_order() -> None:
    draft = a_draft(a_key_point("pat-001"))

    draft.add(a_key_point("mis-001", section="MISTAKES TO AVOID"), reason="new")
    draft.change(replace(draft["pat-001"], helpful=1), kind="vote")
    draft.retire("pat-001", reason="merged", successor="mis-001")

    kinds = [(change.kind, change.point.name, change.reason, change.successor) for change in draft.changes]
    assert kinds == [
        ("add", "mis-001", "new", None),
        ("vote", "pat-001", None, None),
        ("retire", "pat-001", "merged", "mis-001"),
    ]
    assert draft.changes[-1].point.helpful == 1


def test_change_says_if_the_text_is_new() -> None:
    draft = a_draft(a_key_point("pat-001"))

    draft.change(replace(draft["pat-001"], helpful=1), kind="vote")
    draft.change(replace(draft["pat-001"], text="use mypy"), kind="edit")
    draft.place(replace(draft["pat-001"], position=9), kind="move")
    draft.retire("pat-001")
    draft.add(a_key_point("pat-002"))

    assert [change.reworded for change in draft.changes] == [False, True, False, False, True]


def test_changed_point_keeps_its_position() -> None:
    """If its section changes, it comes last there."""
    draft = a_draft(
        a_key_point("pat-001"), a_key_point("pat-002"), a_key_point("oth-001", section=OTHERS), a_key_point("pat-003")
    )

    draft.change(replace(draft["pat-001"], text="use mypy"), kind="edit")
    draft.change(replace(draft["pat-002"], section=OTHERS), kind="edit")

    assert names_of(draft) == ["pat-001", "pat-003", "oth-001", "pat-002"]


def test_retired_name_stays_used() -> None:
    draft = a_draft(a_key_point("pat-001"), spent=("pat-002",))

    draft.retire("pat-001")
    draft.place(a_key_point("pat-002"), kind="restore")

    assert "pat-001" not in draft
    assert draft.is_used("pat-001")
    assert draft.is_used("pat-002")
    assert not draft.is_used("pat-003")
    assert draft.playbook().spent == {"pat-001"}


def test_new_name_is_never_an_old_one() -> None:
    """The number is one more than the highest of its prefix, in any section, retired or not."""
    draft = a_draft(a_key_point("pat-002"), a_key_point("mis-007", section=OTHERS), spent=("ctx-004", "kpt_009"))

    assert draft.new_name(PATTERNS) == "pat-003"
    assert draft.new_name("MISTAKES TO AVOID") == "mis-008"
    assert draft.new_name("PROJECT CONTEXT") == "ctx-005"
    assert draft.new_name(OTHERS) == "oth-001"


def test_new_name_is_not_reserved() -> None:
    draft = a_draft(a_key_point("pat-001"))
    draft.new_name(PATTERNS)

    draft.reserve(["pat-004", "mis-002"])

    assert draft.new_name(PATTERNS) == "pat-005"
    assert draft.new_name("MISTAKES TO AVOID") == "mis-003"
    assert not draft.is_used("pat-004")


def test_text_is_found_without_case_and_space() -> None:
    draft = a_draft(a_key_point("pat-001", "Use Ruff."))

    assert draft.find_text(" use  ruff")
    assert not draft.find_text("use mypy")


@given(playbook_values(), st.sets(st.sampled_from(["pat-041", "mis-300", "kpt_077"])), st.booleans(), st.data())
def test_no_name_is_used_twice(playbook: Playbook, spent: set[str], flat: bool, data: st.DataObject) -> None:
    draft = Draft(replace(playbook, spent=frozenset(spent)), flat=flat)
    given_names = [*playbook.by_name, *spent]
    for section in data.draw(st.lists(section_names, max_size=12)):
        name = draft.new_name(section)
        given_names.append(name)
        if data.draw(st.booleans()):
            draft.add(a_key_point(name, section=section))
        if data.draw(st.booleans()) and names_of(draft):
            draft.retire(data.draw(st.sampled_from(names_of(draft))))

    assert len(set(given_names)) == len(given_names)


@given(playbooks_of_few_texts(), few_texts | texts, st.data())
def test_live_texts_are_found(playbook: Playbook, text: str, data: st.DataObject) -> None:
    draft = Draft(playbook)
    for step in data.draw(st.lists(st.sampled_from(["ask", "add", "reword", "retire", "restore"]), max_size=8)):
        live = names_of(draft)
        if step == "ask":
            draft.find_text(text)
        elif step == "add":
            draft.add(a_key_point(draft.new_name(PATTERNS), data.draw(few_texts)))
        elif live and step == "reword":
            draft.change(replace(draft[data.draw(st.sampled_from(live))], text=data.draw(few_texts)), kind="edit")
        elif live and step == "retire":
            draft.retire(data.draw(st.sampled_from(live)))
        elif step == "restore" and draft.changes and draft.changes[-1].kind == "retire":
            draft.place(draft.changes[-1].point, kind="restore")

    assert draft.with_text(text) == [point for point in draft.points() if normalised(point.text) == normalised(text)]


def test_counters_stop_at_the_maximum() -> None:
    draft = a_draft(a_key_point(helpful=MAX_COUNTER))

    cast_votes(draft, [Vote("pat-001", "helpful")])

    assert draft["pat-001"].helpful == MAX_COUNTER


def test_restored_point_gets_its_own_position() -> None:
    """Also after later revisions."""
    draft = a_draft(a_key_point("pat-001", "a"), a_key_point("pat-002", "b"))
    draft.retire("pat-002")
    gone = draft.changes[-1].point
    draft = Draft(draft.playbook())
    draft.add(a_key_point("pat-003", "c"))
    draft = Draft(draft.playbook())

    draft.place(gone, kind="restore")

    assert [point.name for point in draft.points()] == ["pat-001", "pat-002", "pat-003"]
    assert len({point.position for point in draft.points()}) == 3


def test_huge_number_makes_no_longer_name() -> None:
    draft = a_draft(a_key_point("pat-" + "9" * 196))

    assert draft.new_name("PATTERNS & APPROACHES") == "pat-001"
