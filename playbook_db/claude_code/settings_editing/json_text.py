"""Editing a JSON text where it stands: what isn't meant to change keeps every character.

Pure. A text is changed one element at a time, from spans found anew each time; what is added takes the file's own
indentation, line breaks and separators. Adding after the last element and removing it again are exact inverses.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

_SPACE = " \t\n\r"
_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(-?\b(?:NaN|Infinity)\b)')  # strings are there to be skipped
_TWICE = object()  # the key under which an object holds all values of those keys that it has twice


class JsonTextError(ValueError):
    """A text isn't JSON, or not of the shape that an edit needs; `position` counts characters."""

    def __init__(self, position: int, problem: str) -> None:
        self.position, self.problem = position, problem
        super().__init__(problem)


@dataclass(frozen=True)
class Element:
    """A member of an object, or an item of a list (`key` is None): where it, its value and its end stand."""

    key: str | None
    start: int
    value: int
    end: int


@dataclass(frozen=True)
class Container:
    """An object or a list, from its opening bracket to behind the closing one."""

    start: int
    end: int
    elements: tuple[Element, ...]

    def named(self, key: str) -> tuple[Element, ...]:
        """The members of that name; JSON allows several."""
        return tuple(element for element in self.elements if element.key == key)


def parsed(text: str) -> Any:
    """The content of *text*, exact: numbers stay as they are written, and a key that stands twice isn't lost.

    Raises JsonTextError.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        hint = "JSON has no comments and no comma before a closing bracket."
        problem = f"this is no JSON ({error.msg}). {hint}" if text.strip() else "the file is empty."
        raise JsonTextError(error.pos, problem) from None
    except _ConstantError as error:
        found = next(match for match in _CONSTANT.finditer(text) if match.group(1))
        raise JsonTextError(found.start(), f"this is no JSON ({error} is no number there).") from None
    except RecursionError:
        raise JsonTextError(0, "this is nested too deeply to be read.") from None


def parsed_at(text: str, position: int) -> Any:
    """The content of the value that begins at *position* of a text that is JSON, as `parsed` gives it."""
    return _DECODER.raw_decode(text, position)[0]


def exact(value: object) -> Any:
    """*value* as `parsed` would give it."""
    return parsed(json.dumps(value))


def root(text: str) -> int:
    """Where the outermost value begins."""
    return _skip_space(text, 0)


def container(text: str, start: int) -> Container:
    """The elements of the object or list that begins at *start* of a text that is JSON."""
    elements: list[Element] = []
    is_object = text[start] == "{"
    at = _skip_space(text, start + 1)
    while text[at] not in "}]":
        if elements:
            at = _skip_space(text, at + 1)  # past the comma
        key, begin = None, at
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)  # past the colon
        end = _DECODER.raw_decode(text, at)[1]
        elements.append(Element(key, begin, at, end))
        at = _skip_space(text, end)
    return Container(start, at + 1, tuple(elements))


def appended(text: str, where: Container, value: object, *, key: str | None = None) -> str:
    """*text* with *value* as the last element of *where*, under *key* in an object."""
    style = _style(text)
    if not where.elements:
        outer = _indent_of_line(text, where.start)
        inner = outer + style.unit
        piece = _element(key, value, style, indent=inner if style.broken else None)
        if style.broken:
            piece = f"{style.newline}{inner}{piece}{style.newline}{outer}"
        return text[: where.start + 1] + piece + text[where.end - 1 :]
    last = where.elements[-1]
    gap = _gap_before(text, last.start)
    indent = _last_line(gap) if _is_broken(gap) else None
    piece = _element(key, value, style, indent=indent)
    if indent is not None:
        gap = style.newline + indent
    elif len(where.elements) == 1:  # what follows a bracket says nothing of what follows a comma
        gap = style.gap
    return f"{text[: last.end]},{gap}{piece}{text[last.end :]}"


def removed(text: str, where: Container, index: int) -> str:
    """*text* without the element of *where* at *index*, and the comma that goes with it."""
    elements = where.elements
    if len(elements) == 1:
        return text[: where.start + 1] + text[where.end - 1 :]
    if index == 0:
        return text[: elements[0].start] + text[elements[1].start :]
    return text[: elements[index - 1].end] + text[elements[index].end :]


def replaced(text: str, element: Element, value: str | int) -> str:
    """*text* with *value* in the place of the element's."""
    return text[: element.value] + json.dumps(value, ensure_ascii=False) + text[element.end :]


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Where *position* is for a person: both count from 1, columns in characters."""
    lines = re.split(r"\r\n|\n|\r", text[:position])
    return len(lines), len(lines[-1]) + 1


@dataclass(frozen=True)
class _Style:
    broken: bool  # over several lines
    newline: str
    unit: str  # of indentation
    colon: str
    gap: str  # after a comma within a line


def _style(text: str) -> _Style:
    outermost = container(text, root(text))
    found = re.search(r"\r\n|\n|\r", text)
    colon, unit = ": ", "  "
    if outermost.elements:
        first = outermost.elements[0]
        between = text[_DECODER.raw_decode(text, first.start)[1] : first.value]
        colon = between if not _is_broken(between) else colon
    for element in outermost.elements:
        gap = _gap_before(text, element.start)
        if _is_broken(gap):
            unit = _last_line(gap).removeprefix(_indent_of_line(text, outermost.start))
            break
    return _Style(
        broken=not outermost.elements or _is_broken(text[outermost.start : outermost.end]),
        newline=found.group() if found else "\n",
        unit=unit,
        colon=colon,
        gap=" " if colon[-1].isspace() else "",
    )


def _element(key: str | None, value: object, style: _Style, *, indent: str | None) -> str:
    """The text of an element; over several lines where *indent*, that of its own line, is given."""
    if indent is None:
        told = json.dumps(value, ensure_ascii=False, separators=("," + style.gap, style.colon))
    else:
        told = json.dumps(value, ensure_ascii=False, separators=(",", style.colon), indent=style.unit)
        told = told.replace("\n", style.newline + indent)
    return told if key is None else json.dumps(key) + style.colon + told


def _skip_space(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _SPACE:
        at += 1
    return at


def _gap_before(text: str, position: int) -> str:
    before = position
    while before and text[before - 1] in _SPACE:
        before -= 1
    return text[before:position]


def _indent_of_line(text: str, position: int) -> str:
    line = _last_line(text[:position])
    return line[: _skip_space(line, 0)]


def _is_broken(text: str) -> bool:
    return "\n" in text or "\r" in text


def _last_line(text: str) -> str:
    return re.split(r"[\r\n]", text)[-1]


class _ConstantError(Exception):
    """NaN or an infinity, which Python takes for JSON."""


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _pairs(pairs: Sequence[tuple[str, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        found[_TWICE] = [(name, value) for name, value in pairs if names.count(name) > 1]
    return found


def _number(literal: str) -> tuple[str, str]:
    return "number", literal


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_number, parse_float=_number, parse_constant=_refuse_constant
)
