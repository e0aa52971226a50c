"""A transcript's lines by their byte offsets, one at a time, however long one of them is.

Of a line longer than LINE_LIMIT the long strings are shortened while it is read, so that what kind of line it is, and
how each of its strings begins and ends, is known all the same.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, BinaryIO

from playbook_db.domain.playbook import storable

LINE_LIMIT = 4 << 20  # bytes; longer lines are shortened
_CHUNK = 256 << 10
_KEPT = 256 << 10  # bytes of a long string that are kept at each of its ends

_STRING_BODY = re.compile(rb'(?s)(?:[^"\\]++|\\.)*+')
_WHOLE_ESCAPES = re.compile(rb'(?s)(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+')
# No escape is open where a backslash follows another byte, nor after six bytes without one: the longest has five.
_OUTSIDE_ESCAPES = re.compile(rb"[^\\](?=\\)|[^\\]{6}")


@dataclass(frozen=True, slots=True)
class Line:
    """One whole line: where it stands, its JSON object (None where it is none), the bytes of it that were not kept."""

    start: int
    end: int
    content: dict[str, Any] | None
    left_out_bytes: int = 0


def read_lines(path: str, start: int = 0) -> Iterator[Line]:
    """The lines from byte *start* on. A last line without its newline is still being written and is not read.

    Raises OSError where the file can't be read. Nothing comes where it ends before *start*.
    """
    with open(path, "rb") as file:
        file.seek(start)
        while raw := file.readline(LINE_LIMIT):
            size, left_out = len(raw), 0
            if not raw.endswith(b"\n"):
                long = _LongLine(raw)
                if not long.read_rest(file):
                    return
                size, raw, left_out = long.size, long.shortened(), long.left_out
            yield Line(start, start + size, parse(raw.decode("utf-8", "replace")), left_out)
            start += size


def parse(text: str) -> dict[str, Any] | None:
    """The JSON object in *text*; an empty one for a blank line, None for anything else."""
    if not text.strip():
        return {}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


class _LongLine:
    """A line of JSON whose long strings lose their middle while it is read."""

    def __init__(self, beginning: bytes) -> None:
        self.size = 0
        self.left_out = 0
        self._beginning = beginning
        self._out = bytearray()
        self._is_endless = False
        self._string: _LongString | None = None
        self._carry = b""  # the backslash of an escape whose rest comes with the next chunk

    def read_rest(self, file: BinaryIO) -> bool:
        """Read *file* to the end of the line; whether there is one."""
        chunk = self._beginning
        self._beginning = b""
        while chunk:
            self.size += len(chunk)
            self._take(self._carry + chunk)
            if chunk.endswith(b"\n"):
                return True
            chunk = file.readline(_CHUNK)
        return False

    def shortened(self) -> bytes:
        """The line as JSON; nothing that could be parsed where it is too long even so."""
        if self._is_endless:
            self.left_out = self.size
            return b"endless"
        return bytes(self._out)

    def _take(self, data: bytes) -> None:
        at = 0
        self._carry = b""
        while at < len(data) and not self._is_endless:
            if self._string is None:
                quote = data.find(b'"', at) + 1
                self._keep(data[at : quote or None])
                at = quote or len(data)
                self._string = _LongString() if quote else None
                continue
            body = _STRING_BODY.match(data, at)
            end = body.end() if body else at
            self._string.add(data[at:end])
            at = end
            if data[at : at + 1] == b'"':
                self._keep(self._string.shortened() + b'"')
                self.left_out += self._string.left_out
                self._string = None
                at += 1
            else:
                self._carry = data[at:]
                at = len(data)

    def _keep(self, part: bytes) -> None:
        if len(self._out) + len(part) > LINE_LIMIT:  # a list without end, not a long text
            self._is_endless = True
        else:
            self._out += part


class _LongString:
    """The two ends of a string in JSON, and how much stood between them."""

    def __init__(self) -> None:
        self.left_out = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, part: bytes) -> None:
        room = _KEPT - len(self._head)
        self._head += part[:room]
        self._tail += part[room:]
        if len(self._tail) > 2 * _KEPT:
            self._drop(len(self._tail) - _KEPT)

    def shortened(self) -> bytes:
        """What is kept, cut so that no escape is halved, with a word about what was between."""
        if not self.left_out:
            return bytes(self._head + self._tail)
        whole = _WHOLE_ESCAPES.match(self._head)
        head = self._head[: whole.end()] if whole else self._head
        self.left_out += len(self._head) - len(head)
        clean = _OUTSIDE_ESCAPES.search(self._tail)
        self._drop(clean.end() if clean else len(self._tail))
        return bytes(head) + rb"\n[... %d bytes left out ...]\n" % self.left_out + bytes(self._tail)

    def _drop(self, count: int) -> None:
        self.left_out += count
        del self._tail[:count]


# What was said and done in a session: Claude Code's transcript, a file of JSON lines.
#
# `read_messages` is what was said, for programs. `walk` and `read_entries` are what can be learnt from: tool calls and
# their results too, by byte offsets, with no more than one line in memory. Nothing of what the client wrote itself in
# someone's name comes through: summaries, echoes of commands, notes of finished tasks, reminders, what hooks injected.


_ROLES = ("user", "assistant")
_NOT_SPEECH = ("isMeta", "isVisibleInTranscriptOnly", "isCompactSummary")
# What the client writes in the user's name: the echo of a local command, a note of a finished background task.
_ECHOES = (
    "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>", "<task-notification>",
)  # fmt: skip
_NOT_LEARNT_FROM = (*_NOT_SPEECH, "isApiErrorMessage")
_INJECTED = re.compile(
    r"(?:SessionStart|SubagentStart|UserPromptSubmit)(?::\w+)? hook (?:additional context|success): "
)
_INTERRUPTED = "[Request interrupted by user"  # the client's words for what the user did
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message; *kind* is `text`, `thinking`, `call` or `result`.

    A call's text is the tool's name, a blank, and its input as JSON.
    """

    kind: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """What one line of a transcript adds to the conversation.

    An assistant's message comes as one entry per content block. `end` is the byte offset after its line. A user's own
    words begin a turn; a tool's result, or a note that the user interrupted, doesn't.
    """

    role: str
    parts: tuple[Part, ...]
    end: int
    uuid: str
    session_id: str
    begins_turn: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """One whole line of a transcript, from byte *start* to *end*, with the entry in it, if any.

    `left_out_bytes` is what of an overlong line was not read.
    """

    start: int
    end: int
    entry: Entry | None
    is_broken: bool = False
    left_out_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Spoken:
    """The messages of a transcript in order, and how many of its lines could not be read."""

    messages: tuple[dict[str, str], ...]
    broken_lines: int


def read_entries(path: str, start: int = 0) -> Iterator[Entry]:
    """What can be learnt from in the transcript at *path*, from byte *start* on, which begins a line.

    A half-written last line is left for the next time. Raises OSError where the file can't be read.
    """
    return (passage.entry for passage in walk(path, start) if passage.entry is not None)


def walk(path: str, start: int = 0) -> Iterator[Passage]:
    """All whole lines from byte *start* on, each where the one before ended, also those that hold no entry.

    A line whose uuid stood in the file before, also before *start*, holds none: some clients repeat the history.
    """
    seen = _ids_before(path, start)
    for line in read_lines(path, start):
        key = _id_key(line)
        entry = _entry(line) if key is None or key not in seen else None
        if key is not None:
            seen.add(key)
        yield Passage(line.start, line.end, entry, line.content is None, line.left_out_bytes)


def read_messages(path: str) -> Spoken:
    """What the user and the assistant said in the transcript at *path*, as `{"role", "content"}` with text content.

    Tool calls, their results and thinking are left out, and so is what nobody said: meta lines, command echoes,
    summaries. Broken and half-written lines are skipped and counted. Raises OSError where the file can't be read.
    """
    messages: list[dict[str, str]] = []
    broken = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                continue
            entry = parse(line)
            if entry is None:
                broken += 1
                continue
            text = _text(entry) if _is_speech(entry) else ""
            if text:
                messages.append({"role": entry["type"], "content": text})
    return Spoken(tuple(messages), broken)


def assistant_texts(messages: Iterable[object]) -> Iterator[str]:
    """All that the assistant wrote or thought in *messages*, whose content is text or a list of content blocks."""
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


def _is_speech(entry: dict[str, Any]) -> bool:
    return entry.get("type") in _ROLES and not any(entry.get(mark) for mark in _NOT_SPEECH)


def _text(entry: dict[str, Any]) -> str:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        blocks = (block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text")
        content = "\n".join(block for block in blocks if isinstance(block, str))
    if not isinstance(content, str) or content.lstrip().startswith(_ECHOES):
        return ""
    return content


def _ids_before(path: str, start: int) -> set[int]:
    seen: set[int] = set()
    if start:
        for line in read_lines(path):
            if line.end > start:
                break
            key = _id_key(line)
            if key is not None:
                seen.add(key)
    return seen


def _id_key(line: Line) -> int | None:
    """The uuid of a line of the conversation in eight bytes: a long file has a million of them."""
    content = line.content or {}
    uuid = content.get("uuid")
    if not isinstance(uuid, str) or not uuid or content.get("type") not in _ROLES:
        return None
    return int.from_bytes(blake2b(uuid.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _entry(line: Line) -> Entry | None:
    content = line.content or {}
    role = content.get("type")
    if role not in _ROLES or any(content.get(mark) for mark in _NOT_LEARNT_FROM) or _is_notification(content):
        return None
    message = content.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    if isinstance(blocks, str):
        blocks = [{"type": "text", "text": blocks}]
    if not isinstance(blocks, list):
        return None
    parts = tuple(part for block in blocks if isinstance(block, dict) for part in _parts(block, role))
    if not parts:
        return None
    begins_turn = role == "user" and all(
        part.kind == "text" and not part.text.startswith(_INTERRUPTED) for part in parts
    )
    return Entry(role, parts, line.end, _string(content.get("uuid")), _string(content.get("sessionId")), begins_turn)


def _is_notification(content: dict[str, Any]) -> bool:
    origin = content.get("origin")
    return isinstance(origin, dict) and origin.get("kind") == "task-notification"


def _parts(block: dict[str, Any], role: str) -> Iterator[Part]:
    """What of a content block can be learnt from; a picture and the like as a word that it was there."""
    kind = _string(block.get("type"))
    if kind in ("text", "thinking"):
        text = _string(block.get(kind))
        text = _users_own(text) if role == "user" else text
        if text.strip():
            yield Part(kind, text)
    elif kind.endswith("tool_use"):
        name = "".join(_string(block.get("name")).split()) or "?"
        yield Part("call", f"{name} {_json(block.get('input'))}")
    elif kind.endswith("tool_result"):
        yield Part("result", _result(block.get("content")), block.get("is_error") is True)
    elif kind and kind != "redacted_thinking":
        yield Part("text", f"[{kind}]")


def _users_own(text: str) -> str:
    """*text* without what the client put in: reminders; nothing at all of an echo or of a hook's output."""
    kept, at = [], 0
    while (begin := text.find(_REMINDER, at)) >= 0 and (end := text.find(_REMINDER_END, begin)) >= 0:
        kept.append(text[at:begin])
        at = end + len(_REMINDER_END)
    own = "".join([*kept, text[at:]])
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
    """*value* as text that any database and any request can hold; `""` for anything but a string."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() and "\0" not in value else storable(value).replace("\0", "\ufffd")
