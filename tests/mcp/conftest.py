"""A session of Claude Code and its MCP server."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.claude_code.hooks import hook_runner
from playbook_db.claude_code.transcripts import session_so_far
from playbook_db.domain.proposals import Proposal
from playbook_db.mcp_server import start, tools
from playbook_db.services.playbook import edit, review
from playbook_db.services.project import Project, open_store
from tests.databases import put_empty_database
from tests.transcripts import TranscriptBuilder

SESSION = "5426d92d-ea30-4afe-bd91-b33bacdfa9db"


@dataclass(slots=True)
class Answered:
    """The answer of a tool."""

    text: str
    is_error: bool


@dataclass(slots=True)
class Session:
    """A session in `folder`, its transcript at `path`, and the server that it asks in this process."""

    folder: Path
    path: Path
    transcript: TranscriptBuilder
    served: tools.PlaybookTools
    calls: int = 0

    def ask(self, tool: str, **given: Any) -> Answered:
        """Call *tool*, and write the call into the transcript as Claude Code does."""
        self.calls += 1
        use = f"toolu_{self.transcript.session_id}_{self.calls}"
        self.transcript.assistant({"type": "tool_use", "id": use, "name": f"mcp__playbook__{tool}", "input": given})
        self.write()

        meta = {session_so_far.TOOL_USE: use}
        result = self.request("tools/call", name=tool, arguments=given, _meta=meta)["result"]
        (content,) = result["content"]
        return Answered(content["text"], result["isError"])

    def request(self, method: str, **params: Any) -> Any:
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return json.loads(start.server_of(self.served).reply(line.encode()))

    def write(self) -> None:
        self.path.write_text("".join(f"{line}\n" for line in self.transcript.lines))

    @contextmanager
    def project(self, *, is_users: bool = False) -> Iterator[Project]:
        with open_store(self.served.url) as store:
            yield Project.of_user(store) if is_users else Project.in_folder(store, str(self.folder))

    def add(self, *texts: str, is_users: bool = False) -> None:
        with self.project(is_users=is_users) as project:
            for text in texts:
                edit.add(project, text)

    def waiting(self) -> list[Proposal]:
        with self.project() as project:
            return [each.proposal for each in review.all_waiting(project)]

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(settings.sqlite_file(self.served.url) or "")) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def session(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A new session in a project with two points."""
    path = home / ".claude" / "projects" / hook_runner.session_folder_name(str(folder)) / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    served = tools.PlaybookTools(settings.database_url(), str(folder), SESSION)
    session = Session(folder, path, TranscriptBuilder(SESSION), served)
    session.transcript.user("please fix the parser")
    put_empty_database(home / ".claude" / "playbook" / "playbook.db")
    session.add("Run the narrowest pytest selection first", "Never parse the repr of the ORM in tests")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", SESSION)
    return session
