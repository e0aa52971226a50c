"""Undoing revisions: the undos that have effect, and the merge of three states."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.draft import Draft
from playbook_db.domain.merging.undo_rules import (
    Collision,
    Effect,
    RevisionRange,
    Side,
    Undo,
    UndoOutcome,
    effective_undos,
    parse_range,
    restore_state,
    undo_message,
    undo_revisions,
    undone_twice,
)
from playbook_db.domain.playbook import Change, Header, KeyPoint, Playbook, PointState, RetiredPoint
from playbook_db.errors import ArgumentError
from tests.builders import a_key_point, few_texts, section_names

PATTERNS, MISTAKES = "PATTERNS & APPROACHES", "MISTAKES TO AVOID"
WAS = a_key_point(text="use ruff", helpful=2, position=1)


def live(point: KeyPoint) -> PointState:
    return PointState(point, is_live=True)


def away(point: KeyPoint) -> PointState:
    return PointState(point, is_live=False)


def undone(
    before: PointState | None,
    after: PointState,
    now: PointState,
    *others: KeyPoint,
    prefer: Side | None = None,
    forgotten: bool = False,
) -> tuple[Draft, UndoOutcome]:
    """Undo a change of a point from *before* to *after*, if it is now as *now*."""
    name = now.point.name
    draft = Draft(
        Playbook((*others, now.point) if now.is_live else others, frozenset() if now.is_live else frozenset({name}))
    )
    retired = {} if now.is_live else {name: RetiredPoint(now.point, 7, "no use", forgotten)}
    effect = Effect({name: before} if before else {}, {name: after}, Header(), Header())
    return draft, undo_revisions(draft, effect, retired, revisions=RevisionRange(8, 8), prefer=prefer)


def changed(**fields: Any) -> KeyPoint:
    """The point, with other *fields*."""
    return replace(WAS, **fields)


def test_undo_subtracts_votes() -> None:
    """Later votes stay."""
    draft, _ = undone(live(WAS), live(changed(helpful=3, harmful=1)), live(changed(helpful=7, harmful=1)))

    assert draft.changes == [Change("vote", changed(helpful=6))]


def test_undone_counter_is_never_negative() -> None:
    draft, outcome = undone(live(WAS), live(changed(helpful=7)), live(changed(helpful=1)))

    assert draft["pat-001"].helpful == 0
    assert outcome.notes == ["pat-001 has fewer helpful votes than the undo removes; it is left with 0"]


def test_undo_is_one_change_of_a_point() -> None:
    after = changed(text="use ruff 2", section=MISTAKES, position=9, helpful=3)
    draft, _ = undone(live(WAS), live(after), live(replace(after, harmful=4)))

    assert draft.changes == [Change("edit", changed(harmful=4), reworded=True)]


def test_nothing_is_left_to_undo() -> None:
    draft, outcome = undone(live(WAS), live(changed(text="use ruff 2")), live(WAS))

    assert (draft.changes, outcome.collisions) == ([], [])


@pytest.mark.parametrize(
    ("fields", "since", "collision"),
    [
        ({"text": "b"}, {"text": "c"}, Collision("pat-001, its text", "c", "use ruff")),
        ({"section": MISTAKES}, {"section": "OTHERS"}, Collision("pat-001, its section", "OTHERS", PATTERNS)),
    ],
)
def test_later_change_of_a_text_collides(fields: Any, since: Any, collision: Collision) -> None:
    """A preference decides; votes are undone in any case."""
    after, now = live(changed(helpful=3, **fields)), live(changed(helpful=3, **since))

    assert undone(live(WAS), after, now)[1].collisions == [collision]
    assert undone(live(WAS), after, now, prefer="ours")[0]["pat-001"] == changed(**since)
    assert undone(live(WAS), after, now, prefer="theirs")[0]["pat-001"] == WAS
    assert undone(live(WAS), after, now, prefer="ours")[1].notes == [f"{collision.what}: stays as it is now"]


def test_undone_add_retires_with_later_votes() -> None:
    draft, _ = undone(None, live(WAS), live(changed(helpful=5, position=4)))

    assert draft.changes == [Change("retire", changed(helpful=5, position=4), "revision 8 was undone", cause="undo")]


@pytest.mark.parametrize("since", [{"text": "use ruff 2"}, {"section": MISTAKES}], ids=str)
def test_undone_add_of_a_changed_point_collides(since: Any) -> None:
    now = live(changed(**since))
    _, outcome = undone(None, live(WAS), now)

    (collision,) = outcome.collisions
    assert collision.what == "pat-001, changed since it came"
    assert (now.point.text in collision.ours, collision.theirs) == (True, "not in the playbook")
    assert undone(None, live(WAS), now, prefer="ours")[0].changes == []
    assert [c.kind for c in undone(None, live(WAS), now, prefer="theirs")[0].changes] == ["retire"]


def test_undone_retirement_keeps_later_votes() -> None:
    after, now = away(changed(helpful=2, harmful=3)), away(changed(helpful=4, harmful=3))
    draft, _ = undone(live(WAS), after, now)

    assert draft.changes == [Change("restore", changed(helpful=4), reworded=True)]


def test_restored_point_stays_live() -> None:
    draft, outcome = undone(live(WAS), away(WAS), live(changed(text="reworded since")))

    assert (draft.changes, outcome.collisions) == ([], [])


@pytest.mark.parametrize(("fields", "kind"), [({"helpful": 9}, "vote"), ({"text": "use ruff 2"}, "edit")], ids=str)
def test_undone_restore_retires_the_old_state(fields: Any, kind: str) -> None:
    """A later undo needs the old votes and text."""
    draft, _ = undone(away(WAS), live(changed(**fields)), live(changed(**fields)))

    assert [(change.kind, change.point) for change in draft.changes] == [(kind, WAS), ("retire", WAS)]


def test_retired_point_loses_undone_votes() -> None:
    """It stays retired, for the same reason."""
    draft, outcome = undone(live(WAS), live(changed(helpful=3, text="b")), away(changed(helpful=4, text="c")))

    assert "pat-001" not in draft
    assert draft.changes[-1] == Change("retire", changed(helpful=3, text="c"), "no use")
    assert outcome.collisions == []


def test_forgotten_point_never_comes_back() -> None:
    draft, outcome = undone(live(WAS), away(WAS), away(changed(text="[forgotten]")), forgotten=True, prefer="theirs")

    assert (draft.changes, outcome.collisions) == ([], [])
    assert outcome.notes == ["pat-001 was erased for good, so it doesn't come back"]


def test_later_move_wins_without_a_collision() -> None:
    moved = live(changed(position=9))

    assert undone(live(WAS), moved, moved)[0].changes == [Change("move", WAS)]
    draft, outcome = undone(live(WAS), moved, live(changed(position=12)))
    assert (draft.changes, outcome.collisions) == ([], [])


def test_taken_position_moves_a_point_to_the_end() -> None:
    other = a_key_point("pat-002", "use mypy", position=1)
    moved = live(changed(position=9))

    draft, _ = undone(live(WAS), moved, moved, other)
    assert (draft["pat-002"].position, draft["pat-001"].position) == (1, 10)
    assert undone(live(WAS), away(WAS), away(WAS), other)[0]["pat-001"].position == 2
    for there, position in ((other, 2), (replace(other, section=MISTAKES), WAS.position)):
        draft = Draft(Playbook((there,)))
        restore_state(draft, away(WAS), WAS)
        assert draft["pat-001"] == replace(WAS, position=position)


def test_undo_swaps_two_points() -> None:
    one, two = WAS, a_key_point("pat-002", "use mypy", position=2)
    swapped = [replace(one, position=2), replace(two, position=1)]
    effect = Effect({p.name: live(p) for p in (one, two)}, {p.name: live(p) for p in swapped}, Header(), Header())
    draft = Draft(Playbook(tuple(swapped)))

    undo_revisions(draft, effect, {}, revisions=RevisionRange(3, 3))

    assert draft.points() == [one, two]


HEADER = Header((("version", "1.0"), ("last_updated", "then"), ("sections", None)))


def header_after(before: Header, after: Header, now: Header, prefer: Side | None = None) -> UndoOutcome:
    return undo_revisions(
        Draft(Playbook(header=now)), Effect({}, {}, before, after), {}, revisions=RevisionRange(8, 8), prefer=prefer
    )


def with_keys(**keys: Any) -> Header:
    return Header(tuple({**dict(HEADER.fields), **keys}.items()))


def test_unchanged_header_is_restored() -> None:
    before = Header(tuple(reversed(HEADER.fields)), final_newline=False)

    assert header_after(before, with_keys(a=1), with_keys(a=1, last_updated="now")).header == before


def test_header_keys_are_restored_one_by_one() -> None:
    before, after = with_keys(a=1, b=[2], c=3), with_keys(a=1.0, c=3, d=4)
    outcome = header_after(before, after, with_keys(a=1.0, c=5, d=4, e=6))

    assert outcome.header == with_keys(a=1, c=5, e=6, b=[2])
    assert outcome.collisions == []


def test_later_change_of_a_header_key_collides() -> None:
    """1, 1.0 and true are different values in a file."""
    sides = with_keys(a=1), with_keys(a=1.0), with_keys(a=True)

    assert header_after(*sides).collisions == [Collision("the file's 'a'", "true", "1")]
    assert header_after(*sides, prefer="ours").header == with_keys(a=True)
    assert header_after(*sides, prefer="theirs").header == with_keys(a=1)
    added = header_after(with_keys(a=1), with_keys(a=2), HEADER)
    assert added.collisions == [Collision("the file's 'a'", "not in the playbook", "1")]


@st.composite
def states(draw: st.DrawFn) -> PointState:
    votes = st.integers(0, 4)
    point = KeyPoint("oth-001", draw(few_texts), draw(section_names), draw(votes), draw(votes), draw(st.integers(1, 3)))
    return PointState(point, is_live=draw(st.booleans()))


@given(before=states(), after=states())
def test_immediate_undo_restores_everything(before: PointState, after: PointState) -> None:
    draft, outcome = undone(before, after, after)

    assert outcome.collisions == []
    assert ("oth-001" in draft) == before.is_live
    if before.is_live:
        assert draft["oth-001"] == before.point


@given(before=states(), after=states(), now=states(), prefer=st.sampled_from(["ours", "theirs"]))
def test_preference_decides_each_collision(
    before: PointState, after: PointState, now: PointState, prefer: Side
) -> None:
    draft, outcome = undone(before, after, now, prefer=prefer)
    undecided, collided = undone(before, after, now)

    assert [(c.kind, c.point) for c in draft.changes] == [
        (c.kind, c.point) for c in undecided.changes
    ] or collided.collisions
    assert outcome.collisions == collided.collisions
    assert len(draft.changes) <= 2


@pytest.mark.parametrize(
    ("text", "span"),
    [("8", RevisionRange(8, 8)), (" r8 ", RevisionRange(8, 8)), ("R3..8", RevisionRange(3, 8))],
)
def test_range_of_revisions_is_read(text: str, span: RevisionRange) -> None:
    assert parse_range(text) == span
    assert parse_range(span.as_argument) == span


@pytest.mark.parametrize("text", ["", "x", "3..", "..3", "1...3", "-1", "3.5", "٣", "8..3", "9" * 30])
def test_invalid_range_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"8|\.\."):
        parse_range(text)


@given(first=st.integers(1, 99), more=st.integers(0, 99), told=st.text(max_size=300))
def test_undo_message_names_the_revisions(first: int, more: int, told: str) -> None:
    span = RevisionRange(first, first + more)

    assert undo_message(span, told).startswith(f"undid {span} ({told[:50]}")
    assert len(undo_message(span, told)) < 150


def test_undone_undo_has_no_effect() -> None:
    first, second, third = Undo(5, RevisionRange(3, 3)), Undo(6, RevisionRange(5, 5)), Undo(7, RevisionRange(6, 6))

    assert effective_undos([first]) == [first]
    assert effective_undos([second, first]) == [second]
    assert effective_undos([third, second, first]) == [third, first]


def test_newer_of_two_undos_has_effect() -> None:
    """They have a revision in common."""
    older, newer, apart = Undo(9, RevisionRange(3, 6)), Undo(12, RevisionRange(5, 5)), Undo(13, RevisionRange(7, 8))

    assert effective_undos([apart, newer, older]) == [apart, newer]


def test_second_undo_of_a_revision_is_known() -> None:
    older, newer, redo = Undo(9, RevisionRange(3, 6)), Undo(12, RevisionRange(5, 5)), Undo(13, RevisionRange(9, 9))

    assert undone_twice([newer, older]) == {older: newer}
    assert undone_twice([redo, newer, older]) == {}
