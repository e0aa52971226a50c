"""JSON out of what a model said: the whole object, or what is complete of one that was cut off. Pure; never raises.

Line breaks inside strings, which JSON forbids and models write, are read all the same.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

MAX_TRIES = 2000  # opening braces; a hostile reply must not cost minutes
_FENCE = re.compile(r"```([A-Za-z0-9_+.-]*)(.*?)```", re.DOTALL)
_OPENING = re.compile(r'\{(?=\s*["}])')
_BETWEEN = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")
_DECODER = json.JSONDecoder(strict=False)


def find_object(text: str) -> dict[str, Any] | None:
    """The JSON object in *text*: in a json fence, in any fence, between balanced braces, or all of it.

    The first of these that parses to an object wins. Source: contract, section 8.
    """
    fences = _FENCE.findall(text)
    for inner in (*(inner for tag, inner in fences if tag.lower() == "json"), *(inner for _, inner in fences)):
        found = _value_at(inner, len(inner) - len(inner.lstrip()))
        if found and isinstance(found.value, dict) and not inner[found.end :].strip():
            return found.value
    for start in _openings(text):
        found = _value_at(text, start)
        if found and isinstance(found.value, dict):
            return found.value
    return None  # all of the text, if it were an object, would have been between braces


def find_beginning(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    """What is complete of an object with one of *keys* that *text* breaks off in, None where there is no such object.

    A value that is cut is left out, but of a list its complete items are there.
    """
    for start in _openings(text):
        found = _beginning_at(text, start)
        if not found.keys().isdisjoint(keys):
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Found:
    value: Any
    end: int


def _openings(text: str) -> Iterator[int]:
    for tried, match in enumerate(_OPENING.finditer(text)):
        if tried == MAX_TRIES:
            return
        yield match.start()


def _value_at(text: str, start: int) -> _Found | None:
    try:
        return _Found(*_DECODER.raw_decode(text, start))
    except (ValueError, RecursionError):
        return None


def _beginning_at(text: str, start: int) -> dict[str, Any]:
    """The complete entries of the object that opens at *start*."""
    entries: dict[str, Any] = {}
    place = start + 1
    while True:
        place = _after(_BETWEEN, text, place)
        key = _value_at(text, place)
        colon = _COLON.match(text, key.end) if key and isinstance(key.value, str) else None
        if key is None or colon is None:
            return entries
        value = _value_at(text, colon.end())
        if value is None:
            if text[colon.end() : colon.end() + 1] == "[":
                entries[key.value] = _items_at(text, colon.end())
            return entries
        if value.end < len(text) or not isinstance(value.value, (int, float)):  # else a number that may go on
            entries[key.value] = value.value
        place = value.end


def _items_at(text: str, start: int) -> list[Any]:
    """The complete items of the list that opens at *start*."""
    items: list[Any] = []
    place = _after(_BETWEEN, text, start + 1)
    while (item := _value_at(text, place)) is not None and item.end < len(text):
        items.append(item.value)
        place = _after(_BETWEEN, text, item.end)
    if item is not None and isinstance(item.value, (dict, list, str)):
        items.append(item.value)
    return items


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match else place
