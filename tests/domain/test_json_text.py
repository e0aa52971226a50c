"""JSON for files: letters beyond ASCII stay, and numbers that JSON lacks are refused."""

import math

import pytest

from playbook_db.domain.json_text import write_json


def test_unicode_stays() -> None:
    """An indent gives a line for each value."""
    assert write_json({"é": [1]}) == '{"é": [1]}'
    assert write_json({"é": [1]}, 2) == '{\n  "é": [\n    1\n  ]\n}'


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_and_infinity_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json([value])
