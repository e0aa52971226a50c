"""Which revisions were taken back by which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.undo import RevisionRange, Undo, in_force, message, read_span, taken_back_in
from playbook_db.errors import UndoError


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
    assert read_span(text) == span
    assert read_span(span.as_argument) == span


@pytest.mark.parametrize("text", ["", "x", "3..", "..3", "1...3", "-1", "3.5", "٣", "8..3", "9" * 30])
def test_what_names_no_revisions_is_refused(text: str) -> None:
    """With an example of what would."""
    with pytest.raises(UndoError, match=r"8|\.\."):
        read_span(text)


@given(first=st.integers(1, 99), more=st.integers(0, 99), told=st.text(max_size=300))
def test_an_undo_tells_in_its_message_what_it_took_back(first: int, more: int, told: str) -> None:
    """However much the revision that it took back says of itself."""
    span = RevisionRange(first, first + more)

    assert message(span, told).startswith(f"took back {span} ({told[:50]}")
    assert len(message(span, told)) < 150


def test_an_undo_that_was_taken_back_is_not_in_force() -> None:
    """And one that took that one back isn't either, once it is taken back itself: then the first is again."""
    first, second, third = Undo(5, RevisionRange(3, 3)), Undo(6, RevisionRange(5, 5)), Undo(7, RevisionRange(6, 6))

    assert in_force([first]) == [first]
    assert in_force([second, first]) == [second]
    assert in_force([third, second, first]) == [third, first]


def test_a_revision_knows_which_undo_took_it_back() -> None:
    """The one that has it in its span, ends included."""
    undos = [Undo(9, RevisionRange(5, 7)), Undo(4, RevisionRange(2, 2))]

    assert [taken_back_in(number, undos) for number in (1, 2, 4, 5, 7, 8)] == [None, 4, None, 9, 9, None]
