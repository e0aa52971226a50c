"""Which words of a text changed."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.diff import compare_words, marked

wordy = st.lists(st.sampled_from(["use", "ruff", "mypy", " ", "  ", "\n", ".", "!", "é", "-"]), max_size=12).map(
    "".join
)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("use ruff", "use ruff", "use ruff"),
        ("use ruff", "use mypy", "use [-ruff-]{+mypy+}"),
        ("use ruff", "use ruff always", "use ruff{+ always+}"),
        ("always use ruff", "use ruff", "[-always -]use ruff"),
        ("a b c d", "a x y d", "a [-b c-]{+x y+} d"),
        ("", "new", "{+new+}"),
        ("old", "", "[-old-]"),
        ("run pnpm test.", "run pnpm test!", "run pnpm test[-.-]{+!+}"),
    ],
)
def test_changed_words_are_marked(before: str, after: str, shown: str) -> None:
    """What went stands before what came; a phrase that changed as a whole is marked as a whole."""
    assert marked(before, after) == shown


@given(wordy | st.text(), wordy | st.text())
def test_the_pieces_give_both_texts_again(before: str, after: str) -> None:
    """Nothing is lost between the marks, and no two pieces of the same kind stand side by side."""
    pieces = compare_words(before, after)

    assert "".join(piece.before for piece in pieces) == before
    assert "".join(piece.after for piece in pieces) == after
    assert all(one.is_same != other.is_same for one, other in pairwise(pieces))


@given(wordy)
def test_a_text_differs_from_itself_in_nothing(text: str) -> None:
    """No marks where nothing changed."""
    assert marked(text, text) == text


@pytest.mark.parametrize("times", [150, 50_000])
def test_no_two_texts_take_long_to_compare(times: int) -> None:
    """What somebody wrote must not keep the command busy: neither many words nor few that come again and again."""
    before = "begin " + "one one two " * times + "end"
    after = "begin " + "two one one " * times + "end"
    started = time.process_time()

    shown = marked(before, after)

    assert time.process_time() - started < 2
    assert shown.startswith("begin ")
    assert shown.endswith(" end")
