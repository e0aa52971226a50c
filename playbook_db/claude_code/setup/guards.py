"""Adding and removing guards. A guard is a hook that shows a key point before tool calls that match a pattern.

Only a person can create a guard. Guards are only kept in the project's local settings file, which isn't shared. The
client starts a guard only for calls that match its pattern. Functions raise InstallError and SettingError.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256

from filelock import FileLock

from playbook_db import projects, settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import guard, remind
from playbook_db.claude_code.setup import install, settings_json
from playbook_db.errors import Remedy, SettingError

MOST = 10  # in a project: for a shell command that the client can't parse, it runs all guards of Bash
_TIMEOUT_S = 5
_PATTERN = re.compile(r"([A-Z][A-Za-z]+)\(([^()\x00-\x1f\ud800-\udfff]{1,200})\)")
_ARGUMENT = re.compile(r" guard '(.*)'; exit 0 ")  # as `registration.guard_command` writes it
_EVENTS = {  # PostToolUse and the failure: the call was made
    "deny": (remind.FILE, guard.SKILL_LINE),
    "ask": (remind.FILE, guard.SKILL_LINE, "PostToolUse", remind.FAILURE),
}


@dataclass(frozen=True, slots=True)
class PointGuard:
    """The guard that shows the point `name` before calls that match `pattern`; `mode` is `ask` or `deny`. `counted`
    fills in how often it asked or refused (`fired`), and how often the user went on (`went_on`)."""

    name: str
    pattern: str
    mode: str
    fired: int = 0
    went_on: int = 0

    def __str__(self) -> str:
        return f"{self.name} {'asks before' if self.mode == 'ask' else 'refuses'} calls of {self.pattern}"


def read(folder: str) -> list[PointGuard]:
    """Return the guards of the project in *folder*."""
    path = registration.settings_file("local", folder)
    return _in(registration.read_settings(path, registration.GUARD_MARKER))


def add(folder: str, guard: PointGuard) -> str:
    """Create *guard*, replacing other guards of its point. Return the path of the settings file."""
    require_person()
    parts = _PATTERN.fullmatch(guard.pattern)
    if parts is None or not parts[2].strip("*: "):
        raise SettingError(
            f"A guard's pattern names a tool and some of its calls, such as 'Bash(git push *)' or 'Edit(*.sql)', not "
            f"{guard.pattern!r}. Nothing was changed."
        )

    def with_it(existing: list[PointGuard]) -> list[PointGuard]:
        others = [each for each in existing if each.name != guard.name]
        if len(others) >= MOST:
            remedy = Remedy("To remove one: {}", ("unguard", others[0].name))
            raise SettingError(f"This project has {MOST} guards, the most it can have. Nothing was changed.", remedy)
        return [*others, guard]

    return _change(folder, with_it)


def remove(folder: str, names: Collection[str]) -> list[PointGuard]:
    """Remove the guards of the points *names*. Return the removed guards."""
    removed: list[PointGuard] = []

    def without(existing: list[PointGuard]) -> list[PointGuard]:
        removed.extend(each for each in existing if each.name in names)
        return [each for each in existing if each.name not in names]

    _change(folder, without)
    return removed


def remove_retired(note: Callable[[str], object]) -> None:
    """Remove guards without a live point from all projects on this machine. *note* is called with problems."""
    with suppress(OSError):  # mostly there are no guards
        for link in os.scandir(_guarded()):
            try:
                folder = os.readlink(link.path)
                existing = read(folder)
                if retired := [each.name for each in existing if guard.text_of(each.name, folder, closes=True) == ""]:
                    remove(folder, retired)
                elif not existing:
                    os.unlink(link.path)
            except Exception as error:  # whatever it is, the other projects must have their turn
                note(f"the guards of {link.path}: {error}")


def renew(folder: str) -> None:
    """Rewrite the commands of the guards in *folder* with the current programs."""
    if read(folder):
        _change(folder, lambda existing: existing)


def counted(folder: str) -> list[PointGuard]:
    """Return the guards of the project in *folder*, each with its number of uses in the log."""
    log, counts = guard.log_path(), Counter[str]()
    for path in (f"{log}.1", log):
        if os.path.exists(path):
            lines = projects.read_plain(path, settings.MAX_FILE_BYTES).decode("utf-8", "replace").splitlines()
            counts.update(line.partition(" ")[2] for line in lines)

    def count(name: str, *states: str) -> int:
        return sum(counts[guard.log_line(name, state, key)] for state in states)

    key = projects.project_key(projects.project_of(folder))
    return [
        replace(each, fired=count(each.name, "asked", "refused"), went_on=count(each.name, "went on"))
        for each in read(folder)
    ]


def require_person() -> None:
    """Raise SettingError inside a session of Claude Code, so that no web page makes it change guards."""
    if settings.session():
        raise SettingError(
            "Only a person can create or remove guards, so this doesn't work inside a session. Nothing was changed.",
            Remedy("Run it in your own terminal: {}", ("guard",)),
        )


def _guarded() -> str:
    """Return the folder with a link to each project with guards. The worker reads it."""
    return os.path.join(settings.data_dir(), "guarded")


def _commands(document: object) -> list[str]:
    hooks = [hook for _, group in registration.groups_of_hooks(document) for hook in group["hooks"]]
    return [hook["command"] for hook in hooks if registration.is_guard(hook)]


def _in(document: object) -> list[PointGuard]:
    """Return the guards in the content of a settings file."""
    arguments = filter(None, map(_ARGUMENT.search, dict.fromkeys(_commands(document))))
    return [PointGuard(*guard.parts(each[1].replace("'\"'\"'", "'"))) for each in arguments]


def _change(folder: str, choose: Callable[[list[PointGuard]], Sequence[PointGuard]]) -> str:
    """Replace the guards by those that *choose* returns for the existing ones. Return the path of the settings file."""
    programs = install.programs(folder)

    def edited(text: str) -> str:
        groups: dict[str, list[dict[str, object]]] = {}
        for each in choose(_in(settings_json.parse(text))):
            command = registration.guard_command(
                f"{each.mode} {each.pattern} {each.name}", python=programs.python, hooks_folder=programs.hooks_folder
            )
            hook = {"type": "command", "command": command, "if": each.pattern, "timeout": _TIMEOUT_S}
            for event in _EVENTS.get(each.mode, ()):
                if event != guard.SKILL_LINE or each.pattern.startswith("Bash("):
                    groups.setdefault(event, []).append({"matcher": each.pattern.partition("(")[0], "hooks": [hook]})
        return settings_json.with_guards(text, groups)

    os.makedirs(_guarded(), mode=0o700, exist_ok=True)
    with FileLock(f"{_guarded()}.lock", mode=0o600):
        path, _ = install.edit_settings("local", folder, edited)
    with suppress(FileExistsError):
        os.symlink(folder, os.path.join(_guarded(), sha256(os.fsencode(folder)).hexdigest()))
    return path
