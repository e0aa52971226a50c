"""Getting JSON from a model: asking until the answer is complete, and reading replies that break off.

Reading never raises. It accepts line breaks in strings, which JSON forbids, since models write them.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from playbook_db.errors import ModelError, RefusalError
from playbook_db.llm.model import MAX_REPLY_CHARS, REFUSED, Exchange, Model, Prompt, RecordingModel, Reply, shortened

MAX_PARTS = 8  # calls for one answer, including calls whose reply had no JSON
MAX_TOKENS = 16_000  # of one part, thinking included
MAX_ITEMS = 2000  # of one list
MAX_QUOTES = 5  # of one item's evidence
MAX_TRIES = 2000  # opening braces to try, so that a hostile reply doesn't take minutes
MAX_READ_CHARS = 50_000_000  # in all tries together, if each reads to the end
_NO_JSON = (
    "\n\nYour answer held no JSON object of the form told above. Answer again, with one such object and nothing else."
)
_SHORTER = (
    "\n\nYour answer was cut off before anything of it was complete. Answer again in the same form, but much shorter: "
    "texts of at most 100 words, reasons of at most 10."
)
_FENCE = re.compile(r"```([A-Za-z0-9_+.-]{0,40})(.*?)```", re.DOTALL)
_OPENING = re.compile(r'\{(?=\s*["}])')
_SPARE_COMMA = re.compile(r'("(?>(?:[^"\\]|\\.?)*)(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)  # strings are matched to be kept
_BETWEEN = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """A model's whole answer: a text and lists, joined from all its parts.

    `lists` has the unchanged items by key. `present` has the keys of the lists that the model gave, even if empty.
    """

    text: str
    lists: dict[str, list[Any]]
    present: set[str]
    exchanges: list[Exchange]


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    lists: dict[str, list[Any]]  # missing lists aren't in it
    is_complete: bool


def ask_in_parts(
    model: Model,
    prompt: Prompt,
    text_key: str,
    lists: Mapping[str, Callable[[Any], object]],
    *,
    go_on: Callable[[str, dict[str, list[Any]]], str],
    deadline: float,
    enough: int = MAX_ITEMS,
    must_answer: bool = False,
) -> JsonAnswer:
    """Ask the model for a JSON object with a text and lists. Ask again (up to MAX_PARTS calls) until it is complete.

    The text is under *text_key*. *lists* has for each key a function that returns equal values for equal items. If a
    reply breaks off, its complete items count, and *go_on* writes a prompt for the others. No more calls are made if
    the last list has *enough* items. A list is cut after MAX_ITEMS.

    After a reply without JSON, ask once more; with *must_answer* also after a reply without any of the keys. Raises
    RefusalError if the model refuses, ModelError if it can't be asked or gives nothing usable.
    """
    recording = RecordingModel(model)
    keys = text_key, *lists
    text, items, present = "", {key: list[Any]() for key in lists}, set[str]()
    next_prompt, failures, length = prompt, 0, 0
    for _ in range(MAX_PARTS):
        reply = recording.ask(next_prompt, deadline=deadline)
        length += len(reply.text)
        refuse_refusal(reply)
        part = _read(reply, keys, must_answer=must_answer)
        had = bool(text), sum(map(len, items.values()))
        if part:
            text = text or part.text
            present |= part.lists.keys()
            for key, identity in lists.items():
                known = {identity(item) for item in items[key]}
                new = [item for item in part.lists.get(key, ()) if identity(item) not in known]
                items[key] = (items[key] + new)[:MAX_ITEMS]
        is_new = (bool(text), sum(map(len, items.values()))) != had
        failures = 0 if part and (part.is_complete or is_new) else failures + 1
        is_enough = length > MAX_REPLY_CHARS or len(items[keys[-1]]) >= enough
        if failures == 2 or (part and part.is_complete) or is_enough:
            break
        has_begun = bool(text or any(items.values()))
        note = (go_on(text, items) if has_begun else _SHORTER if part else "") + ("" if part else _NO_JSON)
        next_prompt = prompt._replace(blocks=(*prompt.blocks, note))  # the first blocks can be cached
    if failures and not (text or any(items.values())):
        beginning = shortened(reply.text)[:100]
        raise ModelError(
            f"{reply.model} twice gave no complete JSON of the requested form. It said: {beginning!r}. Try again later."
        )
    return JsonAnswer(text, items, present, recording.exchanges)


def refuse_refusal(reply: Reply) -> None:
    """Raise RefusalError if *reply* is a refusal, even if it has a text."""
    if reply.is_refused:
        raise RefusalError(f"{reply.model} refused to answer (stop_reason: {REFUSED}).")


def with_quotes(item: Any) -> Any:
    """Return *item*, but make its `evidence` (if it has any) a list of at most MAX_QUOTES texts."""
    if not isinstance(item, dict) or "evidence" not in item:
        return item
    quotes = item["evidence"] if isinstance(item["evidence"], list) else [item["evidence"]]
    return {**item, "evidence": [each for each in quotes if isinstance(each, str) and each.strip()][:MAX_QUOTES]}


def find_object(text: str, keys: Collection[str] = ()) -> dict[str, Any] | None:
    """Return the JSON object in *text*, which may be in a json fence, in any fence, or after other words.

    The first object with one of *keys* wins, or else the first object. A trailing comma is accepted. Source: contract,
    sections 8 and 14.
    """
    first = None
    for candidate in chain(_objects(text), _objects(text, spare_commas=True)):
        if not keys or not candidate.keys().isdisjoint(keys):
            return candidate
        first = candidate if first is None else first
    return first


def find_beginning(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    """If *text* ends within an object, return the object's complete part. Return None if it has none of *keys*.

    A value that is cut off is left out. If a list is cut off, its complete items are kept.
    """
    for start in _openings(text):
        beginning = _beginning_at(text, start)
        if not beginning.keys().isdisjoint(keys):
            return beginning
    return None


def _read(reply: Reply, keys: tuple[str, ...], *, must_answer: bool) -> _Part | None:
    """Return the part of the answer in *reply*, or None if there is no JSON. *must_answer*: *keys* must be in it."""
    answer = reply.structured if reply.structured is not None else find_object(reply.text, keys)
    is_complete = answer is not None and not answer.keys().isdisjoint(keys)
    if not is_complete:  # the object may be inside another one that breaks off, even if the reply isn't called cut
        beginning = find_beginning(reply.text, keys)
        if beginning is not None or reply.is_cut:
            answer = beginning or {}
        elif must_answer:
            return None
        else:
            is_complete = True
    if answer is None:
        return None
    text, *lists = (answer.get(key) for key in keys)
    items = {key: value for key, value in zip(keys[1:], lists, strict=True) if isinstance(value, list)}
    return _Part(text if isinstance(text, str) else "", items, is_complete)


def _objects(text: str, *, spare_commas: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in *text*: first in json fences, then in other fences, then at each opening brace.

    *spare_commas*: accept trailing commas.
    """
    if spare_commas:
        text = _SPARE_COMMA.sub(lambda match: match[1] or "", text)
    fences = _FENCE.findall(text)
    for inner in (*(inner for tag, inner in fences if tag.lower() == "json"), *(inner for _, inner in fences)):
        parsed = _value_at(inner, len(inner) - len(inner.lstrip()))
        if parsed and isinstance(parsed[0], dict) and not inner[parsed[1] :].strip():
            yield parsed[0]
    for start in _openings(text):  # also finds an object that is all of the text
        parsed = _value_at(text, start)
        if parsed and isinstance(parsed[0], dict):
            yield parsed[0]


def _openings(text: str) -> Iterator[int]:
    tries = min(MAX_TRIES, MAX_READ_CHARS // (len(text) or 1))
    for match in islice(_OPENING.finditer(text), tries):
        yield match.start()


def _value_at(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON value that starts at *start* and the index of its end, or None if no value is complete."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _beginning_at(text: str, start: int) -> dict[str, Any]:
    """Return the object that starts at *start*, without an entry that is cut off."""
    entries: dict[str, Any] = {}
    place = start + 1
    while key := _value_at(text, _after_comma(text, place)):
        colon = _COLON.match(text, key[1])
        if colon is None or not isinstance(key[0], str):
            break
        value = _value_at(text, colon.end())
        if value is None:
            if text[colon.end() : colon.end() + 1] == "[":
                entries[key[0]] = _items_at(text, colon.end())
            break
        place = value[1]
        if place < len(text) or not isinstance(value[0], (int, float)):  # a number at the end may be cut
            entries[key[0]] = value[0]
    return entries


def _items_at(text: str, start: int) -> list[Any]:
    """Return the list that starts at *start*, without an item that is cut off."""
    items: list[Any] = []
    place = start + 1
    while item := _value_at(text, _after_comma(text, place)):
        place = item[1]
        if place < len(text) or isinstance(item[0], (dict, list, str)):
            items.append(item[0])
    return items


def _after_comma(text: str, place: int) -> int:
    match = _BETWEEN.match(text, place)
    return match.end() if match else place
