"""What was said in a session: Claude Code's transcript, a file of JSON lines, read into messages."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_ROLES = ("user", "assistant")
_NOT_SPEECH = ("isMeta", "isVisibleInTranscriptOnly", "isCompactSummary")
# What the client writes in the user's name: the echo of a local command, a note of a finished background task.
_ECHOES = (
    "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>", "<task-notification>",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spoken:
    """The messages of a transcript in order, and how many of its lines could not be read."""

    messages: tuple[dict[str, str], ...]
    broken_lines: int


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
            entry = _entry(line)
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


def _entry(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


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
