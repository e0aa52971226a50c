"""Reading and writing JSON without changing numbers: 1.50 stays 1.50, and a long number keeps all its digits.

Playbook files are read and written this way.
"""

import json
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class SpelledNumber(float):
    """A float that Python would write differently than the file has it. `spelling` is its text in the file."""

    spelling: str

    def __new__(cls, spelling: str) -> "SpelledNumber":
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        return (self.spelling,)


def read_json(text: str, *, read_int: Callable[[str], Any] = int, **options: Any) -> Any:
    """Parse the JSON in *text*. *options* and errors are those of `json.loads`."""

    def whole(spelling: str) -> Any:
        return SpelledNumber(spelling) if spelling == "-0" else read_int(spelling)

    return json.loads(text, parse_float=_number, parse_int=whole, **options)


def write_json(value: object, line: str | None = None, indent: str = "  ") -> str:
    """Encode *value* like `json.dumps` with `ensure_ascii=False`, but keep the spelling of numbers.

    By default the JSON is on one line. *line* is a line break and the indentation of the first line. With *line*, the
    JSON has several lines, indented by *indent*.
    """
    if isinstance(value, str):
        return encode_basestring(value)
    if type(value) is int:
        return repr(value)
    if isinstance(value, SpelledNumber):
        return value.spelling
    if not value or not isinstance(value, (dict, list, tuple)):
        return _encode(value)
    inner = None if line is None else line + indent
    if isinstance(value, dict):
        keys = [encode_basestring(key if isinstance(key, str) else json.dumps(key)) for key in value]
        texts = [write_json(of_key, inner, indent) for of_key in value.values()]
        brackets, items = "{}", [f"{key}: {text}" for key, text in zip(keys, texts, strict=True)]
    else:
        brackets, items = "[]", [write_json(item, inner, indent) for item in value]
    if line is None:
        return f"{brackets[0]}{', '.join(items)}{brackets[1]}"
    return f"{brackets[0]}{inner}{f',{inner}'.join(items)}{line}{brackets[1]}"


def _number(spelling: str) -> float:
    plain = float(spelling)
    return plain if repr(plain) == spelling else SpelledNumber(spelling)
