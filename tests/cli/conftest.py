"""The command, run inside the test's process."""

import atexit
import fcntl
import importlib
import io
import json
import os
import pkgutil
import pty
import struct
import subprocess
import sys
import termios
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from playbook_db import cli, settings
from playbook_db.claude_code.hooks import worker_start
from playbook_db.claude_code.setup import doctor, trial
from playbook_db.cli.main import main, run
from playbook_db.projects import project_key
from tests.databases import fill_once
from tests.terminals import read_to_end


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


def on_terminal(*arguments: str, columns: int = 80, term: str = "dumb") -> str:
    """What `playbook ARGUMENT ...` shows on a terminal; *term* is its type, by default without colors."""
    with warnings.catch_warnings(action="ignore"):  # the idle threads of pytest-xdist
        process, leader = pty.fork()  # because a new process imports for longer than most commands run
    if not process:
        try:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.environ.update(TERM=term, PAGER="cat")
            sys.argv = ["playbook", *arguments]
            sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
            sys.stdout, sys.stderr = (os.fdopen(file, "w", 1, encoding="utf-8", closefd=False) for file in (1, 2))
            atexit._clear()
            run()
        except SystemExit as end:  # although a thread may still run
            os._exit(end.code if isinstance(end.code, int) else 70)
        finally:
            os._exit(70)
    seen = read_to_end(leader)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, seen
    return seen


# Commands are imported late. One that is first imported while a test replaces a function would keep the replacement.
for _module in pkgutil.iter_modules(cli.__path__, f"{cli.__name__}."):
    importlib.import_module(_module.name)

Playbook = Callable[..., Result]
_answered: dict[tuple[str, ...], Any] = {}  # by the command that doctor ran


def grow_once(name: str, folder: Path, grow: Callable[[], object]) -> None:
    """Fill the user's database for the project in *folder* by *grow*; the next call with *name* copies the result."""
    path = Path(settings.sqlite_file(settings.database_url()) or "")
    fill_once(name, path, project_key(str(folder)), grow)


@pytest.fixture
def quick_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor runs each hook once, the worker imports little, and equal commands run once for all tests."""

    def run_once(command: list[str], **options: Any) -> Any:
        if "-c" not in command:
            return subprocess.run(command, **options)
        path = options.get("env", {}).get("PYTHONPATH", "") if "-P" in command else ""
        asked = (os.path.realpath(command[0]), *command, path)
        if asked not in _answered:
            _answered[asked] = subprocess.run(command, **options)
        return _answered[asked]

    names = ("CompletedProcess", "SubprocessError", "TimeoutExpired")
    found = {name: getattr(subprocess, name) for name in names}
    for module in (doctor, trial):
        monkeypatch.setattr(module, "subprocess", SimpleNamespace(run=run_once, **found))
    monkeypatch.setattr(worker_start, "WORKER", "playbook_db.claude_code.hooks.hook_runner")


@pytest.fixture
def playbook(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Playbook:
    """Runs `playbook ARGUMENT ...` for the project in `folder`; `stdin` is its standard input."""
    monkeypatch.setenv("PLAYBOOK_ACTOR", "ann@laptop")

    def run(*arguments: str, stdin: str = "") -> Result:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8")), encoding="utf-8"))
        capsys.readouterr()
        code = main([*arguments])
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return run
