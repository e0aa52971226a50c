"""What the parts of a damaged playbook say together."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import prompt_text, salvaging
from playbook_db.domain.diff import rising
from playbook_db.domain.salvaging import SalvagedPoint

_NOW = "2026-11-21T10:15:00.000000+00:00"
_POINT = SalvagedPoint("pat", 1, "use type hints", 2, 0, True, revision=3, created_in=1)


def _time(number: int) -> str:
    return f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}.000000+00:00"


@given(st.integers(0, 400), st.integers(0, 400), st.integers(1, 10_000))
def test_a_rank_tells_when_its_point_was_last_changed(helpful: int, harmful: int, revision: int) -> None:
    """Votes and rank prove each other."""
    rank = prompt_text.rank(helpful, harmful, revision)

    assert salvaging.changed_in(helpful, harmful, rank) == revision


@pytest.mark.parametrize("rank", [0, 0.1234567, float("inf"), -1.0, None, "1"])
def test_a_rank_that_does_not_fit_its_votes_tells_nothing(rank: object) -> None:
    """A damaged one dates no row."""
    assert salvaging.changed_in(3, 1, rank) is None


@given(st.sets(st.integers(1, 60)), st.integers(0, 60))
def test_filled_gaps_keep_the_known_times_and_go_up(known: set[int], last: int) -> None:
    """Every revision up to the last has a time, later than the one before; those that are known keep theirs."""
    times = {number: _time(number * 7) for number in known if number <= last}

    filled = salvaging.fill_gaps(times, last, now=_NOW)

    assert list(filled) == list(range(1, last + 1))
    assert sorted(filled.values()) == list(filled.values())
    assert len(set(filled.values())) == last
    assert {number: filled[number] for number in times} == times


def test_a_revision_out_of_line_is_not_believed() -> None:
    """A number or a time that damage changed stands against all the others."""
    times = [(number, _time(number)) for number in range(1, 9)]

    assert salvaging.believable([*times, (50, _time(3)), (4711, "2026-01-01")]) == dict(times)


def test_the_later_of_a_row_and_its_history_is_right() -> None:
    """A row from an old page is behind the history; one whose last changes are lost is ahead of it."""
    behind = replace(_POINT, revision=5, helpful=4)
    ahead = replace(_POINT, revision=2, helpful=1, text="before")

    assert salvaging.settle(_POINT, behind) == behind
    assert salvaging.settle(_POINT, ahead) == _POINT


def test_a_row_whose_rank_is_damaged_keeps_its_text_and_takes_the_votes_of_the_history() -> None:
    """Rank and votes don't agree, so the votes may be the damaged ones."""
    row = replace(_POINT, revision=None, helpful=700)

    assert salvaging.settle(row, replace(_POINT, text="older")) == replace(row, helpful=2)


def test_a_text_that_shows_damage_gives_way_to_one_that_does_not() -> None:
    """Bytes that are no text are seen; the history's copy is whole."""
    settled = salvaging.settle(replace(_POINT, text="use t\ufffdpe hints"), _POINT)

    assert settled is not None
    assert settled.text == "use type hints"


@pytest.mark.parametrize(
    ("past", "kind", "text"),
    [
        (_POINT, None, None),
        (None, "add", "use type hints"),
        (replace(_POINT, helpful=0), "vote", None),
        (replace(_POINT, position=9), "move", None),
        (replace(_POINT, section="mis", helpful=0), "edit", None),
        (replace(_POINT, text="else"), "edit", "use type hints"),
        (replace(_POINT, is_live=False), "restore", None),
        (replace(_POINT, text=None), "edit", "use type hints"),
    ],
)
def test_the_closing_revision_says_what_the_history_lacks(
    past: SalvagedPoint | None, kind: str | None, text: str | None
) -> None:
    """Nothing where both agree; the text only where it is another."""
    change = salvaging.closing_change(_POINT, past)

    assert (change.kind, change.text) == (kind, text) if change else kind is None


def test_a_retired_point_that_the_history_has_live_is_retired_once_more() -> None:
    """And one that it has retired as it is isn't mentioned."""
    gone = replace(_POINT, is_live=False)

    change = salvaging.closing_change(gone, _POINT)

    assert change is not None
    assert change.kind == "retire"
    assert salvaging.closing_change(gone, gone) is None


def test_two_points_never_stand_at_the_same_place() -> None:
    """Else their order would be nobody's; a position that damage made huge is brought back."""
    placed = salvaging.place_apart({1: _POINT, 2: _POINT, 3: replace(_POINT, position=2**62)})

    assert placed[1] == _POINT
    assert len({point.position for point in placed.values()}) == 3
    assert max(point.position for point in placed.values()) < 10


@given(st.lists(st.integers(0, 30), max_size=30))
def test_the_longest_rise_goes_up_and_no_other_is_longer(keys: list[int]) -> None:
    """What is out of line is as little as can be."""
    places = rising(keys)
    longest: list[int] = []
    for place, key in enumerate(keys):
        longest.append(1 + max((longest[n] for n in range(place) if keys[n] < key), default=0))

    chosen = [keys[place] for place in places]
    assert places == sorted(set(places))
    assert chosen == sorted(set(chosen))
    assert len(places) == max(longest, default=0)
