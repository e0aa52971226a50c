"""Reading Claude Code's transcript of a session, a file of JSON lines.

`read_messages` returns the words of user and assistant. A `Transcript` also reads tool calls and results, with byte
offsets, and messages that the user typed while the assistant worked. Both leave out text that the client wrote in the
name of user or assistant: summaries, echoes of commands, notes about finished tasks, reminders, and texts from hooks.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from playbook_db.claude_code.transcripts import own_text
from playbook_db.claude_code.transcripts.queued import Queue
from playbook_db.claude_code.transcripts.raw_lines import parse, raw_lines, records
from playbook_db.claude_code.transcripts.rewound import Rewound
from playbook_db.domain.playbook import storable
from playbook_db.projects import as_text, open_plain

_FIRST_LINES = 100  # of a transcript, searched for the time when the session began

_ROLES = ("user", "assistant")
_NOT_SPEECH = ("isMeta", "isVisibleInTranscriptOnly", "isCompactSummary")
# The client writes these in the user's name: the echo of a local command, a note of a finished background task.
_ECHOES = (
    "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>", "<task-notification>",
)  # fmt: skip
_COMMAND_ECHOES = ("<command-name>", "<command-message>")
_COMMAND = re.compile(r"<command-name>(.*?)</command-name>.*?<command-args>(.*)</command-args>", re.DOTALL)
_IDE_NOTE = re.compile(r"\s*<(ide_\w+)>.*</\1>\s*", re.DOTALL)
_NOT_LEARNED_FROM = (*_NOT_SPEECH, "isApiErrorMessage")
_INJECTED = re.compile(
    r"(?:SessionStart|SubagentStart|UserPromptSubmit)(?::\w+)? hook (?:additional context|success): "
)
MESSAGE = "a message"  # another sender's text in the user's name, in place of a tool
INTERRUPTED = "[Request interrupted by user"  # the client's words
_TAG = re.compile(r"<([A-Za-z][\w.:-]*)(?=[\s/>])")
_QUOTED = re.compile(r"^[ \t]*>.*\n?", re.MULTILINE)
_CODE = re.compile(r"```.*?```|`[^`\n]*`|<private>.*?</private>", re.DOTALL)  # and what the user keeps private
_SUMMARY = "This session is being continued from a previous conversation"
_TYPED_COMMAND = re.compile(r"\s*<bash-input>(.*?)</bash-input>\s*", re.DOTALL)
_TYPED_OUTPUT = ("<bash-stdout", "<bash-stderr")
_OUTPUT_TAG = re.compile(r"</?bash-std(?:out|err)>")
# The client's words in the result of a call that the user refused or stopped.
_STOPPED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    INTERRUPTED,
)
_REJECTED = re.compile(r"The user doesn't want to proceed with this tool use\..{0,200}? the user said:\n", re.DOTALL)

_MAX_CALLS = 200  # calls that are remembered, the newest
_LINES_AHEAD = 20  # in which the call of a result may stand
_NO_NEWS = ("Skill", "ToolSearch", "TaskStop", "KillShell")  # their results tell nothing about the project
_LINE_NUMBER = re.compile(r"^ *\d+[\u2192\t]", re.MULTILINE)
_AS_WRITTEN = "[... the file as it was written above ...]"
_MAX_INPUT_CHARS = 4_000  # a longer text in a call's input is left out: half a command could mean something else
_INPUTS = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "subagent_type")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a `tool`, with its `inputs` (short texts only), the session's current `folder`, and the time of the
    call."""

    tool: str
    inputs: Mapping[str, str]
    folder: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message; *kind* is `text`, `thinking`, `call` or `result`.

    The text of a call is the tool's name, a space, and the input as JSON. `user_text` is what the user typed in a text:
    a message, a command after `!` or `/`, an answer to a question, or the reason for a rejection. `call` is the call
    that a result answers or the user refuses, if known. For a text of another sender, its tool is MESSAGE. A result
    `is_stopped` if it is an error because the user refused or interrupted the call. It `is_apart` if it doesn't
    directly follow its call.
    """

    kind: str
    text: str
    is_error: bool = False
    user_text: str = field(default="", compare=False)
    call: ToolCall | None = field(default=None, compare=False)
    is_stopped: bool = field(default=False, compare=False)
    is_apart: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """The message, or part of one, in one line of a transcript.

    An assistant's message has one entry per content block. The user's own words begin a turn; a tool's result or a note
    about an interruption doesn't. If `is_sidechain`, the entry is a subagent's, whose user is the assistant. `time` is
    in UTC, to the millisecond. `branch` is the current branch in git, or "".
    """

    role: str
    parts: tuple[Part, ...]
    uuid: str
    session_id: str
    begins_turn: bool
    is_sidechain: bool = False
    time: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A whole line of a transcript, from byte *start* to *end*, with its entry, if it has one.

    Of a damaged line, each whole record and each piece between them is a line. If `is_broken`, the line isn't a JSON
    object or is too long.
    """

    start: int
    end: int
    entry: Entry | None
    is_broken: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of a transcript in order, and how many of its lines could not be read."""

    messages: tuple[dict[str, str], ...]
    broken_lines: int


class Transcript:
    """The transcript at `path`, of the session `session_id`, read once, line by line.

    If the file grows, reading continues after the last line. Lines that repeat earlier ones have no entry, because some
    clients repeat the history, and lines that the user withdrew have none, either. A last line without a newline is
    left for the next time, unless it is whole. All reading raises OSError if the file can't be read.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.session_id = session_of(path)
        self._first_uuid: str | None = None
        self._end = 0
        self._ahead: list[Line] = []  # read already, and not yet gone past
        self._calls, self._queue, self._repeats = _Calls(), Queue(), _Repeats()
        self._rewound = Rewound(path, _is_prompt)

    @property
    def first_uuid(self) -> str | None:
        """Return the uuid of the transcript's first entry, or None if there is no entry yet."""
        for line in self._read() if self._first_uuid is None else ():
            self._ahead.append(line)
            if self._first_uuid is not None:
                break
        return self._first_uuid

    def lines(self, until: float = math.inf) -> Iterator[Line]:
        """Yield the lines up to the byte *until*. If it splits a line, that line's rest comes next, without an
        entry."""
        for line in chain(self._take_ahead(), self._read()):
            if line.end > until:
                self.put_back(line if line.start >= until else Line(int(until), line.end, None))
                return
            yield line

    def put_back(self, line: Line) -> None:
        """Put back *line*, the last line that was read, so that it is read again."""
        self._ahead.insert(0, line)

    def _take_ahead(self) -> Iterator[Line]:
        while self._ahead:
            yield self._ahead.pop(0)

    def _read(self) -> Iterator[Line]:
        self._rewound.may_grow = True
        with open(open_plain(self.path), "rb") as file:
            for start, end, raw in raw_lines(file, self._end):
                for size, content in records(raw) if raw else [(end - start, None)]:
                    self._end = start + size
                    yield self._line(start, self._end, content)
                    start += size

    def _line(self, start: int, end: int, content: dict[str, Any] | None) -> Line:
        if content is None:
            return Line(start, end, None, is_broken=True)
        if any([self._repeats.has(content), self._rewound.has(content)]):  # both follow all lines
            return Line(start, end, None)
        self._find_calls(end, content)
        entry = _entry(self._queue.as_users(content), self._calls)
        if entry and entry.uuid:
            self._first_uuid = self._first_uuid or entry.uuid
        return Line(start, end, entry)

    def _find_calls(self, end: int, content: dict[str, Any]) -> None:
        """Read the calls of results that stand before them, in the lines after the byte *end*."""
        unknown = [
            f'"{block.get("tool_use_id")}"'.encode("utf-8", "replace")
            for block in _blocks(content)
            if block.get("type") == "tool_result" and not self._calls.answered(block)
        ]
        if unknown:
            with open(open_plain(self.path), "rb") as file:
                for _, _, raw in islice(raw_lines(file, end), _LINES_AHEAD):
                    if b'"assistant"' in raw and any(each in raw for each in unknown):
                        self._calls.read(parse(raw) or {})


def session_of(path: str) -> str:
    """Return the session's id from the *path* of its transcript, or of a subagent's transcript."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) == "subagents":
        return as_text(os.path.basename(os.path.dirname(folder)))
    return as_text(name.removesuffix(".jsonl"))


def first_prompt(path: str) -> str:
    """Return the user's first words in the transcript at *path*; `""` if there are none or the file can't be read."""
    with suppress(OSError):
        for line in islice(Transcript(path).lines(), _FIRST_LINES):
            texts = [part.user_text for part in line.entry.parts if part.user_text] if line.entry else []
            if texts:
                return texts[0]
    return ""


def read_messages(path: str) -> Conversation:
    """Return the words of user and assistant in the transcript at *path*. A message has a `role` and `content`, a text.

    Tool calls, results, thinking, meta lines, command echoes and summaries are left out. Broken and half-written lines
    are skipped and counted. Raises OSError if the file can't be read.
    """
    messages: list[dict[str, str]] = []
    broken = 0
    with open(path, "rb") as file:
        for raw in file:
            content = parse(raw)
            if content is None:
                broken += 1
            elif text := _speech(content):
                messages.append({"role": content["type"], "content": text})
    return Conversation(tuple(messages), broken)


def assistant_texts(messages: Iterable[object]) -> Iterator[str]:
    """Yield the assistant's texts and thoughts in *messages*, each with a text or a list of content blocks."""
    for message in messages:
        if not isinstance(message, dict) or message.get("role") != "assistant":
            continue
        content = message.get("content")
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            for block in content:
                if isinstance(block, dict):
                    yield from (block[key] for key in ("text", "thinking") if isinstance(block.get(key), str))


def _speech(content: dict[str, Any]) -> str:
    """Return the words of the user or the assistant in a line, or `""` if there are none."""
    if content.get("type") not in _ROLES or any(content.get(mark) for mark in _NOT_SPEECH):
        return ""
    texts = (block.get("text") for block in _blocks(content) if block.get("type") == "text")
    text = "\n".join(each for each in texts if isinstance(each, str))
    return "" if text.lstrip().startswith(_ECHOES) else text


class _Calls:
    """A record of the newest tool calls, and of the last command that the user typed after `!`."""

    def __init__(self) -> None:
        self._newest: dict[str, ToolCall] = {}
        self._written: dict[str, int] = {}  # hashes of files as the session wrote them
        self.typed: ToolCall | None = None
        self.last = ""  # the id of the call that the newest part makes
        self._is_expanding = False

    def read(self, content: dict[str, Any]) -> None:
        for block in _blocks(content):
            kind = _string(block.get("type"))
            if kind.endswith("tool_use") and content.get("type") == "assistant":
                self._keep(block, _string(content.get("cwd")), _time(content))
            elif kind == "text" and content.get("type") == "user" and _is_persons(content):
                self._keep_typed(_string(block.get("text")), _string(content.get("cwd")))

    def expands(self, content: dict[str, Any]) -> bool:
        """Return whether a user's line has the text of a slash command, whose name is in the line before."""
        is_expansion = self._is_expanding and content.get("promptSource") != "typed"
        texts = [_string(block.get("text")).lstrip() for block in _blocks(content)]
        self._is_expanding = any(text.startswith(_COMMAND_ECHOES) for text in texts)
        return is_expansion or self._is_expanding

    def _keep(self, block: dict[str, Any], folder: str, time: str) -> None:
        raw = block.get("input")
        texts = {name: raw[name] for name in _INPUTS if _is_short(raw.get(name))} if isinstance(raw, dict) else {}
        key = _string(block.get("id"))
        self._newest.pop(key, None)  # the newest comes last
        self._newest[key] = call = ToolCall(_tool(block), texts, folder, time)
        while len(self._newest) > _MAX_CALLS:
            del self._newest[next(iter(self._newest))]
        if call.tool == "Write" and isinstance(raw, dict):
            self._written[texts.get("file_path", "")] = hash(_string(raw.get("content")).strip())

    def _keep_typed(self, text: str, folder: str) -> None:
        """Remember *text* as a call if it is a command that the user typed after `!`."""
        if match := _TYPED_COMMAND.match(text):
            self.typed = ToolCall("Bash", {"command": match[1]} if _is_short(match[1]) else {}, folder)

    def answered(self, block: dict[str, Any]) -> ToolCall | None:
        return self._newest.get(_string(block.get("tool_use_id")))

    def shows_written(self, call: ToolCall, text: str) -> bool:
        """Return whether *text*, the result of *call*, is a whole file as the session wrote it."""
        written = self._written.get(call.inputs.get("file_path", "")) if call.tool == "Read" else None
        return written is not None and written == hash(_LINE_NUMBER.sub("", text).strip())


class _Repeats:
    """The lines so far, as hashes. Some clients write the history again, with the same uuids or with new ones."""

    def __init__(self) -> None:
        self._uuids: set[int] = set()
        self._blocks: set[int] = set()
        self._copies: set[int] = set()  # uuids of lines that repeat others

    def has(self, content: dict[str, Any]) -> bool:
        """Return whether a line repeats an earlier one: its uuid, an assistant's message, or what followed such a
        message. Call this for all lines in order."""
        uuid, message = _string(content.get("uuid")), content.get("message")
        if not uuid:
            return False
        is_copy = hash(_string(content.get("parentUuid")) or None) in self._copies
        if has_role := content.get("type") in _ROLES:
            author = _string(message.get("id")) if isinstance(message, dict) else ""
            blocks = {hash((author, _json(block))) for block in _blocks(content)}
            is_known = bool(blocks) and blocks <= self._blocks and (is_copy or author != "")
            is_copy = is_known or hash(uuid) in self._uuids
            self._uuids.add(hash(uuid))
            self._blocks |= blocks
        if is_copy:
            self._copies.add(hash(uuid))
        return is_copy and has_role


def _time(content: dict[str, Any]) -> str:
    return _string(content.get("timestamp"))[:23]


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_INPUT_CHARS


def _tool(block: dict[str, Any]) -> str:
    return "".join(_string(block.get("name")).split()) or "?"


def _blocks(content: dict[str, Any]) -> list[dict[str, Any]]:
    message = content.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    if isinstance(blocks, str):
        return [{"type": "text", "text": blocks}]
    return [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []


def _entry(content: dict[str, Any], calls: _Calls) -> Entry | None:
    calls.read(content)
    has_result = any(block.get("type") == "tool_result" for block in _blocks(content))
    command = _command(content)
    typed = [*_typed(command, content, calls)] if command else []
    if calls.expands(content) or (has_result and _decision(content, "accept")[:5] != "user_"):  # else: yes, but ...
        content = {**content, "promptSource": "system"}
    role = content.get("type")
    origin = content.get("origin")
    if isinstance(origin, dict) and origin.get("kind") == "task-notification":
        return None
    if role not in _ROLES or any(content.get(mark) for mark in _NOT_LEARNED_FROM):
        return None
    parts = (*typed, *(part for block in _blocks(content) for part in _parts(block, role, content, calls)))
    if not parts:
        return None
    begins_turn = role == "user" and not has_result
    return Entry(
        role,
        parts,
        _string(content.get("uuid")),
        _string(content.get("sessionId")).strip(),
        begins_turn and all(part.kind == "text" and not part.text.startswith(INTERRUPTED) for part in parts),
        is_sidechain=content.get("isSidechain") is True,
        branch=_string(content.get("gitBranch")),
        time=_time(content),
    )


def _is_prompt(content: dict[str, Any]) -> bool:
    """Return whether a line has a prompt of the user."""
    if content.get("type") != "user" or content.get("isSidechain") or any(content.get(mark) for mark in _NOT_SPEECH):
        return False
    text = "".join(_string(block.get("text")) for block in _blocks(content))
    is_note = _users_own(text).lstrip().startswith((INTERRUPTED, *_TYPED_OUTPUT))
    return _is_persons(content) and not is_note and bool(_command(content) or _users_own(text).strip())


def _command(content: dict[str, Any]) -> str:
    """Return the slash command with its words if the user typed it in this line, or `""` if it has no words."""
    is_users = content.get("type") == "user" and _is_persons(content) and not content.get("sourceToolUseID")
    for block in _blocks(content) if is_users and not content.get("isMeta") else ():
        text = _string(block.get("text")).lstrip()
        match = _COMMAND.search(text) if text.startswith(_COMMAND_ECHOES) else None
        if match and match[2].strip():
            return f"/{match[1].lstrip('/')} {match[2].strip()}"
    return ""


def _parts(block: dict[str, Any], role: str, content: dict[str, Any], calls: _Calls) -> Iterator[Part]:
    """Yield the parts of a content block to learn from. A picture or other block without text yields only its kind."""
    kind = _string(block.get("type"))
    last, calls.last = calls.last, ""
    if kind in ("text", "thinking"):
        text = _string(block.get(kind))
        text = _users_own(text) if role == "user" else own_text.without_memory(text)
        if text.strip():
            yield from _typed(text, content, calls) if role == "user" and kind == "text" else [Part(kind, text)]
    elif kind.endswith("tool_use"):
        inputs = block.get("input")
        note = own_text.of_call(_tool(block), inputs) if isinstance(inputs, dict) else None
        calls.last = _string(block.get("id"))
        yield Part("call", f"{_tool(block)} {note or _json(inputs)}")
    elif kind.endswith("tool_result"):
        yield from _result_parts(block, content, calls, is_apart=last != _string(block.get("tool_use_id")))
    elif kind and kind != "redacted_thinking":
        yield Part("text", f"[{kind}]")


def _result_parts(block: dict[str, Any], content: dict[str, Any], calls: _Calls, *, is_apart: bool) -> Iterator[Part]:
    """Yield the result of a call, and the words with which the user answered or refused it."""
    text, is_error, call = _result(block.get("content")), block.get("is_error") is True, calls.answered(block)
    if call and call.tool in _NO_NEWS and not is_error:
        return
    if answers := _answers(content.get("toolUseResult")) if call and call.tool == "AskUserQuestion" else {}:
        words = "\n".join(map(": ".join, answers.items()))
        yield Part("text", words, user_text=words)
        return
    # An MCP server can write the client's words into its error, but can't set `toolDenialKind`.
    decided_by = _decision(content, "reject")
    may_be_users = decided_by[:5] in ("", "user_")  # in print mode nobody is there
    is_denied = content.get("toolDenialKind") == "user-rejected" and may_be_users
    is_clients = is_denied or (call is not None and call.tool[:5] != "mcp__")
    words = ""
    if is_error and (decided_by == "user_reject" or content.get("holdsPersonsWords") is True):
        words = _string(content.get("userFeedback"))
    elif is_error and is_clients and not decided_by:  # a client that keeps no decisions
        words = text[match.end() :] if (match := _REJECTED.match(text)) else ""
    is_refused = is_denied or words.strip() != ""
    is_stopped = is_error and (is_refused or (is_clients and may_be_users and text.startswith(_STOPPED)))
    before, _, after = text.rpartition(words) if words.strip() else (text, "", "")
    news = _news(before + after, is_error, call)
    if call and not is_error and calls.shows_written(call, news):
        news = _AS_WRITTEN
    yield Part("result", news, is_error, call=call, is_stopped=is_stopped, is_apart=is_apart and call is not None)
    if words.strip():
        yield Part("text", words, user_text=words, call=call)


def _decision(content: dict[str, Any], decision: str) -> str:
    """Return who decided to `accept` or `reject` a call, as the client records it, or `""` if nobody did."""
    mark = content.get("permissionDecision")
    return _string(mark.get("source")) if isinstance(mark, dict) and mark.get("decision") == decision else ""


def _news(text: str, is_error: bool, call: ToolCall | None) -> str:
    """Return a tool's output without the text of the playbook and of the built-in memory."""
    if call is None or is_error:
        return own_text.without_quotes(text)
    return own_text.of_result(text, call.tool, call.inputs, call.folder)


def _typed(text: str, content: dict[str, Any], calls: _Calls) -> Iterator[Part]:
    """Yield a text in the user's name as parts: the user's words, a command that they typed after `!` and its output,
    or another sender's text. A subagent's user is the assistant."""
    bare = text.lstrip()
    is_persons = _is_persons(content)
    if bare.startswith(INTERRUPTED):
        yield Part("text", text)
    elif is_persons and content.get("isSidechain"):
        yield Part("text", own_text.without_quotes(text))  # the hook adds key points to a task
    elif is_persons and bare.startswith(("<bash-input>", *_TYPED_OUTPUT)):
        if match := _TYPED_COMMAND.match(text):
            yield Part("text", f"! {match[1]}", user_text=match[1])
            text = text[match.end() :]
        if text.strip():
            call = calls.typed or ToolCall("!", {})
            yield Part("result", _news(_OUTPUT_TAG.sub("", text), False, call), call=call)
    else:
        user_text = _own_words(bare) if is_persons else ""
        yield Part("text", text, user_text=user_text, call=None if user_text.strip() else ToolCall(MESSAGE, {}))


def _is_persons(content: dict[str, Any]) -> bool:
    """Return whether the user sent this message, according to the client."""
    origin = content.get("origin")
    is_human = not isinstance(origin, dict) or origin.get("kind", "human") == "human"
    return is_human and content.get("promptSource") != "system" and content.get("rowSource", "local") == "local"


def _own_words(text: str) -> str:
    """Return the part of *text* that looks typed by a person: without quotations, as in a mail, and without texts in
    tags, except in code. A text that begins with an open tag has none."""
    if text.startswith(_SUMMARY) or "<task-notification" in text:
        return ""
    code = _CODE.sub(lambda match: " " * len(match[0]), text)
    for name in sorted({*_TAG.findall(code)}):
        start, end = code.find(f"<{name}"), code.find(">", code.rfind(f"</{name}")) + 1
        if start < code.rfind(f"</{name}") and end:
            code, text = code[:start] + code[end:], text[:start] + text[end:]
    return "" if _TAG.match(code.lstrip()) else _QUOTED.sub("", text)


def _answers(result: object) -> dict[str, str]:
    """Return the user's answers, notes and free response, by question, from *result*, the client's record of them."""
    if not isinstance(result, dict):
        return {}
    answers, notes = (result[key] if isinstance(result.get(key), dict) else {} for key in ("answers", "annotations"))
    texts = {f"Answer to {question!r}": answer for question, answer in answers.items()}
    texts |= {f"Note on {question!r}": note.get("notes") for question, note in notes.items() if isinstance(note, dict)}
    texts["Response"] = result.get("response")
    return {" ".join(_string(about).split()): _string(text) for about, text in texts.items() if _string(text)}


def _users_own(text: str) -> str:
    """Return *text* without the client's reminders and notes, or `""` if it is a command's echo or a hook's output."""
    own = own_text.without_reminders(text)
    while match := _IDE_NOTE.match(own):
        own = own[match.end() :]
    bare = own.lstrip()
    return "" if bare.startswith((*_ECHOES, "<local-command-caveat>")) or _INJECTED.match(bare) else own


def _result(content: object) -> str:
    if not isinstance(content, list):
        return _string(content)
    blocks = [block for block in content if isinstance(block, dict)]
    return "\n".join(_string(block.get("text")) or f"[{_string(block.get('type'))}]" for block in blocks)


def _json(value: object) -> str:
    try:
        return _string(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "(nested too deeply)"


def _string(value: object) -> str:
    """Return *value* as text that any database or request accepts, or `""` if it isn't a string."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() and "\0" not in value else storable(value).replace("\0", "\ufffd")
