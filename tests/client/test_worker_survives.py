"""The worker outlives the session that started it, and has nothing of the session."""

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from playbook_db.claude_code.hooks.worker_start import WORKER
from tests.client.harness import World, run_print, start_print, wait_until
from tests.client.ours import PYTHON, REPOSITORY, data_folder, fill, foreign_hook, jobs, our_hooks, register

START_S = 20  # a worker has started by then
WORK_S = 3  # longer than the client gives the hooks of a session's end


@dataclass(frozen=True, slots=True)
class Found:
    """What a fake worker found."""

    pid: int
    parent: int
    session: int
    folder: str
    arguments: list[str]
    environment: dict[str, str]
    inherited: list[int]
    is_silent: bool
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class FakeWorker:
    """The program that replaces the worker's Python, and the folder in which each call leaves a file."""

    program: Path
    folder: Path

    def found(self) -> list[Found]:
        """What each call has found so far."""
        return [Found(**json.loads(path.read_text())) for path in sorted(self.folder.glob("*.json"))]

    def only_one(self) -> Found:
        """What the only worker has found, after its end."""
        wait_until(lambda: self.found() and all(each.ended_at for each in self.found()), "the worker's end")
        [found] = self.found()
        return found


@pytest.fixture
def worker(tmp_path: Path) -> FakeWorker:
    """A fake worker; all other programs, such as the plugin's MCP server, run as usual."""
    folder = tmp_path / "found"
    folder.mkdir()
    script = Path(__file__).with_name("fake_worker.py")
    command = shlex.join([PYTHON, "-IS", str(script), str(folder), str(WORK_S)])
    lines = f"""case " $* " in
*" {WORKER} "*) exec {command} "$@" ;;
*) exec {shlex.quote(PYTHON)} "$@" ;;
esac"""
    return FakeWorker(_program(tmp_path / "worker", lines), folder)


def _program(path: Path, lines: str) -> Path:
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return path


def test_worker_outlives_the_session(world: World, worker: FakeWorker, tmp_path: Path) -> None:
    python = _program(tmp_path / "python", f'echo $$ >>{shlex.quote(f"{tmp_path}/hooks")}; exec "{PYTHON}" "$@"')
    fill(world, "say why before how")
    register(world, our_hooks(str(worker.program), python=str(python)))
    with start_print(world, "hello") as process:
        process.wait(timeout=300)
        wait_until(worker.found, "the worker's start", START_S)
        ended_before = [found.ended_at for found in worker.found()]

    found = worker.only_one()
    hooks = [int(pid) for pid in (tmp_path / "hooks").read_text().split()]
    assert (process.returncode, ended_before, len(hooks)) == (0, [None], 3)  # a start, a prompt, an end
    assert found.parent not in (process.pid, *hooks)
    assert found.session not in (found.pid, process.pid, os.getsid(0), *hooks)
    assert (found.inherited, found.is_silent, found.folder) == ([], True, "/")
    assert not {"CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID"} & set(found.environment)
    assert found.environment["HOME"] == str(world.home)
    assert found.arguments[-2:] == ["-m", "playbook_db.claude_code.worker"]


@pytest.mark.smoke
def test_worker_outlives_a_killed_client(world: World, worker: FakeWorker, tmp_path: Path) -> None:
    release = tmp_path / "release"
    waits = f"for _ in $(seq 100); do [ -e {shlex.quote(str(release))} ] && exit; sleep 0.1; done"
    hooks = our_hooks(str(worker.program))
    fill(world, "say why before how")
    register(world, {**hooks, "SessionEnd": hooks["SessionEnd"] + foreign_hook(waits)})
    with start_print(world, "hello") as process:
        wait_until(worker.found, "the worker's start", START_S)
        was_running = process.poll() is None
        process.kill()
        process.wait(timeout=300)
    release.touch()

    worker.only_one()
    assert was_running
    assert [job.reason for job in jobs(world)] == ["SessionEnd:other"]


def test_plugin_starts_its_own_worker(world: World, worker: FakeWorker) -> None:
    runtime = data_folder(world) / "runtime" / "bin" / "python"
    runtime.parent.mkdir(parents=True)
    runtime.symlink_to(worker.program)
    fill(world, "say why before how")

    run = run_print(world, "--plugin-dir", str(REPOSITORY), "hello")

    found = worker.only_one()
    assert (run.code, run.err) == (0, "")
    assert (found.ended_at or 0) > run.ended
    assert found.environment["PYTHONPATH"] == str(REPOSITORY)
    assert not {name for name in found.environment if name.startswith("CLAUDE_PLUGIN_")}
