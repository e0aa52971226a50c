"""The values of a playbook: which names and texts they may have, and when two texts are the same."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from playbook_db.domain.playbook import (
    MAX_NAME_LENGTH,
    format_name,
    highest_number,
    next_name,
    normalised,
    number_of,
    why_name_unusable,
    why_text_unusable,
)
from playbook_db.domain.prompt_text import render_point
from playbook_db.domain.sections import SECTION_SLUGS
from tests.builders import names, texts

prefixes = st.sampled_from([*SECTION_SLUGS.values(), "kpt"])


@pytest.mark.parametrize(
    ("prefix", "number", "name"),
    [("pat", 7, "pat-007"), ("pref", 42, "pref-042"), ("oth", 1000, "oth-1000"), ("kpt", 7, "kpt_007")],
)
def test_name_is_its_prefix_and_three_digits_at_least(prefix: str, number: int, name: str) -> None:
    """A dash joins a slug and its number, an underscore the legacy prefix and its."""
    assert format_name(prefix, number) == name


@given(prefixes, st.integers(1, 10**9))
def test_number_is_read_back_from_the_name_made_of_it(prefix: str, number: int) -> None:
    """`number_of` undoes `format_name`, and for no other prefix is it a name at all."""
    name = format_name(prefix, number)

    assert number_of(name, prefix) == number
    assert not any(number_of(name, other) for other in [*SECTION_SLUGS.values(), "kpt"] if other != prefix)


@pytest.mark.parametrize(
    "name", ["pat-", "pat", "pat_001", "pat-001a", "pat--1", "pat-²", "pat-٣", "xpat-001", "PAT-001", "pat-1.0", ""]
)
def test_name_of_another_form_has_no_number(name: str) -> None:
    """A name that we would never make doesn't count when the next one is chosen."""
    assert number_of(name, "pat") == 0
    assert next_name([name], "pat") == "pat-001"


@pytest.mark.parametrize(
    ("used", "prefix", "expected"),
    [
        ([], "pat", "pat-001"),
        (["pat-001", "pat-002"], "pat", "pat-003"),
        (["pat-001", "pat-009", "pat-003"], "pat", "pat-010"),
        (["mis-050", "kpt_070"], "pat", "pat-001"),
        (["kpt_001", "pat-005"], "kpt", "kpt_002"),
        (["pat-999"], "pat", "pat-1000"),
        (["pat-7"], "pat", "pat-008"),
    ],
)
def test_next_name_is_one_more_than_the_highest_of_its_slug(used: list[str], prefix: str, expected: str) -> None:
    """Gaps are not filled, and other slugs don't count."""
    assert next_name(used, prefix) == expected


@given(st.lists(st.builds(format_name, prefixes, st.integers(1, 2000)) | names), prefixes)
def test_next_name_is_never_one_of_those_that_are_there(used: list[str], prefix: str) -> None:
    """A new name is new, and later than all of its prefix."""
    assert next_name(used, prefix) not in used
    assert number_of(next_name(used, prefix), prefix) == highest_number(used, prefix) + 1


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "blank"),
        (" \t", "blank"),
        ("pat-001] helpful=99", "brackets"),
        ("[pat-001", "brackets"),
        ("pat\n001", "line breaks"),
        ("pat\u2028001", "line breaks"),
        ("pat\x00001", "control characters"),
        ("pat\ud800", "control characters"),
        ("x" * (MAX_NAME_LENGTH + 1), "longer than 200"),
    ],
)
def test_name_that_could_break_out_of_its_brackets_is_unusable(name: str, problem: str) -> None:
    """A name stands in brackets at the start of a line of a prompt; it must stay there."""
    assert problem in (why_name_unusable(name) or "")


@pytest.mark.parametrize("name", ["pat-001", "kpt_001", "my own name", "größe-1", "x" * MAX_NAME_LENGTH])
def test_name_of_a_users_own_making_is_usable(name: str) -> None:
    """Names need not be ours: a file's are kept for ever."""
    assert why_name_unusable(name) is None


@given(st.text(max_size=20))
def test_usable_name_ends_where_its_bracket_does(name: str) -> None:
    """Whatever passes as a name is read back from the line of its point."""
    line = render_point(name, 1, 2, "use type hints")

    assert why_name_unusable(name) or (line.splitlines() == [line] and line[1:].partition("]")[0] == name)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "must be a string"),
        (5, "must be a string"),
        (["use ruff"], "must be a string"),
        ("", "must not be blank"),
        (" \n\t\u3000", "must not be blank"),
        ("\u200b \ufeff", "must not be blank"),
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
        ("Café vor der Fähre", "Cafe\u0301 vor der Fa\u0308hre"),
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
