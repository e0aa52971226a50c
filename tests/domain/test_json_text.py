"""JSON for files: letters beyond ASCII stay, and numbers that JSON lacks are refused."""

import math

import pytest

from playbook_db.domain.json_text import write_json


def test_letters_beyond_ascii_stay() -> None:
    """An indent gives a line for each value."""
    assert write_json({"é": [1]}) == '{"é": [1]}'
    assert write_json({"é": [1]}, 2) == '{\n  "é": [\n    1\n  ]\n}'


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_json_lacks_is_refused(value: float) -> None:
    """Other programs can't read it."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json([value])
