"""What of transcripts' words reaches a reflector's prompt: `python -m benchmarks.words FILE...`.

It counts by rules of its own: the user's messages that stand below the user's heading, errors, prompts that the user
withdrew, and each heading's share of the text. A message is found by its first or last characters.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playbook_db.claude_code.learner import CHUNK_CHARS
from playbook_db.claude_code.transcripts.chunks import ChunkReader
from playbook_db.claude_code.transcripts.transcript import Transcript

_CLIENTS = re.compile(r"<(system-reminder|ide_\w+)>.*?</\1>", re.DOTALL)
_NOT_TYPED = (
    "<command-", "<local-command", "<task-notification", "<bash-std", "[Request interrupted", "Caveat:", '{"task_id"',
    "<teammate-message", "<agent-message", "<ci-monitor-event", "This session is being continued",
)  # fmt: skip
_META = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain")
_HEADING = re.compile(r"(?m)^## (?=(?:User|Message|Assistant|Thinking|Tool|Left out)\b)")
_FOUND_BY = 100  # letters and digits at the beginning


@dataclass
class Said:
    """What a transcript has: the user's words by kind, errors, and withdrawn prompts."""

    words: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)


def said_in(path: Path) -> Said:
    """Read the transcript at *path*."""
    rows = list({row.get("uuid") or number: row for number, row in enumerate(_rows(path))}.values())
    children, tools, said, waiting = defaultdict(list), dict[str, str](), Said(), list[str]()
    for row in rows:
        children[row.get("parentUuid")].append(row)
        tools |= {block["id"]: block["name"] for block in _blocks(row) if block.get("type") == "tool_use"}
    siblings = [[row for row in each if _typed(row)] for parent, each in children.items() if parent]
    gone = {row["uuid"] for each in siblings for row in each[:-1]}
    more = list(gone)
    while more:
        more = [row["uuid"] for uuid in more for row in children[uuid] if row.get("uuid") not in (None, *gone)]
        gone |= {*more}
    for row in rows:
        if row.get("uuid") in gone:
            said.withdrawn += [text for _, text in _typed(row)]
        else:
            said.words += [*_typed(row), *_queued(row, waiting)]
            for block in _blocks(row):
                if block.get("type") == "tool_result":
                    _read_result(block, row, tools.get(block["tool_use_id"], "mcp__"), said)
    first = {(kind, _bare(text)): (kind, text) for kind, text in said.words if kind == "queued"}
    said.words = [each for each in said.words if each[0] != "queued"] + list(first.values())
    return said


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().decode("utf-8", "replace").split("\n"):
        starts = [0, *(match.start() for match in re.finditer(r'\{"(?:parentUuid|type)"', line))]
        for start in starts:
            try:
                yield json.loads(line[start:])
                break
            except ValueError:
                continue


def _blocks(row: dict[str, Any]) -> list[dict[str, Any]]:
    content = (row.get("message") or {}).get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    return [block for block in blocks if isinstance(block, dict)]


def _typed(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the user's words in a line of their own."""
    origin = (row.get("origin") or {}).get("kind", "human")
    is_users = row.get("type") == "user" and origin == "human" and row.get("promptSource") != "system"
    if not is_users or any(map(row.get, _META)) or any(block.get("type") == "tool_result" for block in _blocks(row)):
        return []
    texts = [_CLIENTS.sub("", block.get("text") or "").strip() for block in _blocks(row)]
    found = [("prompt", text) for text in texts if text and not text.startswith((*_NOT_TYPED, "<bash-input>"))]
    for text in texts:
        words = re.search(r"<command-args>(.*)</command-args>", text, re.DOTALL)
        ran = re.match(r"<bash-input>(.*?)</bash-input>", text, re.DOTALL)
        if ran or (words and text.startswith("<command-") and words[1].strip()):
            found.append(("command", (ran or words or [""])[1].strip()))
    return found


def _queued(row: dict[str, Any], waiting: list[str]) -> list[tuple[str, str]]:
    """Return the message that a line hands over in mid-turn. *waiting* are the messages before it."""
    held, operation, text = row.get("attachment") or {}, row.get("operation"), row.get("content")
    text = text if isinstance(text, str) else ""
    if operation == "enqueue":
        waiting.append(text)
    elif operation == "popAll":
        waiting.clear()
    elif operation in ("remove", "dequeue") and waiting:
        text = waiting.pop(waiting.index(text) if text in waiting else 0)
    is_human = (held.get("origin") or {}).get("kind", "human") == "human" and not held.get("isMeta")
    if held.get("type") == "queued_command" and held.get("commandMode", "prompt") == "prompt" and is_human:
        prompt, operation = held["prompt"], "remove"
        text = prompt if isinstance(prompt, str) else "\n".join(block.get("text", "") for block in prompt)
    return [("queued", text)] if operation == "remove" and text and not text.startswith(_NOT_TYPED) else []


def _read_result(block: dict[str, Any], row: dict[str, Any], tool: str, said: Said) -> None:
    content = block.get("content") or ""
    text = content if isinstance(content, str) else "\n".join(each.get("text") or "" for each in content)
    if block.get("is_error") is True:
        words = re.search(r"the user said:\n(.*?)(?:\n\nNote: |$)", text, re.DOTALL)
        said.words += [("refusal", words[1])] if words and words[1].strip() and not tool.startswith("mcp__") else []
        said.errors += [text] if text.strip() else []
    record = row.get("toolUseResult")
    if tool == "AskUserQuestion" and isinstance(record, dict):
        notes = [note.get("notes") for note in (record.get("annotations") or {}).values()]
        answers = [*(record.get("answers") or {}).values(), *notes]
        said.words += [("answer", answer) for answer in answers if answer and answer != "(notes only)"]


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text)


def _is_in(text: str, prompt: str) -> bool:
    """Return whether *prompt*, letters and digits only, has the first or the last part of *text*."""
    bare = _bare(_CLIENTS.sub("", re.sub(r"\x1b\[[0-9;]*m", "", text)))
    return bare[:_FOUND_BY] in prompt or (len(bare) > 60 and bare[-60:] in prompt)


def main() -> None:
    """Print the counts of each transcript, their sum, and the shares."""
    total, shares = Counter[str](), Counter[str]()
    for path in map(Path, sys.argv[1:]):
        text = "\n\n".join(chunk.text for chunk in ChunkReader(Transcript(str(path)), CHUNK_CHARS).chunks())
        pairs = [section.partition("\n") for section in _HEADING.split(text)[1:]]
        sections = [(re.split("[,:]", heading)[0], body) for heading, _, body in pairs]
        for heading, body in sections:
            shares[heading] += len(body)
        users, whole = _bare("".join(body for name, body in sections if name == "User")), _bare(text)
        said, counts = said_in(path), Counter[str](characters=len(text))
        for kind, words in said.words:
            counts += Counter({kind: 1, f"{kind} found": int(_is_in(words, users))})
        counts += Counter(
            {"errors": len(said.errors), "errors found": sum(_is_in(each, whole) for each in said.errors)}
        )
        again = [_bare(words) for _, words in said.words]
        for bare in map(_bare, said.withdrawn):
            is_found = users.count(bare[:_FOUND_BY]) > sum(each.count(bare[:_FOUND_BY]) for each in again)
            counts += Counter({"withdrawn": 1, "withdrawn, found": int(is_found)})
        print(path.name, dict(counts))
        total += counts
    print("all", dict(total))
    print("shares", {name: f"{size / sum(shares.values()):.1%}" for name, size in shares.most_common()})


if __name__ == "__main__":
    main()
