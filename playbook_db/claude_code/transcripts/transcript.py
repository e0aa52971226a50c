"""Reading Claude Code's transcript of a session, a file of JSON lines.

`read_messages` returns the words of user and assistant. A `Transcript` also reads tool calls and results, with byte
offsets. Both leave out text that the client wrote in the name of user or assistant: summaries, echoes of commands,
notes about finished tasks, reminders, and texts from hooks.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from typing import Any, BinaryIO

from playbook_db.claude_code.transcripts import own_text
from playbook_db.domain.playbook import storable
from playbook_db.projects import as_text, open_plain

LINE_LIMIT = 64 << 20  # bytes; a longer line is skipped
_SKIPPED_AT_ONCE = 1 << 20
_FIRST_LINES = 100  # of a transcript, searched for the time when the session began

_ROLES = ("user", "assistant")
_NOT_SPEECH = ("isMeta", "isVisibleInTranscriptOnly", "isCompactSummary")
# The client writes these in the user's name: the echo of a local command, a note of a finished background task.
_ECHOES = (
    "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>", "<task-notification>",
)  # fmt: skip
_COMMAND_ECHOES = ("<command-name>", "<command-message>")
_NOT_LEARNED_FROM = (*_NOT_SPEECH, "isApiErrorMessage")
_INJECTED = re.compile(
    r"(?:SessionStart|SubagentStart|UserPromptSubmit)(?::\w+)? hook (?:additional context|success): "
)
INTERRUPTED = "[Request interrupted by user"  # the client's words
_TAG = re.compile(r"<([A-Za-z][\w.:-]*)(?=[\s/>])")
_QUOTED = re.compile(r"^[ \t]*>.*\n?", re.MULTILINE)
_CODE = re.compile(r"```.*?```|`[^`\n]*`|<private>.*?</private>", re.DOTALL)  # and what the user keeps private
_SUMMARY = "This session is being continued from a previous conversation"
_TYPED_COMMAND = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)
_TYPED_OUTPUT = ("<bash-stdout", "<bash-stderr")
# The client's words in the result of a call that the user refused or stopped.
_STOPPED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    INTERRUPTED,
)
_REJECTED = re.compile(r"The user doesn't want to proceed with this tool use\..{0,200}? the user said:\n", re.DOTALL)

_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_MAX_TOKENS = 10**9  # of a message; a larger number is wrong
_MAX_CALLS = 200  # calls that are remembered, the newest
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

    The text of a call is the tool's name, a space, and the input as JSON. `user_text` is what the user typed: a
    message, an answer to a question, or the reason for a rejection. `call` is the call that a result answers, if known.
    The output of a command that the user typed after `!` is a text with a call. A result `is_stopped` if it is an error
    because the user refused or interrupted the call.
    """

    kind: str
    text: str
    is_error: bool = False
    user_text: str = field(default="", compare=False)
    call: ToolCall | None = field(default=None, compare=False)
    is_stopped: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Entry:
    """The message, or part of one, in one line of a transcript.

    An assistant's message has one entry per content block. The user's own words begin a turn; a tool's result or a note
    about an interruption doesn't. If `is_sidechain`, the entry is a subagent's, whose user is the assistant. `time` is
    in UTC, to the millisecond.
    """

    role: str
    parts: tuple[Part, ...]
    uuid: str
    session_id: str
    begins_turn: bool
    is_sidechain: bool = False
    time: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A whole line of a transcript, from byte *start* to *end*, with its entry, if it has one.

    If `is_broken`, the line isn't a JSON object or is longer than LINE_LIMIT. `tokens` is the number of tokens that the
    line adds to its message, cached ones included.
    """

    start: int
    end: int
    entry: Entry | None
    is_broken: bool = False
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of a transcript in order, and how many of its lines could not be read."""

    messages: tuple[dict[str, str], ...]
    broken_lines: int


class Transcript:
    """The transcript at `path`, of the session `session_id`, read once, line by line.

    If the file grows, reading continues after the last line. A line that repeats an earlier line's uuid has no entry,
    because some clients repeat the history. A last line without a newline is still being written, and is read the next
    time. All reading raises OSError if the file can't be read.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.session_id = session_of(path)
        self._first_uuid: str | None = None
        self._end = 0
        self._ahead: list[Line] = []  # read already, and not yet gone past
        self._uuids: set[int] = set()  # their hashes, since there may be a million
        self._calls, self._usage = _Calls(), _Usage()

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
        with open(open_plain(self.path), "rb") as file:
            for start, end, raw in _raw_lines(file, self._end):
                self._end = end
                yield self._line(start, end, raw)

    def _line(self, start: int, end: int, raw: bytes) -> Line:
        content = _parse(raw) if raw else None
        if content is None or self._is_repeated(content):
            return Line(start, end, None, is_broken=content is None)
        entry, tokens = _entry(content, self._calls), self._usage.added(content)
        if entry and entry.uuid:
            self._first_uuid = self._first_uuid or entry.uuid
        return Line(start, end, entry, tokens=tokens)

    def _is_repeated(self, content: dict[str, Any]) -> bool:
        uuid = content.get("uuid")
        if not isinstance(uuid, str) or not uuid or content.get("type") not in _ROLES:
            return False
        count = len(self._uuids)
        self._uuids.add(hash(uuid))
        return len(self._uuids) == count


def session_of(path: str) -> str:
    """Return the session's id from the *path* of its transcript, or of a subagent's transcript."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) == "subagents":
        return as_text(os.path.basename(os.path.dirname(folder)))
    return as_text(name.removesuffix(".jsonl"))


def began_at(path: str) -> float:
    """Return when the session of the transcript at *path* began, in seconds since 1970, or 0 if unknown. For a
    subagent's transcript, this is the beginning of the whole session. Raises OSError if the file can't be read."""
    folder = os.path.dirname(path)
    parent = f"{os.path.dirname(folder)}.jsonl"
    if os.path.basename(folder) == "subagents" and os.path.isfile(parent):
        path = parent
    with open(open_plain(path), "rb") as file:
        for _, _, raw in islice(_raw_lines(file, 0), _FIRST_LINES):
            with suppress(ValueError):
                return datetime.fromisoformat(_string((_parse(raw) or {}).get("timestamp"))).timestamp()
    return 0.0


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
            content = _parse(raw)
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


def _raw_lines(file: BinaryIO, start: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield start, end and bytes of each whole line from the byte *start* on. A line over LINE_LIMIT has no bytes."""
    file.seek(start)
    while raw := file.readline(LINE_LIMIT):
        end, last = start + len(raw), raw
        while last and not last.endswith(b"\n"):  # overlong, or still being written
            raw, last = b"", file.readline(_SKIPPED_AT_ONCE)
            end += len(last)
        if not last:
            return
        yield start, end, raw
        start = end


def _parse(raw: bytes) -> dict[str, Any] | None:
    """Parse the JSON object in a line. Return `{}` for a blank line, and None for anything else."""
    text = raw.decode("utf-8", "replace")
    if not text.strip():
        return {}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


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
        self.typed: ToolCall | None = None
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
        self._newest[key] = ToolCall(_tool(block), texts, folder, time)
        while len(self._newest) > _MAX_CALLS:
            del self._newest[next(iter(self._newest))]

    def _keep_typed(self, text: str, folder: str) -> None:
        """Remember *text* as a call if it is a command that the user typed after `!`."""
        if match := _TYPED_COMMAND.match(text.lstrip()):
            self.typed = ToolCall("Bash", {"command": match[1]} if _is_short(match[1]) else {}, folder)

    def answered(self, block: dict[str, Any]) -> ToolCall | None:
        return self._newest.get(_string(block.get("tool_use_id")))


class _Usage:
    """A counter of the messages' tokens. Each line of a message repeats the message's usage, which may grow."""

    def __init__(self) -> None:
        self._by_message: dict[int, int] = {}

    def added(self, content: dict[str, Any]) -> int:
        """Return how many tokens a line adds to those already counted for its message."""
        message = content.get("message") if content.get("type") == "assistant" else None
        usage = message.get("usage") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(usage, dict):
            return 0
        tokens = sum(value for name in _TOKENS if type(value := usage.get(name)) is int and 0 < value <= _MAX_TOKENS)
        key = hash(_string(message.get("id")) or _string(content.get("uuid")))
        before = self._by_message.get(key, 0)
        self._by_message[key] = max(tokens, before)
        return max(0, tokens - before)


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
    if calls.expands(content) or (has_result and _decision(content, "accept")[:5] != "user_"):  # else: yes, but ...
        content = {**content, "promptSource": "system"}
    role = content.get("type")
    origin = content.get("origin")
    if isinstance(origin, dict) and origin.get("kind") == "task-notification":
        return None
    if role not in _ROLES or any(content.get(mark) for mark in _NOT_LEARNED_FROM):
        return None
    parts = tuple(part for block in _blocks(content) for part in _parts(block, role, content, calls))
    if not parts:
        return None
    begins_turn = role == "user" and all(
        part.kind == "text" and not part.text.startswith(INTERRUPTED) for part in parts
    )
    return Entry(
        role,
        parts,
        _string(content.get("uuid")),
        _string(content.get("sessionId")).strip(),
        begins_turn,
        is_sidechain=content.get("isSidechain") is True,
        time=_time(content),
    )


def _parts(block: dict[str, Any], role: str, content: dict[str, Any], calls: _Calls) -> Iterator[Part]:
    """Yield the parts of a content block to learn from. A picture or other block without text yields only its kind."""
    kind = _string(block.get("type"))
    if kind in ("text", "thinking"):
        text = _string(block.get(kind))
        text = _users_own(text) if role == "user" else own_text.without_memory(text)
        if text.strip():
            yield _typed(text, content, calls) if role == "user" and kind == "text" else Part(kind, text)
    elif kind.endswith("tool_use"):
        inputs = block.get("input")
        note = own_text.of_call(_tool(block), inputs) if isinstance(inputs, dict) else None
        yield Part("call", f"{_tool(block)} {note or _json(inputs)}")
    elif kind.endswith("tool_result"):
        text, is_error, call = _result(block.get("content")), block.get("is_error") is True, calls.answered(block)
        user_text = _answers(content.get("toolUseResult")) if call and call.tool == "AskUserQuestion" else ""
        # An MCP server can write the client's words into its error, but can't set `toolDenialKind`.
        decided_by = _decision(content, "reject")
        may_be_users = decided_by[:5] in ("", "user_")  # in print mode nobody is there
        is_denied = content.get("toolDenialKind") == "user-rejected" and may_be_users
        is_clients = is_denied or (call is not None and call.tool[:5] != "mcp__")
        if is_error and (decided_by == "user_reject" or content.get("holdsPersonsWords") is True):
            user_text = _string(content.get("userFeedback"))
        elif is_error and is_clients and not decided_by:  # a client that keeps no decisions
            user_text = text[match.end() :] if (match := _REJECTED.match(text)) else user_text
        is_stopped = is_error and (is_denied or (is_clients and may_be_users and text.startswith(_STOPPED)))
        yield Part("result", _news(text, is_error, call), is_error, user_text, call, is_stopped)
    elif kind and kind != "redacted_thinking":
        yield Part("text", f"[{kind}]")


def _decision(content: dict[str, Any], decision: str) -> str:
    """Return who decided to `accept` or `reject` a call, as the client records it, or `""` if nobody did."""
    mark = content.get("permissionDecision")
    return _string(mark.get("source")) if isinstance(mark, dict) and mark.get("decision") == decision else ""


def _news(text: str, is_error: bool, call: ToolCall | None) -> str:
    """Return a tool's output without the text of the playbook and of the built-in memory."""
    if call is None or is_error:
        return own_text.without_quotes(text)
    return own_text.of_result(text, call.tool, call.inputs, call.folder)


def _typed(text: str, content: dict[str, Any], calls: _Calls) -> Part:
    """Return a text in the user's name as a part. It has the user's words, the output of a command that they typed, or
    another sender's text. A subagent's user is the assistant."""
    bare = text.lstrip()
    if bare.startswith(INTERRUPTED):
        return Part("text", text)
    if _is_persons(content) and content.get("isSidechain"):
        return Part("text", own_text.without_quotes(text))  # the hook adds key points to a task
    if bare.startswith(("<bash-input>", *_TYPED_OUTPUT)) and any(tag in text for tag in _TYPED_OUTPUT):
        call = calls.typed or ToolCall("!", {})
        return Part("text", _news(text, "<bash-input>" in text, call), call=call)
    user_text = _QUOTED.sub("", text)  # as in a mail
    if not _is_persons(content) or not _is_plain(bare) or not user_text.strip():
        return Part("text", text, call=ToolCall("a message", {}))
    return Part("text", text, user_text=user_text)


def _is_persons(content: dict[str, Any]) -> bool:
    """Return whether the user sent this message, according to the client."""
    origin = content.get("origin")
    is_human = not isinstance(origin, dict) or origin.get("kind", "human") == "human"
    return is_human and content.get("promptSource") != "system"


def _is_plain(text: str) -> bool:
    """Return whether *text* looks typed by a person: it has no tags that enclose text, except in code."""
    bare = _CODE.sub("", text)
    has_block = _TAG.match(bare) or any(f"</{name}" in bare for name in set(_TAG.findall(bare)))
    return not (has_block or text.startswith(_SUMMARY) or "<task-notification" in text)


def _answers(result: object) -> str:
    """Return the user's answers, notes and free response from *result*, the client's record of a question."""
    if not isinstance(result, dict):
        return ""
    answers, notes = result.get("answers"), result.get("annotations")
    values = list(answers.values()) if isinstance(answers, dict) else []
    if isinstance(notes, dict):
        values += [note.get("notes") for note in notes.values() if isinstance(note, dict)]
    return "\n".join(filter(None, map(_string, [*values, result.get("response")])))


def _users_own(text: str) -> str:
    """Return *text* without the client's reminders, or `""` if *text* is a command's echo or a hook's output."""
    own = own_text.without_reminders(text)
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
