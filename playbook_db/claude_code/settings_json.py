"""Our hooks in the text of a settings file: put in, brought up to date, taken out; every other character stays.

Pure; for `install`. A text is edited where it stands, one element at a time. What is added takes the file's own
indentation, line breaks and separators, and adding an element at the end and removing it again are exact inverses. An
edit is given back only where both texts say the same but for our hooks, and the hooks are those that were asked for.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playbook_db.claude_code import registration

Entry = Mapping[str, Any]  # a hook as a settings file has it: type, command, timeout
IsMeant = Callable[[object], bool]  # of such a hook

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
    for event, entry in entries.items():  # each by itself at first: the place of an error is then one in *text*
        _with_hook(text, event, entry)
    new = text
    for event, entry in entries.items():
        new = _with_hook(new, event, entry)
    new = _without_surplus(new, entries)
    _prove(text, new, entries)
    return new


def without_hooks(text: str, origin: str | None = None) -> str:
    """*text* without our hooks, and without the list of an event and the `hooks` that held nothing else.

    What *origin*, the text before we came, had empty stays; where nothing else has changed since, *origin* itself comes
    back. Raises JsonTextError where the text isn't JSON or one of ours stands under a key that is there twice.
    """
    parse(text)
    ways = _find_ours(text)
    if not ways:
        return text
    # Python refuses to read a number of thousands of digits.
    entries = {
        way[1].key or "": json.loads(text[way[-1].value : way[-1].end], parse_int=lambda digits: int(digits[:9]))
        for way in ways
    }
    if origin is not None and with_hooks(origin, entries) == text:
        return origin
    new = _without_surplus(text, (), parse(origin).get("hooks") if origin is not None else None)
    _prove(text, new, {})
    return new


def without_commands(text: str, commands: Collection[str]) -> str:
    """*text* without the hooks, whosever they are, that run one of *commands*, and without what held nothing else.

    Raises JsonTextError as `without_hooks` does.
    """

    def is_meant(hook: object) -> bool:
        return isinstance(hook, dict) and hook.get("command") in commands

    parse(text)
    new = _without_surplus(text, (), is_meant=is_meant)
    if _find_ours(new, is_meant) or _without_ours(parse(new), is_meant) != _without_ours(parse(text), is_meant):
        raise JsonTextError(0, "the edit would have changed more than these hooks. This is a bug in playbook-db.")
    return new


def with_value(text: str, way: Sequence[str], value: object) -> str:
    """*text* with *value* under the keys *way*, which lead down from the top; with None, without what stands there.

    Raises JsonTextError where the text isn't JSON, or *way* leads through what is no object.
    """
    before, stood = _take(parse(text), way)
    where, new, wanted = _container(text, _skip_space(text, 0), "{", "the settings"), text, value
    for depth, key in enumerate(way):
        member, further = where.only(key), way[depth + 1 :]
        if member is not None and further:
            where = _container(text, member.value, "{", f'"{key}"')
            continue
        if member is not None:
            kept = json.dumps(value, ensure_ascii=False)
            new = remove(text, member) if value is None else text[: member.value] + kept + text[member.end :]
        elif value is not None:
            for inner in reversed(further):
                wanted = {inner: wanted}
            new = append(text, where, wanted, key=key)
        break
    if _take(parse(new), way) != (before, None if value is None else _exact(value)):
        raise JsonTextError(0, "the edit would have changed more than this setting. This is a bug in playbook-db.")
    return text if stood is not None and stood == _exact(value) else new


def _take(content: Any, way: Sequence[str]) -> tuple[Any, Any]:
    """*content* without what stands under *way*, and without what holds nothing then; and what stood there."""
    if not isinstance(content, dict) or way[0] not in content:
        return content, None
    rest = {key: value for key, value in content.items() if key != way[0]}
    if len(way) == 1:
        return rest, content[way[0]]
    inner, value = _take(content[way[0]], way[1:])
    return ({**rest, way[0]: inner} if inner != {} else rest), value


def parse(text: str) -> Any:
    """The content of *text*, exact: numbers stay as they are written, and a key that stands twice isn't lost.

    Raises JsonTextError.
    """
    try:
        content = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        hint = "JSON has no comments and no comma before a closing bracket."
        problem = f"this is no JSON ({error.msg}). {hint}" if text.strip() else "the file is empty."
        raise JsonTextError(error.pos, problem) from None
    except RecursionError:
        raise JsonTextError(0, "this is nested too deeply to be read.") from None
    for match in _CONSTANT.finditer(text):
        if constant := match.group(1):  # Python takes it for JSON
            raise JsonTextError(match.start(), f"this is no JSON ({constant} is no number there).")
    return content


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Where *position* is for a person: both count from 1, columns in characters."""
    lines = _LINE_BREAK.split(text[:position])
    return len(lines), len(lines[-1]) + 1


# Where our hooks stand.


@dataclass(eq=False)
class _Container:
    """An object or a list, from its opening bracket to behind the closing one."""

    start: int
    end: int = 0
    elements: "list[_Element]" = field(default_factory=list)

    def only(self, key: str) -> "_Element | None":
        """The member of that name, if there is one. Raises JsonTextError where there are several."""
        members = [element for element in self.elements if element.key == key]
        if len(members) > 1:
            problem = f'the key "{key}" stands here for the second time; keep one of them.'
            raise JsonTextError(members[1].start, problem)
        return members[0] if members else None


@dataclass(frozen=True, eq=False)
class _Element:
    """A member of an object, or an item of a list (`key` is None): where it, its value and its end stand."""

    where: _Container
    key: str | None
    start: int
    value: int
    end: int


_TO_A_COMMAND = (("{", "hooks"), ("{", None), ("[", None), ("{", "hooks"), ("[", None), ("{", "command"))
_Way = tuple[_Element, ...]  # down to a hook: `hooks`, an event, a group, its `hooks`, one of them


def _find_ours(text: str, is_meant: IsMeant = registration.is_ours) -> list[_Way]:
    """The way to every hook of ours, or other that *is_meant*, of any event; others, of any shape, are passed over.

    Raises JsonTextError for one of ours under a key that stands twice: readers take one or the other.
    """
    ways: list[_Way] = [()]
    for bracket, key in _TO_A_COMMAND:  # None: any element
        ways = [
            (*way, element)
            for way in ways
            for element in _container(text, way[-1].value if way else _skip_space(text, 0), bracket).elements
            if key in (None, element.key)
        ]
    ways = [way for way in ways if is_meant({"command": _value(text, way[-1])})]
    for way in ways:
        for element in (*way, *way[-1].where.elements):
            if element.key is not None:
                element.where.only(element.key)
    return [way[:-1] for way in ways]


def _container(text: str, start: int, bracket: str, name: str = "") -> _Container:
    """What stands at *start* of a text that is JSON. Where that doesn't begin with *bracket*, it has no elements, or,
    with a *name*, JsonTextError is raised."""
    if name and text[start] != bracket:
        raise JsonTextError(start, f"{name} must be {_KINDS[bracket]}.")
    where = _Container(start)
    at = _skip_space(text, start + 1)
    while text[start] == bracket and text[at] not in "}]":
        if where.elements:
            at = _skip_space(text, at + 1)  # past the comma
        key, begin = None, at
        if bracket == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)  # past the colon
        end = _DECODER.raw_decode(text, at)[1]
        where.elements.append(_Element(where, key, begin, at, end))
        at = _skip_space(text, end)
    where.end = at + 1
    return where


def _value(text: str, element: _Element) -> Any:
    return _DECODER.raw_decode(text, element.value)[0]


# What an edit may change.


def _prove(old: str, new: str, entries: Mapping[str, Entry]) -> None:
    """Raise JsonTextError unless *old* and *new* differ in our hooks alone; *new* has *entries*, one an event."""
    content = parse(new)
    ours = {event: hooks for event in content.get("hooks", {}) if (hooks := registration.our_hooks(content, event))}
    # What someone added to one of them may stay.
    expected = {event: [{**ours.get(event, [{}])[0], **_exact(entry)}] for event, entry in entries.items()}
    if _without_ours(content) != _without_ours(parse(old)) or ours != expected:
        raise JsonTextError(0, "the edit would have changed more than our hooks. This is a bug in playbook-db.")


def _without_ours(content: dict[str, Any], is_meant: IsMeant = registration.is_ours) -> dict[str, Any]:
    """*content* without our hooks, or those that *is_meant* says, and without events and `hooks` left empty."""
    hooks = content.get("hooks", {})
    others = {
        event: _others(groups, is_meant) if isinstance(groups, list) else groups for event, groups in hooks.items()
    }
    others = {event: groups for event, groups in others.items() if groups != []}
    rest = {key: value for key, value in content.items() if key != "hooks"}
    return {**rest, "hooks": others} if others else rest


def _others(groups: list[Any], is_meant: IsMeant) -> list[Any]:
    others = []
    for group in groups:
        entries = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(entries, list) or not entries:
            others.append(group)
        elif rest := [entry for entry in entries if not is_meant(entry)]:
            others.append({**group, "hooks": rest})
    return others


# Edits of the text.


def _with_hook(text: str, event: str, entry: Entry) -> str:
    for way in _find_ours(text):
        if way[1].key == event:
            return _bring_up_to_date(text, way[-1], entry)
    value: Any = {"hooks": {event: [{"hooks": [entry]}]}}
    where = _container(text, _skip_space(text, 0), "{", "the settings")
    for key, bracket, name in (("hooks", "{", '"hooks"'), (event, "[", f'the hooks of "{event}"')):
        value = value[key]
        member = where.only(key)
        if member is None:
            return append(text, where, value, key=key)
        where = _container(text, member.value, bracket, name)
    return append(text, where, value[0])


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


def _without_surplus(
    text: str,
    events: Collection[str],
    before: Collection[str] | None = None,
    is_meant: IsMeant = registration.is_ours,
) -> str:
    """*text* without our hooks, or those that *is_meant* says, but the first of each of *events*, and without what held
    nothing else.

    *before* are the events under `hooks` in the text before we came, None where it had no `hooks`: these stay, empty.
    """
    while True:
        ways = _find_ours(text, is_meant)
        first = {way[1].key: way for way in reversed(ways)}
        surplus = [way for way in ways if way[1].key not in events or way is not first[way[1].key]]
        if not surplus:
            return text
        hooks, event, group, _, hook = surplus[0]
        if len(hook.where.elements) > 1:
            text = remove(text, hook)
        elif len(group.where.elements) > 1 or event.key in (before or ()):
            text = remove(text, group)
        else:
            text = remove(text, event if len(event.where.elements) > 1 or before is not None else hooks)


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


def remove(text: str, element: _Element) -> str:
    """*text* without *element*, and the comma that goes with it."""
    where, index = element.where, element.where.elements.index(element)
    if len(where.elements) == 1:
        return text[: where.start + 1] + text[where.end - 1 :]
    if index == 0:
        return text[: element.start] + text[where.elements[1].start :]
    return text[: where.elements[index - 1].end] + text[element.end :]


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
    for element in outermost.elements[:1]:
        between = text[_DECODER.raw_decode(text, element.start)[1] : element.value]
        colon = between if not _is_broken(between) else colon
    for element in reversed(outermost.elements):
        if _is_broken(gap := _gap_before(text, element.start)):
            unit = _last_line(gap).removeprefix(_indent_of_line(text, outermost.start))
    return _Style(
        broken=not outermost.elements or _is_broken(text[outermost.start : outermost.end]),
        newline=newline.group() if newline else "\n",
        unit=unit,
        colon=colon,
        gap=" " if colon[-1].isspace() else "",
    )


def _render(key: str | None, value: object, style: _Style, *, indent: str | None) -> str:
    """An element as text; over several lines where *indent*, that of its own line, is given."""
    gap, unit = (style.gap, None) if indent is None else ("", style.unit)
    text = json.dumps(value, ensure_ascii=False, separators=("," + gap, style.colon), indent=unit)
    text = text.replace("\n", f"{style.newline}{indent}")  # there are none in a single line
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


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[Any, Any]:
    members: dict[Any, Any] = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        members[_TWICE] = [(name, value) for name, value in pairs if names.count(name) > 1]
    return members


def _number(literal: str) -> tuple[str, str]:
    return "number", literal


def _exact(value: object) -> Any:
    """*value* as `parse` would give it."""
    return parse(json.dumps(value))


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_number, parse_float=_number)
