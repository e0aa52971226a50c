"""Blanking what is to be forgotten: given texts, or what a pattern matches, inside texts, JSON and files. Pure."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from playbook_db.errors import PatternError

MARK = "[forgotten]"
SHORTEST_PASSAGE = 4  # characters; what is shorter stands in texts by chance, and goes only where it is all there is
_SHORT_PASSAGE = (
    16  # characters; what is shorter stands inside longer words by chance, and goes only as words of its own
)
_CUT_LENGTH = 24  # characters of a text's beginning that are known for it where the rest was cut off
_CUT_ENDS = ("", "…", '"', "'", "\\", "\n", "\r")  # what may follow where it was
_STRUCTURE = ("sections", "key_points", "version", "last_updated")  # keys of a header that the programs look for
_MARK = re.compile(re.escape(MARK))
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Eraser:
    """What is to be forgotten: *texts*, each as a whole and in the forms that it takes in files, and what *pattern*
    matches."""

    texts: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    _passages: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        forms = {form for text in self.texts for form in _forms(text)}
        object.__setattr__(self, "_passages", tuple(sorted(forms, key=len, reverse=True)))

    def blank(self, text: str) -> str:
        """*text* with MARK in place of every passage that is to be forgotten; what is blanked stays as it is."""
        if text in self.texts or text.strip() in self.texts:
            return MARK
        spans = self._spans(text)
        if not spans:
            return text
        parts, at = [], 0
        for start, end in spans:
            parts += [text[at:start], MARK]
            at = end
        return "".join([*parts, text[at:]])

    def passages(self, text: str) -> Iterator[str]:
        """What of *text* is to be forgotten."""
        if text in self.texts or text.strip() in self.texts:
            yield text
        else:
            yield from (text[start:end] for start, end in self._spans(text))

    def finds(self, text: str) -> bool:
        """Whether anything of *text* is to be forgotten."""
        return self.blank(text) != text

    def leaves_nothing(self, text: str) -> bool:
        """Whether nothing but marks would be left of *text*."""
        blanked = self.blank(text)
        return blanked != text and not re.search(r"\w", blanked.replace(MARK, ""))

    def blank_json(self, text: str) -> str:
        """The JSON in *text* with its strings, keys and numbers blanked; what is no JSON is blanked as text."""
        return self._decoded(text, self._value)

    def blank_header(self, text: str) -> str:
        """The header in *text*, likewise; the keys that a playbook file can't do without stay."""
        return self._decoded(text, self._header)

    def blank_file(self, text: str) -> str:
        """The content of a file of any kind, likewise: also where JSON stands in it with its escapes."""
        return self.blank(_JSON_STRING.sub(lambda found: self._literal(found[0]), text))

    def _spans(self, text: str) -> list[Span]:
        found = [span for passage in self._passages for span in _places(passage, text)]
        if self.pattern is not None:
            found += [match.span() for match in self.pattern.finditer(text)]
        if not found:
            return []
        marks = [mark.span() for mark in _MARK.finditer(text)]
        new = [(a, b) for a, b in found if a < b and not any(start <= a and b <= end for start, end in marks)]
        if not new:
            return []
        return [(a, b) for a, b in _joined([*new, *marks]) if (a, b) not in marks]

    def _decoded(self, text: str, blank: Callable[[Any], Any]) -> str:
        try:
            value = json.loads(text)
            blanked = blank(value)
            if json.dumps(blanked) == json.dumps(value):
                return text
        except (ValueError, RecursionError):
            return self.blank(text)
        return encoded(blanked)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.blank(value)
        if isinstance(value, list):
            return [self._value(inner) for inner in value]
        if isinstance(value, dict):
            return _without_twins((self.blank(key), self._value(inner)) for key, inner in value.items())
        if isinstance(value, int | float) and not isinstance(value, bool) and self.finds(json.dumps(value)):
            return MARK
        return value

    def _header(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return self._value(value)
        return _without_twins(
            (key if key in _STRUCTURE else self.blank(key), inner if _is_time(key, inner) else self._value(inner))
            for key, inner in value.items()
        )

    def _literal(self, literal: str) -> str:
        try:
            value = json.loads(literal, strict=False)
        except ValueError:
            return literal
        blanked = self.blank(value)
        return literal if blanked == value else json.dumps(blanked, ensure_ascii=literal.isascii())


def read_pattern(given: str) -> re.Pattern[str]:
    """The pattern in *given*. Raises PatternError where it is none, or matches what isn't there."""
    try:
        pattern = re.compile(given)
    except re.error as error:
        raise PatternError(given, error.msg, error.pos) from None
    if pattern.search(""):
        raise PatternError(given, "it matches the empty text, and so every text", None)
    return pattern


def encoded(value: object) -> str:
    """*value* as JSON that a database can keep."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value)  # half a surrogate pair can be kept as an escape only
    return text


def _forms(text: str) -> set[str]:
    """How *text* may stand inside another one: as it is, on one line, as JSON, and as JSON in JSON."""
    plain = {text, text.strip(), " ".join(text.split())}
    plain = {form for form in plain if len(form.strip()) >= SHORTEST_PASSAGE}
    escaped = {json.dumps(form, ensure_ascii=only)[1:-1] for form in plain for only in (True, False)}
    return plain | escaped | {json.dumps(form, ensure_ascii=False)[1:-1] for form in escaped}


def _places(passage: str, text: str) -> Iterator[Span]:
    """Where *passage* stands in *text*, or its beginning where the rest was cut off."""
    sign = passage[:_CUT_LENGTH]
    start = text.find(sign)
    while start >= 0:
        end = _common_end(passage, text, start)
        is_it = end - start == len(passage) or text[end : end + 1] in _CUT_ENDS
        if is_it and (end - start >= _SHORT_PASSAGE or _is_apart(text, start, end)):
            yield start, end
        start = text.find(sign, start + 1)


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether no word goes on beyond the edges of what stands from *start* to *end*. The letter of an escape such as
    `\\n` is part of no word, and a script without capitals has no edges to be seen."""
    is_escaped = text[max(0, start - 2) : max(0, start - 1)] == "\\"
    before, after = "" if is_escaped else text[max(0, start - 1) : start], text[end : end + 1]
    return not (_is_of_a_word(before, text[start]) or _is_of_a_word(text[end - 1], after))


def _is_of_a_word(*chars: str) -> bool:
    return all(char.isdigit() or char.lower() != char.upper() for char in chars)


def _common_end(passage: str, text: str, start: int) -> int:
    if text.startswith(passage, start):
        return start + len(passage)
    length = min(_CUT_LENGTH, len(passage))
    while length < len(passage) and text[start + length : start + length + 1] == passage[length]:
        length += 1
    return start + length


def _joined(spans: Iterable[Span]) -> list[Span]:
    """The *spans* in order, those that touch as one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _without_twins(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The *pairs* as an object; keys that have become the same are numbered."""
    made: dict[str, Any] = {}
    for key, value in pairs:
        name, number = key, 1
        while name in made:
            number += 1
            name = f"{key} {number}"
        made[name] = value
    return made


def _is_time(key: str, value: object) -> bool:
    try:
        return key == "last_updated" and isinstance(value, str) and bool(datetime.fromisoformat(value))
    except ValueError:
        return False
