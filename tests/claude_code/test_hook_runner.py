"""The frame of all hooks: whatever hangs, the answer comes in time, with exit code 0."""

import json
import os
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest

from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import enqueue, hook_runner, inject, showing
from tests.claude_code import running
from tests.claude_code.running import Client, Ended

pytestmark = pytest.mark.slow  # starts processes

_DEADLINES_S = {"inject": inject.DEADLINE_S, "enqueue": enqueue.DEADLINE_S}
_LAST_S = {hook: deadline_s + hook_runner._GRACE_S for hook, deadline_s in _DEADLINES_S.items()}
_SILENCES = {"inject": showing.SILENCE, "enqueue": b""}
# A thread can be blocked by a disk that doesn't answer, and by a function in C that lets no other thread run.
_HUNG_DISK = "was = os.open\nos.open = lambda path, *_: time.sleep(60) if '/playbook/' in path else was(path, *_)\n"
_FAILURE = """def fail(_):
    raise OSError('https://ann:hunter2@host/x said: key sk-ant-of-the-user')
{hook}.hook_runner.parse = fail
"""
_NO_THREAD = "{hook}.sqlite_open.connect = lambda *_, **__: sum(range(10**12))\n"

hooks = pytest.mark.parametrize("hook", ["inject", "enqueue"])

client = running.client_fixture("use uv for everything", is_patient=False)


def _hook_with(hook: str, change: str, folder: Path) -> Path:
    """A folder with a file of *hook* that runs *change* before it begins."""
    folder.mkdir()
    (folder / f"{hook}.py").write_text(
        f"import os, sys, time\nsys.path.append({str(running.ROOT)!r})\n"
        f"from playbook_db.claude_code.hooks import {hook}\n{change.format(hook=hook)}{hook}.main()\n"
    )
    return folder


def _from_a_shell(command: str, event: object) -> Ended:
    began = time.monotonic()
    payload = json.dumps(event).encode()
    done = subprocess.run(["/bin/sh", "-c", command], input=payload, capture_output=True, timeout=300, check=False)
    return Ended(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


def _registered(hook: str, folder: Path, client: Client) -> str:
    return registration.command(
        hook, scope="user", python=running.PYTHON, hooks_folder=str(folder), worker_python=str(client.worker)
    )


def _event(hook: str, client: Client) -> object:
    return client.start() if hook == "inject" else client.end()


@hooks
@pytest.mark.parametrize("is_read", [False, True])
def test_pipe_as_log_is_not_waited_for(client: Client, hook: str, is_read: bool) -> None:
    log = client.data / "logs" / "hooks.log"
    log.parent.mkdir()
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK) if is_read else None

    done = client.run(hook, b"no JSON")
    stuck = client.run(hook, holds_stdin=True)

    assert [(each.code, each.out, each.err) for each in (done, stuck)] == [(0, _SILENCES[hook], b"")] * 2
    assert done.took_s < running.PATIENCE_S / 2
    assert running.is_in_time(stuck, _DEADLINES_S[hook])
    if reader is not None:
        assert os.read(reader, 1) == b""
        os.close(reader)


@hooks
def test_answer_comes_before_a_hanging_log(client: Client, tmp_path: Path, hook: str) -> None:
    made = _hook_with(hook, _HUNG_DISK, tmp_path / "hooks")
    done = _from_a_shell(_registered(hook, made, client), "no event")
    assert (done.code, done.out) == (0, _SILENCES[hook])
    assert running.is_in_time(done, _LAST_S[hook])


@hooks
def test_log_has_no_secrets(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-user")
    made = _hook_with(hook, _FAILURE, tmp_path / "hooks")
    done = _from_a_shell(_registered(hook, made, client), _event(hook, client))
    assert (done.code, done.out) == (0, _SILENCES[hook])
    (line,) = client.log()
    assert line.endswith(f"{hook}: OSError: https://host/x said: key [masked: environment value]")


@pytest.mark.nightly(after=1)
@hooks
def test_signal_ends_a_hook_without_threads(client: Client, tmp_path: Path, hook: str) -> None:
    made = _hook_with(hook, _NO_THREAD, tmp_path / "hooks")
    done = _from_a_shell(_registered(hook, made, client), _event(hook, client))
    assert (done.code, done.out) == (0, b"")
    assert _LAST_S[hook] <= done.took_s
    assert running.is_in_time(done, _LAST_S[hook])


def test_deadline_cuts_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    hook, said = hook_runner.Hook("inject", b"{}"), []
    is_let_go, has_begun = threading.Event(), threading.Event()

    def write(_: int, output: bytes) -> int:
        has_begun.set()
        is_let_go.wait(running.PATIENCE_S)
        said.append(output)
        return len(output)

    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "_exit", lambda _: said.append(b"ended"))
    monkeypatch.setattr(hook_runner, "_GRACE_S", running.PATIENCE_S)
    answering = threading.Thread(target=hook.say, args=(b"the answer",))
    answering.start()
    has_begun.wait(running.PATIENCE_S)
    threading.Timer(0.2, is_let_go.set).start()
    hook_runner._end_in_time(hook, 0.0, enqueue._spool)
    answering.join()

    assert said == [b"the answer", b"ended"]


@hooks
def test_crashed_python_is_no_error(client: Client, tmp_path: Path, hook: str) -> None:
    made = _hook_with(hook, "os.kill(os.getpid(), 11)\n", tmp_path / "hooks")
    (made / "start").write_bytes((running.HOOKS / "start").read_bytes())
    done = _from_a_shell(f"/bin/sh {made}/start {hook}", _event(hook, client))
    assert (done.code, done.out) == (0, b"")


@pytest.mark.parametrize("place", ["log", "spool"])
def test_data_folder_is_private(client: Client, place: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    before = os.umask(0o022)
    try:
        event = {"log": b"no JSON", "spool": client.end()}[place]
        client.enqueue(event, CLAUDE_CONFIG_DIR=str(elsewhere))
    finally:
        os.umask(before)

    made = [path for path in (elsewhere / "playbook", *(elsewhere / "playbook").iterdir()) if path.is_dir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o700}
    assert len(made) == 2


@pytest.mark.parametrize("hook", ["inject", "enqueue", "remind"])
def test_hooks_import_little(client: Client, tmp_path: Path, hook: str) -> None:
    """Each module costs time at each start."""
    event = {"inject": client.start(), "enqueue": client.end(), "remind": client.prompt("use uv")}[hook]
    done, modules = running.imported(client, hook, event, tmp_path)
    assert (done.code, done.err) == (0, b"")
    assert modules & running.HEAVY == set()
    assert running.foreign(modules) == set()
