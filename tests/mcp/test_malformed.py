"""Messages that no client should send: the server goes on as before."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import Session

pytestmark = [pytest.mark.nightly, pytest.mark.slow]

SOURCE = random.Random(16)
INITIALIZE = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "odd", "version": "1"}},
}  # fmt: skip
SOUND: list[dict[str, Any]] = [
    INITIALIZE,
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": "b", "method": "tools/call",
     "params": {"name": "search", "arguments": {"question": "pytest", "limit": 3}, "_meta": {"progressToken": 2}}},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
     "params": {"name": "vote", "arguments": {"name": "oth-001", "tag": "helpful", "evidence": ["a"]}}},
    {"jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": {"uri": "playbook://points/oth-001"}},
    {"jsonrpc": "2.0", "id": 5, "method": "prompts/get", "params": {"name": "know", "arguments": {"topic": "x"}}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}},
    {"jsonrpc": "2.0", "id": 6, "result": {"roots": []}},
    {"jsonrpc": "2.0", "id": 7, "error": {"code": -1, "message": "no"}},
]  # fmt: skip
ODD: list[Any] = [
    None, True, -1, 2**63, 2**200, 1e308, 0.5, "", "\x00", "\ud800", "../../../etc/passwd", "x" * 70_000, [], {}, [[]],
    {"a": None}, "oth-001", ["oth-001"], {"name": {"name": {}}}, "notifications/nothing", "tools/call",
]  # fmt: skip


def _mutated() -> bytes:
    """A line that is nearly a message: a value changed, a key dropped or renamed, bytes broken, cut or added."""
    message = json.loads(json.dumps(SOURCE.choice(SOUND)))
    for _ in range(SOURCE.randint(0, 3)):
        place, key = SOURCE.choice(list(_places(message)))
        change = SOURCE.randrange(4)
        if change == 0:
            place[key] = SOURCE.choice(ODD)
        elif change == 1 and isinstance(place, dict):
            place.pop(key)
        elif change == 2 and isinstance(place, dict):
            place[str(SOURCE.choice(ODD))[:50]] = place.pop(key)
        if not message:
            break
    line = json.dumps(message, ensure_ascii=SOURCE.random() < 0.5).encode("utf-8", "surrogatepass")
    kind = SOURCE.randrange(8)
    at = SOURCE.randrange(len(line) + 1)
    if kind == 0:
        line = line[:at]
    elif kind == 1:
        line = line[:at] + bytes(SOURCE.randrange(256) for _ in range(20)).replace(b"\n", b"") + line[at:]
    elif kind == 2:
        line = SOURCE.randbytes(60).replace(b"\n", b"\r")
    elif kind == 3:
        line = SOURCE.choice(
            [b"", b" ", b"[]", b"[" * 5_000, b'{"a":' * 5_000, b"NaN", b"[" + line + b"," + line + b"]"]
        )
    return line


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(inner, (dict, list)) and inner:
            yield from _places(inner)


@contextmanager
def _server(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "playbook_db", "mcp"],
        cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ),
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _until(process: "subprocess.Popen[bytes]", is_it: Callable[[dict[str, Any]], bool]) -> int:
    """Read messages until one is the right one; how many there were. All that is printed is one."""
    assert process.stdout
    for count, line in enumerate(process.stdout, 1):
        answers = json.loads(line)
        for message in answers if isinstance(answers, list) else [answers]:
            assert message["jsonrpc"] == "2.0"
            assert ("result" in message) + ("error" in message) == 1
            if is_it(message):
                return count
    raise AssertionError(f"the server has ended: {process.wait()}")


def _send(process: "subprocess.Popen[bytes]", *lines: bytes) -> None:
    assert process.stdin
    for line in lines:
        process.stdin.write(line + b"\n")
    process.stdin.flush()


def _is_sound(process: "subprocess.Popen[bytes]", number: int) -> int:
    """Assert that a sound question is answered as ever; how many messages came before."""
    question = SOUND[3] | {"id": f"sound {number}"}
    _send(process, json.dumps(question).encode())

    def is_it(message: dict[str, Any]) -> bool:
        if message.get("id") != question["id"]:
            return False
        assert "[oth-001]" in message["result"]["content"][0]["text"]
        return True

    return _until(process, is_it)


def test_a_thousand_malformed_messages_and_huge_ones_end_nothing(session: Session) -> None:
    """After each fifty, and after lines of 10 MB, a sound question is answered as ever, and nothing but messages is
    printed; the server ends with its input."""
    long = "x" * 10_000_000
    call = SOUND[3] | {"id": "long", "params": {"name": "search", "arguments": {"question": long}}}
    with _server(session.folder) as process:
        _send(process, json.dumps(INITIALIZE).encode(), json.dumps(SOUND[1]).encode())
        _until(process, lambda message: message.get("id") == 0)
        answers = 0
        for number in range(20):
            _send(process, *(_mutated() for _ in range(50)))
            answers += _is_sound(process, number) - 1
        _send(process, json.dumps(call).encode())
        _until(process, lambda message: message.get("id") == "long" and bool(message["result"]["isError"]))
        _send(process, long.encode(), b"\xff\xfe\x00" * 3_000_000)
        _is_sound(process, 20)
        rest, _ = process.communicate(timeout=300)

    assert answers > 100  # only what is a message is answered
    assert process.returncode == 0
    assert rest == b""
