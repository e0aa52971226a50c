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
    """The live names, in canonical order."""
    return [point.name for point in draft.points()]


def test_draft_without_changes_gives_the_playbook_itself() -> None:
    """Nothing done, nothing new: not even a new name that nobody took."""
    playbook = a_playbook(a_key_point())
    draft = Draft(playbook)

    draft.new_name(PATTERNS)

    assert draft.playbook() is playbook
    assert draft.changes == []


def test_original_stays_as_it_was() -> None:
    """What comes in is frozen; only the draft changes."""
    playbook = a_playbook(a_key_point("pat-001"), a_key_point("pat-002"))
    draft = Draft(playbook)

    draft.retire("pat-001")
    draft.change(replace(draft["pat-002"], text="use mypy"), kind="edit")
    draft.add(a_key_point("pat-003"))

    assert [(point.name, point.text) for point in playbook.points] == [
        ("pat-001", "use type hints"),
        ("pat-002", "use type hints"),
    ]
    assert playbook.spent == frozenset()


def test_changes_tell_what_was_done_in_order() -> None:
    """Each change carries its kind, the point as it is afterwards, and why."""
    draft = a_draft(a_key_point("pat-001"))

    draft.add(a_key_point("mis-001", section="MISTAKES TO AVOID"), reason="new")
    draft.change(replace(draft["pat-001"], helpful=1), kind="vote")
    draft.retire("pat-001", reason="merged", successor="mis-001")

    told = [(change.kind, change.point.name, change.reason, change.successor) for change in draft.changes]
    assert told == [
        ("add", "mis-001", "new", None),
        ("vote", "pat-001", None, None),
        ("retire", "pat-001", "merged", "mis-001"),
    ]
    assert draft.changes[-1].point.helpful == 1


def test_change_says_whether_the_text_is_another_than_before() -> None:
    """New and reworded points are `reworded`; votes, moves and leaving are not."""
    draft = a_draft(a_key_point("pat-001"))

    draft.change(replace(draft["pat-001"], helpful=1), kind="vote")
    draft.change(replace(draft["pat-001"], text="use mypy"), kind="edit")
    draft.place(replace(draft["pat-001"], position=9), kind="move")
    draft.retire("pat-001")
    draft.add(a_key_point("pat-002"))

    assert [change.reworded for change in draft.changes] == [False, True, False, False, True]


def test_playbook_keeps_the_header_and_knows_the_names_that_left() -> None:
    """A draft changes points; the header is the store's to stamp."""
    before = replace(a_playbook(a_key_point("pat-001")), spent=frozenset({"pat-009"}))
    draft = Draft(before)

    draft.retire("pat-001")

    assert draft.playbook().header is before.header
    assert draft.playbook().spent == {"pat-001", "pat-009"}
    assert draft.playbook().points == ()


def test_points_come_in_canonical_order() -> None:
    """By section, then in the order within it, whenever they came in."""
    draft = a_draft(a_key_point("oth-001", section=OTHERS), a_key_point("pat-001"))

    draft.add(a_key_point("mis-001", section="MISTAKES TO AVOID"))
    draft.add(a_key_point("pat-002"))

    assert names_of(draft) == ["pat-001", "pat-002", "mis-001", "oth-001"]
    assert [point.name for point in draft.playbook().points] == names_of(draft)


def test_changed_point_keeps_its_place_unless_its_section_changes() -> None:
    """A reworded point stays where it is; one that moves to a section comes last there."""
    draft = a_draft(
        a_key_point("pat-001"), a_key_point("pat-002"), a_key_point("oth-001", section=OTHERS), a_key_point("pat-003")
    )

    draft.change(replace(draft["pat-001"], text="use mypy"), kind="edit")
    draft.change(replace(draft["pat-002"], section=OTHERS), kind="edit")

    assert names_of(draft) == ["pat-001", "pat-003", "oth-001", "pat-002"]


def test_placed_point_stands_exactly_as_given() -> None:
    """Position and all; and what is added afterwards comes behind it."""
    draft = a_draft(a_key_point("pat-001"), a_key_point("pat-002"), spent=("pat-000",))

    draft.place(a_key_point("pat-000", position=0), kind="restore")
    draft.place(replace(draft["pat-001"], position=draft.free_position()), kind="move")
    draft.add(a_key_point("pat-003"))

    assert names_of(draft) == ["pat-000", "pat-002", "pat-001", "pat-003"]


def test_free_position_is_behind_all_others() -> None:
    """Also behind those that were placed far out."""
    draft = a_draft(a_key_point("pat-001"), a_key_point("pat-002"))
    draft.place(replace(draft["pat-001"], position=40), kind="move")

    assert draft.free_position() > max(point.position for point in draft.points())


def test_name_of_a_point_that_left_stays_used_until_it_is_back() -> None:
    """A retired point's name belongs to it; a point that comes back is live again, not gone."""
    draft = a_draft(a_key_point("pat-001"), spent=("pat-002",))

    draft.retire("pat-001")
    draft.place(a_key_point("pat-002"), kind="restore")

    assert "pat-001" not in draft
    assert draft.is_used("pat-001")
    assert draft.is_used("pat-002")
    assert not draft.is_used("pat-003")
    assert draft.playbook().spent == {"pat-001"}


def test_new_name_follows_the_section() -> None:
    """The slug is the section's, the number one more than the highest that ever was, wherever that point stands."""
    draft = a_draft(a_key_point("pat-002"), a_key_point("mis-007", section=OTHERS), spent=("ctx-004", "kpt_009"))

    assert draft.new_name(PATTERNS) == "pat-003"
    assert draft.new_name("MISTAKES TO AVOID") == "mis-008"
    assert draft.new_name("PROJECT CONTEXT") == "ctx-005"
    assert draft.new_name(OTHERS) == "oth-001"


def test_flat_draft_gives_legacy_names() -> None:
    """As flat files have them, whatever the section."""
    draft = a_draft(a_key_point("kpt_004", section=OTHERS), a_key_point("pat-009"), flat=True)

    assert draft.new_name(PATTERNS) == "kpt_005"
    assert draft.new_name(OTHERS) == "kpt_006"


def test_name_is_not_given_again_when_its_point_leaves() -> None:
    """Not in the same draft, and not in the next one."""
    draft = a_draft(a_key_point("pat-001"))
    draft.add(a_key_point(draft.new_name(PATTERNS)))
    draft.retire("pat-002")

    assert draft.new_name(PATTERNS) == "pat-003"
    assert Draft(draft.playbook()).new_name(PATTERNS) == "pat-003"


def test_new_name_sees_points_that_came_in_under_their_own_names() -> None:
    """Names that a file brings count from then on."""
    draft = a_draft(a_key_point("pat-001"))
    draft.new_name(PATTERNS)

    draft.add(a_key_point("pat-007"))

    assert draft.new_name(PATTERNS) == "pat-008"


def test_new_name_keeps_off_reserved_names() -> None:
    """Points that are still to come keep their own names."""
    draft = a_draft(a_key_point("pat-001"))
    draft.new_name(PATTERNS)

    draft.reserve(["pat-004", "mis-002"])

    assert draft.new_name(PATTERNS) == "pat-005"
    assert draft.new_name("MISTAKES TO AVOID") == "mis-003"
    assert not draft.is_used("pat-004")


def test_text_is_found_up_to_what_makes_no_difference() -> None:
    """Case, white space and trailing punctuation."""
    draft = a_draft(a_key_point("pat-001", "Use Ruff."))

    assert draft.find_text(" use  ruff")
    assert not draft.find_text("use mypy")


def test_text_that_left_or_was_reworded_is_no_longer_there() -> None:
    """Only what a live point says counts, also when it was asked for before."""
    draft = a_draft(a_key_point("pat-001", "use ruff"), a_key_point("pat-002", "use mypy"))
    assert draft.find_text("use ruff")

    draft.retire("pat-001")
    draft.change(replace(draft["pat-002"], text="use types"), kind="edit")

    assert [bool(draft.find_text(text)) for text in ("use ruff", "use mypy", "use types")] == [False, False, True]


@given(playbook_values(), st.sets(st.sampled_from(["pat-041", "mis-300", "kpt_077"])), st.booleans(), st.data())
def test_no_name_is_ever_given_twice(playbook: Playbook, spent: set[str], flat: bool, data: st.DataObject) -> None:
    """Whatever comes in and leaves meanwhile: a late vote must not hit another point."""
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
def test_text_that_a_live_point_says_is_always_known(playbook: Playbook, text: str, data: st.DataObject) -> None:
    """What was added, reworded, moved, retired or put back since is seen."""
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


def test_counters_stop_where_the_database_does() -> None:
    """A counter at the end of an integer's range takes another vote without an error."""
    draft = a_draft(a_key_point(helpful=MAX_COUNTER))

    cast_votes(draft, [Vote("pat-001", "helpful")])

    assert draft["pat-001"].helpful == MAX_COUNTER


def test_a_point_that_comes_back_finds_its_own_place_free() -> None:
    """Nobody takes the position of a retired point, in later revisions either."""
    draft = a_draft(a_key_point("pat-001", "a"), a_key_point("pat-002", "b"))
    draft.retire("pat-002")
    gone = draft.changes[-1].point
    draft = Draft(draft.playbook())
    draft.add(a_key_point("pat-003", "c"))
    draft = Draft(draft.playbook())

    draft.place(gone, kind="restore")

    assert [point.name for point in draft.points()] == ["pat-001", "pat-002", "pat-003"]
    assert len({point.position for point in draft.points()}) == 3


def test_a_name_that_was_made_is_not_made_again_after_a_reservation() -> None:
    """Whether or not a point was added under it."""
    draft = a_draft()
    made = draft.new_name("OTHERS")

    draft.reserve(["oth-005"])

    assert (made, draft.new_name("OTHERS")) == ("oth-001", "oth-006")


def test_a_name_with_an_absurd_number_does_not_make_the_next_one_longer() -> None:
    """A name that we make can always be read in again."""
    draft = a_draft(a_key_point("pat-" + "9" * 196))

    assert draft.new_name("PATTERNS & APPROACHES") == "pat-001"
