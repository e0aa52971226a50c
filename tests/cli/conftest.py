"""The command, run inside the test's process."""

import atexit
import fcntl
import io
import json
import os
import pty
import sqlite3
import struct
import subprocess
import sys
import termios
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.claude_code import doctor, worker_start
from playbook_db.cli.main import main, run
from playbook_db.projects import project_key
from tests.databases import put_empty_database


@dataclass(frozen=True)
class Result:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


def on_terminal(*arguments: str, columns: int = 80) -> str:
    """What a person sees of `playbook ARGUMENT ...` on a terminal that knows no colours."""
    with warnings.catch_warnings(action="ignore"):  # the workers of pytest-xdist have threads, which are at rest
        process, leader = pty.fork()  # of what is loaded here, which takes longer than most commands
    if not process:
        try:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.environ.update(TERM="dumb", PAGER="cat")
            sys.argv = ["playbook", *arguments]
            sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
            sys.stdout, sys.stderr = (os.fdopen(file, "w", 1, encoding="utf-8", closefd=False) for file in (1, 2))
            atexit._clear()  # what is this process's to do in the end
            run()
        finally:
            os._exit(70)
    seen = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        seen += part
    os.close(leader)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, seen
    return seen.decode().replace("\r", "")  # a terminal's own line ends


Playbook = Callable[..., Result]
_answered: dict[tuple[str, ...], Any] = {}  # by a command that doctor ran


_grown: dict[str, tuple[str, bytes]] = {}  # the key of a project and its database, by their name


def grow_once(name: str, folder: Path, grow: Callable[[], object]) -> None:
    """Have *grow* fill the user's database for the project in *folder*; a copy serves who asks for *name* again."""
    path = Path(settings.sqlite_file(settings.database_url()) or "")
    if name not in _grown:
        grow()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _grown[name] = (project_key(str(folder)), path.read_bytes())
        return
    key, content = _grown[name]
    put_empty_database(path)
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE playbooks SET key = ? WHERE key = ?", (project_key(str(folder)), key))


@pytest.fixture
def quick_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """For doctor, each hook runs once, the worker's Python imports less than all, and code that gives the same each
    time runs once for all tests."""

    def run_once(command: list[str], **options: Any) -> Any:
        if "-c" not in command:
            return subprocess.run(command, **options)
        asked = (
            os.path.realpath(command[0]),
            *command,
            options.get("env", {}).get("PYTHONPATH", "") if "-P" in command else "",
        )
        if asked not in _answered:
            _answered[asked] = subprocess.run(command, **options)
        return _answered[asked]

    names = ("CompletedProcess", "SubprocessError", "TimeoutExpired")
    found = {name: getattr(subprocess, name) for name in names}
    monkeypatch.setattr(doctor, "subprocess", SimpleNamespace(run=run_once, **found))
    monkeypatch.setattr(doctor, "_RUNS", 1)
    monkeypatch.setattr(worker_start, "WORKER", "playbook_db.claude_code.events")


@pytest.fixture
def playbook(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Playbook:
    """Runs `playbook ARGUMENT ...` for the project in `folder`; `stdin` is what it reads there."""
    monkeypatch.setenv("PLAYBOOK_ACTOR", "ann@laptop")

    def run(*arguments: str, stdin: str = "") -> Result:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8")), encoding="utf-8"))
        capsys.readouterr()
        code = main([*arguments])
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return run
