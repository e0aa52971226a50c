"""The server and the client of the official SDK, in each version of the protocol."""

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
import pytest_socket
from mcp.client import Client
from mcp.client import session as client_session
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import version

from tests.mcp.conftest import Session

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-P", "-m", "playbook_db", "mcp"]
VERSIONS = [
    pytest.param(each, marks=() if each in version.KNOWN_PROTOCOL_VERSIONS[-2:] else pytest.mark.nightly)
    for each in version.KNOWN_PROTOCOL_VERSIONS
]


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Replaces the fixture for all tests: the SDK's event loop has a pair of sockets."""
    pytest_socket.disable_socket(allow_unix_socket=True)


def asked(command: list[str], folder: Path, work: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
    """Run *work* with a client of the server that *command* starts in *folder*."""
    program, *arguments = command
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ), cwd=folder)

    async def run() -> Any:
        async with Client(stdio_client(server), mode=mode) as client:
            return await work(client)

    return anyio.run(run)


@pytest.mark.parametrize("spoken", VERSIONS)
def test_sdk_s_client_uses_each_tool(session: Session, spoken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The author is the session that the environment names."""
    is_handshake = spoken in version.HANDSHAKE_PROTOCOL_VERSIONS
    if is_handshake:
        monkeypatch.setattr(client_session, "LATEST_HANDSHAKE_VERSION", spoken)

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
        assert client.protocol_version == spoken
        assert "search" in [tool.name for tool in (await client.list_tools()).tools]
        assert [str(each.uri) for each in (await client.list_resources()).resources] == ["playbook://points"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["playbook://points/{name}"]
        assert [each.name for each in (await client.list_prompts()).prompts] == ["know"]
        assert "[oth-001]" in (await client.read_resource("playbook://points")).contents[0].text
        assert "oth-002" in (await client.read_resource("playbook://points/oth-002")).contents[0].text
        assert "[oth-001]" in (await client.get_prompt("know", {"topic": "pytest"})).messages[0].content.text
        if is_handshake:
            await client.session.send_ping()
        return said

    said = asked(COMMAND, session.folder, work, "legacy" if is_handshake else spoken)

    assert [is_error for is_error, _ in said] == [False] * 9, said
    assert [each.kind for each in session.waiting()] == ["ADD", "UPDATE", "DELETE"]
    assert {each.session_id for each in session.waiting()} == {session.served.session}


async def _instructions(client: Client) -> tuple[str, list[Any]]:
    return client.instructions or "", (await client.list_tools()).tools


def test_server_without_a_project_has_no_tools(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its instructions say why, because a client shows no error."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "/nowhere")

    instructions, tools = asked(COMMAND, session.folder, _instructions)

    assert tools == []
    assert "There is no folder /nowhere" in instructions


def test_plugin_s_server_says_that_setup_failed(session: Session, home: Path) -> None:
    """It needs only the standard library."""
    (home / ".claude" / "playbook" / "runtime.json").write_text(
        '{"state": "failed", "error": "the worker needs Python 3.11 or later, but this is 3.9.2", "at": 0}'
    )

    root = Path(__file__).resolve().parents[2]
    plugin = json.loads((root / ".mcp.json").read_text())["mcpServers"]["playbook"]
    command = [plugin["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(root)), *plugin["args"]]
    instructions, tools = asked(command, session.folder, _instructions)

    assert tools == []
    assert "the worker needs Python 3.11 or later, but this is 3.9.2" in instructions
    assert f"{shlex.quote(str(root / 'hooks' / 'setup.py'))} --now" in instructions


_LOADED = """
import sys
from playbook_db.__main__ import run
sys.argv = ["playbook", "mcp"]
run()
print(*sorted({"click", "mcp", "pydantic", "sqlalchemy", "asyncio"} & sys.modules.keys()), file=sys.stderr)
"""


def test_reading_loads_no_library(session: Session) -> None:
    """Each session with the plugin starts a server."""
    calls = {"search": {"question": "pytest selection"}, "list": {}, "why": {"name": "oth-001"}, "history": {}}
    messages = [{"method": "initialize", "params": {}}, {"method": "tools/list"}]
    messages += [{"method": "tools/call", "params": {"name": name, "arguments": it}} for name, it in calls.items()]
    lines = [json.dumps({"jsonrpc": "2.0", "id": 1, **each}) + "\n" for each in messages]

    done = subprocess.run(
        [sys.executable, "-c", _LOADED], input="".join(lines), capture_output=True, text=True, cwd=session.folder,
        check=True,
    )  # fmt: skip

    assert done.stderr == "\n"
    assert ["oth-001" in line for line in done.stdout.splitlines()[2:]] == [True] * 4
