"""Guards: key points that are shown before tool calls that match a pattern, as hooks in the project's local settings.

Only a person creates one. That file isn't shared, and nothing else keeps guards. The client starts a guard only for
calls that its pattern fits. Raises InstallError and SettingError.
"""

import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from playbook_db import projects, settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import guard, remind
from playbook_db.claude_code.setup import install
from playbook_db.errors import Remedy, SettingError
from playbook_db.services.project import Project, Store, find_membership, list_projects, read_playbook

MOST = 10  # in a project: for a shell command that the client can't parse, it runs all guards of Bash
_TIMEOUT_S = 5
_PATTERN = re.compile(r"([A-Z][A-Za-z]+)\(([^()\x00-\x1f]{1,200})\)")
_EVENTS = {"deny": (remind.FILE,), "ask": (remind.FILE, "PostToolUse", remind.FAILURE)}  # the later ones: it was called


@dataclass(frozen=True, slots=True)
class PointGuard:
    """The point `name`, shown before calls of `pattern`; `mode` is `ask` or `deny`."""

    name: str
    pattern: str
    mode: str


@dataclass(frozen=True, slots=True)
class Uses:
    """How often a guard has asked or refused, and how often the user went on after it had asked."""

    fired: int
    went_on: int


def read(folder: str) -> list[PointGuard]:
    """The guards of the project in *folder*."""
    return list(dict.fromkeys(map(_of_command, _commands(folder))))


def add(folder: str, guard: PointGuard) -> str:
    """Create *guard*, which replaces other guards of its point. Returns the path of the settings file."""
    require_person()
    parts = _PATTERN.fullmatch(guard.pattern)
    if parts is None or not parts[2].strip("*: "):
        raise SettingError(
            f"A guard's pattern names a tool and some of its calls, such as 'Bash(git push *)' or 'Edit(*.sql)', not "
            f"{guard.pattern!r}. Nothing was changed."
        )
    others = [each for each in read(folder) if each.name != guard.name]
    if len(others) >= MOST:
        remedy = Remedy("To remove one: {}", ("unguard", others[0].name))
        raise SettingError(f"This project has {MOST} guards, the most it can have. Nothing was changed.", remedy)
    return _write(folder, [*others, guard])


def remove(folder: str, names: Collection[str]) -> list[PointGuard]:
    """Remove the guards of the points *names*. Returns those that were there."""
    removed = [each for each in read(folder) if each.name in names]
    if removed:
        _write(folder, [each for each in read(folder) if each not in removed])
    return removed


def remove_retired(store: Store) -> None:
    """Remove the guards of points that aren't live any more. A team's points are known elsewhere; their guards are
    silent without them."""
    for listed in list_projects(store):
        folder = projects.as_path(listed.key)
        if (existing := read(folder)) and find_membership(Project.in_folder(store, folder)) is None:
            live = [read_playbook(each) for each in (Project.in_folder(store, folder), Project.of_user(store))]
            remove(folder, [each.name for each in existing if not any(each.name in book.by_name for book in live)])


def dead(folder: str) -> str | None:
    """The command of a guard in *folder* whose programs are gone; None if there is none."""
    return next((command for command in _commands(folder) if not registration.is_live(command)), None)


def renew(folder: str) -> None:
    """Rewrite the guards' commands in *folder* for the present programs."""
    if guards := read(folder):
        _write(folder, guards)


def uses(folder: str) -> dict[str, Uses]:
    """How often each point's guard was used in *folder*, as far as the log goes back."""
    log, counts = guard.log_path(), Counter[str]()
    for path in (f"{log}.1", log):
        if os.path.exists(path):
            lines = projects.read_plain(path, settings.MAX_FILE_BYTES).decode("utf-8", "replace").splitlines()
            counts.update(line.partition(" ")[2] for line in lines)

    def count(name: str, *states: str) -> int:
        return sum(counts[guard.log_line(name, state, key)] for state in states)

    key = projects.project_key(folder)
    return {each.name: Uses(count(each.name, "asked", "refused"), count(each.name, "went on")) for each in read(folder)}


def require_person() -> None:
    """Raise SettingError within a session of Claude Code: a page must not have it create or remove a guard."""
    if settings.session():
        raise SettingError(
            "Only a person can create or remove guards, so this doesn't work inside a session. Nothing was changed.",
            Remedy("Run it in your own terminal: {}", ("guard",)),
        )


def _commands(folder: str) -> list[str]:
    document = registration.read_settings(registration.settings_file("local", folder), registration.GUARD_MARKER)
    hooks = [hook for _, group in registration.groups_of_hooks(document) for hook in group["hooks"]]
    return [hook["command"] for hook in hooks if registration.is_guard(hook)]


def _of_command(command: str) -> PointGuard:
    try:
        mode, name, pattern = shlex.split(command, comments=True)[-3].rstrip(";").split(" ", 2)
    except (ValueError, IndexError):
        return PointGuard("", command, "")
    return PointGuard(name, pattern, mode)


def _write(folder: str, guards: Sequence[PointGuard]) -> str:
    programs = install.programs(folder)
    groups: dict[str, list[dict[str, object]]] = {}
    for each in guards:
        command = registration.guard_command(
            f"{each.mode} {each.name} {each.pattern}", python=programs.python, hooks_folder=programs.hooks_folder
        )
        hook = {"type": "command", "command": command, "if": each.pattern, "timeout": _TIMEOUT_S}
        for event in _EVENTS.get(each.mode, ()):
            groups.setdefault(event, []).append({"matcher": each.pattern.partition("(")[0], "hooks": [hook]})
    return install.set_guards(folder, groups)
