"""Our hooks in the text of a settings file: put in, brought up to date, taken out; every other character stays.

Pure; for `install`. A text is edited where it stands, one element at a time. What is added takes the file's own
indentation, line breaks and separators, and adding an element at the end and removing it again are exact inverses. An
edit is given back only where both texts say the same but for our hooks, and the hooks are those that were asked for.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from playbook_db.claude_code import registration

Entry = Mapping[str, Any]  # a hook as a settings file has it: type, command, timeout

_SPACE = " \t\n\r"
_KINDS = {"{": "an object, { ... }", "[": "a list, [ ... ]"}
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(-?\b(?:NaN|Infinity)\b)')  # strings are matched to be skipped
_TWICE = object()  # the key under which an object holds all values of those keys that it has twice


class JsonTextError(ValueError):
    """A text isn't JSON, or not of the shape that an edit needs; `position` counts characters."""

    def __init__(self, position: int, problem: str) -> None:
        self.position, self.problem = position, problem
        super().__init__(problem)


def with_hooks(text: str, entries: Mapping[str, Entry]) -> str:
    """*text* with exactly the hooks *entries*, one an event, as ours; equal to *text* where they are there already.

    Raises JsonTextError where the text isn't JSON or its hooks aren't of the shape they should have.
    """
    parse(text)
    _refuse_odd_shapes(text, entries)
    new = text
    for event, entry in entries.items():
        new = _with_hook(new, event, entry)
    while surplus := _surplus(new, entries):
        new = _cut(new, surplus[0])
    _prove(text, new, entries)
    return new


def without_hooks(text: str, origin: str | None = None) -> str:
    """*text* without our hooks, and without the list of an event and the `hooks` that held nothing else.

    What *origin*, the text before we came, had empty stays; where nothing else has changed since, *origin* itself comes
    back. Raises JsonTextError where the text isn't JSON or one of ours stands under a key that is there twice.
    """
    parse(text)
    entries = _our_entries(text)
    if not entries:
        return text
    if origin is not None and with_hooks(origin, entries) == text:
        return origin
    before = parse(origin).get("hooks") if origin is not None else None
    new = text
    while ours := _find_ours(new):
        new = _cut(new, ours[0], before)
    _prove(text, new, {})
    return new


def parse(text: str) -> Any:
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
        constant = next(match for match in _CONSTANT.finditer(text) if match.group(1))
        raise JsonTextError(constant.start(), f"this is no JSON ({error} is no number there).") from None
    except RecursionError:
        raise JsonTextError(0, "this is nested too deeply to be read.") from None


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Where *position* is for a person: both count from 1, columns in characters."""
    lines = _LINE_BREAK.split(text[:position])
    return len(lines), len(lines[-1]) + 1


# Where our hooks stand.


@dataclass(frozen=True)
class _Element:
    """A member of an object, or an item of a list (`key` is None): where it, its value and its end stand."""

    key: str | None
    start: int
    value: int
    end: int


@dataclass(frozen=True)
class _Container:
    """An object or a list, from its opening bracket to behind the closing one."""

    start: int
    end: int
    elements: tuple[_Element, ...]

    def only(self, key: str) -> _Element | None:
        """The member of that name, if there is one. Raises JsonTextError where there are several."""
        members = [element for element in self.elements if element.key == key]
        if len(members) > 1:
            problem = f'the key "{key}" stands here for the second time; keep one of them.'
            raise JsonTextError(members[1].start, problem)
        return members[0] if members else None


@dataclass(frozen=True)
class _Step:
    """One step down into a text: a container, and the index of an element in it."""

    where: _Container
    index: int

    @property
    def element(self) -> _Element:
        return self.where.elements[self.index]


_TO_A_COMMAND = (("{", "hooks"), ("{", None), ("[", None), ("{", "hooks"), ("[", None), ("{", "command"))
_Way = tuple[_Step, ...]  # to a hook's command: settings, `hooks`, an event, a group, its hooks, one of them


def _find_ours(text: str) -> list[_Way]:
    """The way to every hook of ours, of any event; others' hooks, of any shape, are passed over.

    Raises JsonTextError for one of ours under a key that stands twice: readers take one or the other.
    """
    ways: list[_Way] = [()]
    for bracket, key in _TO_A_COMMAND:  # None: any element
        ways = [
            (*way, _Step(where, index))
            for way in ways
            for where in [_container(text, way[-1].element.value if way else _skip_space(text, 0), bracket)]
            for index, element in enumerate(where.elements)
            if key in (None, element.key)
        ]
    ours = [way for way in ways if registration.is_ours({"command": _value(text, way[-1].element)})]
    for way in ours:
        keyed = [(step.where, step.element) for step in way if step.element.key is not None]
        for where, element in keyed + [(way[-1].where, member) for member in way[-1].where.elements]:
            where.only(str(element.key))
    return ours


def _container(text: str, start: int, bracket: str, name: str = "") -> _Container:
    """What stands at *start* of a text that is JSON. Where that doesn't begin with *bracket*, it has no elements, or,
    with a *name*, JsonTextError is raised."""
    if name and text[start] != bracket:
        raise JsonTextError(start, f"{name} must be {_KINDS[bracket]}.")
    elements: list[_Element] = []
    at = _skip_space(text, start + 1)
    while text[start] == bracket and text[at] not in "}]":
        if elements:
            at = _skip_space(text, at + 1)  # past the comma
        key, begin = None, at
        if bracket == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)  # past the colon
        end = _DECODER.raw_decode(text, at)[1]
        elements.append(_Element(key, begin, at, end))
        at = _skip_space(text, end)
    return _Container(start, at + 1, tuple(elements))


def _value(text: str, element: _Element) -> Any:
    return _DECODER.raw_decode(text, element.value)[0]


def _event(way: _Way) -> str:
    return str(way[1].element.key)


def _entry(way: _Way) -> _Element:
    return way[4].element


def _our_entries(text: str) -> dict[str, Entry]:
    """Our hooks in *text* by their events, in their order; the last, where an event has two."""
    entries = [(_event(way), _entry(way)) for way in _find_ours(text)]
    return {event: json.loads(text[entry.value : entry.end], parse_int=_small) for event, entry in entries}


def _refuse_odd_shapes(text: str, events: Collection[str]) -> None:
    hooks = _container(text, _skip_space(text, 0), "{", "the settings").only("hooks")
    if hooks is not None:
        where = _container(text, hooks.value, "{", '"hooks"')
        for event in filter(None, map(where.only, events)):
            _container(text, event.value, "[", f'the hooks of "{event.key}"')


# What an edit may change.


def _prove(old: str, new: str, entries: Mapping[str, Entry]) -> None:
    """Raise JsonTextError unless *old* and *new* differ in our hooks alone, and those of *new* are *entries*."""
    content = parse(new)
    if _without_ours(content) != _without_ours(parse(old)) or not _has_exactly(content, entries):
        raise JsonTextError(0, "the edit would have changed more than our hooks. This is a bug in playbook-db.")


def _has_exactly(content: dict[str, Any], entries: Mapping[str, Entry]) -> bool:
    """Whether our hooks in *content* are *entries*, one an event; what someone added to one of them may stay."""
    ours = {event: hooks for event in content.get("hooks", {}) if (hooks := registration.our_hooks(content, event))}
    return ours.keys() == entries.keys() and all(
        ours[event] == [{**ours[event][0], **_exact(entry)}] for event, entry in entries.items()
    )


def _without_ours(content: dict[str, Any]) -> dict[str, Any]:
    """*content* without our hooks, and without events and `hooks` that are empty then."""
    hooks = content.get("hooks", {})
    others = {event: _others(groups) if isinstance(groups, list) else groups for event, groups in hooks.items()}
    others = {event: groups for event, groups in others.items() if groups != []}
    rest = {key: value for key, value in content.items() if key != "hooks"}
    return {**rest, "hooks": others} if others else rest


def _others(groups: list[Any]) -> list[Any]:
    others = []
    for group in groups:
        entries = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(entries, list) or not entries:
            others.append(group)
        elif rest := [entry for entry in entries if not registration.is_ours(entry)]:
            others.append({**group, "hooks": rest})
    return others


# Edits of the text.


def _with_hook(text: str, event: str, entry: Entry) -> str:
    for way in _find_ours(text):
        if _event(way) == event:
            return _bring_up_to_date(text, _entry(way), entry)
    top = _container(text, _skip_space(text, 0), "{")
    hooks = top.only("hooks")
    group = {"hooks": [entry]}
    if hooks is None:
        return append(text, top, {event: [group]}, key="hooks")
    events = _container(text, hooks.value, "{")
    groups = events.only(event)
    if groups is None:
        return append(text, events, [group], key=event)
    return append(text, _container(text, groups.value, "["), group)


def _bring_up_to_date(text: str, element: _Element, entry: Entry) -> str:
    """*text* with the values of *entry* in our hook at *element*; keys that someone added there stay."""
    for key, value in entry.items():
        members = _container(text, element.value, "{")
        member = members.only(key)
        if member is None:
            text = append(text, members, value, key=key)
        elif _value(text, member) != _exact(value):
            text = text[: member.value] + json.dumps(value, ensure_ascii=False) + text[member.end :]
    return text


def _surplus(text: str, events: Collection[str]) -> list[_Way]:
    """Our hooks that are not the first of their event, or stand at an event where we want none."""
    first: dict[str, _Way] = {}
    ways = _find_ours(text)
    return [way for way in ways if first.setdefault(_event(way), way) is not way or _event(way) not in events]


def _cut(text: str, way: _Way, before: Collection[str] | None = None) -> str:
    """*text* without our hook, and without what held nothing else.

    *before* are the events under `hooks` in the text before we came, None where it had no `hooks`: these stay, empty.
    """
    settings, hooks, event, _, group, _ = way
    if len(group.where.elements) > 1:
        return remove(text, group)
    if len(event.where.elements) > 1 or _event(way) in (before or ()):
        return remove(text, event)
    if len(hooks.where.elements) > 1 or before is not None:
        return remove(text, hooks)
    return remove(text, settings)


def append(text: str, where: _Container, value: object, *, key: str | None = None) -> str:
    """*text* with *value* as the last element of *where*, under *key* in an object."""
    style = _style(text)
    if not where.elements:
        outer = _indent_of_line(text, where.start)
        inner = outer + style.unit
        piece = _render(key, value, style, indent=inner if style.broken else None)
        if style.broken:
            piece = f"{style.newline}{inner}{piece}{style.newline}{outer}"
        return text[: where.start + 1] + piece + text[where.end - 1 :]
    last = where.elements[-1]
    gap = _gap_before(text, last.start)
    indent = _last_line(gap) if _is_broken(gap) else None
    piece = _render(key, value, style, indent=indent)
    if indent is not None:
        gap = style.newline + indent
    elif len(where.elements) == 1:  # what follows a bracket says nothing of what follows a comma
        gap = style.gap
    return f"{text[: last.end]},{gap}{piece}{text[last.end :]}"


def remove(text: str, step: _Step) -> str:
    """*text* without the element at the end of *step*, and the comma that goes with it."""
    elements, index = step.where.elements, step.index
    if len(elements) == 1:
        return text[: step.where.start + 1] + text[step.where.end - 1 :]
    if index == 0:
        return text[: elements[0].start] + text[elements[1].start :]
    return text[: elements[index - 1].end] + text[elements[index].end :]


@dataclass(frozen=True)
class _Style:
    broken: bool  # over several lines
    newline: str
    unit: str  # of indentation
    colon: str
    gap: str  # after a comma within a line


def _style(text: str) -> _Style:
    outermost = _container(text, _skip_space(text, 0), "{")
    newline = _LINE_BREAK.search(text)
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
        newline=newline.group() if newline else "\n",
        unit=unit,
        colon=colon,
        gap=" " if colon[-1].isspace() else "",
    )


def _render(key: str | None, value: object, style: _Style, *, indent: str | None) -> str:
    """An element as text; over several lines where *indent*, that of its own line, is given."""
    if indent is None:
        text = json.dumps(value, ensure_ascii=False, separators=("," + style.gap, style.colon))
    else:
        text = json.dumps(value, ensure_ascii=False, separators=(",", style.colon), indent=style.unit)
        text = text.replace("\n", style.newline + indent)
    return text if key is None else json.dumps(key) + style.colon + text


def _skip_space(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _SPACE:
        at += 1
    return at


def _gap_before(text: str, position: int) -> str:
    return text[len(text[:position].rstrip(_SPACE)) : position]


def _indent_of_line(text: str, position: int) -> str:
    line = _last_line(text[:position])
    return line[: _skip_space(line, 0)]


def _is_broken(text: str) -> bool:
    return _LINE_BREAK.search(text) is not None


def _last_line(text: str) -> str:
    return _LINE_BREAK.split(text)[-1]


class _ConstantError(Exception):
    """NaN or an infinity, which Python takes for JSON."""


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[Any, Any]:
    members: dict[Any, Any] = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        members[_TWICE] = [(name, value) for name, value in pairs if names.count(name) > 1]
    return members


def _small(literal: str) -> int:
    return int(literal[:9])  # Python refuses to read a number of thousands of digits


def _number(literal: str) -> tuple[str, str]:
    return "number", literal


def _exact(value: object) -> Any:
    """*value* as `parse` would give it."""
    return parse(json.dumps(value))


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_number, parse_float=_number, parse_constant=_refuse_constant
)
