"""JSON in which a number keeps its spelling: 1.50 stays 1.50, and no digit of a long one is lost. Pure.

What came in with a playbook file, and isn't ours to understand, is read and written with it.
"""

import json
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any


class SpelledNumber(float):
    """A number that Python would spell otherwise than `spelling`, as JSON has it; to programs a float like any."""

    spelling: str

    def __new__(cls, spelling: str) -> "SpelledNumber":
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        return (self.spelling,)


def read_json(text: str, *, read_int: Callable[[str], Any] = int, **options: Any) -> Any:
    """The value in the JSON *text*; *options* are those of `json.loads`. Raises what that raises."""

    def whole(spelling: str) -> Any:
        return SpelledNumber(spelling) if spelling == "-0" else read_int(spelling)

    return json.loads(text, parse_float=_number, parse_int=whole, **options)


def write_json(value: object, line: str | None = None, indent: str = "  ") -> str:
    """*value* as JSON, on one line, or in lines where *line* is a line break and the indentation of its own line.

    Apart from the numbers' spelling it is what `json.dumps` makes of it, with `ensure_ascii` off, and that *indent*.
    """
    if isinstance(value, SpelledNumber):
        return value.spelling
    inner = None if line is None else line + indent
    if isinstance(value, dict) and value:
        keys = [encode_basestring(key if isinstance(key, str) else json.dumps(key)) for key in value]
        texts = [write_json(of_key, inner, indent) for of_key in value.values()]
        brackets, items = "{}", [f"{key}: {text}" for key, text in zip(keys, texts, strict=True)]
    elif isinstance(value, list | tuple) and value:
        brackets, items = "[]", [write_json(item, inner, indent) for item in value]
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    if line is None:
        return f"{brackets[0]}{', '.join(items)}{brackets[1]}"
    return f"{brackets[0]}{inner}{f',{inner}'.join(items)}{line}{brackets[1]}"


def _number(spelling: str) -> float:
    plain = float(spelling)
    return plain if repr(plain) == spelling else SpelledNumber(spelling)
