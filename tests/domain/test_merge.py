"""How two playbooks become one, also where one is older than an erasure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.draft import Draft
from playbook_db.domain.erasure import MARK, Eraser
from playbook_db.domain.merging.merge import (
    Retired,
    in_our_sections,
    may_be_original,
    merge_headers,
    merge_three_way,
    merge_two_way,
    prepare_import,
    replace_points,
    without_erased_header,
    without_erased_texts,
)
from playbook_db.domain.playbook import Header, KeyPoint, Playbook, RetiredPoint, normalised, playbook_of
from playbook_db.domain.playbook_file import Reading, read_playbook
from tests.builders import (
    a_flat_dict,
    a_key_point,
    a_playbook,
    an_entry,
    few_texts,
    headers,
    key_point_lists,
    playbook_values,
    playbooks_of_few_texts,
    texts,
    versions_of,
)

PATTERNS, MISTAKES, OTHERS = "PATTERNS & APPROACHES", "MISTAKES TO AVOID", "OTHERS"


def retired_points(*points: KeyPoint) -> dict[str, RetiredPoint]:
    """The *points*, retired, by name."""
    return {point.name: RetiredPoint(point, 1) for point in points}


def a_draft_of(playbook: Playbook, retired: Retired) -> Draft:
    """A draft of *playbook*, from which *retired* were retired."""
    return Draft(replace(playbook, spent=frozenset(retired)))


def names_of(playbook: Playbook) -> list[str]:
    """The live names, in canonical order."""
    return [point.name for point in playbook.points]


def texts_of(playbook: Playbook) -> set[str]:
    """The live texts, without what makes no difference."""
    return {normalised(point.text) for point in playbook.points}


def after_taking_in(ours: Playbook, theirs: Playbook, *retired: KeyPoint) -> tuple[Playbook, Sequence[str]]:
    """Our playbook after taking in *theirs*, and the notes."""
    before = retired_points(*retired)
    draft = a_draft_of(ours, before)
    notes = merge_two_way(draft, theirs, before)
    return draft.playbook(), notes


def after_merging(base: Playbook, ours: Playbook, theirs: Playbook) -> tuple[Draft, Sequence[str]]:
    """The draft of our playbook, which came from *base*, after the three-way merge, and the notes."""
    retired = retired_points(*(point for point in base.points if point.name not in ours.by_name))
    draft = a_draft_of(ours, retired)
    notes = merge_three_way(draft, base, theirs, retired)
    return draft, notes


@st.composite
def three_versions(draw: st.DrawFn) -> tuple[Playbook, Playbook, Playbook]:
    """A playbook, and what two sides made of it."""
    base = draw(playbook_values(max_size=5))
    return base, draw(versions_of(base)), draw(versions_of(base))


@st.composite
def ours_and_retired(draw: st.DrawFn) -> tuple[Playbook, Retired]:
    """Our playbook, and points that were retired from it."""
    points = draw(key_point_lists(max_size=6, numbers=st.integers(1, 5), of=few_texts, votes=st.integers(0, 4)))
    count = draw(st.integers(0, len(points)))
    return playbook_of(points[count:]), retired_points(*points[:count])


# --- flat files ---


def test_points_of_a_flat_file_stay_in_our_sections() -> None:
    """It knows no sections, so it can't move a point; what is new goes to OTHERS."""
    ours = a_playbook(a_key_point("pat-001"), a_key_point("mis-001", section=MISTAKES))
    reading = read_playbook(a_flat_dict(an_entry("mis-001"), an_entry("kpt_001"), an_entry("pat-001")), source="a file")

    theirs = in_our_sections(reading, ours)

    assert [(point.name, point.section) for point in theirs.points] == [
        ("pat-001", PATTERNS),
        ("mis-001", MISTAKES),
        ("kpt_001", OTHERS),
    ]
    assert theirs.header == reading.playbook.header


def test_sections_of_a_file_that_has_them_are_its_own() -> None:
    """There the section says something."""
    reading = read_playbook({"sections": {OTHERS: [an_entry("pat-001")]}}, source="a file")

    assert in_our_sections(reading, a_playbook(a_key_point("pat-001"))) == reading.playbook


# --- taking a file in ---


def test_new_points_come_in_as_they_are() -> None:
    """Name, section and votes are theirs; they come last in their section, and ours stay."""
    ours = a_playbook(a_key_point("pat-009", "ours", helpful=1))
    theirs = a_playbook(
        a_key_point("pat-001", "theirs", helpful=2, harmful=1), a_key_point("x", "more", section=OTHERS)
    )

    merged, notes = after_taking_in(ours, theirs)

    assert merged.content == (
        ("pat-009", "ours", PATTERNS, 1, 0),
        ("pat-001", "theirs", PATTERNS, 2, 1),
        ("x", "more", OTHERS, 0, 0),
    )
    assert notes == ()


@pytest.mark.parametrize(("name", "text"), [("pat-001", "use ruff"), ("pat-001", "Use ruff."), ("kpt_007", "USE RUFF")])
def test_point_that_is_here_keeps_the_higher_of_both_counters(name: str, text: str) -> None:
    """Known by its text, whatever its name: the file may be an older copy of ours, so votes must not add up."""
    ours = a_playbook(a_key_point("pat-001", "use ruff", helpful=5, harmful=1))

    merged, _ = after_taking_in(ours, a_playbook(KeyPoint(name, text, OTHERS, helpful=3, harmful=2)))

    assert merged.content == (("pat-001", "use ruff", PATTERNS, 5, 2),)


def test_point_that_is_here_under_another_name_is_told() -> None:
    """Who looks for the name of the file finds out where it went."""
    ours, theirs = a_playbook(a_key_point("pat-001")), a_playbook(a_key_point("kpt_007"))

    assert after_taking_in(ours, theirs) == (ours, ("kpt_007 is pat-001 here, with the same text",))


def test_name_that_belongs_to_another_text_is_given_anew_on_the_incoming_side() -> None:
    """Never one that stands later in the file; and it is told."""
    ours = a_playbook(a_key_point("pat-001", "ours", helpful=1))
    theirs = a_playbook(a_key_point("pat-001", "theirs", helpful=7), a_key_point("pat-002", "more"))

    merged, notes = after_taking_in(ours, theirs)

    assert [(p.name, p.text, p.helpful) for p in merged.points] == [
        ("pat-001", "ours", 1),
        ("pat-003", "theirs", 7),
        ("pat-002", "more", 0),
    ]
    assert notes == ("pat-001 belongs to another text here; the incoming one is now pat-003",)


def test_retired_point_of_the_same_name_and_text_comes_back() -> None:
    """With the higher of both counters, in the section it had; and it is told."""
    before = a_key_point("pat-001", "use ruff", helpful=1, harmful=4)

    merged, notes = after_taking_in(
        a_playbook(), a_playbook(replace(before, helpful=3, harmful=0, section=OTHERS)), before
    )

    assert merged.content == (("pat-001", "use ruff", PATTERNS, 3, 4),)
    assert merged.spent == frozenset()
    assert notes == ("pat-001 had been retired and is back",)


def test_name_of_a_retired_point_is_not_given_to_another_text() -> None:
    """A late vote meant for the old point must not hit the incoming one."""
    merged, notes = after_taking_in(a_playbook(), a_playbook(a_key_point("pat-001", "b")), a_key_point("pat-001", "a"))

    assert [(point.name, point.text) for point in merged.points] == [("pat-002", "b")]
    assert merged.spent == {"pat-001"}
    assert len(notes) == 1


@given(ours_and_retired(), playbooks_of_few_texts())
def test_taking_in_loses_no_text_of_either_side(here: tuple[Playbook, Retired], theirs: Playbook) -> None:
    """Each of theirs is said by a live point afterwards; ours keep name, text, section and order; names are unique."""
    ours, retired = here
    draft = a_draft_of(ours, retired)

    merge_two_way(draft, theirs, retired)

    merged = draft.playbook()
    assert texts_of(merged) == texts_of(ours) | texts_of(theirs)
    kept = [point for point in merged.points if point.name in ours.by_name]
    assert [(p.name, p.text, p.section) for p in kept] == [(p.name, p.text, p.section) for p in ours.points]
    assert not any(change.kind == "retire" for change in draft.changes)
    assert len(set(names_of(merged))) == len(merged.points)


@given(ours_and_retired(), playbooks_of_few_texts())
def test_taking_in_never_lowers_and_never_sums_a_counter(here: tuple[Playbook, Retired], theirs: Playbook) -> None:
    """Each counter is one that stood on either side before."""
    ours, retired = here
    draft = a_draft_of(ours, retired)

    merge_two_way(draft, theirs, retired)

    known = [*ours.points, *theirs.points, *(each.point for each in retired.values())]
    for point in draft.points():
        before = ours.by_name.get(point.name)
        assert before is None or (point.helpful >= before.helpful and point.harmful >= before.harmful)
        assert point.helpful in {other.helpful for other in known if normalised(other.text) == normalised(point.text)}
        assert point.harmful in {other.harmful for other in known if normalised(other.text) == normalised(point.text)}


@given(ours_and_retired(), playbooks_of_few_texts())
def test_taking_the_same_file_in_twice_changes_nothing_the_second_time(
    here: tuple[Playbook, Retired], theirs: Playbook
) -> None:
    """Import is idempotent, for a file that doesn't itself say the same thing twice."""
    ours, retired = here
    first = a_draft_of(ours, retired)
    merge_two_way(first, theirs, retired)
    still_retired = {name: each for name, each in retired.items() if name not in first}
    second = a_draft_of(first.playbook(), still_retired)

    merge_two_way(second, theirs, still_retired)

    assert second.changes == []


@given(playbook_values())
def test_taking_in_our_own_copy_changes_nothing(ours: Playbook) -> None:
    """import(export(P)) adds no revision."""
    draft = Draft(ours)

    assert merge_two_way(draft, ours, {}) == ()
    assert draft.changes == []


# --- becoming equal ---


def test_points_that_the_other_lacks_are_retired() -> None:
    """They leave with a reason, their names stay used; the rest becomes what the other says."""
    draft = Draft(a_playbook(a_key_point("pat-001", "a", helpful=4), a_key_point("pat-002", "b")))

    replace_points(draft, a_playbook(a_key_point("pat-002", "c", section=OTHERS, helpful=1)), {})

    assert draft.playbook().content == (("pat-002", "c", OTHERS, 1, 0),)
    assert [(change.kind, change.point.name, change.reason) for change in draft.changes] == [
        ("retire", "pat-001", "not in the imported playbook"),
        ("edit", "pat-002", None),
    ]
    assert draft.is_used("pat-001")


def test_point_that_comes_back_is_restored() -> None:
    """Under a name that was ours, the history goes on."""
    retired = retired_points(a_key_point("pat-001", "a", helpful=4))
    draft = a_draft_of(a_playbook(), retired)

    replace_points(draft, a_playbook(a_key_point("pat-001", "b")), retired)

    assert draft.playbook().content == (("pat-001", "b", PATTERNS, 0, 0),)
    assert [(change.kind, change.reworded) for change in draft.changes] == [("restore", True)]


def test_votes_alone_are_a_vote_in_the_history() -> None:
    """The kind of a change says what it was about."""
    draft = Draft(a_playbook(a_key_point("pat-001", "a")))

    replace_points(draft, a_playbook(a_key_point("pat-001", "a", helpful=1)), {})

    assert [(change.kind, change.reworded) for change in draft.changes] == [("vote", False)]


@given(ours_and_retired(), playbooks_of_few_texts() | playbook_values())
def test_playbook_becomes_equal_in_content_and_order(here: tuple[Playbook, Retired], theirs: Playbook) -> None:
    """Points, texts, counters, sections and order are theirs; becoming it again changes nothing."""
    ours, retired = here
    draft = a_draft_of(ours, retired)

    replace_points(draft, theirs, retired)

    assert draft.playbook().content == theirs.content
    assert draft.playbook().spent == (ours.by_name.keys() | retired.keys()) - theirs.by_name.keys()
    again = Draft(draft.playbook())
    replace_points(again, theirs, {})
    assert again.changes == []


# --- three ways ---


@given(three_versions())
def test_merging_into_an_untouched_playbook_gives_theirs(versions: tuple[Playbook, Playbook, Playbook]) -> None:
    """merge(base, base, theirs) is theirs: content and order."""
    base, _, theirs = versions

    draft, notes = after_merging(base, base, theirs)

    assert draft.playbook().content == theirs.content
    assert notes == ()


@given(three_versions())
def test_merging_an_untouched_file_changes_nothing(versions: tuple[Playbook, Playbook, Playbook]) -> None:
    """merge(base, ours, base) is ours, without a single change."""
    base, ours, _ = versions

    draft, notes = after_merging(base, ours, base)

    assert draft.changes == []
    assert notes == ()


@given(three_versions())
def test_both_sides_votes_add_up(versions: tuple[Playbook, Playbook, Playbook]) -> None:
    """Each counter is the base's and what either side added, never below 0."""
    base, ours, theirs = versions

    merged = after_merging(base, ours, theirs)[0].playbook()

    for name in base.by_name.keys() & ours.by_name.keys() & theirs.by_name.keys():
        before, here, there, point = (version.by_name[name] for version in (base, ours, theirs, merged))
        assert point.helpful == max(0, here.helpful + there.helpful - before.helpful)
        assert point.harmful == max(0, here.harmful + there.harmful - before.harmful)
    assert all(point.helpful >= 0 <= point.harmful for point in merged.points)


def live_texts(before: KeyPoint, here: KeyPoint | None, there: KeyPoint | None) -> set[str | None]:
    """What a point of the base may say after the merge; None: it left."""
    one, other = (point.text if point else None for point in (here, there))
    if one == before.text:
        return {other}
    if other == before.text or one == other:
        return {one}
    return {text for text in (one, other) if text is not None}


@given(three_versions())
def test_no_text_is_lost_that_neither_side_removed_or_reworded(versions: tuple[Playbook, Playbook, Playbook]) -> None:
    """What one side alone did to a point of the base happens; reworded beats removed; of two new texts one is live
    and the other in the history; what either side added is there."""
    base, ours, theirs = versions

    draft, _ = after_merging(base, ours, theirs)

    merged = draft.playbook()
    history = {point.text for point in (*ours.points, *(change.point for change in draft.changes))}
    for name, before in base.by_name.items():
        allowed = live_texts(before, ours.by_name.get(name), theirs.by_name.get(name))
        live = merged.by_name[name].text if name in merged.by_name else None
        assert live in allowed
        assert allowed <= {live, *history}
    added = [point for side in (ours, theirs) for point in side.points if point.name not in base.by_name]
    # Texts that are equal up to normalising are one point, in the words of ours.
    assert {normalised(point.text) for point in added} <= {normalised(point.text) for point in merged.points}


@given(three_versions())
def test_names_are_unique_after_a_merge(versions: tuple[Playbook, Playbook, Playbook]) -> None:
    """Ours keep theirs, and no name goes to a point whose text neither side gave it."""
    base, ours, theirs = versions

    merged = after_merging(base, ours, theirs)[0].playbook()

    assert len(set(names_of(merged))) == len(merged.points)
    for name in ours.by_name.keys() - base.by_name.keys():
        assert merged.by_name[name].text == ours.by_name[name].text


@pytest.mark.parametrize(
    ("ours_at", "theirs_at", "live"),
    [
        ("2026-01-02T00:00:00+00:00", "2026-01-03T00:00:00+00:00", "theirs"),
        ("2026-01-03T00:00:00+00:00", "2026-01-02T00:00:00+00:00", "ours"),
        ("2026-01-03T00:00:00+00:00", "2026-01-03T01:30:00+02:00", "ours"),
        ("2026-01-03T00:00:00+00:00", "2026-01-02T23:00:00", "ours"),
        ("2026-01-03T00:00:00+00:00", "2026-01-01T00:00:00+00:00", "theirs"),
        ("2026-01-03T00:00:00+00:00", "yesterday", "theirs"),
        ("2026-01-03T00:00:00+00:00", None, "theirs"),
    ],
)
def test_later_of_two_new_texts_is_live_and_the_other_in_the_history(
    ours_at: str, theirs_at: str | None, live: str
) -> None:
    """A file whose time is still the base's was edited by hand since, so it is the later one; so is one without."""
    base, ours, theirs = (
        playbook_of([a_key_point(text=text)], header=Header().stamped(time))
        for text, time in (("base", "2026-01-01T00:00:00+00:00"), ("ours", ours_at), ("theirs", theirs_at))
    )

    draft, notes = after_merging(base, ours, theirs)

    assert draft["pat-001"].text == live
    assert "theirs" in [change.point.text for change in draft.changes]
    assert notes == (f"pat-001 was reworded on both sides; {live} is live, the other is in the history",)


def test_point_that_one_side_retired_and_the_other_reworded_stays() -> None:
    """Whichever side did which; and it is told."""
    base = a_playbook(a_key_point("pat-001", "a"), a_key_point("pat-002", "b"))
    ours = a_playbook(a_key_point("pat-001", "a, reworded"))
    theirs = a_playbook(a_key_point("pat-002", "b, reworded"))

    draft, notes = after_merging(base, ours, theirs)

    assert {point.name: point.text for point in draft.points()} == {"pat-001": "a, reworded", "pat-002": "b, reworded"}
    assert notes == (
        "pat-002 had been retired here and reworded there; it is back with the new text",
        "pat-001 was removed there and reworded here; it stays",
    )


def test_point_that_one_side_removed_and_the_other_only_voted_on_leaves() -> None:
    """A vote doesn't bring back what somebody took out."""
    base = a_playbook(a_key_point("pat-001", "a"), a_key_point("pat-002", "b"))
    ours = a_playbook(a_key_point("pat-001", "a", helpful=1))
    theirs = a_playbook(a_key_point("pat-002", "b", helpful=1))

    draft, _ = after_merging(base, ours, theirs)

    assert draft.points() == []
    assert [change.reason for change in draft.changes] == ["removed on the other side"]


def test_same_text_learnt_on_both_sides_under_one_name_is_one_point() -> None:
    """Both sides' votes add up from nothing."""
    ours = a_playbook(a_key_point("pat-001", "a", helpful=2, harmful=1))

    draft, _ = after_merging(a_playbook(), ours, a_playbook(a_key_point("pat-001", "a", helpful=3)))

    assert draft.playbook().content == (("pat-001", "a", PATTERNS, 5, 1),)


def test_name_given_to_different_points_on_both_sides_is_given_anew_on_the_incoming_side() -> None:
    """Never one that stands later in the file; and it is told."""
    ours = a_playbook(a_key_point("pat-001", "ours"))
    theirs = a_playbook(a_key_point("pat-001", "theirs"), a_key_point("pat-002", "more"))

    draft, notes = after_merging(a_playbook(), ours, theirs)

    assert [(point.name, point.text) for point in draft.points()] == [
        ("pat-001", "ours"),
        ("pat-003", "theirs"),
        ("pat-002", "more"),
    ]
    assert notes == ("pat-001 belongs to another text here; the incoming one is now pat-003",)


def test_point_that_left_before_the_base_comes_back_when_the_other_side_puts_it_back() -> None:
    """As the other side has it; a name that went to another text there is given anew."""
    retired = retired_points(a_key_point("pat-001", "a"), a_key_point("pat-002", "a"))
    draft = a_draft_of(a_playbook(), retired)

    merge_three_way(draft, a_playbook(), a_playbook(a_key_point("pat-001", "a"), a_key_point("pat-002", "b")), retired)

    assert {point.name: point.text for point in draft.points()} == {"pat-001": "a", "pat-003": "b"}
    assert [change.kind for change in draft.changes] == ["restore", "add"]


@pytest.mark.parametrize(
    ("here", "there", "merged"),
    [(PATTERNS, MISTAKES, MISTAKES), (MISTAKES, PATTERNS, MISTAKES), (MISTAKES, OTHERS, OTHERS)],
)
def test_section_follows_the_side_that_moved_the_point(here: str, there: str, merged: str) -> None:
    """Theirs, where both did."""
    base, ours, theirs = (a_playbook(a_key_point(section=section)) for section in (PATTERNS, here, there))

    draft, _ = after_merging(base, ours, theirs)

    assert draft["pat-001"].section == merged


def test_order_follows_the_side_that_changed_it() -> None:
    """What the other side added comes behind what it doesn't know; where both moved, ours stays."""
    one, two, three, four = (a_key_point(f"pat-{number:03d}", f"text {number}") for number in (1, 2, 3, 4))
    base = a_playbook(one, two)
    cases: list[tuple[Playbook, Playbook, list[KeyPoint]]] = [
        (a_playbook(one, two, three), a_playbook(two, one), [two, one, three]),
        (a_playbook(two, one), a_playbook(one, two, three), [two, one, three]),
        (a_playbook(two, one, three), a_playbook(two, one, four), [two, one, three, four]),
        (a_playbook(one, two, three), a_playbook(four, one, two), [one, two, three, four]),
        (base, a_playbook(three, one, two), [three, one, two]),
    ]
    for ours, theirs, expected in cases:
        draft, _ = after_merging(base, ours, theirs)

        assert [point.name for point in draft.points()] == [point.name for point in expected]


# --- headers ---


def a_header(*, final_newline: bool = True, **fields: Any) -> Header:
    """A header of those top-level keys, the points last."""
    return Header((*fields.items(), ("sections", None)), final_newline)


def test_top_level_keys_follow_the_side_that_changed_them() -> None:
    """Changed, added and removed there; changed and added here; `last_updated` stays ours."""
    base = a_header(version="1.0", last_updated="1", kept=1, theirs=1, ours=1, gone=1)
    ours = a_header(version="1.0", last_updated="2", kept=1, theirs=1, ours=2, gone=1, more=[1])
    theirs = a_header(version="2.0", last_updated="3", kept=1, theirs=2, ours=1, new={"a": 1})

    merged = merge_headers(base, ours, theirs)

    assert merged.fields == (
        ("version", "2.0"),
        ("last_updated", "2"),
        ("kept", 1),
        ("theirs", 2),
        ("ours", 2),
        ("more", [1]),
        ("sections", None),
        ("new", {"a": 1}),
    )


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [(True, True, False, False), (True, False, True, False), (False, False, True, True), (False, True, True, True)],
)
def test_final_newline_follows_the_side_that_changed_it(base: bool, ours: bool, theirs: bool, merged: bool) -> None:
    """An editor that adds one is heard."""
    versions = (a_header(final_newline=newline) for newline in (base, ours, theirs))

    assert merge_headers(*versions).final_newline == merged


@given(headers(), headers())
def test_header_that_one_side_left_alone_becomes_the_others(base: Header, changed: Header) -> None:
    """merge(base, base, theirs) is theirs but for the time, merge(base, ours, base) is ours to the letter."""
    theirs = {key: value for key, value in changed.fields if key != "last_updated"}
    merged = merge_headers(base, base, changed)

    assert {key: value for key, value in merged.fields if key != "last_updated"} == theirs
    assert merged.last_updated == base.last_updated
    assert merged.final_newline == changed.final_newline
    assert merge_headers(base, changed, base) == changed


def test_a_file_that_says_one_text_twice_changes_nothing_the_second_time() -> None:
    """The twin that was given another name is found again, and not taken for the other."""
    theirs = a_playbook(
        a_key_point("pat-002", "use ruff", helpful=1), a_key_point("pat-001", "Use ruff", section="OTHERS", helpful=5)
    )
    first = Draft(a_playbook(a_key_point("pat-001", "x")))
    merge_two_way(first, theirs, {})
    second = Draft(first.playbook())

    merge_two_way(second, theirs, {})

    assert second.changes == []


def test_our_votes_on_a_point_that_they_reworded_come_back_with_it() -> None:
    """Retired here, reworded there: both sides' votes since the common ancestor count."""
    base = a_playbook(a_key_point(text="a", helpful=1))
    retired = retired_points(a_key_point(text="a", helpful=5))
    draft = a_draft_of(a_playbook(), retired)

    merge_three_way(draft, base, a_playbook(a_key_point(text="b", helpful=2)), retired)

    assert draft["pat-001"].helpful == 6


def test_a_header_value_that_only_python_calls_equal_is_a_change() -> None:
    """To JSON, 1 and true are two values."""
    base, theirs = Header((("x", 1), ("sections", None))), Header((("x", True), ("sections", None)))

    assert merge_headers(base, base, theirs).get("x") is True
    assert base != theirs


def test_twins_of_a_file_that_were_both_given_other_names_are_told_apart_the_second_time() -> None:
    """Each finds its own again, so that no vote moves from one to the other."""
    theirs = a_playbook(a_key_point("pat-001", "use mypy"), a_key_point("pat-002", "use mypy", harmful=1))
    first = Draft(a_playbook(a_key_point("pat-001", "x"), a_key_point("pat-002", "y")))
    merge_two_way(first, theirs, {})
    second = Draft(first.playbook())

    merge_two_way(second, theirs, {})

    assert second.changes == []
    assert [(p.text, p.harmful) for p in second.points()] == [("x", 0), ("y", 0), ("use mypy", 0), ("use mypy", 1)]


@given(texts, texts, texts)
def test_what_was_forgotten_is_known_again(before: str, secret: str, after: str) -> None:
    """An older copy of a text from which something was taken may have been it."""
    old = before + secret + after
    now = Eraser(frozenset({secret})).erase(old)

    assert now == old or may_be_original(old, now)
    assert not may_be_original(old, old)


def test_an_older_copy_s_text_counts_as_unchanged() -> None:
    """The other side, which comes from before an erasure, has not reworded what was blanked since."""
    base = a_playbook(a_key_point("pat-001", f"use {MARK} here"), a_key_point("pat-002", "plain"))
    theirs = a_playbook(a_key_point("pat-001", "use Zanzibar here"), a_key_point("pat-002", "other"))

    merged, (note,) = without_erased_texts(base.by_name, theirs)

    assert "pat-001" in note
    assert [point.text for point in merged.points] == [f"use {MARK} here", "other"]


def test_an_older_copy_s_header_counts_as_unchanged() -> None:
    """Keys and values alike."""
    base = Header((("sections", None), ("team", f"the {MARK} team"), (MARK, 1), ("plain", 1)))
    theirs = Header((("sections", None), ("team", "the Zanzibar team"), ("Zanzibar", 1), ("plain", 2), ("new", 3)))

    assert dict(without_erased_header(base, theirs).fields) == {**dict(base.fields), "plain": 2, "new": 3}


def test_a_forgotten_name_does_not_come_in() -> None:
    """Whatever it says now; the user hears of it."""
    theirs = a_playbook(a_key_point("pat-001"), a_key_point("pat-002"))

    kept, notes = prepare_import(
        Reading(theirs), Playbook(), {"pat-001": RetiredPoint(a_key_point(), 1, is_forgotten=True)}
    )

    assert list(kept.by_name) == ["pat-002"]
    assert notes == ("pat-001 was forgotten here; the incoming text was left out",)


# --- a text that got another name in between ---


def _named(**texts_and_votes: tuple[str, int]) -> Playbook:
    points = (
        a_key_point(name.replace("_", "-"), text, helpful=votes) for name, (text, votes) in texts_and_votes.items()
    )
    return a_playbook(*points)


@pytest.mark.parametrize("renamed_by", ["ours", "theirs"])
@pytest.mark.parametrize(
    ("done", "expected"),
    [
        ({"pat_001": ("ann's", 3)}, {"pat-001": ("ben's", 5), "pat-002": ("ann's", 3)}),
        ({"pat_001": ("ann's, better", 1)}, {"pat-001": ("ben's", 5), "pat-002": ("ann's, better", 1)}),
        ({}, {"pat-001": ("ben's", 5)}),
    ],
    ids=["voted on", "reworded", "retired"],
)
def test_what_was_done_to_a_text_follows_it_to_its_new_name(
    renamed_by: str, done: dict[str, tuple[str, int]], expected: dict[str, tuple[str, int]]
) -> None:
    """Ben's point has Ann's name by now; a vote for hers under that name is none for his."""
    base, seen = _named(pat_001=("ann's", 1)), _named(**done)
    renamed = _named(pat_001=("ben's", 5), pat_002=("ann's", 1))

    draft, _ = after_merging(base, *((renamed, seen) if renamed_by == "ours" else (seen, renamed)))

    assert {point.name: (point.text, point.helpful) for point in draft.points()} == expected


@pytest.mark.parametrize("renamed_by", ["ours", "theirs"])
def test_it_follows_it_also_where_that_name_was_given_again(renamed_by: str) -> None:
    """Nothing is lost of three texts that had, or got, the same two names."""
    base, seen = _named(pat_001=("ann's", 1)), _named(pat_001=("ann's", 3), pat_002=("another", 7))
    renamed = _named(pat_001=("ben's", 5), pat_002=("ann's", 1))

    draft, _ = after_merging(base, *((renamed, seen) if renamed_by == "ours" else (seen, renamed)))

    assert {point.text: point.helpful for point in draft.points()} == {"ann's": 3, "ben's": 5, "another": 7}
