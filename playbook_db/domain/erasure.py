"""Erasing forgotten texts, and matches of a pattern, from other texts, from JSON and from files."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from playbook_db.domain.json_text import write_json
from playbook_db.domain.times import read_timestamp
from playbook_db.errors import ArgumentError

MARK = "[forgotten]"
SHORTEST_TEXT = 4  # characters; a shorter text is erased only if it is alone, since others contain it by chance
_SHORT_TEXT = 16  # characters; a shorter text is erased only between words, since words contain it by chance
_STRUCTURE = ("sections", "key_points", "version", "last_updated")  # keys of a header that programs need
_MARK = re.compile(re.escape(MARK))
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_Range = tuple[int, int]  # start and end


@dataclass(frozen=True, slots=True)
class Eraser:
    """Erases *texts* and the matches of *pattern*. A text is also found if it is escaped or on one line."""

    texts: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    _forms: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        forms = {form for text in self.texts for form in _forms(text)}
        object.__setattr__(self, "_forms", tuple(sorted(forms, key=len, reverse=True)))

    def erase(self, text: str) -> str:
        """Return *text* with MARK in place of each erased part. Marks that are already there stay."""
        parts, at = [], 0
        for start, end in self._ranges(text):
            parts += [text[at:start], MARK]
            at = end
        return "".join([*parts, text[at:]])

    def matches(self, text: str) -> Iterator[str]:
        """Yield the parts of *text* that `erase` replaces."""
        yield from (text[start:end] for start, end in self._ranges(text))

    def finds(self, text: str) -> bool:
        """Return whether `erase` replaces a part of *text*."""
        return self.erase(text) != text

    def leaves_nothing(self, text: str) -> bool:
        """Return whether `erase` changes *text* and leaves only marks and punctuation."""
        erased = self.erase(text)
        return erased != text and not re.search(r"\w", erased.replace(MARK, ""))

    def erase_json(self, text: str) -> str:
        """Erase within the strings, keys and numbers of the JSON in *text*. If *text* isn't JSON, call `erase`."""
        return self._erase_decoded(text, self._value)

    def erase_header(self, text: str) -> str:
        """Erase within the JSON of a file's header, but keep the keys that a playbook file needs."""
        return self._erase_decoded(text, self._header)

    def erase_file(self, text: str) -> str:
        """Erase within the content of a file of any kind. JSON strings in it are decoded first."""
        return self.erase(_JSON_STRING.sub(lambda literal: self._literal(literal[0]), text))

    def _ranges(self, text: str) -> list[_Range]:
        """Return the ranges to erase in *text*. A range includes the marks that touch it."""
        if text in self.texts or text.strip() in self.texts:
            return [(0, len(text))]
        ranges = [place for form in self._forms for place in _places(form, text)]
        if self.pattern is not None:
            ranges += [match.span() for match in self.pattern.finditer(text)]
        if not ranges:
            return []
        marks = [mark.span() for mark in _MARK.finditer(text)]
        new = [(a, b) for a, b in ranges if a < b and not any(start <= a and b <= end for start, end in marks)]
        return [each for each in _joined([*new, *marks]) if each not in marks] if new else []

    def _erase_decoded(self, text: str, erase: Callable[[Any], Any]) -> str:
        try:
            value = json.loads(text)
            erased = erase(value)
            if write_json(erased) == write_json(value):
                return text
        except (ValueError, RecursionError):
            return self.erase(text)
        return encoded(erased)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.erase(value)
        if isinstance(value, list):
            return [self._value(inner) for inner in value]
        if isinstance(value, dict):
            return _with_unique_keys((self.erase(key), self._value(inner)) for key, inner in value.items())
        if isinstance(value, int | float) and not isinstance(value, bool) and self.finds(write_json(value)):
            return MARK
        return value

    def _header(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return self._value(value)
        times = {key for key, inner in value.items() if key == "last_updated" and read_timestamp(inner)}
        return _with_unique_keys(
            (key if key in _STRUCTURE else self.erase(key), inner if key in times else self._value(inner))
            for key, inner in value.items()
        )

    def _literal(self, literal: str) -> str:
        try:
            value = json.loads(literal, strict=False)
        except ValueError:
            return literal
        erased = self.erase(value)
        return literal if erased == value else json.dumps(erased, ensure_ascii=literal.isascii())


def read_pattern(text: str) -> re.Pattern[str]:
    """Compile the regular expression *text*. Raises ArgumentError if it is invalid or matches the empty text."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise _unusable(text, f"{where}: {error.msg}") from None
    if pattern.search(""):
        raise _unusable(text, ": it matches an empty text, so it would match everywhere")
    return pattern


def _unusable(pattern: str, problem: str) -> ArgumentError:
    return ArgumentError(
        f"{pattern!r} can't be used as a pattern{problem}. Nothing was changed. "
        "A pattern is a regular expression for Python's `re`: put \\ before special characters."
    )


def encoded(value: object) -> str:
    """Encode *value* as JSON that a database can store."""
    text = write_json(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value)  # half a surrogate pair can be stored only as an escape
    return text


def _forms(text: str) -> set[str]:
    plain = {text, text.strip(), " ".join(text.split())}
    plain = {form for form in plain if len(form.strip()) >= SHORTEST_TEXT}
    escaped = {json.dumps(form, ensure_ascii=only)[1:-1] for form in plain for only in (True, False)}
    return plain | escaped | {json.dumps(form, ensure_ascii=False)[1:-1] for form in escaped}


def _places(form: str, text: str) -> Iterator[_Range]:
    start = text.find(form)
    while start >= 0:
        end = start + len(form)
        if len(form) >= _SHORT_TEXT or _is_apart(text, start, end):
            yield start, end
        start = text.find(form, start + 1)


def _is_apart(text: str, start: int, end: int) -> bool:
    """Return whether the part of *text* from *start* to *end* isn't just a piece of a longer word.

    The letter of an escape such as `\\n` isn't part of a word. Letters of scripts without capitals are all separate.
    """
    is_escaped = text[max(0, start - 2) : max(0, start - 1)] == "\\"
    before, after = "" if is_escaped else text[max(0, start - 1) : start], text[end : end + 1]
    return not (_are_one_word(before, text[start]) or _are_one_word(text[end - 1], after))


def _are_one_word(*chars: str) -> bool:
    return all(char.isdigit() or char.lower() != char.upper() for char in chars)


def _joined(ranges: Iterable[_Range]) -> list[_Range]:
    joined: list[_Range] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _with_unique_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dict of *pairs*, with a number added to each repeated key."""
    unique: dict[str, Any] = {}
    for key, value in pairs:
        names = chain([key], (f"{key} {number}" for number in count(2)))
        unique[next(name for name in names if name not in unique)] = value
    return unique
