"""Transcripts as Claude Code writes them, made up: both versions' shapes, every kind of line that was observed.

The fields are those of the verbatim ones in tests/data/transcripts; only what readers may look at is in them.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from playbook_db import projects
from playbook_db.claude_code.hooks import spool

NEW, OLD = "2.1.329", "2.1.197"


class TranscriptBuilder:
    """Lines of one session in the order in which they are added; the same calls give the same bytes."""

    def __init__(self, session_id: str = "5e62eba9-0000", *, version: str = NEW, agent_id: str = "") -> None:
        self.session_id = session_id
        self.version = version
        self.agent_id = agent_id
        self.lines: list[str] = []
        self._answers = 0

    def user(self, text: str, **fields: Any) -> str:
        typed: dict[str, Any] = {"promptSource": "typed", "origin": {"kind": "human"}}
        return self._conversation("user", {"role": "user", "content": text}, **{**typed, **fields})

    def user_blocks(self, *blocks: dict[str, Any], **fields: Any) -> str:
        """A line of the user's with content blocks: a text with a picture, a result with a word to it."""
        return self._conversation("user", {"role": "user", "content": list(blocks)}, **fields)

    def assistant(self, *blocks: str | dict[str, Any], **fields: Any) -> str:
        """A message of the assistant, one line for each block (a string is a text); the last line's uuid."""
        self._answers += 1
        last = ""
        for index, block in enumerate(blocks):
            content = {"type": "text", "text": block} if isinstance(block, str) else block
            message = {
                "id": f"msg_{self._answers:06}",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5-5",
                "content": [content],
                "usage": {"input_tokens": 100, "output_tokens": 20},
            }
            version = {"apiBlockIndex": index, "madeBy": "model"} if self.version == NEW else {}
            last = self._conversation("assistant", message, **version, **fields)
        return last

    def result(self, content: object, *, is_error: bool = False, tool_id: str = "toolu_1", **fields: Any) -> str:
        """What a tool gave back, which the client keeps a second time beside the message."""
        block = {"tool_use_id": tool_id, "type": "tool_result", "content": content, "is_error": is_error}
        copy = {"stdout": content, "stderr": "", "interrupted": False}
        return self.user_blocks(block, toolUseResult=copy, sourceToolAssistantUUID="x", **fields)

    def run(self, command: str, output: str, *, is_error: bool = False) -> None:
        """A command that the assistant ran, and what came of it."""
        self.assistant(a_call("Bash", command=command))
        self.result(output, is_error=is_error)

    def meta(self, text: str) -> None:
        self.user(text, isMeta=True)

    def command_echo(self, name: str = "/compact", output: str = "Compacted") -> None:
        """The echo of a local command and of what it printed."""
        self.meta("<local-command-caveat>The command below was run directly ...</local-command-caveat>")
        echo = f"<command-name>{name}</command-name>\n            <command-message>{name[1:]}</command-message>"
        self._conversation("user", {"role": "user", "content": echo})
        printed = f"<local-command-stdout>{output}</local-command-stdout>"
        self._conversation("user", {"role": "user", "content": printed})

    def notification(self, result: str) -> None:
        text = f"<task-notification>\n<task-id>a0a5e0</task-id>\n<result>{result}</result>\n</task-notification>"
        self.user(text, origin={"kind": "task-notification"}, promptSource="system")

    def compaction(self, summary: str = "Summary: [pat-008] was followed.") -> None:
        """The boundary and the summary that the conversation goes on from."""
        boundary = {"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False}
        self.add({"type": "system", "uuid": self._uuid(), "sessionId": self.session_id, **boundary})
        text = f"This session is being continued from a previous conversation.\n\n{summary}"
        self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def queued(self, prompt: object, **fields: Any) -> None:
        """A message that the user typed while the assistant worked."""
        given = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", "origin": {"kind": "human"}}
        about = {"uuid": self._uuid(), "timestamp": "2026-11-20T10:00:00.000Z", "sessionId": self.session_id}
        self.add({"parentUuid": None, "type": "attachment", "attachment": {**given, **fields}, **about})

    def queue(self, *operations: str, text: str) -> None:
        for operation in operations:
            self.add({"type": "queue-operation", "operation": operation, "content": text})

    def slash(self, name: str, words: str, **fields: Any) -> str:
        """A slash command or skill with the user's words, and the text that the client makes of it."""
        echo = f"<command-message>{name[1:]}</command-message>\n<command-name>{name}</command-name>"
        uuid = self.user(f"{echo}\n<command-args>{words}</command-args>", **fields)
        self.meta(f"Do as {name} says: {words}")
        return uuid

    def injected(self, text: str, event: str = "SessionStart") -> None:
        """What a hook put before the model, as the client keeps it."""
        for attachment in (
            {"type": "hook_success", "hookName": event, "stdout": json.dumps({"additionalContext": text})},
            {"type": "hook_additional_context", "hookName": event, "content": [text]},
        ):
            self.add({"type": "attachment", "uuid": self._uuid(), "attachment": attachment, "sessionId": "x"})

    def recalled(self, text: str, path: str) -> None:
        """What the built-in memory put before the model, as the client keeps it."""
        memory = {"path": path, "content": text, "mtimeMs": 1, "header": "This memory is 3 days old. Verify first."}
        for attachment in (
            {"type": "relevant_memories", "memories": [memory]},
            {"type": "nested_memory", "path": path, "content": {"path": path, "type": "Project", "content": text}},
        ):
            self.add({"type": "attachment", "uuid": self._uuid(), "attachment": attachment, "sessionId": "x"})

    def request_copy(self, text: str) -> None:
        """What 2.1.329 keeps of a request: the conversation once more."""
        self.add({"type": "api-request-shape", "sessionId": self.session_id, "rest": {}})
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        self.add({"type": "api-request-blob", "sessionId": self.session_id, "message": message})

    def housekeeping(self) -> None:
        self.add({"type": "mode", "mode": "normal", "sessionId": self.session_id})
        self.add({"type": "last-prompt", "lastPrompt": "again", "sessionId": self.session_id})
        self.add({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}, "isSnapshotUpdate": False})
        self.add({"type": "queue-operation", "operation": "enqueue", "content": "again"})

    def add(self, entry: object) -> None:
        self.lines.append(json.dumps(entry, ensure_ascii=False))

    def raw(self, line: str) -> None:
        self.lines.append(line)

    def content(self, half: str = "") -> bytes:
        """The file's bytes; *half* is a last line that is still being written."""
        return ("".join(f"{line}\n" for line in self.lines) + half).encode("utf-8", "surrogatepass")

    def write(self, path: Path, half: str = "") -> str:
        path.write_bytes(self.content(half))
        return str(path)

    def _conversation(self, kind: str, message: dict[str, Any], **fields: Any) -> str:
        uuid = fields.pop("uuid", None) or self._uuid()
        side = {"isSidechain": bool(self.agent_id), **({"agentId": self.agent_id} if self.agent_id else {})}
        about = {"uuid": uuid, "timestamp": "2026-11-20T10:00:00.000Z", **fields}
        place = {
            "sessionId": self.session_id,
            "version": self.version,
            "cwd": os.environ.get("CLAUDE_PROJECT_DIR", "/home/dev/project"),
        }
        # As the client orders them: the type of an assistant's line comes after its message.
        order = {"type": kind, "message": message} if kind == "user" else {"message": message, "type": kind}
        self.add({"parentUuid": None, **side, **order, **about, **place})
        return str(uuid)

    def _uuid(self) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self.session_id}/{self.agent_id}/{len(self.lines)}"))


def a_call(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": given}


def a_thought(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": "x"}


def a_session(turns: int = 3, *, version: str = NEW, output_chars: int = 200) -> TranscriptBuilder:
    """A session in which each turn has a failing and a passing run, compacted in the middle."""
    built = TranscriptBuilder(version=version)
    built.housekeeping()
    built.injected("[pat-009] helpful=1 harmful=0 :: never to be read again")
    for turn in range(turns):
        if turn and turn == turns // 2:
            built.compaction()
            built.command_echo()
        built.user(f"task {turn}: make the tests pass")
        if version == NEW:
            built.request_copy(f"task {turn}: make the tests pass")
        built.assistant(a_thought("What does [mis-002] say?"), f"Following [pat-001] in turn {turn}.")
        noise = "".join(f"tests/test_{index}.py ....\n" for index in range(output_chars // 24))
        built.run("pytest -q", f"Exit code 1\n{noise}E   ValueError: no\n1 failed, 9 passed in 0.1s", is_error=True)
        built.run("pytest -q", f"{noise}10 passed in 0.1s")
        built.assistant("Done.")
    built.housekeeping()
    return built


def write_long(path: Path, size_bytes: int, block: Iterable[str] | None = None) -> str:
    """A file of at least *size_bytes*: the lines of *block* again and again, each time with new ids."""
    lines = list(block or a_session(40, output_chars=6_000).lines)
    with path.open("w", encoding="utf-8") as file:
        copy = 0
        while file.tell() < size_bytes:
            file.writelines(at_another_time(line, copy) + "\n" for line in lines)
            copy += 1
    return str(path)


def at_another_time(line: str, number: int) -> str:
    line = line.replace('"uuid": "', f'"uuid": "{number}-', 1).replace('"id": "msg_', f'"id": "msg_{number}_', 1)
    return line.replace("T10:00:00.000Z", f"T{10 + number // 60}:{number % 60:02}:00.000Z")


def note_start(path: str | Path, folder: str) -> None:
    """Record that the session of the transcript at *path* began in *folder*."""
    answer = {"project": projects.project_key(folder), "folder": folder, "transcript_path": projects.as_text(str(path))}
    spool.keep_start(Path(path).stem, json.dumps(answer).encode())
