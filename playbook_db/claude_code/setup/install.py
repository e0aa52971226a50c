"""Adding our hooks to Claude Code's settings files, removing them, and finding the files that have them.

For the commands and doctor. The install fixes the hooks' interpreter, because Claude Code starts hooks from any folder,
with any PATH, and maybe without an active environment of pyenv, uv or conda. Other programs write these files, too, so
a file is replaced whole, and only if it is unchanged since we read it. Every error is an InstallError.
"""

import contextlib
import glob
import json
import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from playbook_db import settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.setup import settings_json
from playbook_db.errors import InstallError, Remedy
from playbook_db.files import replace_file, shipped_file, write_new
from playbook_db.projects import read_plain

_BACKUP = ".before-playbook-"  # in the name of a backup, before its time
_BOM = "\ufeff"
_NEW = b"{}\n"  # a settings file before it has settings


@dataclass(frozen=True)
class Installed:
    """The result of an install in the settings file at `path`.

    `changed` is false if the file had our hooks already. `backup` is the path of a copy of the earlier file, if any.
    """

    path: str
    changed: bool
    backup: str | None
    python: str
    worker_python: str


@dataclass(frozen=True)
class Uninstalled:
    """The result of an uninstall in the settings file at `path`.

    `removed` is true if the file had only our hooks and was removed. `backups` are copies that differ from the file.
    """

    path: str
    removed: bool
    backups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Registration:
    """A settings file with our hooks: their `commands`, and the events that have none (`missing`). If `is_dead`, one of
    the commands can't run."""

    scope: str
    path: str
    commands: tuple[str, ...]
    missing: tuple[str, ...]
    is_dead: bool


@dataclass(frozen=True, slots=True)
class Registrations:
    """The registrations of our hooks in all settings files.

    `files` have our hooks. `plugin` is the name of our plugin if it is enabled. Files in `off` switch all hooks off.
    Files in `unreadable` hold no JSON object that can be read.
    """

    files: tuple[Registration, ...]
    plugin: str | None
    off: tuple[str, ...]
    unreadable: tuple[str, ...]


def install(scope: str, folder: str, *, now: datetime) -> Installed:
    """Register our hooks in the settings file of *scope* for the project in *folder*. Raises InstallError."""
    path = os.path.abspath(registration.settings_file(scope, folder))
    python, worker_python = interpreter(), os.path.abspath(sys.executable)
    entries = _entries(scope, python, worker_python)
    data = _read(path)
    new = _edited(path, data, lambda text: settings_json.with_hooks(text, entries))
    backup = None
    if new != data:
        was_without_ours = data is not None and data == _edited(path, data, settings_json.without_hooks)
        backup_at = now if was_without_ours and not find_backups(path) else None
        backup = _replace(path, new, expected=data, private=scope == "user", backup_at=backup_at)
    return Installed(path, new != data, backup, python, worker_python)


def uninstall(scope: str, folder: str) -> Uninstalled | None:
    """Remove our hooks from the settings file of *scope*. Return None if the file has none. Raises InstallError.

    A backup that equals the result is removed. A file that holds nothing else is removed if it has no backup.
    """
    path = os.path.abspath(registration.settings_file(scope, folder))
    data = _read(path)
    if data is None or registration.MARKER.encode() not in data:  # it needn't be JSON if it has no hooks of ours
        return None
    new = _edited(
        path,
        data,
        lambda text: settings_json.without_hooks(
            text, lambda hook: registration.is_ours(hook) or registration.is_guard(hook)
        ),
    )
    if new == data:
        return None
    backups = find_backups(path)
    is_ours_alone = new == _NEW and not backups
    _replace(path, None if is_ours_alone else new, expected=data)
    spent = [backup for backup in backups if _read(backup) == new]
    for backup in spent:
        with _os_errors_explained(backup, "removed"):
            os.unlink(backup)
    return Uninstalled(path, is_ours_alone, tuple(backup for backup in backups if backup not in spent))


def edit_settings(scope: str, folder: str, edit: Callable[[str], str]) -> tuple[str, bool]:
    """Edit the text of the settings file of *scope* for the project in *folder*. Return its path, and whether it
    changed. A local file without settings is removed. Raises InstallError."""
    path = os.path.abspath(registration.settings_file(scope, folder))
    data = _read(path)
    new = _edited(path, data or None, edit)
    if changed := new != (data or _NEW):
        _replace(path, None if new == _NEW and scope == "local" else new, expected=data)
    return path, changed


def take_out(path: str, commands: Collection[str], *, now: datetime) -> str | None:
    """Remove all hooks that run one of *commands* from the settings file at *path*. Return the path of the backup.
    Raises InstallError."""

    def is_meant(hook: object) -> bool:
        return isinstance(hook, dict) and hook.get("command") in commands

    data = _read(path)
    new = _edited(path, data, lambda text: settings_json.without_hooks(text, is_meant))
    return _replace(path, new, expected=data, backup_at=now)


def set_value(way: Sequence[str], value: object) -> tuple[str, bool]:
    """Set the user's setting at the keys *way* to *value*, or remove it if *value* is None. Return the path of the
    file, and whether the file changed. Raises InstallError."""
    return edit_settings("user", "", lambda text: settings_json.with_value(text, way, value))


def find_registrations(folder: str) -> Registrations:
    """Find the settings files that register our hooks for the project in *folder*."""
    registrations, off, unreadable = [], [], []
    plugin = f"playbook in {root}" if (root := plugin_root()) else None
    scopes: dict[str, str] = {}
    for scope in registration.SCOPES:  # the home folder as project has one file for two scopes
        scopes.setdefault(registration.settings_file(scope, folder), scope)
    for path, scope in scopes.items():
        if not os.path.exists(path):
            continue
        document = registration.read_settings(path)
        if not isinstance(document, dict):
            unreadable.append(path)
            continue
        if document.get("disableAllHooks") is True:
            off.append(path)
        enabled = document.get("enabledPlugins")
        for name, is_on in enabled.items() if isinstance(enabled, dict) else ():
            plugin = name if is_on and name.split("@")[0] == "playbook" else plugin
        hooks = {event: registration.our_hooks(document, event) for event in registration.EVENTS}
        if commands := [hook["command"] for event in hooks.values() for hook in event]:
            missing = tuple(event for event, ours in hooks.items() if not ours)
            is_dead = not all(map(registration.is_live, commands))
            registrations.append(Registration(scope, path, tuple(commands), missing, is_dead))
    return Registrations(tuple(registrations), plugin, tuple(off), tuple(unreadable))


def plugin_removals() -> list[str]:
    """Return the commands that uninstall our plugin, one per place where Claude Code has recorded it as installed."""
    record = registration.read_settings(os.path.join(settings.claude_dir(), "plugins", "installed_plugins.json"))
    plugins = record.get("plugins") if isinstance(record, dict) else None
    removals = []
    for name, places in plugins.items() if isinstance(plugins, dict) else ():
        for place in places if isinstance(places, list) and name.split("@")[0] == "playbook" else ():
            folder = f"cd {shlex.quote(place['projectPath'])} && " if "projectPath" in place else ""
            removals.append(f"{folder}claude plugin uninstall {name} --scope {place.get('scope', 'user')}")
    return removals


def plugin_root() -> str:
    """Return the folder of the plugin if the plugin itself runs this command, else `""`."""
    return os.environ.get("PLAYBOOK_PLUGIN_ROOT", "")


@dataclass(frozen=True, slots=True)
class Programs:
    """The interpreter of the hooks, their folder, and the interpreter of the worker. `worker_path` is the folder from
    which the worker imports our code, or `""` if our package is installed in its Python."""

    python: str
    hooks_folder: str
    worker_python: str
    worker_path: str = ""


def programs(folder: str) -> Programs:
    """Return the programs that the user's settings register. Without them, return the plugin's, or else those that an
    install would register. A project's settings don't count, because they may come with a clone."""
    registrations = find_registrations(folder)
    commands = [command for file in registrations.files if file.scope == "user" for command in file.commands]
    live = [command for command in commands if registration.is_live(command)]
    if live:
        python, hook, worker_python = registration.programs(live[0])
        return Programs(python, os.path.dirname(hook), worker_python)
    root = plugin_root()
    if root and os.path.isfile(os.path.join(root, "hooks", "inject.py")):
        own = os.path.join(settings.runtime_dir(), "interpreter")
        python = own if os.access(own, os.X_OK) else interpreter()
        return Programs(python, os.path.join(root, "hooks"), settings.runtime_python(), root)
    return Programs(interpreter(), hooks_folder(), sys.executable)


def interpreter() -> str:
    """Return the path of the Python for the hooks, a real file that remains if an environment is removed.

    An environment's `python` is a link to it. Scripts, such as the shims of pyenv, don't count.
    """
    for candidate in filter(None, (getattr(sys, "_base_executable", None), sys.executable)):
        real: str = os.path.realpath(candidate)
        with contextlib.suppress(OSError), open(real, "rb") as file:
            if file.read(2) != b"#!" and os.access(real, os.X_OK):
                return real
    raise InstallError(
        f"There is no Python interpreter at {sys.executable or '(unknown)'}, which runs this command.",
        Remedy("Install playbook-db with a Python that is a program, not a script, and run: {}", ("install",)),
    )


def hooks_folder() -> str:
    """Return the folder of the hooks, in the installed package or else in the repository."""
    return os.path.dirname(shipped_file("hooks", "inject.py", what="its hooks"))


def find_backups(path: str) -> list[str]:
    """Return the copies of the settings file at *path* that we have left next to it, oldest first."""
    return sorted(glob.glob(f"{glob.escape(path)}{_BACKUP}[0-9]*"))


def _entries(scope: str, python: str, worker_python: str) -> dict[str, settings_json.Entry]:
    """Return our hooks by event, as the settings file of *scope* should have them."""
    hooks = hooks_folder()
    for path in (python, worker_python, hooks):
        if any("\ud800" <= letter <= "\udfff" for letter in path):  # how Python keeps bytes that aren't UTF-8
            raise InstallError(f"The path {path!a} isn't UTF-8, as JSON must be. Install playbook-db elsewhere.")
    fixed = {"scope": scope, "python": python, "hooks_folder": hooks, "worker_python": worker_python}
    return {
        event: {"type": "command", "command": registration.command(hook, **fixed), "timeout": timeout_s}
        for event, (hook, timeout_s) in registration.EVENTS.items()
    }


# The settings file as text.


def _edited(path: str, data: bytes | None, edit: Callable[[str], str]) -> bytes:
    """Return *data*, the bytes of the file at *path*, as *edit* changes them. Raises InstallError."""
    try:
        text = (_NEW if data is None else data).decode()
        bom = _BOM if text.startswith(_BOM) else ""
        return (bom + edit(text.removeprefix(_BOM))).encode()
    except json.JSONDecodeError as error:
        problem = f", line {error.lineno}, column {error.colno}: {error.msg}"
    except UnicodeDecodeError:
        problem = ": this is not UTF-8."
    except RecursionError:
        problem = ": this is nested too deeply to edit."
    except ValueError as error:
        problem = f": {error}"
    raise InstallError(f"{path}{problem} Nothing was changed. Correct the file, and run the command again.")


# The settings file on the disk. A link is followed and stays a link.


def _read(path: str) -> bytes | None:
    """Return the file's bytes, or None if there is no file."""
    with _os_errors_explained(path, "read"):
        try:
            return read_plain(path)
        except (FileNotFoundError, NotADirectoryError):
            return None


def _replace(
    path: str, data: bytes | None, *, expected: bytes | None, private: bool = True, backup_at: datetime | None = None
) -> str | None:
    """Replace the content of the file at *path*, which must be *expected*, by *data*; None means no file.

    With *backup_at*, its time, make a backup next to the file and return its path. An existing file keeps its mode. If
    *private*, only the user can read a new file. Raises InstallError, also if another program has changed the file.
    """

    def check() -> None:
        if _read(path) != expected:
            raise InstallError(f"Another program has just changed {path}. Nothing was changed; run the command again.")

    real = os.path.realpath(path)
    backup = f"{path}{_BACKUP}{backup_at:%Y%m%dT%H%M%S.%fZ}" if backup_at else None
    with _os_errors_explained(path, "written"), contextlib.ExitStack() as undo:
        if data is None:
            check()
            os.unlink(real)
            return None
        os.makedirs(os.path.dirname(path), mode=0o700 if private else 0o777, exist_ok=True)
        if expected is not None and not os.access(real, os.W_OK):
            raise PermissionError(None, "it is write-protected")
        if backup:
            write_new(backup, expected or b"", like=os.stat(path), mode=0o600)
            undo.callback(os.unlink, backup)
        temporary = f"{real}.{os.getpid()}.tmp"
        replace_file(path, data, mode=0o600 if private else 0o644, temporary=temporary, check=check)
        undo.pop_all()
    return backup


@contextlib.contextmanager
def _os_errors_explained(path: str, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        at = error.filename if isinstance(error.filename, str) and error.filename != path else None
        where = f" (at {at})" if at else ""
        raise InstallError(
            f"{path} can't be {done}: {error.strerror or error}{where}. Fix that, and run the command again."
        ) from error
