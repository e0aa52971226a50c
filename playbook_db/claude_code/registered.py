"""Where our hooks are registered with Claude Code, as its settings files say: for people, not for the hooks."""

import json
import os
import shlex
from dataclasses import dataclass
from typing import Any

from playbook_db.claude_code import registration


@dataclass(frozen=True, slots=True)
class Place:
    """A settings file that registers our hooks: events that it lacks, and a file that it names and that isn't there."""

    scope: str
    path: str
    commands: tuple[str, ...]
    missing: tuple[str, ...]
    dead: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """All places, the plugin's name where one of ours is enabled, files that turn hooks off, and files that can't be
    read, in words."""

    places: tuple[Place, ...]
    plugin: str | None
    off: tuple[str, ...]
    unreadable: tuple[str, ...]


def find(folder: str) -> Found:
    """Where our hooks are registered for the project in *folder*."""
    places, off, unreadable = [], [], []
    root = os.environ.get("PLAYBOOK_PLUGIN_ROOT")  # set where the plugin itself runs the command
    plugin = f"playbook in {root}" if root else None
    seen: set[str] = set()
    for scope in registration.SCOPES:
        path = registration.settings_file(scope, folder)
        if path in seen or not os.path.exists(path):
            continue
        seen.add(path)
        try:
            with open(path, encoding="utf-8-sig") as file:
                document = json.load(file)
        except (OSError, ValueError, RecursionError) as error:
            unreadable.append(f"{path} can't be read ({error}); Claude Code passes over it")
            continue
        if not isinstance(document, dict):
            unreadable.append(f"{path} holds no object; Claude Code passes over it")
            continue
        if document.get("disableAllHooks") is True:
            off.append(path)
        plugin = _enabled_plugin(document) or plugin
        place = _place(scope, path, document)
        if place is not None:
            places.append(place)
    return Found(tuple(places), plugin, tuple(off), tuple(unreadable))


def hook_python(folder: str) -> str | None:
    """The interpreter that the hooks which answer are registered with, None where no settings file registers them."""
    return _word(folder, 2)


def worker_python(folder: str) -> str | None:
    """The interpreter that those hooks start the worker with."""
    return _word(folder, -3)


def _word(folder: str, index: int) -> str | None:
    for place in find(folder).places:
        for command in place.commands:
            if registration.is_live(command):
                return shlex.split(command, comments=True)[index].rstrip(";")
    return None


def _place(scope: str, path: str, document: dict[str, Any]) -> Place | None:
    told = {event: registration.our_commands(document, event) for event in registration.EVENTS}
    commands = [command for found in told.values() for command in found]
    if not commands:
        return None
    dead = [command for command in commands if not registration.is_live(command)]
    named = _named_and_gone(dead[0]) if dead else None
    missing = tuple(event for event, found in told.items() if not found)
    return Place(scope, path, tuple(commands), missing, named)


def _named_and_gone(command: str) -> str:
    """What a command of ours names and isn't there; the command where that can't be told."""
    words = shlex.split(command, comments=True)
    named = [words[index] for index in (2, 7) if index < len(words)]
    return next((path for path in named if not os.path.exists(path)), command)


def _enabled_plugin(document: dict[str, Any]) -> str | None:
    enabled = document.get("enabledPlugins")
    if not isinstance(enabled, dict):
        return None
    return next((name for name, on in enabled.items() if on and name.split("@")[0] == "playbook"), None)
