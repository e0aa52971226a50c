"""Undoing revisions: which undos still count, and the merge of three states."""

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
    """The draft after undoing what made *after* of *before*, where one point stands as *now* says."""
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


def test_votes_are_subtracted_from_what_stands_now() -> None:
    """Those that came later stay."""
    draft, _ = undone(live(WAS), live(changed(helpful=3, harmful=1)), live(changed(helpful=7, harmful=1)))

    assert draft.changes == [Change("vote", changed(helpful=6))]


def test_a_counter_never_falls_below_zero() -> None:
    """Where somebody set it lower since, it ends at zero, and that is told."""
    draft, outcome = undone(live(WAS), live(changed(helpful=7)), live(changed(helpful=1)))

    assert draft["pat-001"].helpful == 0
    assert outcome.notes == ["pat-001 has fewer helpful votes than the undo removes; it is left with 0"]


def test_a_text_and_a_section_go_back_in_one_change_with_the_votes() -> None:
    """What nobody changed since is as it was, its place too."""
    after = changed(text="use ruff 2", section=MISTAKES, position=9, helpful=3)
    draft, _ = undone(live(WAS), live(after), live(replace(after, harmful=4)))

    assert draft.changes == [Change("edit", changed(harmful=4), reworded=True)]


def test_what_was_changed_back_already_is_left_alone() -> None:
    """Nothing to do is no change, and no collision."""
    draft, outcome = undone(live(WAS), live(changed(text="use ruff 2")), live(WAS))

    assert (draft.changes, outcome.collisions) == ([], [])


@pytest.mark.parametrize(
    ("fields", "since", "collision"),
    [
        ({"text": "b"}, {"text": "c"}, Collision("pat-001, its text", "c", "use ruff")),
        (
            {"section": MISTAKES},
            {"section": "OTHERS"},
            Collision("pat-001, its section", "OTHERS", PATTERNS),
        ),
    ],
)
def test_what_was_changed_again_collides(fields: Any, since: Any, collision: Collision) -> None:
    """Both sides are shown; a preference decides, and the votes are undone either way."""
    after, now = live(changed(helpful=3, **fields)), live(changed(helpful=3, **since))

    assert undone(live(WAS), after, now)[1].collisions == [collision]
    assert undone(live(WAS), after, now, prefer="ours")[0]["pat-001"] == changed(**since)
    assert undone(live(WAS), after, now, prefer="theirs")[0]["pat-001"] == WAS
    assert undone(live(WAS), after, now, prefer="ours")[1].notes == [f"{collision.what}: stays as it is now"]


def test_an_added_point_leaves_with_the_votes_it_got_since() -> None:
    """They are no collision: they stay in the history."""
    draft, _ = undone(None, live(WAS), live(changed(helpful=5, position=4)))

    assert draft.changes == [Change("retire", changed(helpful=5, position=4), "revision 8 was undone", cause="undo")]


@pytest.mark.parametrize("since", [{"text": "use ruff 2"}, {"section": MISTAKES}], ids=str)
def test_an_added_point_that_somebody_reworked_collides(since: Any) -> None:
    """What somebody took trouble with doesn't leave by the way."""
    now = live(changed(**since))
    _, outcome = undone(None, live(WAS), now)

    (collision,) = outcome.collisions
    assert collision.what == "pat-001, changed since it came"
    assert (now.point.text in collision.ours, collision.theirs) == (True, "not in the playbook")
    assert undone(None, live(WAS), now, prefer="ours")[0].changes == []
    assert [c.kind for c in undone(None, live(WAS), now, prefer="theirs")[0].changes] == ["retire"]


def test_a_retired_point_returns_as_it_was_with_what_came_later() -> None:
    """The revision that retired it had voted on it too; another one voted in between."""
    after, now = away(changed(helpful=2, harmful=3)), away(changed(helpful=4, harmful=3))
    draft, _ = undone(live(WAS), after, now)

    assert draft.changes == [Change("restore", changed(helpful=4), reworded=True)]


def test_a_point_that_was_restored_meanwhile_is_left_live() -> None:
    """Also with another text than it left with."""
    draft, outcome = undone(live(WAS), away(WAS), live(changed(text="reworded since")))

    assert (draft.changes, outcome.collisions) == ([], [])


@pytest.mark.parametrize(("fields", "kind"), [({"helpful": 9}, "vote"), ({"text": "use ruff 2"}, "edit")], ids=str)
def test_a_restored_point_leaves_again_as_it_had_been_away(fields: Any, kind: str) -> None:
    """What the restoring revision changed of it goes back too, so that a later undo counts right."""
    draft, _ = undone(away(WAS), live(changed(**fields)), live(changed(**fields)))

    assert [(change.kind, change.point) for change in draft.changes] == [(kind, WAS), ("retire", WAS)]


def test_a_point_that_left_since_stays_away_without_the_votes() -> None:
    """Whoever restores it doesn't find the votes again that were undone. Why it left stays, too."""
    draft, outcome = undone(live(WAS), live(changed(helpful=3, text="b")), away(changed(helpful=4, text="c")))

    assert "pat-001" not in draft
    assert draft.changes[-1] == Change("retire", changed(helpful=3, text="c"), "no use")
    assert outcome.collisions == []


def test_an_added_point_that_left_since_is_left_alone() -> None:
    """It is away already."""
    assert undone(None, live(WAS), away(WAS))[0].changes == []


def test_a_forgotten_point_never_comes_back() -> None:
    """It is left out, and that is told."""
    draft, outcome = undone(live(WAS), away(WAS), away(changed(text="[forgotten]")), forgotten=True, prefer="theirs")

    assert (draft.changes, outcome.collisions) == ([], [])
    assert outcome.notes == ["pat-001 was erased for good, so it doesn't come back"]


def test_a_place_goes_back_unless_somebody_moved_the_point_since() -> None:
    """A place is never worth a collision."""
    moved = live(changed(position=9))

    assert undone(live(WAS), moved, moved)[0].changes == [Change("move", WAS)]
    draft, outcome = undone(live(WAS), moved, live(changed(position=12)))
    assert (draft.changes, outcome.collisions) == ([], [])


def test_two_points_never_stand_in_one_place() -> None:
    """Where another point stands now, the one that returns goes to the end of its section."""
    other = a_key_point("pat-002", "use mypy", position=1)
    moved = live(changed(position=9))

    draft, _ = undone(live(WAS), moved, moved, other)
    assert (draft["pat-002"].position, draft["pat-001"].position) == (1, 10)
    assert undone(live(WAS), away(WAS), away(WAS), other)[0]["pat-001"].position == 2
    for there, position in ((other, 2), (replace(other, section=MISTAKES), WAS.position)):
        draft = Draft(Playbook((there,)))
        restore_state(draft, away(WAS), WAS)
        assert draft["pat-001"] == replace(WAS, position=position)


def test_two_points_can_change_places() -> None:
    """The place that one leaves is free for the other."""
    one, two = WAS, a_key_point("pat-002", "use mypy", position=2)
    swapped = [replace(one, position=2), replace(two, position=1)]
    effect = Effect({p.name: live(p) for p in (one, two)}, {p.name: live(p) for p in swapped}, Header(), Header())
    draft = Draft(Playbook(tuple(swapped)))

    undo_revisions(draft, effect, {}, revisions=RevisionRange(3, 3))

    assert draft.points() == [one, two]


def test_the_place_of_one_that_leaves_is_free() -> None:
    """For the one that returns in its stead."""
    other = a_key_point("pat-002", "use mypy", position=1)
    effect = Effect({WAS.name: live(WAS)}, {other.name: live(other), WAS.name: away(WAS)}, Header(), Header())
    draft = Draft(Playbook((other,), frozenset({WAS.name})))

    undo_revisions(draft, effect, {WAS.name: RetiredPoint(WAS, 3)}, revisions=RevisionRange(3, 3))

    assert draft.points() == [WAS]


def test_a_point_is_put_back_as_it_was() -> None:
    """Live or away, in one change; one that is so already, in none."""
    then = changed(text="then", helpful=0)
    draft = Draft(Playbook((WAS,)))
    restore_state(draft, live(WAS), then)
    restore_state(draft, live(then), then)

    assert [change.kind for change in draft.changes] == ["edit"]
    assert draft["pat-001"] == then


HEADER = Header((("version", "1.0"), ("last_updated", "then"), ("sections", None)))


def header_after(before: Header, after: Header, now: Header, prefer: Side | None = None) -> UndoOutcome:
    """What becomes of the header alone."""
    return undo_revisions(
        Draft(Playbook(header=now)), Effect({}, {}, before, after), {}, revisions=RevisionRange(8, 8), prefer=prefer
    )


def with_keys(**keys: Any) -> Header:
    return Header(tuple({**dict(HEADER.fields), **keys}.items()))


def test_the_header_goes_back_whole_where_nobody_touched_it() -> None:
    """To the order of its keys; `last_updated` is not what is looked at."""
    before = Header(tuple(reversed(HEADER.fields)), final_newline=False)

    assert header_after(before, with_keys(a=1), with_keys(a=1, last_updated="now")).header == before


def test_the_newline_at_the_end_goes_back_unless_it_changed_since() -> None:
    """It is part of the header, and never worth a collision."""
    with_it, without = with_keys(a=1), replace(with_keys(a=1), final_newline=False)

    assert header_after(without, with_it, with_keys(a=1, b=2)).header == replace(
        with_keys(a=1, b=2), final_newline=False
    )
    assert header_after(with_it, with_it, replace(with_keys(b=2), final_newline=False)).header.final_newline is False


def test_header_keys_go_back_one_by_one_else() -> None:
    """What was added leaves, what was changed or removed is as it was, what came later stays."""
    before, after = with_keys(a=1, b=[2], c=3), with_keys(a=1.0, c=3, d=4)
    outcome = header_after(before, after, with_keys(a=1.0, c=5, d=4, e=6))

    assert outcome.header == with_keys(a=1, c=5, e=6, b=[2])
    assert outcome.collisions == []


def test_a_header_key_that_was_changed_again_collides() -> None:
    """1, 1.0 and true are different values in a file."""
    sides = with_keys(a=1), with_keys(a=1.0), with_keys(a=True)

    assert header_after(*sides).collisions == [Collision("the file's 'a'", "true", "1")]
    assert header_after(*sides, prefer="ours").header == with_keys(a=True)
    assert header_after(*sides, prefer="theirs").header == with_keys(a=1)
    added = header_after(with_keys(a=1), with_keys(a=2), HEADER)
    assert added.collisions == [Collision("the file's 'a'", "not in the playbook", "1")]


@st.composite
def states(draw: st.DrawFn) -> PointState:
    """Any state of one point."""
    votes = st.integers(0, 4)
    point = KeyPoint("oth-001", draw(few_texts), draw(section_names), draw(votes), draw(votes), draw(st.integers(1, 3)))
    return PointState(point, is_live=draw(st.booleans()))


@given(before=states(), after=states())
def test_taking_back_what_was_just_done_gives_what_was(before: PointState, after: PointState) -> None:
    """Whatever was done to a point, and never with a collision."""
    draft, outcome = undone(before, after, after)

    assert outcome.collisions == []
    assert ("oth-001" in draft) == before.is_live
    if before.is_live:
        assert draft["oth-001"] == before.point


@given(before=states(), after=states(), now=states(), prefer=st.sampled_from(["ours", "theirs"]))
def test_a_preference_settles_every_collision(
    before: PointState, after: PointState, now: PointState, prefer: Side
) -> None:
    """And only collisions: without one, it makes no difference."""
    draft, outcome = undone(before, after, now, prefer=prefer)
    undecided, collided = undone(before, after, now)

    assert [(c.kind, c.point) for c in draft.changes] == [
        (c.kind, c.point) for c in undecided.changes
    ] or collided.collisions
    assert outcome.collisions == collided.collisions
    assert len(draft.changes) <= 2


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("8", RevisionRange(8, 8)),
        (" r8 ", RevisionRange(8, 8)),
        ("3..8", RevisionRange(3, 8)),
        ("R3..r8", RevisionRange(3, 8)),
    ],
)
def test_a_span_is_read_as_people_write_it(text: str, span: RevisionRange) -> None:
    """Both ends belong to it."""
    assert parse_range(text) == span
    assert parse_range(span.as_argument) == span


@pytest.mark.parametrize("text", ["", "x", "3..", "..3", "1...3", "-1", "3.5", "٣", "8..3", "9" * 30])
def test_what_names_no_revisions_is_refused(text: str) -> None:
    """With an example of what would."""
    with pytest.raises(ArgumentError, match=r"8|\.\."):
        parse_range(text)


@given(first=st.integers(1, 99), more=st.integers(0, 99), told=st.text(max_size=300))
def test_an_undo_tells_in_its_message_what_it_took_back(first: int, more: int, told: str) -> None:
    """However much the revision that it undid says of itself."""
    span = RevisionRange(first, first + more)

    assert undo_message(span, told).startswith(f"undid {span} ({told[:50]}")
    assert len(undo_message(span, told)) < 150


def test_an_undo_that_was_taken_back_is_not_in_force() -> None:
    """And one that took that one back isn't either, once it is undone itself: then the first is again."""
    first, second, third = Undo(5, RevisionRange(3, 3)), Undo(6, RevisionRange(5, 5)), Undo(7, RevisionRange(6, 6))

    assert effective_undos([first]) == [first]
    assert effective_undos([second, first]) == [second]
    assert effective_undos([third, second, first]) == [third, first]


def test_nothing_is_taken_back_twice() -> None:
    """Of two undos that have a revision in common the newer is in force."""
    older, newer, apart = Undo(9, RevisionRange(3, 6)), Undo(12, RevisionRange(5, 5)), Undo(13, RevisionRange(7, 8))

    assert effective_undos([apart, newer, older]) == [apart, newer]


def test_an_undo_that_undid_what_a_newer_one_undid_is_named_with_it() -> None:
    """Unless it is undone itself."""
    older, newer, redo = Undo(9, RevisionRange(3, 6)), Undo(12, RevisionRange(5, 5)), Undo(13, RevisionRange(9, 9))

    assert undone_twice([newer, older]) == {older: newer}
    assert undone_twice([redo, newer, older]) == {}
