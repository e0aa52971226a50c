"""The command, run inside the test's process."""

import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code import doctor, worker_start
from playbook_db.cli.main import main


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
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "dumb", "PAGER": "cat"}
    command = [sys.executable, "-m", "playbook_db", *arguments]
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
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
    assert process.returncode == 0
    return seen.decode().replace("\r", "")  # a terminal's own line ends


Playbook = Callable[..., Result]


@pytest.fixture
def quick_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """For doctor, each hook runs once, and the worker's Python imports less than all."""
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
