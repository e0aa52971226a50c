"""How far a part of a transcript can be trusted as evidence, by who wrote it: the user, the project's own tests and
builds, its files; all else is fetched. Paths are compared as they are written.
"""

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass

from playbook_db import projects
from playbook_db.claude_code.transcript import Part, ToolCall
from playbook_db.domain.evidence import FETCHED, FILES, USER

MAX_LABEL_CHARS = 80
THE_USER = "the user"
_FILE_TOOLS = ("Read", "Grep", "Glob", "LS", "NotebookRead", "Edit", "MultiEdit", "NotebookEdit")
_SILENT_TOOLS = ("TodoWrite", "TaskCreate", "TaskUpdate", "ExitPlanMode", "EnterPlanMode", "Write", "AskUserQuestion")
_LABELS = ("command", "file_path", "notebook_path", "url", "query", "pattern", "path", "description")  # the first
# Folders that hold others' code, what was made of it, or caches; so do hidden ones but these.
_OTHERS_FOLDERS = frozenset(
    ("node_modules", "bower_components", "jspm_packages", "site-packages", "dist-packages", "venv", "env", "virtualenv",
     "vendor", "third_party", "third-party", "target", "dist", "build", "out", "_build", "deps", "Pods", "Carthage",
     "DerivedData", "__pycache__", "obj", "elm-stuff")
)  # fmt: skip
_OWN_HIDDEN = frozenset((".github", ".gitlab", ".circleci", ".husky", ".devcontainer", ".vscode", ".storybook"))


@dataclass(frozen=True, slots=True)
class Trusted:
    """What of a transcript is the project's own: what comes from its `folders`."""

    folders: tuple[str, ...]

    @classmethod
    def of(cls, folder: str) -> "Trusted":
        """The project in *folder*, with all of the repository that it is in; the home folder is none."""
        folder = projects.as_path(folder)
        repository = projects.repository(folder)
        is_home = repository == os.path.realpath(os.path.expanduser("~"))
        names = (folder, os.path.realpath(folder), folder if is_home else repository)
        return cls(tuple(dict.fromkeys(map(os.path.abspath, names))))

    def holds(self, path: str, folder: str) -> bool:
        """Whether *path*, written in *folder*, is one of the project's own files or folders."""
        return any(_is_own(part) for part in self._inside(path, folder))

    def _inside(self, path: str, folder: str) -> Iterable[str]:
        """*path* as seen from each of the project's folders that it is in."""
        whole = posixpath.normpath(posixpath.join(folder, path))
        for root in self.folders:
            if whole == root or whole.startswith(root.rstrip("/") + "/"):
                yield posixpath.relpath(whole, root)


def trust_of(part: Part, trusted: Trusted) -> tuple[str, str] | None:
    """The class and the label of a *part* that can be evidence; None for what the assistant or the client wrote."""
    if part.said:
        return USER, THE_USER
    if part.kind == "result":
        call = part.call or ToolCall("?", {})
        return None if call.tool in _SILENT_TOOLS and not part.is_error else (_trust(call, trusted), label(call))
    return (_trust(part.call, trusted), label(part.call)) if part.call else None


def label(call: ToolCall) -> str:
    """What *call* was, in a few words."""
    given = next((call.given[name] for name in _LABELS if call.given.get(name)), "")
    text = " ".join(f"{call.tool}: {given}".split()) if given else call.tool
    return text if len(text) <= MAX_LABEL_CHARS else text[: MAX_LABEL_CHARS - 1] + "…"


def _trust(call: ToolCall, trusted: Trusted) -> str:
    if call.tool in _FILE_TOOLS:
        path = next((call.given[name] for name in ("file_path", "notebook_path", "path") if name in call.given), ".")
        return FILES if trusted.holds(path, call.folder) else FETCHED
    return FETCHED


def _is_own(path: str) -> bool:
    """Whether *path*, from the project's folder, leads through none that holds others' code."""
    folders = path.split("/")
    return not any(
        name in _OTHERS_FOLDERS or (name.startswith(".") and len(name) > 2 and name not in _OWN_HIDDEN)
        for name in folders[:-1]
    ) and not _is_others(folders[-1])


def _is_others(name: str) -> bool:
    return name in _OTHERS_FOLDERS or re.fullmatch(r"\.(?:git|venv|tox|nox|cache|npm|yarn|gradle|m2)", name) is not None
