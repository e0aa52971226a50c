"""Adding, updating and removing our hooks in the text of a settings file, without changing the user's own settings.

Pure; for `install`. The text is parsed, changed and written again. The order of keys,
indentation and line breaks stay. The new text is only returned if only our part has changed.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from json import JSONDecodeError
from typing import Any

from playbook_db.claude_code import registration
from playbook_db.domain.json_text import write_json

Entry = Mapping[str, Any]  # a hook as a settings file has it: type, command, timeout
IsMeant = Callable[[object], bool]  # of such a hook

_KINDS: dict[type, str] = {dict: "an object, { ... }", list: "a list, [ ... ]"}
_BUG = "the edit would have changed more than it should. This is a bug in playbook-db."


def with_hooks(text: str, entries: Mapping[str, Entry]) -> str:
    """Return *text* with *entries*, one per event, as our only hooks. If it has them already, return it unchanged.

    Keys that someone added to one of our hooks stay. Raises ValueError.
    """
    content, current_ids = parse(text), set()
    for event, entry in entries.items():
        groups = _container(content, ("hooks", event), list)
        ours = registration.our_hooks(content, event)
        if not ours:
            ours = [{}]
            matcher = registration.MATCHERS.get(event)
            groups.append({"hooks": ours} if matcher is None else {"matcher": matcher, "hooks": ours})
        ours[0].update(entry)
        current_ids.add(id(ours[0]))
    _take_out(content, lambda hook: registration.is_ours(hook) and id(hook) not in current_ids)
    registered = {event: ours for event in content.get("hooks", {}) if (ours := registration.our_hooks(content, event))}
    if registered != {event: [{**registered.get(event, [{}])[0], **entry}] for event, entry in entries.items()}:
        raise ValueError(_BUG)
    return _written(text, content, lambda document: _rest(document, registration.is_ours))


def without_hooks(text: str, is_meant: IsMeant = registration.is_ours) -> str:
    """Return *text* without our hooks, or without the hooks that *is_meant* accepts. Lists and objects that become
    empty are removed, too. Raises ValueError."""
    content = parse(text)
    _take_out(content, is_meant)
    return _written(text, content, lambda document: _rest(document, is_meant))


def with_guards(text: str, guards: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return *text* with *guards*, groups of hooks by event, as our only guards. Raises JSONDecodeError."""
    content = parse(text)
    _take_out(content, registration.is_guard)
    for event, groups in guards.items():
        if groups:
            _container(content, ("hooks", event), list).extend(groups)
    return _written(text, content, lambda document: _rest(document, registration.is_guard))


def with_value(text: str, way: Sequence[str], value: object) -> str:
    """Return *text* with *value* at the keys *way* (outermost first), or without the last key if *value* is None.

    Raises ValueError, also if another value on the way isn't an object.
    """

    def rest(document: Any) -> Any:
        _container(document, way[:-1]).pop(way[-1], None)
        return document

    content = parse(text)
    holder = _container(content, way[:-1])
    if value is not None:
        holder[way[-1]] = value
    elif way[-1] in holder:
        del holder[way[-1]]
    else:
        return text
    return _written(text, content, rest)


def parse(text: str) -> Any:
    """Parse the settings in *text*. Raises RecursionError and ValueError, also for duplicate
    keys."""
    try:
        content = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except JSONDecodeError as error:
        hint = "JSON has no comments and no comma before a closing bracket."
        problem = f"this is not JSON ({error.msg}). {hint}" if text.strip() else "the file is empty."
        raise JSONDecodeError(problem, text, error.pos) from None
    return _container(content, ())


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            raise ValueError(f"the key {json.dumps(key)} is used twice in one object; keep one of them.")
    return dict(pairs)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON.")


def _container(content: Any, way: Sequence[str], kind: type = dict) -> Any:
    """Return the object or list (*kind*) at the keys *way* of *content*. Add it if it is missing. Raises ValueError if
    another value is there."""
    container = _container(content, way[:-1]).setdefault(way[-1], kind()) if way else content
    if not isinstance(container, kind):
        name = json.dumps(".".join(way)) if way else "the content"
        raise ValueError(f"{name} must be {_KINDS[kind]}.")
    return container


def _take_out(content: dict[str, Any], is_meant: IsMeant) -> None:
    """Remove the hooks that *is_meant* accepts from *content*, and the lists and objects that become empty."""
    for event, group in registration.groups_of_hooks(content):
        others = [hook for hook in group["hooks"] if not is_meant(hook)]
        if others != group["hooks"]:
            group["hooks"] = others
            hooks = content["hooks"]
            hooks[event] = [each for each in hooks[event] if each is not group or others]
            if not hooks[event]:
                del hooks[event]
            if not hooks:
                del content["hooks"]


def _rest(content: dict[str, Any], is_meant: IsMeant) -> list[Any]:
    """Return *content* without the hooks that *is_meant* accepts, and without groups that had only such hooks.

    The result is used to check the edits, so this function shares no code with them.
    """
    hooks, rest = content.get("hooks", {}), []
    group: Any
    for event, groups in hooks.items() if isinstance(hooks, dict) else [("", hooks)]:
        for group in groups if isinstance(groups, list) else [[groups]]:
            entries = group.get("hooks") if isinstance(group, dict) else None
            if not isinstance(entries, list) or not entries:
                rest.append([event, group])
            elif others := [entry for entry in entries if not is_meant(entry)]:
                rest.append([event, {**group, "hooks": others}])
    return [{key: value for key, value in content.items() if key != "hooks"}, rest]


def _written(text: str, content: Any, rest: Callable[[Any], Any]) -> str:
    """Write *content* in the style of *text*. Return *text* itself if both have the same content.

    *rest* removes everything that the edit may change. If the two texts differ in anything else, raise ValueError.
    """
    old, target = parse(text), write_json(content)
    if write_json(old) == target:
        return text
    body = text.strip()
    indented = re.search(r"\n([ \t]+)\S", body)
    formatted = write_json(content, None if old and "\n" not in body else indented[1] if indented else "  ")
    if "\r\n" in text:
        formatted = formatted.replace("\n", "\r\n")
    new = text.replace(body, formatted.encode(errors="backslashreplace").decode())  # half surrogates as escapes
    again = parse(new)
    if write_json(again) != target or write_json(rest(again)) != write_json(rest(old)):
        raise ValueError(_BUG)
    return new
