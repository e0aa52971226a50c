"""The world of a history: a home, a project with a mirror, a database and a clock."""

import io
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, closing, contextmanager, redirect_stderr
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.player import set_datetime
from benchmarks.sandbox import living_in
from playbook_db.claude_code.hooks import spool
from playbook_db.llm import choose
from playbook_db.mcp_server import tools
from playbook_db.store.dialect import Dialect
from playbook_db.store.postgres.postgres_dialect import PostgresDialect
from tests.faults.cases import Ended, Place, ScriptedModel, command, write_transcript
from tests.mcp.conftest import Session
from tests.transcripts import TranscriptBuilder

# What differs between the two databases, and its replacement.
_BY_KIND = (
    (re.compile(r'postgresql[^\s",]+'), "DATABASE"),
    (re.compile(r'"role": "postgres"'), '"role": null'),  # who was logged in
    (re.compile(r'"actor": "(session|tools)-[0-9]+"'), '"actor": "ann"'),  # a member on a server, else a session
    (re.compile(r"playbook: (DATABASE keeps the erased rows|the server's backups).*\n"), ""),  # what else to see to
    (re.compile(r"user:postgres"), "user"),  # whose own playbook
    (re.compile(r"(backup    |playbook: these backups' older states).*\n"), ""),  # of a file
    (re.compile(r',\n  "file": \{.*\n  \}', re.DOTALL), ""),  # sizes in bytes
    (re.compile(r',\n  "members": \[.*?\n  \]', re.DOTALL), ""),  # a session counts for its member on a server
)


class Clock:
    """The time in this process, once it is `set_in`."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def move(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def set_in(self, patch: pytest.MonkeyPatch) -> None:
        set_datetime(lambda: self.now.timestamp(), patch.setattr)
        patch.setattr(PostgresDialect, "now", Dialect.now)  # or revisions have the server's time


class World:
    """A home and a project of their own. The database is SQLite's, unless *url* names another."""

    def __init__(self, url: str = "") -> None:
        self.place = Place(Path(tempfile.mkdtemp(prefix="playbook-machine-")))
        self.place.make_folders()
        self.root, self.folder = self.place.root, self.place.project
        self.mirror = self.folder / ".claude" / "playbook.json"
        self.url = url or f"sqlite:///{self.root / 'playbook.db'}"
        self.sessions = 0

    @property
    def is_file(self) -> bool:
        return self.url.startswith("sqlite")

    @property
    def path(self) -> Path:
        return Path(self.url.removeprefix("sqlite:///"))

    def close(self) -> None:
        shutil.rmtree(self.root)

    @contextmanager
    def lived_in(self) -> Iterator[None]:
        with living_in({**self.place.environ(), "PLAYBOOK_DB_URL": self.url, "TZ": "UTC"}), chdir(self.folder):
            yield

    def run(self, *arguments: str) -> Ended:
        """Run `playbook ARGUMENT ...` in this process. ROOT is this world's folder, in the output too."""
        with self.lived_in():
            ended = command(*(argument.replace("ROOT", str(self.root)) for argument in arguments), place=self.place)
        return replace(ended, out=self._named_alike(ended.out), err=self._named_alike(ended.err))

    def succeed(self, *arguments: str) -> None:
        ended = self.run(*arguments)
        assert ended.code == 0, (arguments, ended)

    def do(self, work: Callable[[], Any]) -> Any:
        with self.lived_in(), redirect_stderr(io.StringIO()):
            return work()

    def session(self, said: str, *, cites: str) -> str:
        """Write a session in which the user *said* this and the assistant cited a point."""
        self.sessions += 1
        path = self.root / f"session-{self.sessions}.jsonl"
        write_transcript(path, said, cites=cites)
        return path.name

    def queue(self, transcript: str) -> None:
        path = self.root / transcript
        job = {
            "project": str(self.folder), "transcript_path": str(path), "session_id": path.stem, "reason": "SessionEnd",
        }  # fmt: skip
        with self.lived_in():
            spool.keep(job)

    def tool(self, name: str, **given: Any) -> str:
        """Call a tool of a new session's MCP server."""
        self.sessions += 1
        session = f"tools-{self.sessions}"
        path = self.root / f"{session}.jsonl"
        served = tools.PlaybookTools(self.url, str(self.folder), session)
        with closing(served.servers), self.lived_in(), redirect_stderr(io.StringIO()):
            return Session(self.folder, path, TranscriptBuilder(session), served).ask(name, **given).text

    def _named_alike(self, text: str) -> str:
        if self.is_file:
            text = text.replace(self.url, "DATABASE").replace(str(self.path), "DATABASE")
        for pattern, alike in _BY_KIND:
            text = pattern.sub(alike, text)
        return text.replace(str(self.root), "ROOT")


def ask_scripted(patch: pytest.MonkeyPatch, script: Callable[[], ScriptedModel]) -> None:
    patch.setattr(choose, "find_model", lambda folder=None: script())
