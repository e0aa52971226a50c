"""How the process of a command ends: with its own exit code, whatever becomes of its streams."""

import os
import subprocess
import sys

import pytest

from playbook_db.cli import main as door
from playbook_db.errors import PlaybookError

pytestmark = pytest.mark.slow  # each starts a process


def _ended(setup: str, *, code: int = 0, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """A process in which the command does *setup* and gives the exit *code*."""
    program = f"""
import os, sys
from playbook_db.cli import main as door
def main(arguments):
    {setup}
    return {code}
door.main = main
door.run()
"""
    return subprocess.run(
        [sys.executable, "-c", program], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    )  # fmt: skip


@pytest.mark.parametrize("code", [0, 1, 2, 3, 130])
def test_output_arrives_and_the_code_stays(code: int) -> None:
    ended = _ended("sys.stdout.write('answer' * 3); sys.stderr.write('message')", code=code)

    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "answer" * 3, "message")


def test_full_device_changes_no_exit_code() -> None:
    with open("/dev/full", "w") as full:
        ended = _ended("sys.stdout.write('answer')", code=3, stdout=full.fileno())

    assert (ended.returncode, ended.stderr) == (3, "")
    assert _ended("sys.stdout = sys.stderr = None", code=2).returncode == 2


def test_closed_pipe_changes_no_exit_code() -> None:
    setup = "reader, writer = os.pipe(); os.dup2(writer, 1); os.close(reader); sys.stdout.write('answer')"

    assert (_ended(setup).returncode, _ended(setup).stderr) == (0, "")


@pytest.mark.parametrize("kind", [PlaybookError, OSError, RuntimeError])
def test_secrets_in_errors_are_masked(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        quoted = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4xY7z"
        raise OSError(13, quoted) if kind is OSError else kind(quoted)

    monkeypatch.setattr(door.cli, "main", fail)

    assert door.main([]) == (3 if kind is RuntimeError else 1)
    said = capsys.readouterr().err
    assert "ghp_" not in said
    assert "[masked: " in said
