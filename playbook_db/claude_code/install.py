"""Registering our hooks in Claude Code's settings, and taking them out again.

What the hooks run with is fixed here, at the time of the install: Claude Code starts them from any folder, with any
PATH, where an environment of pyenv, uv or conda may not be active.
"""

import contextlib
import json
import os
import re
import shlex
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from playbook_db.claude_code import registration, settings_json
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
        data = read(path)
        with _explained(path, data):
            new = _edited(b"{}\n" if data is None else data, lambda text: settings_json.with_hooks(text, wanted))
            off = settings_json.hooks_are_off(_text(new))
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
        data = read(path)
        if data is None or registration.MARKER.encode() not in data:  # where nothing is ours, nothing need be JSON
            return None
        held_by = {copy: read(copy) or b"" for copy in copies(path)}
        origin = _origin(list(held_by.values()))
        with _explained(path, data):
            new = _without_ours(data, origin)
            if new == data:
                return None
            removed = origin is None and settings_json.is_empty(_text(new))
        if removed:
            remove(path, expected=data)
        else:
            replace(path, new, expected=data, private=scope == "user")
        kept = [copy for copy, held in held_by.items() if not _is_spent(held, new, origin)]
        for copy in held_by.keys() - kept:
            discard(copy)
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


def _entries(scope: str, python: str, worker_python: str) -> dict[str, settings_json.Entry]:
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
    backup = keep_copy(path, data, now) if data is not None else None
    try:
        replace(path, new, expected=data, private=private)
    except BaseException:
        if backup is not None:
            discard(backup)
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
        content = json.loads(read(path) or b"{}")
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
    return _edited(data, lambda text: settings_json.without_hooks(text, told))


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
    except settings_json.JsonTextError as error:
        line, column = settings_json.line_and_column(_text(data or b"{}"), error.position)
        problem = error.problem
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        line, column = settings_json.line_and_column(before, len(before))
        problem = "this is not UTF-8."
    except RecursionError:
        line, column, problem = 1, 1, "this is nested too deeply to be edited."
    else:
        return
    raise InstallError(
        f"{path}, line {line}, column {column}: {problem} The file was left as it is; correct it, and run the "
        "command again."
    )


# Where our hooks are registered with Claude Code, as its settings files say: for people, not for the hooks.


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


# Claude Code's settings files on the disk: read, replaced whole or not at all, copied beside before a change.
#
# The files are the user's, and other programs write them too: nothing is replaced but what was read. A link is
# followed
# and stays a link. Every error is an InstallError.


_COPY = re.compile(r"\.before-playbook-\d{8}T\d{6}Z(-\d+)?")


class ChangedMeanwhileError(Exception):
    """Another program has written the file since it was read; it was left as that program wrote it."""


def read(path: str) -> bytes | None:
    """The file's bytes; None where there is no file."""
    with _os_errors_explained(path, "read"):
        try:
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None


def replace(path: str, data: bytes, *, expected: bytes | None, private: bool) -> None:
    """Put *data* in the place of the file, which holds *expected*; None: there is none yet, and it is made.

    An existing file keeps its mode; a new one is for the user alone where *private*. Raises ChangedMeanwhileError.
    """
    with _os_errors_explained(path, "written"):
        os.makedirs(os.path.dirname(path), mode=0o700 if private else 0o777, exist_ok=True)
        real = os.path.realpath(path)
        before = os.stat(real) if expected is not None else None
        if before and not os.access(real, os.W_OK):
            raise PermissionError(None, "it is write-protected")
        handle, temporary = tempfile.mkstemp(
            prefix=f"{os.path.basename(real)}.", suffix=".tmp", dir=os.path.dirname(real)
        )
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                _take_over(file.fileno(), before, mode=0o600 if private else 0o644)
                os.fsync(file.fileno())
            if read(path) != expected:
                raise ChangedMeanwhileError
            os.replace(temporary, real)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def remove(path: str, *, expected: bytes) -> None:
    """Remove the file, which holds *expected*. Raises ChangedMeanwhileError."""
    if read(path) != expected:
        raise ChangedMeanwhileError
    with _os_errors_explained(path, "removed"):
        os.unlink(os.path.realpath(path))


def keep_copy(path: str, data: bytes, now: datetime) -> str:
    """Keep *data*, what the file holds, in a new file beside it, with its mode; that file's path."""
    stamped = f"{path}.before-playbook-{now:%Y%m%dT%H%M%SZ}"
    number, copy = 1, stamped
    with _os_errors_explained(stamped, "written"):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        while True:
            try:
                handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
                break
            except FileExistsError:
                number += 1
                copy = f"{stamped}-{number}"
        with open(handle, "wb") as file:
            file.write(data)
            _take_over(file.fileno(), os.stat(path), mode=mode)
            os.fsync(file.fileno())
    return copy


def copies(path: str) -> list[str]:
    """The copies that `keep_copy` has left beside the file, the oldest first."""
    folder, name = os.path.split(path)
    with _os_errors_explained(folder, "read"):
        beside = os.listdir(folder) if os.path.isdir(folder) else []
    found = [other for other in beside if other.startswith(name) and _COPY.fullmatch(other, len(name))]
    return [os.path.join(folder, other) for other in sorted(found, key=lambda one: (len(one), one))]


def discard(copy: str) -> None:
    """Remove a copy that nobody needs any more."""
    with _os_errors_explained(copy, "removed"), contextlib.suppress(FileNotFoundError):
        os.unlink(copy)


def _take_over(handle: int, before: os.stat_result | None, *, mode: int) -> None:
    """Give an open file the mode and, where we may, the owner of the one whose place it takes."""
    if before is not None:
        with contextlib.suppress(PermissionError):  # under sudo, the user's settings stay the user's
            os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode) if before is not None else mode)


@contextlib.contextmanager
def _os_errors_explained(path: str, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        at = error.filename if isinstance(error.filename, str) and error.filename != path else None
        where = f" (at {at})" if at else ""
        raise InstallError(
            f"{path} can't be {done}: {error.strerror or error}{where}. Correct that, and run the command again."
        ) from error
