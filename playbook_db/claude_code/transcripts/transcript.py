"""Reading Claude Code's transcript of a session, a file of JSON lines.

`read_messages` returns the words of user and assistant. A `Transcript` also reads tool calls and results, with byte
offsets, and messages that the user typed while the assistant worked. Both leave out text that the client wrote in the
name of user or assistant: summaries, echoes of commands, notes about finished tasks, reminders, and texts from hooks.
"""

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from playbook_db.claude_code.transcripts.parts import Calls, Part, as_json, decision, parts_of, time_of, typed_parts
from playbook_db.claude_code.transcripts.queued import Queue
from playbook_db.claude_code.transcripts.raw_lines import parse, raw_lines
from playbook_db.claude_code.transcripts.rewound import Rewound
from playbook_db.claude_code.transcripts.speech import (
    INTERRUPTED,
    NOT_SPEECH,
    ROLES,
    blocks_of,
    is_prompt,
    speech_of,
    text_of,
    typed_command,
)
from playbook_db.projects import as_text, open_plain

_FIRST_LINES = 100  # of a transcript, searched for the time when the session began
_NOT_LEARNED_FROM = (*NOT_SPEECH, "isApiErrorMessage")
_LINES_AHEAD = 20  # in which the call of a result may stand


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
    """A whole line of a transcript, from byte *start* to *end*, with its entry, if it has one. If `is_broken`, the line
    isn't a JSON object or is too long."""

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
        self._calls, self._queue, self._repeats = Calls(), Queue(), _Repeats()
        self._rewound = Rewound(path, is_prompt)

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
                self._end = end
                yield self._line(start, end, parse(raw) if raw else None)

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
            for block in blocks_of(content)
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
            elif text := speech_of(content):
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


class _Repeats:
    """The lines so far, as hashes. Some clients write the history again, with the same uuids or with new ones."""

    def __init__(self) -> None:
        self._uuids: set[int] = set()
        self._blocks: set[int] = set()
        self._copies: set[int] = set()  # uuids of lines that repeat others

    def has(self, content: dict[str, Any]) -> bool:
        """Return whether a line repeats an earlier one: its uuid, an assistant's message, or what followed such a
        message. Call this for all lines in order."""
        uuid, message = text_of(content.get("uuid")), content.get("message")
        if not uuid:
            return False
        is_copy = hash(text_of(content.get("parentUuid")) or None) in self._copies
        if has_role := content.get("type") in ROLES:
            author = text_of(message.get("id")) if isinstance(message, dict) else ""
            blocks = {hash((author, as_json(block))) for block in blocks_of(content)}
            is_known = bool(blocks) and blocks <= self._blocks and (is_copy or author != "")
            is_copy = is_known or hash(uuid) in self._uuids
            self._uuids.add(hash(uuid))
            self._blocks |= blocks
        if is_copy:
            self._copies.add(hash(uuid))
        return is_copy and has_role


def _entry(content: dict[str, Any], calls: Calls) -> Entry | None:
    calls.read(content)
    has_result = any(block.get("type") == "tool_result" for block in blocks_of(content))
    command = typed_command(content)
    typed = [*typed_parts(command, content, calls)] if command else []
    if calls.expands(content) or (has_result and decision(content, "accept")[:5] != "user_"):  # else: yes, but ...
        content = {**content, "promptSource": "system"}
    role = content.get("type")
    origin = content.get("origin")
    if isinstance(origin, dict) and origin.get("kind") == "task-notification":
        return None
    if role not in ROLES or any(content.get(mark) for mark in _NOT_LEARNED_FROM):
        return None
    parts = (*typed, *(part for block in blocks_of(content) for part in parts_of(block, role, content, calls)))
    if not parts:
        return None
    begins_turn = role == "user" and not has_result
    return Entry(
        role,
        parts,
        text_of(content.get("uuid")),
        text_of(content.get("sessionId")).strip(),
        begins_turn and all(part.kind == "text" and not part.text.startswith(INTERRUPTED) for part in parts),
        is_sidechain=content.get("isSidechain") is True,
        branch=text_of(content.get("gitBranch")),
        time=time_of(content),
    )
