"""What an edit of a settings file must come to, worked out on its content instead of its text.

Pure; shares nothing with the editing of the text, which it is there to prove. Contents are as `json_text.parsed` gives
them, and are never changed in place.
"""

from collections.abc import Collection, Mapping
from typing import Any

from playbook_db.claude_code import registration
from playbook_db.claude_code.settings_editing import json_text


def is_ours(entry: object) -> bool:
    """Whether a hook of a settings file is ours."""
    return bool(registration.our_commands({"hooks": {"any": [{"hooks": [entry]}]}}, "any"))


def with_ours(content: dict[str, Any], wanted: Mapping[str, Mapping[str, object]]) -> dict[str, Any]:
    """*content* with our hooks *wanted*, one an event, and no others of ours."""
    hooks = dict(content.get("hooks", {}))
    for event, entry in wanted.items():
        hooks[event] = _with_entry(hooks.get(event, []), json_text.exact(entry))
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
