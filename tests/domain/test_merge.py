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
    """Our playbook after the import of *theirs*, and the notes."""
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


def test_flat_file_moves_no_point() -> None:
    ours = a_playbook(a_key_point("pat-001"), a_key_point("mis-001", section=MISTAKES))
    reading = read_playbook(a_flat_dict(an_entry("mis-001"), an_entry("kpt_001"), an_entry("pat-001")), source="a file")

    theirs = in_our_sections(reading, ours)

    assert [(point.name, point.section) for point in theirs.points] == [
        ("pat-001", PATTERNS),
        ("mis-001", MISTAKES),
        ("kpt_001", OTHERS),
    ]
    assert theirs.header == reading.playbook.header


# --- taking a file in ---


def test_new_points_keep_name_section_and_votes() -> None:
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
def test_known_point_keeps_the_higher_counters(name: str, text: str) -> None:
    ours = a_playbook(a_key_point("pat-001", "use ruff", helpful=5, harmful=1))

    merged, _ = after_taking_in(ours, a_playbook(KeyPoint(name, text, OTHERS, helpful=3, harmful=2)))

    assert merged.content == (("pat-001", "use ruff", PATTERNS, 5, 2),)


def test_other_name_of_a_known_point_is_reported() -> None:
    ours, theirs = a_playbook(a_key_point("pat-001")), a_playbook(a_key_point("kpt_007"))

    assert after_taking_in(ours, theirs) == (ours, ("kpt_007 is pat-001 here, with the same text",))


def test_taken_name_is_changed_on_import() -> None:
    ours = a_playbook(a_key_point("pat-001", "ours", helpful=1))
    theirs = a_playbook(a_key_point("pat-001", "theirs", helpful=7), a_key_point("pat-002", "more"))

    merged, notes = after_taking_in(ours, theirs)

    assert [(p.name, p.text, p.helpful) for p in merged.points] == [
        ("pat-001", "ours", 1),
        ("pat-003", "theirs", 7),
        ("pat-002", "more", 0),
    ]
    assert notes == ("pat-001 belongs to another text here; the incoming one is now pat-003",)


def test_same_retired_point_is_restored() -> None:
    before = a_key_point("pat-001", "use ruff", helpful=1, harmful=4)

    merged, notes = after_taking_in(
        a_playbook(), a_playbook(replace(before, helpful=3, harmful=0, section=OTHERS)), before
    )

    assert merged.content == (("pat-001", "use ruff", PATTERNS, 3, 4),)
    assert merged.spent == frozenset()
    assert notes == ("pat-001 had been retired and is back",)


def test_retired_name_is_not_reused() -> None:
    merged, notes = after_taking_in(a_playbook(), a_playbook(a_key_point("pat-001", "b")), a_key_point("pat-001", "a"))

    assert [(point.name, point.text) for point in merged.points] == [("pat-002", "b")]
    assert merged.spent == {"pat-001"}
    assert len(notes) == 1


@given(ours_and_retired(), playbooks_of_few_texts())
def test_import_loses_no_text(here: tuple[Playbook, Retired], theirs: Playbook) -> None:
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
def test_import_never_lowers_or_sums_counters(here: tuple[Playbook, Retired], theirs: Playbook) -> None:
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
def test_second_import_changes_nothing(here: tuple[Playbook, Retired], theirs: Playbook) -> None:
    ours, retired = here
    first = a_draft_of(ours, retired)
    merge_two_way(first, theirs, retired)
    still_retired = {name: each for name, each in retired.items() if name not in first}
    second = a_draft_of(first.playbook(), still_retired)

    merge_two_way(second, theirs, still_retired)

    assert second.changes == []


@given(playbook_values())
def test_import_of_our_own_copy_changes_nothing(ours: Playbook) -> None:
    draft = Draft(ours)

    assert merge_two_way(draft, ours, {}) == ()
    assert draft.changes == []


# --- becoming equal ---


def test_missing_points_are_retired() -> None:
    draft = Draft(a_playbook(a_key_point("pat-001", "a", helpful=4), a_key_point("pat-002", "b")))

    replace_points(draft, a_playbook(a_key_point("pat-002", "c", section=OTHERS, helpful=1)), {})

    assert draft.playbook().content == (("pat-002", "c", OTHERS, 1, 0),)
    assert [(change.kind, change.point.name, change.reason) for change in draft.changes] == [
        ("retire", "pat-001", "not in the imported playbook"),
        ("edit", "pat-002", None),
    ]
    assert draft.is_used("pat-001")


def test_returning_point_is_restored() -> None:
    retired = retired_points(a_key_point("pat-001", "a", helpful=4))
    draft = a_draft_of(a_playbook(), retired)

    replace_points(draft, a_playbook(a_key_point("pat-001", "b")), retired)

    assert draft.playbook().content == (("pat-001", "b", PATTERNS, 0, 0),)
    assert [(change.kind, change.reworded) for change in draft.changes] == [("restore", True)]


def test_votes_alone_are_recorded_as_votes() -> None:
    draft = Draft(a_playbook(a_key_point("pat-001", "a")))

    replace_points(draft, a_playbook(a_key_point("pat-001", "a", helpful=1)), {})

    assert [(change.kind, change.reworded) for change in draft.changes] == [("vote", False)]


@given(ours_and_retired(), playbooks_of_few_texts() | playbook_values())
def test_playbook_becomes_the_other(here: tuple[Playbook, Retired], theirs: Playbook) -> None:
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
def test_merge_into_the_base_gives_theirs(versions: tuple[Playbook, Playbook, Playbook]) -> None:
    base, _, theirs = versions

    draft, notes = after_merging(base, base, theirs)

    assert draft.playbook().content == theirs.content
    assert notes == ()


@given(three_versions())
def test_merge_of_the_base_changes_nothing(versions: tuple[Playbook, Playbook, Playbook]) -> None:
    base, ours, _ = versions

    draft, notes = after_merging(base, ours, base)

    assert draft.changes == []
    assert notes == ()


@given(three_versions())
def test_votes_of_both_sides_add_up(versions: tuple[Playbook, Playbook, Playbook]) -> None:
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
def test_merge_loses_no_text(versions: tuple[Playbook, Playbook, Playbook]) -> None:
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
    # Texts that are equal after normalization are one point, with our text.
    assert {normalised(point.text) for point in added} <= {normalised(point.text) for point in merged.points}


@given(three_versions())
def test_names_are_unique_after_a_merge(versions: tuple[Playbook, Playbook, Playbook]) -> None:
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
def test_later_of_two_texts_wins(ours_at: str, theirs_at: str | None, live: str) -> None:
    base, ours, theirs = (
        playbook_of([a_key_point(text=text)], header=Header().stamped(time))
        for text, time in (("base", "2026-01-01T00:00:00+00:00"), ("ours", ours_at), ("theirs", theirs_at))
    )

    draft, notes = after_merging(base, ours, theirs)

    assert draft["pat-001"].text == live
    assert "theirs" in [change.point.text for change in draft.changes]
    assert notes == (f"pat-001 was reworded on both sides; {live} is live, the other is in the history",)


def test_reworded_point_stays() -> None:
    base = a_playbook(a_key_point("pat-001", "a"), a_key_point("pat-002", "b"))
    ours = a_playbook(a_key_point("pat-001", "a, reworded"))
    theirs = a_playbook(a_key_point("pat-002", "b, reworded"))

    draft, notes = after_merging(base, ours, theirs)

    assert {point.name: point.text for point in draft.points()} == {"pat-001": "a, reworded", "pat-002": "b, reworded"}
    assert notes == (
        "pat-002 had been retired here and reworded there; it is back with the new text",
        "pat-001 was removed there and reworded here; it stays",
    )


def test_vote_keeps_no_removed_point() -> None:
    base = a_playbook(a_key_point("pat-001", "a"), a_key_point("pat-002", "b"))
    ours = a_playbook(a_key_point("pat-001", "a", helpful=1))
    theirs = a_playbook(a_key_point("pat-002", "b", helpful=1))

    draft, _ = after_merging(base, ours, theirs)

    assert draft.points() == []
    assert [change.reason for change in draft.changes] == ["removed on the other side"]


def test_same_new_point_is_one_point() -> None:
    ours = a_playbook(a_key_point("pat-001", "a", helpful=2, harmful=1))

    draft, _ = after_merging(a_playbook(), ours, a_playbook(a_key_point("pat-001", "a", helpful=3)))

    assert draft.playbook().content == (("pat-001", "a", PATTERNS, 5, 1),)


def test_double_new_name_is_changed() -> None:
    ours = a_playbook(a_key_point("pat-001", "ours"))
    theirs = a_playbook(a_key_point("pat-001", "theirs"), a_key_point("pat-002", "more"))

    draft, notes = after_merging(a_playbook(), ours, theirs)

    assert [(point.name, point.text) for point in draft.points()] == [
        ("pat-001", "ours"),
        ("pat-003", "theirs"),
        ("pat-002", "more"),
    ]
    assert notes == ("pat-001 belongs to another text here; the incoming one is now pat-003",)


def test_point_retired_before_the_base_may_return() -> None:
    retired = retired_points(a_key_point("pat-001", "a"), a_key_point("pat-002", "a"))
    draft = a_draft_of(a_playbook(), retired)

    merge_three_way(draft, a_playbook(), a_playbook(a_key_point("pat-001", "a"), a_key_point("pat-002", "b")), retired)

    assert {point.name: point.text for point in draft.points()} == {"pat-001": "a", "pat-003": "b"}
    assert [change.kind for change in draft.changes] == ["restore", "add"]


@pytest.mark.parametrize(
    ("here", "there", "merged"),
    [(PATTERNS, MISTAKES, MISTAKES), (MISTAKES, PATTERNS, MISTAKES), (MISTAKES, OTHERS, OTHERS)],
)
def test_section_follows_the_mover(here: str, there: str, merged: str) -> None:
    base, ours, theirs = (a_playbook(a_key_point(section=section)) for section in (PATTERNS, here, there))

    draft, _ = after_merging(base, ours, theirs)

    assert draft["pat-001"].section == merged


def test_order_follows_the_side_that_changed_it() -> None:
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


def test_keys_follow_the_side_that_changed_them() -> None:
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


def test_file_with_twins_changes_nothing_twice() -> None:
    theirs = a_playbook(
        a_key_point("pat-002", "use ruff", helpful=1), a_key_point("pat-001", "Use ruff", section="OTHERS", helpful=5)
    )
    first = Draft(a_playbook(a_key_point("pat-001", "x")))
    merge_two_way(first, theirs, {})
    second = Draft(first.playbook())

    merge_two_way(second, theirs, {})

    assert second.changes == []


def test_votes_return_with_a_reworded_point() -> None:
    base = a_playbook(a_key_point(text="a", helpful=1))
    retired = retired_points(a_key_point(text="a", helpful=5))
    draft = a_draft_of(a_playbook(), retired)

    merge_three_way(draft, base, a_playbook(a_key_point(text="b", helpful=2)), retired)

    assert draft["pat-001"].helpful == 6


def test_renamed_twins_are_kept_apart() -> None:
    theirs = a_playbook(a_key_point("pat-001", "use mypy"), a_key_point("pat-002", "use mypy", harmful=1))
    first = Draft(a_playbook(a_key_point("pat-001", "x"), a_key_point("pat-002", "y")))
    merge_two_way(first, theirs, {})
    second = Draft(first.playbook())

    merge_two_way(second, theirs, {})

    assert second.changes == []
    assert [(p.text, p.harmful) for p in second.points()] == [("x", 0), ("y", 0), ("use mypy", 0), ("use mypy", 1)]


@given(texts, texts, texts)
def test_forgotten_text_is_recognized(before: str, secret: str, after: str) -> None:
    old = before + secret + after
    now = Eraser(frozenset({secret})).erase(old)

    assert now == old or may_be_original(old, now)
    assert not may_be_original(old, old)


def test_older_copys_text_is_unchanged() -> None:
    base = a_playbook(a_key_point("pat-001", f"use {MARK} here"), a_key_point("pat-002", "plain"))
    theirs = a_playbook(a_key_point("pat-001", "use Zanzibar here"), a_key_point("pat-002", "other"))

    merged, (note,) = without_erased_texts(base.by_name, theirs)

    assert "pat-001" in note
    assert [point.text for point in merged.points] == [f"use {MARK} here", "other"]


def test_forgotten_name_does_not_come_in() -> None:
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
def test_changes_follow_a_renamed_text(
    renamed_by: str, done: dict[str, tuple[str, int]], expected: dict[str, tuple[str, int]]
) -> None:
    base, seen = _named(pat_001=("ann's", 1)), _named(**done)
    renamed = _named(pat_001=("ben's", 5), pat_002=("ann's", 1))

    draft, _ = after_merging(base, *((renamed, seen) if renamed_by == "ours" else (seen, renamed)))

    assert {point.name: (point.text, point.helpful) for point in draft.points()} == expected


def test_new_point_yields_its_name_to_a_renamed_one() -> None:
    base, ours = _named(pat_001=("ann's", 1)), _named(pat_001=("ben's", 5), pat_002=("ann's", 1))

    draft, notes = after_merging(base, ours, _named(pat_001=("ann's", 2), pat_002=("eve's", 0)))

    assert {point.name: point.text for point in draft.points()} == {
        "pat-001": "ben's", "pat-002": "ann's", "pat-003": "eve's",
    }  # fmt: skip
    assert draft["pat-002"].helpful == 2
    assert notes == ("pat-002 belongs to another text here; the incoming one is now pat-003",)
