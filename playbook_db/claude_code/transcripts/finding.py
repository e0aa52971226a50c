"""Finding the transcripts of a project or a session, below `projects/` in Claude Code's folder.

The names of the folders there don't help: `work/api` and `work-api` share one, and a session may move its transcript
from one to another. So a transcript belongs to the project of its first entry's `cwd`.
"""

import glob
import json
import os
from contextlib import suppress
from itertools import islice

from playbook_db import projects, settings
from playbook_db.services.project import Store, place_of

_FIRST_LINES, _LINE_BYTES = 1000, 1 << 20


def everywhere(session: str = "*") -> list[str]:
    """Return the transcripts of all projects or of *session*, and those of their subagents."""
    root = os.path.join(glob.escape(settings.claude_dir()), "projects", "*")
    name = session if session == "*" else glob.escape(session)
    patterns = (os.path.join(root, f"{name}.jsonl"), os.path.join(root, name, "subagents", "*.jsonl"))
    return [path for each in patterns for path in glob.iglob(each, include_hidden=True) if os.path.isfile(path)]


def of_project(store: Store, key: str) -> list[str]:
    """Return the transcripts of the sessions of the project *key*, and those of their subagents, oldest first."""
    keys: dict[str, str] = {}
    paths = []
    for path in everywhere():
        own = f"{os.path.dirname(os.path.dirname(path))}.jsonl" if is_subagents(path) else path
        cwd = _first_cwd(own if os.path.isfile(own) else path)
        if cwd and cwd not in keys:
            keys[cwd] = place_of(store, projects.as_path(cwd))[1]
        if cwd and keys[cwd] == key:
            paths.append(path)
    return sorted(paths, key=lambda path: (os.stat(path).st_mtime, path))


def present_path(path: str) -> str:
    """Return the *path* of a transcript, or the path to which Claude Code has moved it."""
    if os.path.exists(path):
        return path
    inside = os.sep.join(path.split(os.sep)[-3 if is_subagents(path) else -1 :])
    moved = glob.glob(os.path.join(glob.escape(settings.claude_dir()), "projects", "*", glob.escape(inside)))
    return moved[0] if len(moved) == 1 else path


def is_subagents(path: str) -> bool:
    """Return whether the transcript at *path* is a subagent's."""
    return os.path.basename(os.path.dirname(path)) == "subagents"


def _first_cwd(path: str) -> str:
    """Return the folder in which the session of the transcript at *path* began, or `""` if it isn't known."""
    with suppress(OSError), open(projects.open_plain(path), "rb") as file:
        for line in islice(iter(lambda: file.readline(_LINE_BYTES), b""), _FIRST_LINES):
            with suppress(ValueError, AttributeError, RecursionError):
                cwd = json.loads(line).get("cwd") if b'"cwd"' in line else None
                if isinstance(cwd, str) and os.path.isabs(cwd):
                    return cwd
    return ""
