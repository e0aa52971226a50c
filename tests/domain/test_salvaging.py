"""What the parts of a damaged playbook say together, and how it comes into a sound one."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import prompt_text
from playbook_db.domain.draft import Draft
from playbook_db.domain.erasure import MARK
from playbook_db.domain.merging import salvaging
from playbook_db.domain.merging.salvaging import SavedPoint
from playbook_db.domain.playbook import KeyPoint, RetiredPoint
from tests.builders import a_draft, a_key_point

_ROW = SavedPoint(1, a_key_point(helpful=2), revision=3)


def _saved(number: int, point: KeyPoint, **fields: object) -> SavedPoint:
    return replace(SavedPoint(number, point, revision=9), **fields)  # type: ignore[arg-type]


def _brought_in(
    draft: Draft, *saved: SavedPoint, known_to: int = 5, retired: tuple[RetiredPoint, ...] = ()
) -> list[str]:
    return salvaging.bring_in(draft, saved, {each.point.name: each for each in retired}, known_to=known_to)


@given(st.integers(0, 400), st.integers(0, 400), st.integers(1, 10_000))
def test_a_rank_tells_when_its_point_was_last_changed(helpful: int, harmful: int, revision: int) -> None:
    """Votes and rank prove each other."""
    rank = prompt_text.rank(helpful, harmful, revision)

    assert salvaging.changed_in(helpful, harmful, rank) == revision


@pytest.mark.parametrize("rank", [0, 0.1234567, float("inf"), -1.0])
def test_a_rank_that_does_not_fit_its_votes_tells_nothing(rank: float) -> None:
    """A damaged one dates no row."""
    assert salvaging.changed_in(3, 1, rank) == 0


def test_the_later_of_a_row_and_its_history_is_right() -> None:
    """A row from an old page is behind the history; one whose last changes are lost is ahead of it."""
    later = replace(_ROW, revision=5, point=a_key_point("", helpful=4), is_live=False, reason="wrong")
    earlier = replace(_ROW, revision=2, point=a_key_point("", "before", helpful=1))

    assert salvaging.settle(_ROW, later) == replace(later, point=a_key_point(helpful=4))
    assert salvaging.settle(_ROW, earlier) == _ROW


def test_of_a_damaged_text_the_other_one_is_taken() -> None:
    """A byte that no UTF-8 has shows as a replacement, and text may be missing altogether."""
    for damaged in ("use t\ufffdpe hints", "use t\x00pe hints", ""):
        row = replace(_ROW, point=a_key_point(text=damaged, helpful=2))

        assert salvaging.settle(row, _ROW) == _ROW
        assert salvaging.settle(_ROW, row) == _ROW


def test_of_a_row_whose_votes_are_damaged_the_rest_counts() -> None:
    """Its rank doesn't fit them: they are taken from the history, and the text is the row's."""
    row = replace(_ROW, revision=0, point=a_key_point(text="use type hints everywhere", helpful=2**40))

    assert salvaging.settle(row, _ROW) == replace(_ROW, point=a_key_point(text="use type hints everywhere", helpful=2))


def test_what_was_changed_later_takes_the_place_of_what_is_there() -> None:
    """Text, section, votes and place; and what is there is as new as what was saved, or newer, stays."""
    draft = a_draft(a_key_point("pat-001", "old"), a_key_point("pat-002", "newer"))

    _brought_in(
        draft,
        _saved(1, a_key_point("pat-001", "new", helpful=3, position=1)),
        _saved(2, a_key_point("pat-002", "older", position=2), revision=5),
    )

    assert [(point.name, point.text, point.helpful) for point in draft.points()] == [
        ("pat-001", "new", 3),
        ("pat-002", "newer", 0),
    ]
    assert [(change.kind, change.reason) for change in draft.changes] == [("edit", "repaired")]


def test_points_that_are_lacking_come_in_live_or_retired() -> None:
    """Each in its own place; of a retired one it is known why it was."""
    draft = a_draft(a_key_point("pat-001", "there", position=1))

    _brought_in(
        draft,
        _saved(3, a_key_point("pat-003", "third", position=3)),
        _saved(2, a_key_point("pat-002", "second", position=2)),
        _saved(4, a_key_point("pat-004", "wrong", position=4), is_live=False, reason="it was wrong"),
    )

    assert [point.name for point in draft.points()] == ["pat-001", "pat-002", "pat-003"]
    assert [(c.kind, c.point.name, c.reason) for c in draft.changes if c.kind == "retire"] == [
        ("retire", "pat-004", "it was wrong")
    ]


def test_points_that_were_retired_or_restored_since_are_so_again() -> None:
    """Without another change where nothing else is to be said."""
    there, gone = a_key_point("pat-001", "there", position=1), a_key_point("pat-002", "gone", position=2)
    draft = a_draft(there, spent=("pat-002",))

    _brought_in(draft, _saved(1, there, is_live=False), _saved(2, gone), retired=(RetiredPoint(gone, 3),))

    assert [(change.kind, change.point.name) for change in draft.changes] == [
        ("retire", "pat-001"),
        ("restore", "pat-002"),
    ]


def test_what_was_forgotten_stays_forgotten() -> None:
    """A text under a forgotten name stays out. A point of which nothing else is known than that it was forgotten is
    retired."""
    draft = a_draft(a_key_point("pat-002", "told", position=1), spent=("pat-001",))
    forgotten = RetiredPoint(a_key_point("pat-001", MARK), 3, is_forgotten=True)

    _brought_in(draft, _saved(1, a_key_point("pat-001", "a secret")), retired=(forgotten,))
    _brought_in(draft, SavedPoint(0, a_key_point("pat-002", MARK), is_live=False))

    assert [(change.kind, change.point.name, change.point.text) for change in draft.changes] == [
        ("edit", "pat-002", MARK),
        ("retire", "pat-002", MARK),
    ]


def test_a_text_whose_name_is_lost_gets_a_new_one_unless_it_is_there_already() -> None:
    """Of two points with the same name the earlier one's is damaged."""
    draft = a_draft(a_key_point("pat-001", "there", position=1))

    renamed = _brought_in(
        draft,
        _saved(7, a_key_point("pat-007", "later")),
        _saved(8, a_key_point("pat-007", "earlier", position=8), revision=7),
        _saved(9, a_key_point("", "there")),
        _saved(10, a_key_point("", MARK), is_live=False),
    )

    assert renamed == ["pat-008"]
    assert {point.name: point.text for point in draft.points()} == {
        "pat-001": "there",
        "pat-007": "later",
        "pat-008": "earlier",
    }


@given(st.lists(st.integers(-5, 2**60), min_size=1, max_size=8))
def test_no_two_points_of_a_section_come_to_stand_in_one_place(positions: list[int]) -> None:
    """A damaged place, or one that is taken, is given up for one behind all others."""
    draft = a_draft(a_key_point("pat-100", "there"), a_key_point("pat-101", "there too"))

    _brought_in(
        draft,
        *(_saved(n, a_key_point(f"pat-{n:03d}", f"point {n}", position=at)) for n, at in enumerate(positions, 1)),
    )

    places = [point.position for point in draft.points()]
    assert len(set(places)) == len(places) == len(positions) + 2
