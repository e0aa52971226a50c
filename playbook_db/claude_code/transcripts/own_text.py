"""Removing the text that the playbook or Claude Code's built-in memory added to a transcript.

For the transcript's reader. A note replaces each removed text. Text that the user typed is never changed here.
"""

import re
from collections.abc import Mapping

from playbook_db.domain.playbook import name_pattern

OURS = "[the playbook's own text, left out]"
MEMORY = "[the built-in memory's own text, left out]"
REMINDER = re.compile(r"<(/?)system-reminder>")

_CITED = re.compile(r"<(/?)(?:cc-memory|cc_memory|ccmemory|CC-MEMORY|CC_MEMORY|CCMEMORY)(?=[\s/>])[^>]{0,1024}>")
_OUR_FILE = r"\.claude/(?:playbook\.json|playbook/|diagnostic/)"
_MEMORY_FILE = r"/projects/-[^/\s'\"]+/(?:memory\b|MEMORY\.md)|\.claude/(?:(?:agent-)?memory(?:-local)?/|MEMORY\.md)"
_FILES = ((re.compile(_OUR_FILE), OURS), (re.compile(_MEMORY_FILE), MEMORY))
_WRITERS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_PATHS = ("file_path", "notebook_path", "path")
_OUR_TOOL = re.compile(r"mcp__(?:plugin_playbook_)?playbook__")
_SEPARATORS = re.compile(r"&&|\|\||[;|&\n]")
_BEFORE = r"[(!]?\s*(?:[A-Za-z_]\w*=\S*\s+|(?:sudo|env|time|command|exec|uvx|uv run|pipx run)\s+)*"
_OUR_COMMAND = re.compile(
    rf"{_BEFORE}(?:[\"']?(?:[^\s\"']*/bin/)?playbook[\"']?|\S*python[\d.]*\s+(?:-\w\s+)*-m\s+playbook_db)(?:\s|$)"
)
_READING = re.compile(
    rf"{_BEFORE}(?:\S*/)?(?:cat|tac|bat|head|tail|less|more|nl|grep|egrep|rg|ag|sed|awk|jq|cut|sort|strings|xxd|diff|sqlite3|fold"
    r"|find|xargs|python[\d.]*|node|git\s+(?:show|diff|log|blame))(?:\s|$)"
)  # fmt: skip
_ENTERING = re.compile(rf"{_BEFORE}(?:cd|pushd)\s")
_WRITING = tuple(
    (re.compile(rf"(?:>|\btee\b(?:\s+-\w+)*)\s*[\"']?[^\s\"'|;&]*(?:{file})"), note)
    for file, note in ((_OUR_FILE, OURS), (_MEMORY_FILE, MEMORY))
)
# A key point as sessions get it: a line of its own, maybe with a line number, or inside a JSON string.
_NAME = rf"\[{name_pattern()}\]"
_ENTRY = rf"{_NAME} helpful=-?\d+ harmful=-?\d+ :: "
_LINE = rf"[ \t]*(?:\d+[\u2192\t:][ \t]*)?{_ENTRY}[^\n]*"
_QUOTED = rf"{_ENTRY}(?:\\[^n]|[^\\\n\"])*"
_ENTRIES = re.compile(rf"^{_LINE}(?:\n{_LINE})*|{_QUOTED}(?:\\n{_QUOTED})*", re.MULTILINE)
# What a guard says as it refuses a call.
_GUARD = re.compile(r"^(?:\S+ hook error: )?\[.+\(your guard; to remove it: playbook unguard .+\)", re.MULTILINE)
_DIFF = re.compile(rf"^diff --git \S*{_OUR_FILE}[^\n]*(?:\n(?!diff --git )[^\n]*)*", re.MULTILINE)
# The lines that a search prints for such a file: they begin with its path.
_HIT_LINES = tuple(
    (re.compile(rf"^{hit}(?:\n{hit})*", re.MULTILINE), note)
    for hit, note in ((rf"[^\s:]*(?:{_OUR_FILE})[^\s:]*(?::|-\d+-)[^\n]*", OURS),
                      (rf"[^\s:]*(?:{_MEMORY_FILE})[^\s:]*(?::|-\d+-)[^\n]*", MEMORY))
)  # fmt: skip


def without_memory(text: str) -> str:
    """Return an assistant's *text* without the parts in the built-in memory's tags. An open tag ends with its line."""
    if "<" not in text:
        return text
    for start in reversed(_tagged(text, _CITED)[1]):
        line_end = text.find("\n", start)
        end = len(text) if line_end < 0 else line_end
        text = f"{text[:end]}</cc-memory>{text[end:]}"
    return _CITED.sub("", _replaced(text, _tagged(text, _CITED)[0], MEMORY))


def without_reminders(text: str) -> str:
    """Return *text* without the client's reminders, if these have both tags."""
    return _replaced(text, _tagged(text, REMINDER)[0], "") if "<system-reminder>" in text else text


def of_call(tool: str, inputs: Mapping[str, object]) -> str | None:
    """If a call writes the playbook or the memory, return the note that replaces the call's input. Else return None."""
    if tool in _WRITERS:
        return next(iter(_notes_of_files(_path(inputs))), None)
    command = inputs.get("command")
    if not isinstance(command, str) or ".claude" not in command:
        return None
    return next((note for pattern, note in _WRITING if pattern.search(command)), None)


def of_result(text: str, tool: str, inputs: Mapping[str, object], folder: str) -> str:
    """Return *text*, the result of *tool*, without the playbook's and the memory's text."""
    if is_our_tool(tool):
        return OURS
    command = inputs.get("command")
    if not isinstance(command, str):
        return next(iter(_notes_of_files(_path(inputs))), None) or without_quotes(text)
    inside = folder + "/"
    for part in map(str.strip, _SEPARATORS.split(command)):
        if _OUR_COMMAND.match(part):
            return OURS
        if _ENTERING.match(part):
            inside = part.rstrip(" \"'/") + "/"
        elif _READING.match(part) and (notes := [*_notes_of_files(part), *_notes_of_files(inside)]):
            return notes[0]
    return without_quotes(text)


def without_quotes(text: str) -> str:
    """Return a tool's output without key points, lines from the playbook or the memory, and the client's reminders."""
    if " helpful=" in text:
        text = _ENTRIES.sub(OURS, text)
    if "(your guard; " in text:
        text = _GUARD.sub(OURS, text)
    if ".claude/" in text or "/projects/-" in text:
        text = _DIFF.sub(OURS, text)
        for pattern, note in _HIT_LINES:
            text = pattern.sub(note, text)
    return without_reminders(text)


def is_our_tool(tool: str) -> bool:
    """Return whether *tool* belongs to our MCP server."""
    return _OUR_TOOL.match(tool) is not None


def _notes_of_files(text: str) -> list[str]:
    return [note for pattern, note in _FILES if pattern.search(text)]


def _path(inputs: Mapping[str, object]) -> str:
    return next((path for name in _PATHS if isinstance(path := inputs.get(name), str)), "")


def _tagged(text: str, tag: re.Pattern[str]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the places of the outermost closed pairs of *tag*, in order, and the starts of unclosed tags."""
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    for match in tag.finditer(text):
        if not match[1]:
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, match.end()))
    return spans, opened


def _replaced(text: str, spans: list[tuple[int, int]], note: str) -> str:
    pieces, at = [], 0
    for start, end in spans:
        pieces += [text[at:start], note]
        at = end
    return "".join([*pieces, text[at:]])
