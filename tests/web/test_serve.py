"""How `playbook web` starts and stops."""

import contextlib
import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from playbook_db.web import serve
from tests.web.conftest import PATIENCE_S, Visitor

PLAYBOOK = (sys.executable, "-m", "playbook_db")
# A server whose clock is a file.
_ENDS_SOON = """
import sys
from pathlib import Path
from types import SimpleNamespace
from playbook_db.web import access, serve
serve.time = access.time = SimpleNamespace(monotonic=lambda: float(Path(sys.argv[2]).read_text() or 0))
serve._CHECK_S = 0.05
serve.serve(sys.argv[1], None, opened=lambda address: print(address, flush=True))
"""
_WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from playbook_db.cli.main import run
run()
"""


def run(*command: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """The finished command."""
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env={**os.environ, **env})


def test_taken_port_is_reported_in_one_line(home: Path, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run(*PLAYBOOK, "web", "--no-open", "--port", str(taken.getsockname()[1]))

    assert (done.returncode, done.stdout) == (1, "")
    assert "can't be used" in done.stderr
    assert "--port" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("missing", ["starlette", "python_multipart"])
def test_missing_extra_says_how_to_install_it(home: Path, folder: Path, missing: str) -> None:
    done = run(sys.executable, "-c", _WITHOUT, missing, "web", "--no-open")

    assert (done.returncode, done.stdout) == (1, "")
    assert "web" in done.stderr
    assert "install" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
def test_command_line_of_the_browser_is_not_secret(home: Path, folder: Path, tmp_path: Path) -> None:
    """All users see it in the list of processes, so it lacks the path of the pages."""
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    os.mkfifo(opened)
    browser.write_text(f'#!/bin/sh\necho "$1" > {shlex.quote(str(opened))}\n')
    browser.chmod(stat.S_IRWXU)
    env = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen([*PLAYBOOK, "web"], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        printed = urlsplit(process.stdout.readline().strip())
        seen = opened.read_text()
        process.terminate()

    assert printed.netloc in seen
    assert printed.path not in seen


def test_idle_server_ends(home: Path, tmp_path: Path) -> None:
    """Refused requests don't keep it running."""
    url, clock = f"sqlite:///{tmp_path / 'playbook.db'}", tmp_path / "clock"
    clock.write_text("0")
    command = [sys.executable, "-c", _ENDS_SOON, url, str(clock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        visitor = Visitor(process.stdout.readline().strip())
        assert visitor.open().status == 303
        for hour in (0.4, 0.8, 1.2):  # the server checks each more than once
            clock.write_text(str(3600 * hour))
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            assert visitor.see("/static/style.css").status == 200
        clock.write_text(str(3600 * 1.6))
        assert Visitor(visitor.address).see("/points").status == 403
        clock.write_text(str(3600 * 1.8))
        assert process.wait(PATIENCE_S) == 0


def test_too_many_connections_get_503(visitor: Visitor) -> None:
    host, _, port = visitor.host.partition(":")
    with contextlib.ExitStack() as crowd:
        for _ in range(serve.MAX_CONNECTIONS):
            crowd.enter_context(socket.create_connection((host, int(port)), PATIENCE_S))
        assert visitor.see("/points").status == 503

    assert visitor.see("/points").status == 200


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_server_needs_no_browser_and_ends_quietly(home: Path, folder: Path, tmp_path: Path, number: int) -> None:
    """Without a browser, it prints the address; a signal ends it at once, without a traceback."""
    env = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    (tmp_path / "empty").mkdir()
    with subprocess.Popen(
        [*PLAYBOOK, "web"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**env, "PATH": str(tmp_path / "empty")},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        visitor = Visitor(process.stdout.readline().strip())
        said = [process.stderr.readline(), process.stderr.readline()]
        assert visitor.open().status == 303
        process.send_signal(number)
        process.wait(PATIENCE_S)
        said.append(process.stderr.read())

    assert "to stop it, press Ctrl-C" in said[0]
    assert "no browser could be opened" in said[1]
    assert "Traceback" not in said[2]
