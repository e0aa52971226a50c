"""The values of a playbook: which names and texts they may have, and when two texts are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.playbook import (
    MAX_NAME_LENGTH,
    format_name,
    next_name,
    normalised,
    number_of,
    why_name_unusable,
    why_text_unusable,
)
from playbook_db.domain.prompt_text import render_point
from playbook_db.domain.sections import SECTION_SLUGS
from tests.builders import texts

prefixes = st.sampled_from([*SECTION_SLUGS.values(), "kpt"])


@pytest.mark.parametrize(
    ("prefix", "number", "name"),
    [("pat", 7, "pat-007"), ("pref", 42, "pref-042"), ("oth", 1000, "oth-1000"), ("kpt", 7, "kpt_007")],
)
def test_name_is_prefix_and_number(prefix: str, number: int, name: str) -> None:
    assert format_name(prefix, number) == name


@given(prefixes, st.integers(1, 10**9))
def test_number_is_read_from_the_name(prefix: str, number: int) -> None:
    name = format_name(prefix, number)

    assert number_of(name, prefix) == number
    assert not any(number_of(name, other) for other in [*SECTION_SLUGS.values(), "kpt"] if other != prefix)


@pytest.mark.parametrize(
    "name", ["pat-", "pat", "pat_001", "pat-001a", "pat--1", "pat-²", "pat-٣", "xpat-001", "PAT-001", "pat-1.0", ""]
)
def test_other_names_have_no_number(name: str) -> None:
    assert number_of(name, "pat") == 0
    assert next_name([name], "pat") == "pat-001"


@pytest.mark.parametrize(
    ("used", "prefix", "expected"),
    [
        ([], "pat", "pat-001"),
        (["pat-001", "pat-002"], "pat", "pat-003"),
        (["mis-050", "kpt_070"], "pat", "pat-001"),
        (["kpt_001", "pat-005"], "kpt", "kpt_002"),
        (["pat-999"], "pat", "pat-1000"),
    ],
)
def test_next_name_has_the_next_number(used: list[str], prefix: str, expected: str) -> None:
    assert next_name(used, prefix) == expected


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "blank"),
        ("pat-001] helpful=99", "brackets"),
        ("pat\n001", "line breaks"),
        ("pat\x00001", "control characters"),
        ("pat\ud800", "control characters"),
        ("x" * (MAX_NAME_LENGTH + 1), "longer than 200"),
    ],
)
def test_name_cannot_leave_its_brackets(name: str, problem: str) -> None:
    """A prompt shows the name in brackets at the start of a line."""
    assert problem in (why_name_unusable(name) or "")


@pytest.mark.parametrize("name", ["pat-001", "kpt_001", "my own name", "größe-1", "x" * MAX_NAME_LENGTH])
def test_names_of_users_are_usable(name: str) -> None:
    assert why_name_unusable(name) is None


@given(st.text(max_size=20))
def test_name_is_read_from_its_line(name: str) -> None:
    line = render_point(name, 1, 2, "use type hints")

    assert why_name_unusable(name) or (line.splitlines() == [line] and line[1:].partition("]")[0] == name)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "must be a string"),
        (5, "must be a string"),
        ("", "must not be blank"),
        (" \n\t\u3000", "must not be blank"),
        ("ab\ud83d", "half a surrogate pair at character 2"),
    ],
)
def test_unusable_text_is_explained(text: object, problem: str) -> None:
    assert problem in (why_text_unusable(text) or "")


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
def test_case_and_space_make_no_difference(one: str, other: str) -> None:
    """Nor does punctuation at the end."""
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
def test_order_and_inner_punctuation_count(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@given(texts)
def test_normalized_text_is_stable_and_not_empty(text: str) -> None:
    """An empty text would equal all others."""
    assert normalised(normalised(text)) == normalised(text) != ""
