"""Numbers keep their spelling; all else is what the library's JSON has."""

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given

from playbook_db.domain.exact_json import read_json, write_json
from tests.builders import json_values


@pytest.mark.parametrize(
    "text",
    ["0.10000000000000000555", "1.50", "1E5", "-0", "-0.0", "1e-7", "123456789012345678901234567890", "[1, 1.0]"],
)
def test_a_number_is_written_as_it_was_read(text: str) -> None:
    """Also by a copy of what was read."""
    assert write_json(read_json(text)) == text
    assert write_json(copy.deepcopy(read_json(text))) == text
    assert write_json(pickle.loads(pickle.dumps(read_json(text)))) == text  # noqa: S301 - our own


def test_to_programs_it_is_a_number_like_any() -> None:
    """It counts and compares, and the library's own JSON takes it."""
    value = read_json("1.50")

    assert value == 1.5
    assert json.dumps([value]) == "[1.5]"


@given(json_values)
def test_it_is_the_library_s_json_in_both_forms(value: Any) -> None:
    """On one line and in lines."""
    assert write_json(value) == json.dumps(value, ensure_ascii=False)
    assert write_json(value, "\n") == json.dumps(value, ensure_ascii=False, indent=2)
    assert write_json(read_json(json.dumps(value))) == write_json(value)
