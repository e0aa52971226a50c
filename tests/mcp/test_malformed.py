"""Malformed messages don't stop the server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.mcp.conftest import Session

SOUND: list[dict[str, Any]] = [
    {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
    {"method": "notifications/initialized"},
    {"id": 1, "method": "tools/list"},
    {"id": "b", "method": "tools/call", "params": {"name": "search", "arguments": {"question": "pytest"}, "_meta": {}}},
    {"id": 4, "method": "resources/read", "params": {"uri": "playbook://points/oth-001"}},
    {"id": 5, "method": "prompts/get", "params": {"name": "know", "arguments": {"topic": "x"}}},
    {"method": "notifications/cancelled", "params": {"requestId": 3}},
    {"id": 6, "result": {"roots": []}},
]
ODD: list[Any] = [
    None, True, -1, 2**200, 1e308, "", "\x00", "\ud800", "../../../etc/passwd", "x" * 70_000, [], {}, [[]],
    {"a": None}, {"name": {"name": {}}}, "notifications/nothing", "tools/call",
]  # fmt: skip


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def _malformed() -> Iterator[bytes]:
    """Broken and huge lines, and messages with an odd value in each place."""
    yield from (b"", b"[]", b"[" * 5_000, b'{"a":' * 5_000, b"NaN", b"\xff\xfe\x00" * 3_000_000, b"x" * 10_000_000)
    for message in SOUND:
        line, params = _line(message), message.get("params", {})
        yield from (line[:-9], line[:20] + b"\xff\x00" + line[20:], b"[" + line + b"," + line + b"]")
        for odd in ODD:
            yield from (_line(message | {key: odd}) for key in ("jsonrpc", *message))
            yield from (_line(message | {"params": params | {key: odd}}) for key in ("more", *params))


@pytest.mark.nightly
@pytest.mark.slow
def test_malformed_and_huge_messages_end_nothing(session: Session) -> None:
    """The server still answers a sound question, prints only messages, and ends with its input."""
    lines = [*map(_line, SOUND[:2]), *_malformed(), _line(SOUND[3] | {"id": "last"}), b""]
    command = [sys.executable, "-P", "-m", "playbook_db", "mcp"]
    done = subprocess.run(command, input=b"\n".join(lines), capture_output=True, cwd=session.folder, check=True)

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    messages = [each for answer in answers for each in (answer if isinstance(answer, list) else [answer])]
    assert len(messages) > 100
    for message in messages:
        assert message["jsonrpc"] == "2.0"
        assert ("result" in message) + ("error" in message) == 1
    assert messages[-1]["id"] == "last"
    assert "[oth-001]" in messages[-1]["result"]["content"][0]["text"]
