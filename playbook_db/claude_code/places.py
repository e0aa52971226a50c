"""How far a part of a transcript can be trusted as evidence, by who wrote it: the user, the project's own tests and
builds, its files; all else is fetched. Paths are compared as they are written.
"""

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass

from playbook_db import project_env, projects
from playbook_db.claude_code import own_text
from playbook_db.claude_code.shell_output import constants, trust_of_output
from playbook_db.claude_code.transcript import Part, ToolCall
from playbook_db.domain.evidence import FETCHED, FILES, USER, Place

MAX_LABEL_CHARS = 80
_LEAST_CONSTANT = 6  # characters of what a command says itself
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
# A line of a search that comes from such a folder.
_OTHERS_LINE = re.compile(
    r"^[^\s:\"']*(?:node_modules|bower_components|site-packages|dist-packages|\.venv|vendor|third_party)/", re.MULTILINE
)
_OUR_FILE = projects.mirror_path("")
_OWN_HIDDEN = frozenset(
    (".claude", ".github", ".gitlab", ".circleci", ".husky", ".devcontainer", ".vscode", ".storybook")
)


@dataclass(frozen=True, slots=True)
class Trusted:
    """What of a transcript is the project's own: what comes from its `folders`, and what its tests print, also such
    `commands` as the user says are tests."""

    folders: tuple[str, ...]
    commands: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: str) -> "Trusted":
        """What is the project's in *folder*, with all of the repository that it is in; the home folder is none."""
        folder = projects.as_path(folder)
        repository = projects.repository(folder)
        is_home = repository == os.path.realpath(os.path.expanduser("~"))
        names = (folder, os.path.realpath(folder), folder if is_home else repository)
        return cls(tuple(dict.fromkeys(map(os.path.abspath, names))), tuple(project_env.further_tests(folder)))

    def holds(self, path: str, folder: str) -> bool:
        """Whether *path*, written in *folder*, is one of the project's own files or folders."""
        return any(_is_own(part) for part in self.inside(path, folder))

    def contains(self, path: str, folder: str) -> bool:
        """Whether *path*, written in *folder*, is in the project, be it in a folder with others' code."""
        return any(True for _ in self.inside(path, folder))

    def inside(self, path: str, folder: str) -> Iterable[str]:
        """*path* as seen from each of the project's folders that it is in."""
        whole = posixpath.normpath(posixpath.join(folder, path))
        for root in self.folders:
            if whole == root or whole.startswith(root.rstrip("/") + "/"):
                yield posixpath.relpath(whole, root)


def place_of(part: Part, text: str, trusted: Trusted) -> Place | None:
    """*part* as evidence, of which the model reads *text*; None where the assistant or the client wrote it."""
    if part.said:
        return Place(USER, THE_USER, text)
    call = part.call or (ToolCall("?", {}) if part.kind == "result" else None)
    if call is None or (call.tool in _SILENT_TOOLS and not part.is_error):
        return None
    for said in constants(call.given.get("command", "")) if call.tool == "Bash" else ():
        text = text.replace(said, "") if len(said) >= _LEAST_CONSTANT else text
    trust = _trust(call, text, trusted)
    return Place(trust, label(call, trusted), text) if trust else None


def label(call: ToolCall, trusted: Trusted) -> str:
    """What *call* was, in a few words; a path from the project's folder on."""
    name = next((name for name in _LABELS if call.given.get(name)), "")
    given = call.given.get(name, "")
    if name.endswith("path"):
        given = min(trusted.inside(given, call.folder), key=len, default=given)
    text = " ".join(f"{call.tool}: {given}".split()) if given else call.tool
    return text if len(text) <= MAX_LABEL_CHARS else text[: MAX_LABEL_CHARS - 1] + "…"


def _trust(call: ToolCall, text: str, trusted: Trusted) -> str:
    """The class of what *call* gave, *text*; `""` where that is our own playbook, which is no news."""
    if own_text.is_our_tool(call.tool):
        return ""
    trust = FETCHED
    if call.tool == "Bash" and "command" in call.given:
        trust = trust_of_output(call.given["command"], trusted, call.folder, trusted.commands)
    elif call.tool in _FILE_TOOLS:
        path = next((call.given[name] for name in ("file_path", "notebook_path", "path") if name in call.given), ".")
        if path.endswith(_OUR_FILE):
            return "" if trusted.contains(path, call.folder) else FETCHED
        trust = FILES if trusted.holds(path, call.folder) else FETCHED
    return FETCHED if trust == FILES and _OTHERS_LINE.search(text) else trust


def _is_own(path: str) -> bool:
    """Whether *path*, from the project's folder, leads through none that holds others' code."""
    folders = path.split("/")
    return not any(
        name in _OTHERS_FOLDERS or (name.startswith(".") and len(name) > 2 and name not in _OWN_HIDDEN)
        for name in folders[:-1]
    ) and not _is_others(folders[-1])


def _is_others(name: str) -> bool:
    return name in _OTHERS_FOLDERS or re.fullmatch(r"\.(?:git|venv|tox|nox|cache|npm|yarn|gradle|m2)", name) is not None
