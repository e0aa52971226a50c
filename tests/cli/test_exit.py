"""A command ends with its own exit code, even if its output can't be written."""

import errno
import os
import subprocess
import sys

import pytest

from playbook_db.cli import main as door
from playbook_db.errors import PlaybookError

pytestmark = pytest.mark.slow  # each starts a process


def _ended(setup: str, *, code: int = 0, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """A process whose command does *setup* and returns *code*."""
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


def test_output_errors_change_no_exit_code() -> None:
    with open("/dev/full", "w") as full:
        ended = _ended("sys.stdout.write('answer')", code=3, stdout=full.fileno())

    assert (ended.returncode, ended.stderr) == (3, "")
    assert _ended("sys.stdout = sys.stderr = None", code=2).returncode == 2
    closed = "reader, writer = os.pipe(); os.dup2(writer, 1); os.close(reader); sys.stdout.write('answer')"
    assert (_ended(closed).returncode, _ended(closed).stderr) == (0, "")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 0, ""),
        (OSError(errno.ENOSPC, "No space left"), 1, "playbook: the output can't be written: No space left."),
    ],
)
def test_closed_output_is_no_error_and_a_full_disk_is(
    error: OSError, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(sys.stdout, "write", fail)
        broken.setattr(sys.stdout, "flush", fail)
        ended = door.main(["help"])

    printed = capsys.readouterr().err
    assert (ended, printed.startswith(message), bool(printed)) == (code, True, bool(message))


_QUOTED = "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4xY7z"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PlaybookError(_QUOTED), 1),
        (OSError(errno.ENOSPC, _QUOTED), 1),
        (PermissionError(errno.EACCES, _QUOTED, "/a/file"), 1),
        (OSError(errno.EBADF, _QUOTED), 3),
        (RuntimeError(_QUOTED), 3),
        (KeyboardInterrupt(_QUOTED), 130),
    ],
    ids=repr,
)
def test_only_bugs_have_a_traceback(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A secret in an error is masked, because it may quote another program."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(door.cli, "main", fail)

    assert door.main([]) == code
    printed = capsys.readouterr().err
    assert ("Traceback" in printed) is (code == 3)
    assert "ghp_" not in printed
    assert "[masked: " in printed or code == 130
