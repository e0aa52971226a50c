"""A question whose answer is one JSON object with a text and a list, asked until the list is complete.

An answer that breaks off counts as far as its items are complete, and the rest is asked for; one that holds no JSON is
asked for once more.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from playbook_db.errors import ModelError
from playbook_db.llm.asking import Exchange, Model, Prompt, Recording, Reply
from playbook_db.llm.replies import find_beginning, find_object

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
