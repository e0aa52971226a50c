"""What a text of a key point may be, and when two texts say the same."""

import pytest
from hypothesis import assume, given

from playbook_db.domain.playbook import normalised, why_text_unusable
from tests.builders import texts


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "must be a string"),
        (5, "must be a string"),
        (["use ruff"], "must be a string"),
        ("", "must not be blank"),
        (" \n\t\u3000", "must not be blank"),
        ("ab\ud83d", "half a surrogate pair at character 2"),
    ],
)
def test_unusable_text_is_explained(text: object, problem: str) -> None:
    """A text is a string of Unicode that isn't blank; what it lacks is said."""
    assert problem in (why_text_unusable(text) or "")


@given(texts)
def test_any_other_text_is_usable(text: str) -> None:
    """Control characters, line breaks, any script: a text is the user's own."""
    assert why_text_unusable(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use Ruff", "use ruff"),
        ("use  ruff\n", " use\truff"),
        ("use ruff.", "use ruff"),
        ("use ruff ?!…", "use ruff。"),
        ("STRASSE", "straße"),
    ],
)
def test_texts_that_differ_in_nothing_that_matters_are_equal(one: str, other: str) -> None:
    """Case, runs of white space and trailing punctuation make no difference."""
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use X, not Y", "use Y, not X"),
        ("use a.b", "use ab"),
        ("...", "!!!"),
        (".gitignore", "gitignore"),
        ("use ruff", "use ruff)"),
    ],
)
def test_texts_that_differ_in_more_are_different(one: str, other: str) -> None:
    """Order, punctuation inside, and texts of nothing but punctuation count."""
    assert normalised(one) != normalised(other)


@given(texts)
def test_normalising_again_changes_nothing_and_leaves_something(text: str) -> None:
    """The normalised text is its own, and never empty: a blank one would equal all others."""
    assert normalised(normalised(text)) == normalised(text) != ""


@given(texts)
def test_surrounding_space_and_a_full_stop_make_no_difference(text: str) -> None:
    """For any text but one of nothing but punctuation."""
    assume(normalised(text)[-1] not in ".,;:!?…。！？")

    assert normalised(f"  {text} .\n") == normalised(text)
