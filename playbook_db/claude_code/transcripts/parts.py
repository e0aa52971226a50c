"""The parts of a message: texts, thoughts, tool calls and results, and which of the words are the user's."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from playbook_db.claude_code.transcripts import own_text
from playbook_db.claude_code.transcripts.speech import (
    COMMAND_ECHOES,
    INTERRUPTED,
    TYPED_OUTPUT,
    blocks_of,
    is_persons,
    own_words,
    text_of,
    users_own,
)

MESSAGE = "a message"  # another sender's text in the user's name, in place of a tool
_TYPED_COMMAND = re.compile(r"\s*<bash-input>(.*?)</bash-input>\s*", re.DOTALL)
_OUTPUT_TAG = re.compile(r"</?bash-std(?:out|err)>")
# The client's words in the result of a call that the user refused or stopped.
_STOPPED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    INTERRUPTED,
)
_REJECTED = re.compile(r"The user doesn't want to proceed with this tool use\..{0,200}? the user said:\n", re.DOTALL)
_MAX_CALLS = 200  # calls that are remembered, the newest
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
    directly follow its call. It `is_unasked` if it is an error because nobody was there to allow the call.
    """

    kind: str
    text: str
    is_error: bool = False
    user_text: str = field(default="", compare=False)
    call: ToolCall | None = field(default=None, compare=False)
    is_stopped: bool = field(default=False, compare=False)
    is_apart: bool = field(default=False, compare=False)
    is_unasked: bool = field(default=False, compare=False)


class Calls:
    """A record of the newest tool calls, and of the last command that the user typed after `!`."""

    def __init__(self) -> None:
        self._newest: dict[str, ToolCall] = {}
        self._written: dict[str, int] = {}  # hashes of files as the session wrote them
        self.typed: ToolCall | None = None
        self.last = ""  # the id of the call that the newest part makes
        self._is_expanding = False

    def read(self, content: dict[str, Any]) -> None:
        """Remember the calls in a line."""
        for block in blocks_of(content):
            kind = text_of(block.get("type"))
            if kind.endswith("tool_use") and content.get("type") == "assistant":
                self._keep(block, text_of(content.get("cwd")), time_of(content))
            elif kind == "text" and content.get("type") == "user" and is_persons(content):
                self._keep_typed(text_of(block.get("text")), text_of(content.get("cwd")))

    def expands(self, content: dict[str, Any]) -> bool:
        """Return whether a user's line has the text of a slash command, whose name is in the line before."""
        is_expansion = self._is_expanding and content.get("promptSource") != "typed"
        texts = [text_of(block.get("text")).lstrip() for block in blocks_of(content)]
        self._is_expanding = any(text.startswith(COMMAND_ECHOES) for text in texts)
        return is_expansion or self._is_expanding

    def _keep(self, block: dict[str, Any], folder: str, time: str) -> None:
        raw = block.get("input")
        texts = {name: raw[name] for name in _INPUTS if _is_short(raw.get(name))} if isinstance(raw, dict) else {}
        key = text_of(block.get("id"))
        self._newest.pop(key, None)  # the newest comes last
        self._newest[key] = call = ToolCall(_tool(block), texts, folder, time)
        while len(self._newest) > _MAX_CALLS:
            del self._newest[next(iter(self._newest))]
        if call.tool == "Write" and isinstance(raw, dict):
            self._written[texts.get("file_path", "")] = hash(text_of(raw.get("content")).strip())

    def _keep_typed(self, text: str, folder: str) -> None:
        """Remember *text* as a call if it is a command that the user typed after `!`."""
        if match := _TYPED_COMMAND.match(text):
            self.typed = ToolCall("Bash", {"command": match[1]} if _is_short(match[1]) else {}, folder)

    def answered(self, block: dict[str, Any]) -> ToolCall | None:
        """Return the call that a result answers, or None if it isn\'t known."""
        return self._newest.get(text_of(block.get("tool_use_id")))

    def shows_written(self, call: ToolCall, text: str) -> bool:
        """Return whether *text*, the result of *call*, is a whole file as the session wrote it."""
        written = self._written.get(call.inputs.get("file_path", "")) if call.tool == "Read" else None
        return written is not None and written == hash(_LINE_NUMBER.sub("", text).strip())


def time_of(content: dict[str, Any]) -> str:
    """Return the time of a line in UTC, to the millisecond, or `""`."""
    return text_of(content.get("timestamp"))[:23]


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_INPUT_CHARS


def _tool(block: dict[str, Any]) -> str:
    return "".join(text_of(block.get("name")).split()) or "?"


def parts_of(block: dict[str, Any], role: str, content: dict[str, Any], calls: Calls) -> Iterator[Part]:
    """Yield the parts of a content block to learn from. A picture or other block without text yields only its kind."""
    kind = text_of(block.get("type"))
    last, calls.last = calls.last, ""
    if kind in ("text", "thinking"):
        text = text_of(block.get(kind))
        text = users_own(text) if role == "user" else own_text.without_memory(text)
        if text.strip():
            yield from typed_parts(text, content, calls) if role == "user" and kind == "text" else [Part(kind, text)]
    elif kind.endswith("tool_use"):
        inputs = block.get("input")
        note = own_text.of_call(_tool(block), inputs) if isinstance(inputs, dict) else None
        calls.last = text_of(block.get("id"))
        yield Part("call", f"{_tool(block)} {note or as_json(inputs)}")
    elif kind.endswith("tool_result"):
        yield from _result_parts(block, content, calls, is_apart=last != text_of(block.get("tool_use_id")))
    elif kind and kind != "redacted_thinking":
        yield Part("text", f"[{kind}]")


def _result_parts(block: dict[str, Any], content: dict[str, Any], calls: Calls, *, is_apart: bool) -> Iterator[Part]:
    """Yield the result of a call, and the words with which the user answered or refused it."""
    text, is_error, call = _result(block.get("content")), block.get("is_error") is True, calls.answered(block)
    if call and call.tool in _NO_NEWS and not is_error:
        return
    if answers := _answers(content.get("toolUseResult")) if call and call.tool == "AskUserQuestion" else {}:
        words = "\n".join(map(": ".join, answers.items()))
        yield Part("text", words, user_text=words)
        return
    # An MCP server can write the client's words into its error, but can't set `toolDenialKind`.
    decided_by = decision(content, "reject")
    may_be_users = decided_by[:5] in ("", "user_")  # in print mode nobody is there
    is_rejected = content.get("toolDenialKind") == "user-rejected"
    is_denied = is_rejected and may_be_users
    is_clients = is_denied or (call is not None and call.tool[:5] != "mcp__")
    words = ""
    if is_error and (decided_by == "user_reject" or content.get("holdsPersonsWords") is True):
        words = text_of(content.get("userFeedback"))
    elif is_error and is_clients and not decided_by:  # a client that keeps no decisions
        words = text[match.end() :] if (match := _REJECTED.match(text)) else ""
    is_refused = is_denied or words.strip() != ""
    is_stopped = is_error and (is_refused or (is_clients and may_be_users and text.startswith(_STOPPED)))
    before, _, after = text.rpartition(words) if words.strip() else (text, "", "")
    news = _news(before + after, is_error, call)
    if call and not is_error and calls.shows_written(call, news):
        news = _AS_WRITTEN
    yield Part(
        "result",
        news,
        is_error,
        call=call,
        is_stopped=is_stopped,
        is_apart=is_apart and call is not None,
        is_unasked=is_error and is_rejected and not is_denied,
    )
    if words.strip():
        yield Part("text", words, user_text=words, call=call)


def decision(content: dict[str, Any], decision: str) -> str:
    """Return who decided to `accept` or `reject` a call, as the client records it, or `""` if nobody did."""
    mark = content.get("permissionDecision")
    return text_of(mark.get("source")) if isinstance(mark, dict) and mark.get("decision") == decision else ""


def _news(text: str, is_error: bool, call: ToolCall | None) -> str:
    """Return a tool's output without the text of the playbook and of the built-in memory."""
    if call is None or is_error:
        return own_text.without_quotes(text)
    return own_text.of_result(text, call.tool, call.inputs, call.folder)


def typed_parts(text: str, content: dict[str, Any], calls: Calls) -> Iterator[Part]:
    """Yield a text in the user's name as parts: the user's words, a command that they typed after `!` and its output,
    or another sender's text. A subagent's user is the assistant."""
    bare = text.lstrip()
    is_users = is_persons(content)
    if bare.startswith(INTERRUPTED):
        yield Part("text", text)
    elif is_users and content.get("isSidechain"):
        yield Part("text", own_text.without_quotes(text))  # the hook adds key points to a task
    elif is_users and bare.startswith(("<bash-input>", *TYPED_OUTPUT)):
        if match := _TYPED_COMMAND.match(text):
            yield Part("text", f"! {match[1]}", user_text=match[1])
            text = text[match.end() :]
        if text.strip():
            call = calls.typed or ToolCall("!", {})
            yield Part("result", _news(_OUTPUT_TAG.sub("", text), False, call), call=call)
    else:
        user_text = own_words(bare) if is_users else ""
        yield Part("text", text, user_text=user_text, call=None if user_text.strip() else ToolCall(MESSAGE, {}))


def _answers(result: object) -> dict[str, str]:
    """Return the user's answers, notes and free response, by question, from *result*, the client's record of them."""
    if not isinstance(result, dict):
        return {}
    answers, notes = (result[key] if isinstance(result.get(key), dict) else {} for key in ("answers", "annotations"))
    texts = {f"Answer to {question!r}": answer for question, answer in answers.items()}
    texts |= {f"Note on {question!r}": note.get("notes") for question, note in notes.items() if isinstance(note, dict)}
    texts["Response"] = result.get("response")
    return {" ".join(text_of(about).split()): text_of(text) for about, text in texts.items() if text_of(text)}


def _result(content: object) -> str:
    if not isinstance(content, list):
        return text_of(content)
    blocks = [block for block in content if isinstance(block, dict)]
    return "\n".join(text_of(block.get("text")) or f"[{text_of(block.get('type'))}]" for block in blocks)


def as_json(value: object) -> str:
    """Return *value* as JSON, or a note if it is nested too deeply."""
    try:
        return text_of(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "(nested too deeply)"
