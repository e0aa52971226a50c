"""The command, run inside the test's process."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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


Playbook = Callable[..., Result]


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
