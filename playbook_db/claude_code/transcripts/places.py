"""Deciding how far a part of a transcript can be trusted as evidence. Its author decides that.

The classes are the user, what was seen here, and text from outside, whose author may be a stranger. The assistant's own
words and the reports of its subagents aren't evidence at all.
"""

import os
import posixpath
import re

from playbook_db.claude_code.transcripts import own_text
from playbook_db.claude_code.transcripts.parts import Part, ToolCall
from playbook_db.claude_code.transcripts.project_files import DATA, ProjectFiles, has_dependency
from playbook_db.domain.trust.evidence import ASSISTANT, ASSISTANTS_WORDS, HERE, OUTSIDE, USER, Place

MAX_LABEL_CHARS = 80
THE_USER = "the user"
_FILE_TOOLS = ("Read", "Grep", "Glob", "LS", "NotebookRead")
_SHELL_TOOLS = ("Bash", "!", "BashOutput", "TaskOutput", "Monitor")
_SUBAGENTS = ("Task", "Agent")
_OWN_TOOLS = frozenset(  # their results say nothing but that they worked, or how they failed
    ("Write", "Edit", "MultiEdit", "NotebookEdit", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskStop",
     "ExitPlanMode", "EnterPlanMode", "EnterWorktree", "AskUserQuestion", "Skill", "ToolSearch", "KillShell")
)  # fmt: skip
_BROWSER = re.compile(r"mcp__\w*(?:playwright|puppeteer|chrome|browser)")
_LOCAL = r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])"
_LOCAL_URL = re.compile(rf"https?://{_LOCAL}(?:[:/]|$)")
# A call is named by the first of these fields that it has.
_LABELS = ("command", "file_path", "notebook_path", "url", "query", "pattern", "path", "description")
_NAMING = ("<ide_opened_file>", "<bash-input>")  # texts by the client that only name a file or the user's command
_PATHS = ("file_path", "notebook_path", "path")

_GIT = r"\bgit\s+(?:-[Cc]\s+\S+\s+|-\S+\s+)*"
_OTHERS = r"(?:remotes/|refs/|\b(?:upstream|fork)\b|FETCH_HEAD|\bpull/|\bpr/|\bmr/|https?://|git@)"
# Words of a command that are the assistant's own: a commit's message, a text in a here-document.
_WRITTEN = re.compile(
    r"cat\s*<<-?\s*(['\"]?)(\w+)\1.*?^\s*\2\b|(?:-\w*m|--message|--body|--title)[= ](?:\"[^\"]*\"|'[^']*')",
    re.DOTALL | re.MULTILINE,
)
_OUTPUT = r">>?[ \t]*|\btee\s+(?:-a\s+)?"
# Commands that print texts by other people, also if they fail.
_FETCHES = re.compile(
    rf"(?<![\w./-])(?:curl|wget|aria2c|https?|lynx|w3m)\s(?![^|;&\n]*(?:[\s'\"@]|//){_LOCAL}(?:[:/\s'\"]|$))"
    r"|(?<![\w./-])(?:ssh|scp|rsync|sftp|nc|jira|aws\s+s3|gsutil|dig|nslookup|telnet|pdftotext|exiftool|psql|mysql|mongo\w*"
    r"|redis-cli|sqlite3|journalctl|notmuch)(?![\w-])|\slogs(?=\s|$)"
)
# Commands that print texts by other people. If they fail, the message is their own.
_PRINTS = re.compile(
    r"\b(?:gh|glab)\s+(?:api\s|(?:issue|pr|mr|run|release|gist|search|repo)\s+"
    r"(?!create|checkout|merge|comment|edit|close|ready))"
    r"|\b(?:npm|pnpm|yarn|cargo|gem|pip3?|poetry|composer|go)\s+(?:view|info|show|search|pack|download|outdated|audit|index)\b"
    rf"|{_GIT}(?:log|show|blame|shortlog|clone|ls-remote|submodule|notes|tag\s+-n|branch\s+-a)"
    rf"|{_GIT}diff\b[^|;&\n]*{_OTHERS}|\bFETCH_HEAD\b|\bbase64\s+-d"
)
# Commands that bring other people's files into the project.
_STRANGERS = re.compile(
    rf"\b(?:gh\s+pr|glab\s+mr)\s+checkout\b|\bgh\s+run\s+download\b|\bpatch\s+-|{_GIT}(?:am|apply|submodule\s+update)\b"
    rf"|{_GIT}(?:checkout|switch|merge|rebase|worktree|reset|cherry-pick|pull|fetch)\b[^\n;&|]*{_OTHERS}"
    rf"|{_GIT}fetch\s+(?!origin\b|-)\w|{_GIT}remote\s+add\b"
)
_DOWNLOADS = re.compile(r"\b(?:curl|wget|aria2c|gh|git\s+clone|npm\s+pack|pip3?\s+download|scp|rsync|aws|gsutil)\b")
_EXTRACTS = re.compile(r"\b(?:unzip(?!\s+-\w*l)|tar\s+-?\w*x|7z\s+x|bsdtar|gunzip)")
_TARGET = re.compile(
    rf"(?:\s-\w*[oO]\s|--output[= ]|{_OUTPUT})[\"']?([\w./~$-]+)|git\s+clone\s+(?:-\S+\s+)*\S+\s+([\w./-]+)"
    r"|\s(?:-d|-C|-P)\s*[\"']?([\w./~$-]+)"
)
# Commands that name their file after the address.
_REMOTE_NAME = re.compile(
    r"(?:\bgit\s+clone\b|\bwget\b|\bcurl\b[^|;&\n]*\s(?:-\w*O|--remote-name))[^|;&\n]*?"
    r"(?:https?://|git@)[^\s'\"]*?/([\w.-]+?)(?:\.git)?/?(?=[\s'\"?#]|$)"
)
_READERS = re.compile(r"(?<![\w./-])(?:cat|head|tail|less|more|bat|sed|awk|e?grep|rg|jq|strings|find|ls|diff)(?![\w-])")
_ENTERS = re.compile(r"\s*(?:cd|pushd)\s+([\w./~-]+)")
_FAR_PATH = re.compile(r"(?<![\w.,=:/$}])(~/[\w./@-]+|/(?!dev/|bin/|usr/bin/)[\w.@-]+/[\w./@-]+|\.\./[\w./-]*)")
_TASK_OUTPUT = re.compile(r"\S*/claude-\d+/\S*")  # the client's files for commands in the background
_RUNS_INSTALLED = re.compile(r"\S*(?:\bvenv/bin|node_modules/\.bin)/\S*")


def places_of(part: Part, text: str, files: ProjectFiles) -> tuple[Place, ...]:
    """Return the evidence in *part*, of which the model reads *text*. A part that the client wrote has none. Call this
    for all parts in order, because *files* changes with the session."""
    if part.user_text:
        return (Place(USER, THE_USER, text),)
    call = part.call or (ToolCall("?", {}) if part.kind == "result" else None)
    if call is None or call.tool in _SUBAGENTS:
        return (Place(ASSISTANT, ASSISTANTS_WORDS, text),)
    files.follow(call.folder)
    is_naming = call.tool == "a message" and part.text.lstrip().startswith(_NAMING)
    if is_naming or own_text.is_our_tool(call.tool) or (call.tool in _OWN_TOOLS and not part.is_error):
        return ()
    path = next((call.inputs[name] for name in _PATHS if name in call.inputs), ".")
    trust = _trust(call, path, part, files)
    if command := call.inputs.get("command", ""):  # `echo` prints the assistant's own words
        text = "\n".join(line for line in text.split("\n") if len(line) < 6 or line.strip() not in command)
    return (Place(OUTSIDE if files.has_strangers else trust, label(call, files), text),)


def label(call: ToolCall, files: ProjectFiles) -> str:
    """Describe *call* in a few words. Paths are relative to the project's folder."""
    name = next((name for name in _LABELS if call.inputs.get(name)), "")
    value = call.inputs.get(name, "")
    if name.endswith("path"):
        value = min(files.inside(value, call.folder), key=len, default=value)
    text = " ".join(f"{call.tool}: {value}".split()) if value else call.tool
    return text if len(text) <= MAX_LABEL_CHARS else text[: MAX_LABEL_CHARS - 1] + "…"


def _trust(call: ToolCall, path: str, part: Part, files: ProjectFiles) -> str:
    """Return the class of *part*, the result of *call*. *path* is the file or folder that the call names."""
    if call.tool in _OWN_TOOLS:
        return HERE
    if call.tool in _SHELL_TOOLS:
        return _trust_of_output(call, files, has_failed=part.is_error)
    if _BROWSER.match(call.tool):
        files.page = call.inputs.get("url") or files.page
        return HERE if _LOCAL_URL.match(files.page) else OUTSIDE
    if call.tool not in _FILE_TOOLS or not files.holds(path, call.folder):
        return OUTSIDE
    names = (line.split(":")[0] for line in part.text.splitlines()) if call.tool in ("Grep", "Glob") else ()
    return OUTSIDE if any(map(has_dependency, names)) else HERE


def _trust_of_output(call: ToolCall, files: ProjectFiles, *, has_failed: bool) -> str:
    """Return the class of a command's output, and record in *files* what the command brought."""
    command = call.inputs.get("command", "")
    if not command:
        return OUTSIDE if call.tool in ("Bash", "!") else HERE
    bare = _TASK_OUTPUT.sub("", _WRITTEN.sub("", command))
    for root in files.folders:  # such a path may have spaces
        bare = re.sub(rf"[\"']?{re.escape(root)}(?![\w.-])", ".", bare)
    files.has_strangers |= _STRANGERS.search(bare) is not None
    entered = _ENTERS.match(bare)
    folder = posixpath.join(call.folder, os.path.expanduser(entered[1])) if entered else call.folder
    files.follow(folder)
    fetches = _FETCHES.search(bare) is not None
    prints = fetches or (_PRINTS.search(bare) is not None and not has_failed)
    extracts = _EXTRACTS.search(bare) is not None
    if extracts or _DOWNLOADS.search(bare):
        _record_downloads(bare, folder, files)
    is_outside = prints or extracts or not files.holds(".", folder) or _reads_others(bare, folder, files)
    return OUTSIDE if is_outside else HERE


def _record_downloads(command: str, folder: str, files: ProjectFiles) -> None:
    """Record in *files* the targets of *command*, which downloads or extracts something in *folder*."""
    names = [next(filter(None, match.groups())) for match in _TARGET.finditer(command)]
    names += [match[1] for match in _REMOTE_NAME.finditer(command)]
    paths = {posixpath.normpath(posixpath.join(folder, name)) for name in names if not name.startswith("/dev/")}
    files.downloads |= {path for path in paths if files.inside(path, folder) and path not in files.folders}
    files.has_strangers |= _EXTRACTS.search(command) is not None and not paths and files.holds(".", folder)


def _reads_others(command: str, folder: str, files: ProjectFiles) -> bool:
    """Return whether *command* shows files that a stranger may have written."""
    names = "|".join(re.escape(posixpath.basename(path)) for path in files.downloads)
    if names and re.search(rf"(?<![\w.-])(?:{names})(?![\w-])", command):
        return True
    if not _READERS.search(command):
        return False
    bare = _RUNS_INSTALLED.sub("", re.sub(rf"(?:{_OUTPUT})\S+", "", command))
    if DATA.search(bare) or any(map(has_dependency, re.split(r"[\s'\"=]+", bare))):
        return True
    return any(not files.holds(match[1], folder) for match in _FAR_PATH.finditer(bare))
