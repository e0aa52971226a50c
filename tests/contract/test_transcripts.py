"""load_transcript: what was said in a session, and what of its file was not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from playbook_db.contract import (
    extract_cited_ids,
    load_transcript,
)


def a_line(kind: str, content: object, **fields: Any) -> str:
    """One line of a conversation as Claude Code writes it."""
    message = {"role": kind, "content": content}
    entry = {"parentUuid": None, "isSidechain": False, "type": kind, "message": message, "uuid": str(uuid4()), **fields}
    return json.dumps(entry)


def a_text(text: str) -> list[dict[str, Any]]:
    """The content of a line that holds one block of text."""
    return [{"type": "text", "text": text}]


@pytest.fixture
def transcript(tmp_path: Path) -> Callable[..., Path]:
    """Writes lines into a transcript; its path. The last one ends without a newline where it is half-written."""

    def write(*lines: str, half: str = "") -> Path:
        path = tmp_path / "session.jsonl"
        path.write_text("".join(f"{line}\n" for line in lines) + half, encoding="utf-8")
        return path

    return write


USER = {"role": "user", "content": "first prompt"}
ASSISTANT = {"role": "assistant", "content": "Following [pat-001], done."}
SPOKEN = (a_line("user", "first prompt", promptSource="user"), a_line("assistant", a_text(ASSISTANT["content"])))


def test_transcript_has_user_and_assistant(transcript: Callable[..., Path]) -> None:
    path = transcript(*SPOKEN, a_line("user", a_text("second prompt")))

    expected = [USER, ASSISTANT, {"role": "user", "content": "second prompt"}]
    assert load_transcript(path) == load_transcript(str(path)) == expected
    assert extract_cited_ids(load_transcript(path)) == ["pat-001"]


def test_text_blocks_are_joined(transcript: Callable[..., Path]) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hidden", "signature": "x"},
        {"type": "text", "text": "Running."},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls hidden"}},
        {"type": "text", "text": "Done."},
    ]

    assert load_transcript(transcript(a_line("assistant", blocks))) == [
        {"role": "assistant", "content": "Running.\nDone."}
    ]


NOBODY_SAID = {
    "a meta line": a_line("user", "<local-command-caveat>Caveat: ...</local-command-caveat>", isMeta=True),
    "a line visible in the transcript only": a_line("user", "shown", isVisibleInTranscriptOnly=True),
    "a summary of a compaction": a_line(
        "user", "This session is being continued ...", isVisibleInTranscriptOnly=True, isCompactSummary=True
    ),
    "the echo of a command": a_line(
        "user",
        "<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n"
        "            <command-args>keep names</command-args>",
    ),
    "the output of a command": a_line("user", "<local-command-stdout>Compacted (ctrl+o ...)</local-command-stdout>"),
    "the errors of a command": a_line("user", "<local-command-stderr>Error: ...</local-command-stderr>"),
    "a note of a finished task": a_line(
        "user",
        "<task-notification>\n<task-id>a0a5e0c349098f273</task-id>\n</task-notification>",
        origin={"kind": "task-notification"},
        promptSource="system",
    ),
    "a tool's result": a_line(
        "user",
        [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "hi-main", "is_error": False}],
        toolUseResult={"stdout": "hi-main"},
    ),
    "a tool call alone": a_line("assistant", [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}]),
    "thinking alone": a_line("assistant", [{"type": "thinking", "thinking": "hm", "signature": "x"}]),
    "an empty answer": a_line("assistant", a_text("")),
    "an attachment": json.dumps(
        {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["[pat-009] ..."]}}
    ),
    "a boundary of a compaction": json.dumps(
        {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
    ),
    "a command that ran locally": json.dumps(
        {"type": "system", "subtype": "local_command", "content": "<local-command-stdout></local-command-stdout>"}
    ),
    "a request that repeats the conversation": json.dumps(
        {"type": "api-request-blob", "message": {"role": "user", "content": "first prompt"}}
    ),
    "an operation of the queue": json.dumps(
        {"type": "queue-operation", "operation": "enqueue", "content": "use agent"}
    ),
    "the last prompt again": json.dumps({"type": "last-prompt", "lastPrompt": "first prompt"}),
    "a snapshot of files": json.dumps({"type": "file-history-snapshot", "snapshot": {}, "isSnapshotUpdate": False}),
    "a line without a message": json.dumps({"type": "user", "uuid": "x"}),
    "a message that is a text": json.dumps({"type": "user", "message": "hello"}),
    "content of an unknown shape": a_line("user", {"text": "hello"}),
    "blocks of an unknown shape": a_line("user", [None, 7, "hello", {"type": "text"}, {"type": "text", "text": None}]),
    "an object with nothing in it": "{}",
    "an empty line": "",
    "a line of blanks": "   ",
}


@pytest.mark.parametrize("line", NOBODY_SAID.values(), ids=NOBODY_SAID)
def test_other_lines_are_left_out(
    transcript: Callable[..., Path], capsys: pytest.CaptureFixture[str], line: str
) -> None:
    path = transcript(SPOKEN[0], line, SPOKEN[1])

    assert load_transcript(path) == [USER, ASSISTANT]
    assert capsys.readouterr().err == ""


def test_quoted_echo_is_speech(transcript: Callable[..., Path]) -> None:
    said = "What does <command-name>/compact</command-name> mean?"

    assert load_transcript(transcript(a_line("user", said))) == [{"role": "user", "content": said}]


BROKEN = {
    "cut": SPOKEN[0][:-20],
    "no JSON": "It was here a moment ago.",
    "a list": "[1, 2]",
    "a number": "7",
    "a text": '"user"',
    "null": "null",
    "nested too deeply": "[" * 100_000,
    "bytes of nothing": "\x00\x00\x00",
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_broken_lines_are_counted(
    transcript: Callable[..., Path], capsys: pytest.CaptureFixture[str], line: str
) -> None:
    path = transcript(line, SPOKEN[0], line, SPOKEN[1])

    assert load_transcript(path) == [USER, ASSISTANT]
    output = capsys.readouterr().err
    assert str(path) in output
    assert "2 broken lines" in output


def test_half_written_last_line_is_skipped(transcript: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    whole = load_transcript(transcript(SPOKEN[0], half=SPOKEN[1]))
    silence = capsys.readouterr().err
    cut = load_transcript(transcript(*SPOKEN, half=SPOKEN[0][: len(SPOKEN[0]) // 2]))

    assert whole == cut == [USER, ASSISTANT]
    assert silence == ""
    assert "1 broken line" in capsys.readouterr().err


def test_unicode_separators_end_no_line(transcript: Callable[..., Path]) -> None:
    said = "one\u2028two\x85three"
    line = json.dumps({"type": "user", "message": {"role": "user", "content": said}}, ensure_ascii=False)

    assert load_transcript(transcript(line)) == [{"role": "user", "content": said}]


def test_missing_transcript_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_transcript(tmp_path / "none.jsonl")
