"""Editing a JSON text where it stands: what isn't meant to change keeps every character.

Pure. A text is changed one element at a time, from spans found anew each time; what is added takes the file's own
indentation, line breaks and separators. Adding after the last element and removing it again are exact inverses.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from playbook_db.claude_code import registration

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


# Our hooks in the text of a settings file: put in, brought up to date, taken out again.
#
# Pure. Ours is a hook whose command `registration` knows; of everything else each character stays. An edit is given
# back
# only when it parses to what `settings_check` says it must come to.


Entry = dict[str, str | int]  # a hook as a settings file has it: type, command, timeout


def with_hooks(text: str, wanted: Mapping[str, Entry]) -> str:
    """*text* with exactly the hooks *wanted*, one an event, as ours; equal to *text* where they are there already.

    Raises JsonTextError where the text isn't JSON or its hooks aren't of the shape they should have.
    """
    old = parsed(text)
    _refuse_odd_shapes(text, wanted)
    new = text
    for event, entry in wanted.items():
        new = _with_hook(new, event, entry)
    while (surplus := _surplus(new, wanted)) is not None:
        new = _cut(new, surplus, keep=())
    return _proved(new, lambda: with_ours(old, wanted))


def without_hooks(text: str, origin: str | None = None) -> str:
    """*text* without our hooks, and without the list of an event and the `hooks` that held nothing else.

    What *origin*, the text before we came, had empty stays; where nothing else has changed since, it is what comes
    back. Raises JsonTextError where the text isn't JSON or one of ours stands under a key that is there twice.
    """
    old = parsed(text)
    entries = our_entries(text)
    if not entries:
        return text
    if origin is not None and with_hooks(origin, entries) == text:
        return origin
    keep = _containers(origin) if origin is not None else ()
    new = text
    while places := _places(new):
        new = _cut(new, places[0], keep=keep)
    return _proved(new, lambda: without_ours(old, keep))


def our_entries(text: str) -> dict[str, Entry]:
    """The hooks in *text* that are ours, by their events, in their order; the first, where an event has two."""
    found: dict[str, Entry] = {}
    for place in _places(text):
        value = parsed_at(text, place.entry.value)
        timeout = value.get("timeout")
        whole = isinstance(timeout, tuple) and timeout[1].isdecimal() and len(timeout[1]) < 10
        entry: Entry = {"type": "command", "command": value["command"], "timeout": int(timeout[1]) if whole else 0}
        found.setdefault(str(place.event.key), entry)
    return found


def hooks_are_off(text: str) -> bool:
    """Whether the settings switch all hooks off."""
    content = parsed(text)
    return isinstance(content, dict) and content.get("disableAllHooks") is True


def is_empty(text: str) -> bool:
    """Whether the settings say nothing at all."""
    return bool(parsed(text) == {})


@dataclass(frozen=True)
class _Place:
    """Where a hook of ours stands: the containers around it, and its index in each."""

    top: Container
    hooks: Element
    events: Container
    event: Element
    groups: Container
    group: int
    entries: Container
    index: int

    @property
    def entry(self) -> Element:
        return self.entries.elements[self.index]


def _places(text: str) -> list[_Place]:
    """Every hook of ours, of any event; others' hooks, of any shape, are passed over."""
    found = []
    top = container(text, root(text)) if text[root(text)] == "{" else None
    for hooks in top.named("hooks") if top else ():
        if top is None or text[hooks.value] != "{":
            continue
        events = container(text, hooks.value)
        for event in events.elements:
            groups = _list(text, event)
            for group, element in enumerate(groups.elements if groups else ()):
                for entries in _lists_named_hooks(text, element):
                    for index, entry in enumerate(entries.elements):
                        if groups and _is_ours(text, entry):
                            found.append(_Place(top, hooks, events, event, groups, group, entries, index))
    for place in found:
        _refuse_twice(text, place)
    return found


def _list(text: str, element: Element) -> Container | None:
    return container(text, element.value) if text[element.value] == "[" else None


def _lists_named_hooks(text: str, group: Element) -> list[Container]:
    if text[group.value] != "{":
        return []
    members = container(text, group.value).named("hooks")
    return [found for member in members if (found := _list(text, member)) is not None]


def _is_ours(text: str, entry: Element) -> bool:
    if text[entry.value] != "{":
        return False
    told = container(text, entry.value).named("command")
    return any(is_ours({"command": parsed_at(text, one.value)}) for one in told)


def _refuse_twice(text: str, place: _Place) -> None:
    """Of a key that stands twice readers take one or the other: which of our hooks is in force, nobody knows."""
    group = container(text, place.groups.elements[place.group].value)
    entry = container(text, place.entry.value)
    checked = [(place.top, "hooks"), (place.events, str(place.event.key)), (group, "hooks")]
    for where, key in checked + [(entry, str(member.key)) for member in entry.elements]:
        _only(where, key)


def _only(where: Container, key: str) -> Element | None:
    """The member of that name, if there is one. Raises JsonTextError where there are several."""
    found = where.named(key)
    if len(found) > 1:
        raise JsonTextError(found[1].start, f'the key "{key}" stands here for the second time; keep one of them.')
    return found[0] if found else None


def _refuse_odd_shapes(text: str, events: Collection[str]) -> None:
    start = root(text)
    if text[start] != "{":
        raise JsonTextError(start, "the settings must be an object, { ... }.")
    hooks = _only(container(text, start), "hooks")
    if hooks is None:
        return
    if text[hooks.value] != "{":
        raise JsonTextError(hooks.value, '"hooks" must be an object, { ... }.')
    for name in events:
        event = _only(container(text, hooks.value), name)
        if event is not None and text[event.value] != "[":
            raise JsonTextError(event.value, f'the hooks of "{name}" must be a list, [ ... ].')


def _with_hook(text: str, event: str, entry: Entry) -> str:
    for place in _places(text):
        if place.event.key == event:
            return _brought_up_to_date(text, place.entry, entry)
    top = container(text, root(text))
    hooks = _only(top, "hooks")
    group = {"hooks": [entry]}
    if hooks is None:
        return appended(text, top, {event: [group]}, key="hooks")
    events = container(text, hooks.value)
    groups = _only(events, event)
    if groups is None:
        return appended(text, events, [group], key=event)
    return appended(text, container(text, groups.value), group)


def _brought_up_to_date(text: str, place: Element, entry: Entry) -> str:
    """*text* with the values of *entry* in our hook at *place*; keys that someone added there stay."""
    for key, value in entry.items():
        members = container(text, place.value)
        member = _only(members, key)
        if member is None:
            text = appended(text, members, value, key=key)
        elif parsed_at(text, member.value) != exact(value):
            text = replaced(text, member, value)
    return text


def _surplus(text: str, wanted: Collection[str]) -> _Place | None:
    """A hook of ours that is the second of its event, or stands at an event where we want none."""
    seen = set()
    for place in _places(text):
        if place.event.key in seen or place.event.key not in wanted:
            return place
        seen.add(place.event.key)
    return None


def _cut(text: str, place: _Place, *, keep: Collection[str]) -> str:
    """*text* without our hook at *place*, and what held nothing but it; containers named in *keep* stay, empty."""
    if len(place.entries.elements) > 1:
        return removed(text, place.entries, place.index)
    if len(place.groups.elements) > 1 or f"hooks.{place.event.key}" in keep:
        return removed(text, place.groups, place.group)
    if len(place.events.elements) > 1 or "hooks" in keep:
        return removed(text, place.events, place.events.elements.index(place.event))
    return removed(text, place.top, place.top.elements.index(place.hooks))


def _containers(origin: str) -> set[str]:
    """What of `hooks` and its events *origin* has: `hooks`, `hooks.SessionStart`, ..."""
    content = parsed(origin)
    hooks = content.get("hooks") if isinstance(content, dict) else None
    return {"hooks", *(f"hooks.{event}" for event in hooks)} if isinstance(hooks, dict) else set()


def _proved(text: str, expected: Callable[[], Any]) -> str:
    if parsed(text) != expected():
        raise JsonTextError(0, "the edit would have changed more than our hooks. This is a bug in playbook-db.")
    return text


# What an edit of a settings file must come to, worked out on its content instead of its text.
#
# Pure; shares nothing with the editing of the text, which it is there to prove. Contents are as `json_text.parsed`
# gives
# them, and are never changed in place.


def is_ours(entry: object) -> bool:
    """Whether a hook of a settings file is ours."""
    return bool(registration.our_commands({"hooks": {"any": [{"hooks": [entry]}]}}, "any"))


def with_ours(content: dict[str, Any], wanted: Mapping[str, Mapping[str, object]]) -> dict[str, Any]:
    """*content* with our hooks *wanted*, one an event, and no others of ours."""
    hooks = dict(content.get("hooks", {}))
    for event, entry in wanted.items():
        hooks[event] = _with_entry(hooks.get(event, []), exact(entry))
    for event in [event for event in hooks if event not in wanted]:
        _strip_event(hooks, event, keep=())
    return {**content, "hooks": hooks}


def without_ours(content: dict[str, Any], keep: Collection[str]) -> dict[str, Any]:
    """*content* without our hooks and what they leave empty, but the containers named in *keep*."""
    hooks = dict(content["hooks"])
    for event in list(hooks):
        _strip_event(hooks, event, keep=keep)
    if hooks or "hooks" in keep:
        return {**content, "hooks": hooks}
    return {key: value for key, value in content.items() if key != "hooks"}


def _strip_event(hooks: dict[str, Any], event: str, *, keep: Collection[str]) -> None:
    groups = hooks[event]
    left = _stripped(groups) if isinstance(groups, list) else groups
    if left == [] != groups and f"hooks.{event}" not in keep:
        del hooks[event]
    else:
        hooks[event] = left


def _with_entry(groups: list[Any], entry: dict[str, Any]) -> list[Any]:
    for number, group in enumerate(groups):
        for index, found in enumerate(_entries(group)):
            if is_ours(found):
                head, tail = group["hooks"][:index], group["hooks"][index + 1 :]
                kept = {**group, "hooks": [*head, {**found, **entry}, *(one for one in tail if not is_ours(one))]}
                return [*groups[:number], kept, *_stripped(groups[number + 1 :])]
    return [*groups, {"hooks": [entry]}]


def _stripped(groups: list[Any]) -> list[Any]:
    left = []
    for group in groups:
        entries = _entries(group)
        others = [entry for entry in entries if not is_ours(entry)]
        if others or not entries:
            left.append({**group, "hooks": others} if len(others) < len(entries) else group)
    return left


def _entries(group: object) -> list[Any]:
    entries = group.get("hooks") if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []
