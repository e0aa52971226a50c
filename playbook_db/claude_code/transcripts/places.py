"""Deciding how far a part of a transcript can be trusted as evidence. Its author decides that.

The classes are the user, the project's tests and builds, and the project's files. Everything else is fetched. The
assistant's own words aren't evidence at all.
"""

import os
import re

from playbook_db import projects
from playbook_db.claude_code.transcripts import own_text
from playbook_db.claude_code.transcripts.project_files import ProjectFiles
from playbook_db.claude_code.transcripts.shell_output import constants, trust_of_output
from playbook_db.claude_code.transcripts.transcript import Part, ToolCall
from playbook_db.domain.trust.evidence import ASSISTANT, ASSISTANTS_WORDS, FETCHED, FILES, TESTS, USER, Place

MAX_LABEL_CHARS = 80
_LEAST_CONSTANT = 6  # characters of a text in a command, which its output may repeat
THE_USER = "the user"
_NAMING_TOOLS = ("Glob", "LS")  # they print names of files, no content
_WRITING_TOOLS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_FILE_TOOLS = ("Read", "Grep", "NotebookRead", "Edit", "MultiEdit", "NotebookEdit", *_NAMING_TOOLS)
_SILENT_TOOLS = ("TodoWrite", "TaskCreate", "TaskUpdate", "ExitPlanMode", "EnterPlanMode", "Write", "AskUserQuestion")
# A call is named by the first of these fields that it has.
_LABELS = ("command", "file_path", "notebook_path", "url", "query", "pattern", "path", "description")
_OUR_FILE = projects.mirror_path("")
# A line in a test's output that a dependency wrote: it names a dependency's folder or a package with its version, or
# something deprecated.
_FOLDER_OF_OTHERS = (
    r"(?:node_modules|bower_components|(?:site|dist)-packages|vendor|third[_-]party|external|\.venv|Pods"
    r"|\.cargo/(?:registry|git)|pkg/mod|\.gradle|\.m2/repository|/usr/(?:lib|include|share)|_deps)[/\\]"
)
_OF_DEPENDENCY = re.compile(
    rf"{_FOLDER_OF_OTHERS}|^\W*(?:\w+ ){{0,3}}@?[\w./-]+@v?\d+\.\d+[\w.-]*(?::|\s|$)|\b[Dd]eprecat"
)
# A program that a test starts may print advice. A line with a result of a test or a compiler is no advice.
_ADVICE = re.compile(
    r"\b(?:always|never|must|should|use|using|enable|disable|set|install|add|skip|prefer|avoid|policy|recommend\w*)\b",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"err(?:or|!)|fail|pass|assert|warn|panic|excep|expect|actual|received|undefined|undeclared|unresolved|invalid|missing"
    r"|mismatch|denied|refused|rejected|timed out|not? (?:such|found|rule)|not exist|can(?:no|')t|could ?n|unable"
    r"|[\w)\]][:(]\d+|^[^\w\s\[]|^E ",
    re.IGNORECASE,
)
_URL = re.compile(r"\w://")
_NOTE_OF_DEPENDENCY = re.compile(rf"-->\s*\S*{_FOLDER_OF_OTHERS}")
# Commands that may bring other commits to the branch, and commands that bring another person's files.
_GIT = r"\bgit\s+(?:-[Cc]\s+[^\s-]\S*\s+|-(?![Cc]\s)\S+\s+)*"
_NEW_COMMITS = re.compile(
    rf"{_GIT}(?:fetch|pull|merge|rebase|cherry-pick|am|commit|checkout|switch|reset|stash|remote)\b|\bgh\s|\bglab\s"
)
_FETCHES = re.compile(rf"{_GIT}(?:fetch\s+\S+\s+\w|remote\s+add\b)")
_CHANGES_BRANCH = re.compile(rf"{_GIT}(?:checkout|switch|merge|rebase|reset|worktree)\b")
_STRANGERS = re.compile(
    rf"\b(?:gh\s+pr|glab\s+mr)\s+checkout\b|{_GIT}(?:am|apply|cherry-pick)\b"
    rf"|{_GIT}(?:checkout|switch|merge|rebase|reset|worktree|pull)\b[^\n;&|]*(?:FETCH_HEAD|\bpull/|\bpr/|\bmr/|remotes/"
    r"|\b(?:origin|upstream|fork)/)|\bpatch\s+-"
)


def places_of(part: Part, text: str, files: ProjectFiles) -> tuple[Place, ...]:
    """Return the evidence in *part*, of which the model reads *text*. A part that the client wrote has none. A test's
    output has two if some of its lines come from a dependency. Call this for all parts in order, because *files*
    changes with the session."""
    if part.user_text:
        return (Place(USER, THE_USER, text),)
    call = part.call or (ToolCall("?", {}) if part.kind == "result" else None)
    if call is None:
        return (Place(ASSISTANT, ASSISTANTS_WORDS, text),)
    _follow(call, files)
    if call.tool in _SILENT_TOOLS and not part.is_error:
        return ()
    for constant in constants(call.inputs.get("command", "")) if call.tool == "Bash" else ():
        text = text.replace(constant, "") if len(constant) >= _LEAST_CONSTANT else text
    trust, known = _judged(call, text, files)
    if trust == FETCHED and call.tool in _WRITING_TOOLS:  # the assistant's own text is no evidence
        return ()
    name = label(call, files)
    if trust in (TESTS, FILES) and files.has_strangers:
        trust = FETCHED
    if trust != TESTS:
        return (Place(trust, name, known),) if trust else ()
    own, others = _without_strangers_lines(known)
    return (Place(TESTS, name, own), *([Place(FETCHED, name, others)] if others else []))


def _follow(call: ToolCall, files: ProjectFiles) -> None:
    """Record in *files* the changes that *call* made to the project."""
    path = next((call.inputs[name] for name in ("file_path", "notebook_path") if name in call.inputs), "")
    if call.tool in _WRITING_TOOLS and path:
        files.written.add(os.path.realpath(os.path.join(call.folder, path)))
    command = call.inputs.get("command", "") if call.tool == "Bash" else ""
    files.has_new_commits |= _NEW_COMMITS.search(command) is not None
    files.has_fetched |= _FETCHES.search(command) is not None
    files.has_strangers |= _STRANGERS.search(command) is not None
    files.has_strangers |= files.has_fetched and _CHANGES_BRANCH.search(command) is not None


def _without_strangers_lines(text: str) -> tuple[str, str]:
    """Split the output of a test into lines of the project's tests and compilers, and lines of other programs. Indented
    lines below a dependency's line are the dependency's, too, and so is a whole note about its source."""
    own: list[str] = []
    others: list[str] = []
    for paragraph in text.split("\n\n"):
        is_note, below = _NOTE_OF_DEPENDENCY.search(paragraph) is not None, 999
        for line in paragraph.split("\n"):
            indent = len(line) - len(line.lstrip())
            if indent <= below:
                below = indent if _OF_DEPENDENCY.search(line) else 999
            is_others = is_note or below < 999 or _is_strangers(line)
            (others if is_others else own).append(line)
        own.append("")
    return "\n".join(own), "\n".join(others)


def _is_strangers(line: str) -> bool:
    is_advice = not line[:1].isspace() and _ADVICE.search(line) and not _RESULT.search(line)
    return bool(is_advice or _URL.search(line))


def label(call: ToolCall, files: ProjectFiles) -> str:
    """Describe *call* in a few words. Paths are relative to the project's folder."""
    name = next((name for name in _LABELS if call.inputs.get(name)), "")
    value = call.inputs.get(name, "")
    if name.endswith("path"):
        value = min(files.inside(value, call.folder), key=len, default=value)
    text = " ".join(f"{call.tool}: {value}".split()) if value else call.tool
    return text if len(text) <= MAX_LABEL_CHARS else text[: MAX_LABEL_CHARS - 1] + "…"


def _judged(call: ToolCall, text: str, files: ProjectFiles) -> tuple[str, str]:
    """Return the class of the result of *call* (`""` for our playbook), and the part of *text* that has this class."""
    if own_text.is_our_tool(call.tool):
        return "", ""
    files.read.clear()
    trust = FETCHED
    if call.tool == "Bash" and "command" in call.inputs:
        trust = trust_of_output(call.inputs["command"], files, call.folder)
    elif call.tool in _FILE_TOOLS:
        path = next((call.inputs[name] for name in ("file_path", "notebook_path", "path") if name in call.inputs), ".")
        if path.endswith(_OUR_FILE):
            return ("" if files.contains(path, call.folder) else FETCHED), text
        is_own = files.holds if call.tool in _NAMING_TOOLS else files.shows
        trust = FILES if is_own(path, call.folder) else FETCHED
    if trust != FILES or not text:
        return trust, text
    folders = list(filter(os.path.isdir, files.read))
    if folders and not files.names_own_only(text, [call.folder, *folders]):
        return FETCHED, text
    known = files.known_lines(text, [path for path in files.read if path not in folders])
    return (FETCHED, text) if known is None else (FILES, known)
