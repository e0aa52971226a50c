"""The server for the tests: a session of Claude Code that asks it with the SDK's own client."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.types import CallToolResult, TextContent

from playbook_db import mcp_server, settings
from playbook_db.claude_code import events, session_so_far
from playbook_db.services import edit
from playbook_db.services.projects import Project, open_store

SESSION = "5426d92d-ea30-4afe-bd91-b33bacdfa9db"


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """In place of the one for all tests: the event loop of the SDK has a pair of sockets of its own."""
    import pytest_socket

    pytest_socket.disable_socket(allow_unix_socket=True)


@dataclass(slots=True)
class Answered:
    """What a tool said, and whether that is an error."""

    text: str
    is_error: bool


@dataclass(slots=True)
class Session:
    """A session in `folder`, its transcript, and the server that it asks in this process."""

    folder: Path
    transcript: Path
    served: mcp_server.Served
    calls: int = field(default=0)

    def ask(self, tool: str, **given: Any) -> Answered:
        """What *tool* answers; the call stands in the transcript, as the client writes it."""
        self.calls += 1
        use = f"toolu_{self.calls:08d}"
        call = {"type": "tool_use", "id": use, "name": f"mcp__playbook__{tool}", "input": given}
        self.note("assistant", [call])

        async def work(client: Client) -> CallToolResult:
            return await client.call_tool(tool, given, meta={session_so_far.TOOL_USE: use})

        result = self.with_client(work)
        (content,) = result.content
        assert isinstance(content, TextContent)
        return Answered(content.text, bool(result.is_error))

    def with_client(self, work: Callable[[Client], Awaitable[Any]]) -> Any:
        """What *work* makes of a client of the server."""

        async def run() -> Any:
            async with Client(mcp_server.made(self.served)) as client:
                return await work(client)

        return anyio.run(run)

    def note(self, role: str, content: object) -> None:
        """Write a message of *role* into the transcript."""
        line = {
            "type": role,
            "uuid": f"u{self.transcript.stat().st_size if self.transcript.exists() else 0}",
            "sessionId": self.served.session,
            "cwd": str(self.folder),
            "message": {"role": role, "content": content},
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def opened(self) -> "Any":
        """The user's own database, as a context manager."""
        return open_store(self.served.url)

    def add(self, *texts: str) -> None:
        """Have points with *texts* in the project's playbook, as a person adds them."""
        with self.opened() as store:
            for text in texts:
                edit.add(Project.in_folder(store, str(self.folder)), text)

    def rows(self, query: str) -> list[Any]:
        """What the database has."""
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(settings.sqlite_file(self.served.url) or "")) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def session(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session that has just begun, in a project with two points."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
    kept = home / ".claude" / "projects" / events.session_folder_name(str(folder))
    kept.mkdir(parents=True)
    made = Session(folder, kept / f"{SESSION}.jsonl", mcp_server.Served(settings.database_url(), str(folder), SESSION))
    made.note("user", "please fix the parser")
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    made.add("Run the narrowest pytest selection first", "Never parse the repr of the ORM in tests")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
    return made
