"""Malformed messages don't stop the server."""

import json
import random
import subprocess
import sys
from typing import Any

import pytest

from tests.mcp.conftest import Session

pytestmark = [pytest.mark.nightly, pytest.mark.slow]

SOURCE = random.Random(16)
_CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "odd", "version": "1"}}
SOUND: list[dict[str, Any]] = [
    {"id": 0, "method": "initialize", "params": _CLIENT},
    {"method": "notifications/initialized"},
    {"id": 1, "method": "tools/list"},
    {"id": "b", "method": "tools/call",
     "params": {"name": "search", "arguments": {"question": "pytest", "limit": 3}, "_meta": {"progressToken": 2}}},
    {"id": 3, "method": "tools/call",
     "params": {"name": "vote", "arguments": {"name": "oth-001", "tag": "helpful", "evidence": ["a"]}}},
    {"id": 4, "method": "resources/read", "params": {"uri": "playbook://points/oth-001"}},
    {"id": 5, "method": "prompts/get", "params": {"name": "know", "arguments": {"topic": "x"}}},
    {"method": "notifications/cancelled", "params": {"requestId": 3}},
    {"id": 6, "result": {"roots": []}},
]  # fmt: skip
ODD: list[Any] = [
    None, True, -1, 2**200, 1e308, "", "\x00", "\ud800", "../../../etc/passwd", "x" * 70_000, [], {}, [[]],
    {"a": None}, "oth-001", {"name": {"name": {}}}, "notifications/nothing", "tools/call",
]  # fmt: skip


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def _mutated() -> bytes:
    """A line that is nearly a message: an odd value somewhere, or broken bytes."""
    message = json.loads(_line(SOURCE.choice(SOUND)))
    params = message.get("params", message)
    place = SOURCE.choice([message, params, params.get("arguments", params)])
    place[SOURCE.choice([*place, "more"])] = SOURCE.choice(ODD)
    line = json.dumps(message).encode()
    at = SOURCE.randrange(len(line))
    noise = SOURCE.randbytes(20).replace(b"\n", b"\r")
    odd = [b"", b"[]", b"[" * 5_000, b'{"a":' * 5_000, b"NaN", b"[" + line + b"," + line + b"]"]
    return SOURCE.choice([line, line, line, line[:at], line[:at] + noise + line[at:], noise, SOURCE.choice(odd)])


def _answer(process: "subprocess.Popen[bytes]", name: str) -> tuple[int, Any]:
    """Read lines, which must be messages, up to the answer of that id. Returns their number and the answer."""
    assert process.stdout
    for count, line in enumerate(process.stdout, 1):
        answers = json.loads(line)
        for message in answers if isinstance(answers, list) else [answers]:
            assert message["jsonrpc"] == "2.0"
            assert ("result" in message) + ("error" in message) == 1
            if message.get("id") == name:
                return count, message["result"]
    raise AssertionError(f"the server has ended: {process.wait()}")


def _send(process: "subprocess.Popen[bytes]", *lines: bytes) -> None:
    assert process.stdin
    process.stdin.write(b"".join(line + b"\n" for line in lines))
    process.stdin.flush()


def _ask(process: "subprocess.Popen[bytes]", name: str) -> int:
    """Assert that a sound question is answered. Returns the number of lines before."""
    _send(process, _line(SOUND[3] | {"id": name}))
    count, result = _answer(process, name)
    assert "[oth-001]" in result["content"][0]["text"]
    return count - 1


def test_malformed_and_huge_messages_end_nothing(session: Session) -> None:
    """The server still answers sound questions, prints only messages, and ends with its input."""
    long = "x" * 10_000_000
    call = {"id": "long", "method": "tools/call", "params": {"name": "search", "arguments": {"question": long}}}
    command = [sys.executable, "-P", "-m", "playbook_db", "mcp"]
    with subprocess.Popen(
        command, cwd=session.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        _send(process, *map(_line, SOUND[:2]))
        answers = 0
        for number in range(20):
            _send(process, *(_mutated() for _ in range(50)))
            answers += _ask(process, f"sound {number}")
        _send(process, _line(call))
        assert _answer(process, "long")[1]["isError"]
        _send(process, long.encode(), b"\xff\xfe\x00" * 3_000_000)
        _ask(process, "last")
        rest, _ = process.communicate(timeout=300)

    assert answers > 100
    assert process.returncode == 0
    assert rest == b""
