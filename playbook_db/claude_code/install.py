"""Registering our hooks in Claude Code's settings, and taking them out again.

What the hooks run with is fixed here, at the time of the install: Claude Code starts them from any folder, with any
PATH, where an environment of pyenv, uv or conda may not be active.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from playbook_db.claude_code import registration
from playbook_db.claude_code.settings_editing import json_text, settings_file, settings_text
from playbook_db.claude_code.settings_editing.settings_file import ChangedMeanwhileError
from playbook_db.errors import InstallError

_ATTEMPTS = 3  # to replace a file that other programs are writing
_BOM = "\ufeff"
T = TypeVar("T")


@dataclass(frozen=True)
class Installed:
    """What an install did to the settings file at `path`.

    `changed` is false where our hooks stood there as they should; `backup` is where the file as it was is kept.
    """

    path: str
    changed: bool
    backup: str | None
    python: str
    worker_python: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Uninstalled:
    """What an uninstall did to the settings file at `path`; `removed` is true where nothing was left in it.

    `kept` are backups that hold what the file doesn't.
    """

    path: str
    removed: bool
    kept: tuple[str, ...]


def install(scope: str, folder: str, *, now: datetime) -> Installed:
    """Register our hooks in the settings file of *scope* for the project in *folder*. Raises InstallError."""
    path = _settings_file(scope, folder)
    python, worker_python = interpreter(), os.path.abspath(sys.executable)
    wanted = _entries(scope, python, worker_python)

    def attempt() -> Installed:
        data = settings_file.read(path)
        with _explained(path, data):
            new = _edited(b"{}\n" if data is None else data, lambda text: settings_text.with_hooks(text, wanted))
            off = settings_text.hooks_are_off(_text(new))
        notes = (*_notes_when_off(path, off=off), *_notes_on_others(scope, folder))
        backup = None
        if new != data:
            backup = _replace(path, data, new, private=scope == "user", now=now)
        return Installed(path, new != data, backup, python, worker_python, notes)

    return _retried(path, attempt)


def uninstall(scope: str, folder: str) -> Uninstalled | None:
    """Take our hooks out of the settings file of *scope*, and remove the backups that hold nothing else.

    None where there are none of ours. Raises InstallError.
    """
    path = _settings_file(scope, folder)

    def attempt() -> Uninstalled | None:
        data = settings_file.read(path)
        if data is None or registration.MARKER.encode() not in data:  # where nothing is ours, nothing need be JSON
            return None
        copies = {copy: settings_file.read(copy) or b"" for copy in settings_file.copies(path)}
        origin = _origin(list(copies.values()))
        with _explained(path, data):
            new = _without_ours(data, origin)
            if new == data:
                return None
            removed = origin is None and settings_text.is_empty(_text(new))
        if removed:
            settings_file.remove(path, expected=data)
        else:
            settings_file.replace(path, new, expected=data, private=scope == "user")
        kept = [copy for copy, held in copies.items() if not _is_spent(held, new, origin)]
        for copy in copies.keys() - kept:
            settings_file.discard(copy)
        return Uninstalled(path, removed, tuple(kept))

    return _retried(path, attempt)


def interpreter() -> str:
    """The Python that runs the hooks: the real file, which neither PATH nor an environment's removal changes.

    An environment's `python` leads to the one that it was made from. Scripts, as the shims of pyenv are, don't count.
    """
    for candidate in (getattr(sys, "_base_executable", None), sys.executable):
        real = os.path.realpath(candidate) if candidate else ""
        if real and _is_program(real):
            return real
    raise InstallError(
        f"There is no Python interpreter at {sys.executable or '(unknown)'}, which runs this command. "
        "Install playbook-db with a Python that is a file of its own, and run: playbook install"
    )


def hooks_folder() -> str:
    """Where the hooks are: in the installed package, else in the repository's own folder."""
    package = Path(str(files("playbook_db")))
    for folder in (package / "_hooks", package.parent / "hooks"):
        if (folder / "inject.py").is_file():
            return str(folder)
    raise InstallError("This installation lacks its hooks. Run: pip install --force-reinstall playbook-db")


def _settings_file(scope: str, folder: str) -> str:
    return os.path.abspath(registration.settings_file(scope, folder))


def _entries(scope: str, python: str, worker_python: str) -> dict[str, settings_text.Entry]:
    """Our hooks as *scope*'s settings file should have them, by their events."""
    hooks = hooks_folder()
    for path in (python, worker_python, hooks):
        if any("\ud800" <= letter <= "\udfff" for letter in path):  # bytes that aren't UTF-8, as Python holds them
            raise InstallError(f"The path {path!a} isn't UTF-8, as settings must be. Install playbook-db elsewhere.")
    return {
        event: {
            "type": "command",
            "command": registration.command(
                hook, scope=scope, python=python, hooks_folder=hooks, worker_python=worker_python
            ),
            "timeout": timeout_s,
        }
        for event, (hook, timeout_s) in registration.EVENTS.items()
    }


def _is_program(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) != b"#!" and os.access(path, os.X_OK)
    except OSError:
        return False


def _replace(path: str, data: bytes | None, new: bytes, *, private: bool, now: datetime) -> str | None:
    """Replace the file, keeping a copy of what it held; the copy's path."""
    backup = settings_file.keep_copy(path, data, now) if data is not None else None
    try:
        settings_file.replace(path, new, expected=data, private=private)
    except BaseException:
        if backup is not None:
            settings_file.discard(backup)
        raise
    return backup


def _notes_when_off(path: str, *, off: bool) -> list[str]:
    return [f'{path} has "disableAllHooks": true; no hook runs until that is taken out'] if off else []


def _notes_on_others(scope: str, folder: str) -> list[str]:
    """What to know where other scopes register our hooks too: of several, one answers."""
    own = os.path.realpath(_settings_file(scope, folder))
    notes = []
    for other in registration.SCOPES:
        path = _settings_file(other, folder)
        if os.path.realpath(path) == own or not _registers(path):
            continue
        first = min(scope, other, key=registration.SCOPES.index)
        notes.append(f"the hooks are registered in the {other} scope too, {path}; those of the {first} scope answer")
    return notes


def _registers(path: str) -> bool:
    """Whether a settings file, which may be of any shape, has live hooks of ours."""
    try:
        content = json.loads(settings_file.read(path) or b"{}")
    except (InstallError, ValueError, RecursionError):
        return False
    commands = (told for event in registration.EVENTS for told in registration.our_commands(content, event))
    return any(registration.is_live(told) for told in commands)


def _origin(copies: list[bytes]) -> bytes | None:
    """What the file was before we came: the newest copy without a hook of ours; None where we made the file."""
    return next((held for held in reversed(copies) if registration.MARKER.encode() not in held), None)


def _is_spent(copy: bytes, left: bytes, origin: bytes | None) -> bool:
    """Whether a backup holds nothing but what is *left* in the file, and hooks of ours."""
    try:
        return left in (copy, _without_ours(copy, origin))
    except (ValueError, RecursionError):
        return False


def _without_ours(data: bytes, origin: bytes | None) -> bytes:
    told = _text(origin) if origin is not None else None
    return _edited(data, lambda text: settings_text.without_hooks(text, told))


def _edited(data: bytes, edit: Callable[[str], str]) -> bytes:
    bom = _BOM if data.decode().startswith(_BOM) else ""
    return (bom + edit(_text(data))).encode()


def _text(data: bytes) -> str:
    return data.decode().removeprefix(_BOM)


def _retried(path: str, attempt: Callable[[], T]) -> T:
    for _ in range(_ATTEMPTS):
        try:
            return attempt()
        except ChangedMeanwhileError:
            continue
    raise InstallError(f"{path} keeps being changed by another program. Nothing was changed by us; run it again later.")


@contextmanager
def _explained(path: str, data: bytes | None) -> Iterator[None]:
    """Tell where in the file an edit found what it can't work with."""
    try:
        yield
    except json_text.JsonTextError as error:
        line, column = json_text.line_and_column(_text(data or b"{}"), error.position)
        problem = error.problem
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        line, column = json_text.line_and_column(before, len(before))
        problem = "this is not UTF-8."
    except RecursionError:
        line, column, problem = 1, 1, "this is nested too deeply to be edited."
    else:
        return
    raise InstallError(
        f"{path}, line {line}, column {column}: {problem} The file was left as it is; correct it, and run the "
        "command again."
    )
