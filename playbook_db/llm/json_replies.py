"""Getting JSON from a model: asking until the answer is complete, and reading replies that break off.

Reading never raises. It accepts line breaks in strings, which JSON forbids, since models write them.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from playbook_db.errors import ModelError, RefusalError
from playbook_db.llm.model import REFUSED, Exchange, Model, Prompt, RecordingModel, Reply, shortened

MAX_PARTS = 8  # calls for one answer, including calls whose reply had no JSON
MAX_TOKENS = 16_000  # of one part, thinking included
MAX_QUOTES = 5  # of one item's evidence
_NO_JSON = (
    "\n\nYour answer held no JSON object of the form told above. Answer again, with one such object and nothing else."
)
_SHORTER = (
    "\n\nYour answer was cut off before anything of it was complete. Answer again in the same form, but much shorter: "
    "texts of at most 100 words, reasons of at most 10."
)
_FENCE = re.compile(r"```([\w+.-]*)(.*?)```", re.DOTALL)
_OPENING = re.compile(r'\{(?=\s*["}])')
_TOKEN = re.compile(r'"(?>(?:[^"\\]|\\.?)*)(?:"|\Z)|[][{},]', re.DOTALL)  # a string may end with the text
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
    enough: int | None = None,
    must_answer: bool = False,
) -> JsonAnswer:
    """Ask the model for a JSON object with a text and lists. Ask again (up to MAX_PARTS calls) until it is complete.

    The text is under *text_key*. *lists* has for each key a function that returns equal values for equal items. If a
    reply breaks off, its complete items count, and *go_on* writes a prompt for the others. No more calls are made if
    the last list has *enough* items.

    After a reply without JSON, ask once more; with *must_answer* also after a reply without any of the keys. Raises
    RefusalError if the model refuses, ModelError if it can't be asked or gives nothing usable.
    """
    recording = RecordingModel(model)
    keys = text_key, *lists
    text, items, present = "", {key: list[Any]() for key in lists}, set[str]()
    next_prompt, failures = prompt, 0
    for _ in range(MAX_PARTS):
        reply = recording.ask(next_prompt, deadline=deadline)
        refuse_refusal(reply)
        part = _read(reply, keys, must_answer=must_answer)
        had = bool(text), sum(map(len, items.values()))
        if part:
            text = text or part.text
            present |= part.lists.keys()
            for key, identity in lists.items():
                known = {identity(item) for item in items[key]}
                new = [item for item in part.lists.get(key, ()) if identity(item) not in known]
                items[key] += new
        is_new = (bool(text), sum(map(len, items.values()))) != had
        failures = 0 if part and (part.is_complete or is_new) else failures + 1
        is_enough = enough is not None and len(items[keys[-1]]) >= enough
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


def read_object(reply: Reply, keys: Collection[str]) -> tuple[dict[str, Any] | None, bool]:
    """Return the JSON object of *reply*, or None, and whether it is complete. It should have one of *keys*.

    If the reply broke off, the result is its complete part. Otherwise broken JSON is repaired if it can't be read.
    """
    answer = reply.structured if reply.structured is not None else find_object(reply.text, keys)
    if answer is not None and not answer.keys().isdisjoint(keys):
        return answer, True
    beginning = _beginning(reply.text, keys)
    if beginning is not None or reply.is_cut:
        return beginning or {}, False
    return _repaired(reply.text, keys) or answer, True


def find_object(text: str, keys: Collection[str] = ()) -> dict[str, Any] | None:
    """Return the JSON object in *text*, which may be in a json fence, in any fence, or after other words.

    The first object with one of *keys* wins, or else the first object. Source: contract, sections 8 and 14.
    """
    first = None
    for candidate in _objects(text):
        if not keys or not candidate.keys().isdisjoint(keys):
            return candidate
        first = candidate if first is None else first
    return first


def _read(reply: Reply, keys: tuple[str, ...], *, must_answer: bool) -> _Part | None:
    """Return the part of the answer in *reply*, or None if there is no JSON. *must_answer*: *keys* must be in it."""
    answer, is_complete = read_object(reply, keys)
    if answer is None or (must_answer and is_complete and answer.keys().isdisjoint(keys)):
        return None
    text, *lists = (answer.get(key) for key in keys)
    items = {key: value for key, value in zip(keys[1:], lists, strict=True) if isinstance(value, list)}
    return _Part(text if isinstance(text, str) else "", items, is_complete)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in *text*: first in json fences, then in other fences, then at each opening brace."""
    fences = _FENCE.findall(text)
    for inner in (*(inner for tag, inner in fences if tag.lower() == "json"), *(inner for _, inner in fences)):
        value = _loaded(inner)
        if isinstance(value, dict):
            yield value
    for match in _OPENING.finditer(text):  # also finds an object that is all of the text
        try:
            value, _ = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        yield value


def _loaded(text: str) -> Any:
    """Return the JSON value that is all of *text*, or None."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _start(text: str, keys: Collection[str]) -> int | None:
    match = re.search(rf'\{{\s*"(?:{"|".join(map(re.escape, keys))})"', text)
    return match.start() if match else None


def _beginning(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    """If *text* ends within the object that begins with one of *keys*, return its complete part, otherwise None.

    Entries and items of lists that are cut off are left out.
    """
    start = _start(text, keys)
    if start is None:
        return None
    closers, complete = "", "{}"
    for token in _TOKEN.finditer(text, start):
        end = token.end()
        if token[0] in ("{", "["):
            closers = ("}" if token[0] == "{" else "]") + closers
        elif token[0] in ("}", "]"):
            closers = closers[1:]
        elif token[0] == ",":
            end -= 1
        else:
            continue
        if not closers:
            return None
        if closers in ("}", "]}"):
            complete = text[start:end] + closers
    value = _loaded(complete)
    return value if isinstance(value, dict) else {}


def _repaired(text: str, keys: Collection[str]) -> dict[str, Any] | None:
    start = _start(text, keys)
    if start is None:
        return None
    import json_repair  # late: few replies need it

    try:
        value = json_repair.loads(text[start:], skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    values = value if isinstance(value, list) else [value]
    return next((each for each in values if isinstance(each, dict) and not each.keys().isdisjoint(keys)), None)
