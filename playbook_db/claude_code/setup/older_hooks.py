"""Finding the hooks of the older system, which kept the playbook in a JSON file, and renaming its templates.

The older installer copies scripts and `common.py` into `hooks/` of Claude Code's folder, and templates into `prompts/`.
It registers the scripts in the user's settings. Other hooks may have the same names, but no `common.py` next to them.
"""

import os
import shlex
from dataclasses import dataclass

from playbook_db import settings
from playbook_db.claude_code import registration
from playbook_db.projects import read_plain

_SCRIPTS = ("user_prompt_inject.py", "session_end.py", "precompact.py", "subagent_stop.py")
_SIGN = b"def load_playbook("  # in its common.py
# Its templates double their braces, or lack the placeholder that ours need, so learning would fail with them.
TEMPLATES = {"reflector.txt": "{transcript}", "curator.txt": "{analysis}", "reflection.txt": "{transcript}"}


@dataclass(frozen=True, slots=True)
class OlderHooks:
    """A settings file at `path` that has hooks of the older system, with their `commands`."""

    path: str
    commands: tuple[str, ...]


def find(folder: str) -> list[OlderHooks]:
    """Find the settings files that register the older system's hooks for the project in *folder*."""
    hooks = []
    for path in dict.fromkeys(registration.settings_files(folder)):
        groups = registration.groups_of_hooks(registration.read_settings(path))
        entries = [entry for _, group in groups for entry in group["hooks"] if isinstance(entry, dict)]
        commands = tuple(entry["command"] for entry in entries if _is_older(entry.get("command"), folder))
        if commands:
            hooks.append(OlderHooks(path, commands))
    return hooks


def set_templates_aside() -> list[str]:
    """Rename the older system's templates, which make learning fail. Return the new paths. Raises OSError."""
    moved = []
    for name, place in TEMPLATES.items():
        path = os.path.join(settings.claude_dir(), "prompts", name)
        try:
            text = read_plain(path).decode("utf-8", "replace")
        except OSError:
            continue
        if "{{" in text or place not in text:
            aside = f"{path}.before-playbook"
            if not os.path.lexists(aside):
                os.rename(path, aside)
                moved.append(aside)
    return moved


def _is_older(command: object, folder: str) -> bool:
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    for word in words:
        script = os.path.expanduser(word)
        for name, value in (("CLAUDE_PROJECT_DIR", folder), ("HOME", settings.home())):
            script = script.replace(f"${{{name}}}", value).replace(f"${name}", value)
        if os.path.basename(script) in _SCRIPTS:
            try:
                return _SIGN in read_plain(os.path.join(os.path.dirname(script), "common.py"))
            except OSError:
                return False
    return False
