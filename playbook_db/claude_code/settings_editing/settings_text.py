"""Our hooks in the text of a settings file: put in, brought up to date, taken out again.

Pure. Ours is a hook whose command `registration` knows; of everything else each character stays. An edit is given back
only when it parses to what `settings_check` says it must come to.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from playbook_db.claude_code.settings_editing import json_text, settings_check
from playbook_db.claude_code.settings_editing.json_text import Container, Element, JsonTextError

Entry = dict[str, str | int]  # a hook as a settings file has it: type, command, timeout


def with_hooks(text: str, wanted: Mapping[str, Entry]) -> str:
    """*text* with exactly the hooks *wanted*, one an event, as ours; equal to *text* where they are there already.

    Raises JsonTextError where the text isn't JSON or its hooks aren't of the shape they should have.
    """
    old = json_text.parsed(text)
    _refuse_odd_shapes(text, wanted)
    new = text
    for event, entry in wanted.items():
        new = _with_hook(new, event, entry)
    while (surplus := _surplus(new, wanted)) is not None:
        new = _cut(new, surplus, keep=())
    return _proved(new, lambda: settings_check.with_ours(old, wanted))


def without_hooks(text: str, origin: str | None = None) -> str:
    """*text* without our hooks, and without the list of an event and the `hooks` that held nothing else.

    What *origin*, the text before we came, had empty stays; where nothing else has changed since, it is what comes
    back. Raises JsonTextError where the text isn't JSON or one of ours stands under a key that is there twice.
    """
    old = json_text.parsed(text)
    entries = our_entries(text)
    if not entries:
        return text
    if origin is not None and with_hooks(origin, entries) == text:
        return origin
    keep = _containers(origin) if origin is not None else ()
    new = text
    while places := _places(new):
        new = _cut(new, places[0], keep=keep)
    return _proved(new, lambda: settings_check.without_ours(old, keep))


def our_entries(text: str) -> dict[str, Entry]:
    """The hooks in *text* that are ours, by their events, in their order; the first, where an event has two."""
    found: dict[str, Entry] = {}
    for place in _places(text):
        value = json_text.parsed_at(text, place.entry.value)
        timeout = value.get("timeout")
        whole = isinstance(timeout, tuple) and timeout[1].isdecimal() and len(timeout[1]) < 10
        entry: Entry = {"type": "command", "command": value["command"], "timeout": int(timeout[1]) if whole else 0}
        found.setdefault(str(place.event.key), entry)
    return found


def hooks_are_off(text: str) -> bool:
    """Whether the settings switch all hooks off."""
    content = json_text.parsed(text)
    return isinstance(content, dict) and content.get("disableAllHooks") is True


def is_empty(text: str) -> bool:
    """Whether the settings say nothing at all."""
    return bool(json_text.parsed(text) == {})


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
    top = json_text.container(text, json_text.root(text)) if text[json_text.root(text)] == "{" else None
    for hooks in top.named("hooks") if top else ():
        if top is None or text[hooks.value] != "{":
            continue
        events = json_text.container(text, hooks.value)
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
    return json_text.container(text, element.value) if text[element.value] == "[" else None


def _lists_named_hooks(text: str, group: Element) -> list[Container]:
    if text[group.value] != "{":
        return []
    members = json_text.container(text, group.value).named("hooks")
    return [found for member in members if (found := _list(text, member)) is not None]


def _is_ours(text: str, entry: Element) -> bool:
    if text[entry.value] != "{":
        return False
    told = json_text.container(text, entry.value).named("command")
    return any(settings_check.is_ours({"command": json_text.parsed_at(text, one.value)}) for one in told)


def _refuse_twice(text: str, place: _Place) -> None:
    """Of a key that stands twice readers take one or the other: which of our hooks is in force, nobody knows."""
    group = json_text.container(text, place.groups.elements[place.group].value)
    entry = json_text.container(text, place.entry.value)
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
    start = json_text.root(text)
    if text[start] != "{":
        raise JsonTextError(start, "the settings must be an object, { ... }.")
    hooks = _only(json_text.container(text, start), "hooks")
    if hooks is None:
        return
    if text[hooks.value] != "{":
        raise JsonTextError(hooks.value, '"hooks" must be an object, { ... }.')
    for name in events:
        event = _only(json_text.container(text, hooks.value), name)
        if event is not None and text[event.value] != "[":
            raise JsonTextError(event.value, f'the hooks of "{name}" must be a list, [ ... ].')


def _with_hook(text: str, event: str, entry: Entry) -> str:
    for place in _places(text):
        if place.event.key == event:
            return _brought_up_to_date(text, place.entry, entry)
    top = json_text.container(text, json_text.root(text))
    hooks = _only(top, "hooks")
    group = {"hooks": [entry]}
    if hooks is None:
        return json_text.appended(text, top, {event: [group]}, key="hooks")
    events = json_text.container(text, hooks.value)
    groups = _only(events, event)
    if groups is None:
        return json_text.appended(text, events, [group], key=event)
    return json_text.appended(text, json_text.container(text, groups.value), group)


def _brought_up_to_date(text: str, place: Element, entry: Entry) -> str:
    """*text* with the values of *entry* in our hook at *place*; keys that someone added there stay."""
    for key, value in entry.items():
        members = json_text.container(text, place.value)
        member = _only(members, key)
        if member is None:
            text = json_text.appended(text, members, value, key=key)
        elif json_text.parsed_at(text, member.value) != json_text.exact(value):
            text = json_text.replaced(text, member, value)
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
        return json_text.removed(text, place.entries, place.index)
    if len(place.groups.elements) > 1 or f"hooks.{place.event.key}" in keep:
        return json_text.removed(text, place.groups, place.group)
    if len(place.events.elements) > 1 or "hooks" in keep:
        return json_text.removed(text, place.events, place.events.elements.index(place.event))
    return json_text.removed(text, place.top, place.top.elements.index(place.hooks))


def _containers(origin: str) -> set[str]:
    """What of `hooks` and its events *origin* has: `hooks`, `hooks.SessionStart`, ..."""
    content = json_text.parsed(origin)
    hooks = content.get("hooks") if isinstance(content, dict) else None
    return {"hooks", *(f"hooks.{event}" for event in hooks)} if isinstance(hooks, dict) else set()


def _proved(text: str, expected: Callable[[], Any]) -> str:
    if json_text.parsed(text) != expected():
        raise JsonTextError(0, "the edit would have changed more than our hooks. This is a bug in playbook-db.")
    return text
