"""The server as a client starts it: a process with its messages on stdin and stdout; also where it can't serve yet."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from playbook_db.claude_code.setup import mcp_unready
from tests.mcp.conftest import Session

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-P", "-m", "playbook_db", "mcp"]
_WITHOUT = (
    "import sys; sys.modules['mcp'] = None; sys.argv = ['playbook', 'mcp']; from playbook_db.cli.main import run; run()"
)


def asked(command: list[str], folder: Path, work: Callable[[Client], Awaitable[Any]]) -> Any:
    """What *work* makes of a client of the SDK's, of the server that *command* starts in *folder*."""
    program, *arguments = command
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ), cwd=folder)

    async def run() -> Any:
        async with Client(stdio_client(server)) as client:
            return await work(client)

    return anyio.run(run)


def test_the_sdks_own_client_uses_each_tool(session: Session) -> None:
    """One process for all of it. The session's id is the author, from the environment."""

    async def work(client: Client) -> list[tuple[bool, str]]:
        said = []
        for tool, given in (
            ("list", {}), ("search", {"question": "pytest selection"}), ("why", {"name": "oth-001"}),
            ("add", {"text": "Use uv"}), ("propose_edit", {"name": "oth-001", "text": "Run one"}),
            ("propose_retirement", {"name": "oth-002", "reason": "old"}),
            ("vote", {"name": "oth-001", "tag": "harmful"}), ("undo", {}), ("history", {}),
        ):  # fmt: skip
            result = await client.call_tool(tool, given)
            said.append((bool(result.is_error), result.content[0].text))
        assert "[oth-001]" in (await client.read_resource("playbook://points")).contents[0].text
        assert "oth-002" in (await client.read_resource("playbook://points/oth-002")).contents[0].text
        assert "[oth-001]" in (await client.get_prompt("know", {"topic": "pytest"})).messages[0].content.text
        return said

    said = asked(COMMAND, session.folder, work)

    assert [is_error for is_error, _ in said] == [False] * 9, said
    assert [each.kind for each in session.waiting()] == ["ADD", "UPDATE", "DELETE"]
    assert {each.session_id for each in session.waiting()} == {session.served.session}


@pytest.mark.parametrize("reason", ["no extra", "no folder"])
def test_who_cannot_serve_says_why_and_has_no_tools(
    reason: str, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client shows no error; the model is told what to do about it."""
    if reason == "no folder":
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/nowhere")

    async def work(client: Client) -> tuple[str, list[Any]]:
        return client.instructions or "", (await client.list_tools()).tools

    command = COMMAND if reason == "no folder" else [sys.executable, "-c", _WITHOUT]
    instructions, tools = asked(command, session.folder, work)

    assert tools == []
    assert ("'.[mcp]'" if reason == "no extra" else "There is no folder /nowhere") in instructions


def test_the_plugin_serves_that_it_is_being_set_up(session: Session, home: Path) -> None:
    """By the plugin's own command, on whatever Python there is, with the standard library alone."""
    (home / ".claude" / "playbook" / "runtime.json").write_text(
        '{"state": "failed", "error": "the worker needs Python 3.11 or later, but this is 3.9.2", "at": 0}'
    )

    async def work(client: Client) -> tuple[str, list[Any]]:
        return client.instructions or "", (await client.list_tools()).tools

    root = Path(__file__).resolve().parents[2]
    plugin = json.loads((root / ".mcp.json").read_text())["mcpServers"]["playbook"]
    command = [plugin["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(root)), *plugin["args"]]
    instructions, tools = asked(command, session.folder, work)

    assert tools == []
    assert "the worker needs Python 3.11 or later, but this is 3.9.2" in instructions
    assert f"{shlex.quote(str(root / 'hooks' / 'setup.py'))} --now" in instructions


def test_without_tools_nothing_odd_ends_it_either() -> None:
    """Each line is answered or passed over."""
    lines = [
        b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 100_000, b'{"id": 1}', b'{"id": 1, "method": []}',
        b'{"id": 1, "method": 3}', b'{"method": "notifications/x"}', b'{"id": 2, "method": "tools/call"}',
        b'{"id": 3, "method": "initialize", "params": 7}', b"x" * 3_000_000, b'{"id": "z", "method": "ping"}',
    ]  # fmt: skip
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.path.append(sys.argv[1])\n"
               "from playbook_db.claude_code.setup import mcp_unready\nmcp_unready.serve('why')",
               str(Path(mcp_unready.__file__).parents[3])]  # fmt: skip

    done = subprocess.run(command, input=b"\n".join(lines) + b"\n", capture_output=True, timeout=300, check=True)

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.stderr == b""
    assert answers[-1] == {"jsonrpc": "2.0", "id": "z", "result": {}}
    assert [each["id"] for each in answers if "result" in each] == [3, "z"]
    assert {each["error"]["code"] for each in answers if "error" in each} == {-32601}
