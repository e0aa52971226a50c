"""JSON out of what a model said: the whole object, or what is complete of one that was cut off. Pure; never raises.

Line breaks inside strings, which JSON forbids and models write, are read all the same.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from playbook_db.errors import ModelError
from playbook_db.llm.model import Exchange, Model, Prompt, Recording, Reply

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


# A question whose answer is one JSON object with a text and a list, asked until the list is complete.
#
# An answer that breaks off counts as far as its items are complete, and the rest is asked for; one that holds no JSON
# is
# asked for once more.


MAX_PARTS = 8  # calls for one answer, those for want of JSON included
MAX_TOKENS = 16_000  # of one part, what the model thinks included
_NO_JSON = (
    "\n\nYour answer held no JSON object. Answer again, with one JSON object of the form told above and nothing else."
)
_SHORTER = (
    "\n\nYour answer was cut off before anything of it was complete. Answer again in the same form, but much shorter: "
    "texts of at most 100 words, reasons of at most 10."
)


@dataclass(frozen=True, slots=True)
class Form:
    """The form of the answer: the keys of its text and its list.

    `identity` is what makes an item of a later part the same as one that is there already; `go_on` asks for what is
    still missing; with `max_items` there is enough.
    """

    text_key: str
    list_key: str
    identity: Callable[[Any], object]
    go_on: Callable[[str, list[Any]], str]
    max_items: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The text and the items of all parts together; the items as the model gave them."""

    text: str
    items: list[Any]
    exchanges: list[Exchange]


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    items: list[Any]
    is_whole: bool


def ask_in_parts(model: Model, prompt: Prompt, form: Form, *, deadline: float) -> Answer:
    """The answer to *prompt*, complete or as far as 8 calls brought it.

    Raises ModelError where the model can't be asked or gives nothing that can be used.
    """
    recording = Recording(model)
    text, items = "", list[Any]()
    note, fruitless = "", 0
    for _ in range(MAX_PARTS):
        part = _read(recording.ask(_with_note(prompt, note), deadline=deadline), form)
        known = {form.identity(item) for item in items}
        new = [item for item in part.items if form.identity(item) not in known] if part else []
        fruitless = 0 if part and (part.is_whole or new or (part.text and not text)) else fruitless + 1
        if part:
            text = text or part.text
            items += new
        if fruitless == 2 or (part and part.is_whole) or (form.max_items and len(items) >= form.max_items):
            break
        begun = bool(text or items)
        note = (form.go_on(text, items) if begun else _SHORTER if part else "") + ("" if part else _NO_JSON)
    if fruitless and not (text or items):
        raise ModelError(_failure(recording.exchanges[-1].reply))
    return Answer(text, items, recording.exchanges)


def _with_note(prompt: Prompt, note: str) -> Prompt:
    """*prompt*, which may now be cached as a whole, and after it *note*."""
    return replace(prompt, stable=prompt.stable + prompt.changing, changing=note) if note else prompt


def _read(reply: Reply, form: Form) -> _Part | None:
    """What *reply* says; None where there is no JSON in it. Missing keys count as empty."""
    keys = (form.text_key, form.list_key)
    found = reply.structured if reply.structured is not None else find_object(reply.text)
    is_whole = found is not None and not found.keys().isdisjoint(keys)
    if not is_whole:  # the object may be one inside of another that breaks off, whatever the reply says of itself
        beginning = find_beginning(reply.text, keys)
        if beginning is not None or reply.is_cut:
            found = beginning or {}
        else:
            is_whole = True
    if found is None:
        return None
    text, items = found.get(form.text_key), found.get(form.list_key)
    return _Part(text if isinstance(text, str) else "", items if isinstance(items, list) else [], is_whole)


def _failure(reply: Reply | None) -> str:
    if reply is None or not reply.text.strip():
        return "The model gave an empty answer, twice. Try again later."
    if reply.is_cut:
        return f"{reply.model}'s answers were cut off before anything of them was complete. Try again later."
    said = " ".join(reply.text.split())[:100]
    return f"{reply.model} gave no JSON, twice; it said: {said!r}. Try again later."
