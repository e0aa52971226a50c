"""The worker that a hook starts outlives the session, however that ends, and has nothing of it in its hands."""

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from playbook_db.claude_code.hooks.worker_start import WORKER
from tests.client.harness import World, run_print, start_print, wait_until
from tests.client.ours import PYTHON, REPOSITORY, data_folder, fill, foreign_hook, jobs, our_hooks, register

START_S, WORK_S = (
    20,
    3,
)  # a worker is at work by then, and for so long: longer than the client gives the hooks of a session's end


@dataclass(frozen=True, slots=True)
class Told:
    """What a fake worker found; see there."""

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
    """The program to be called as the worker's Python, and the folder in which each one called leaves a file."""

    program: Path
    folder: Path

    def told(self) -> list[Told]:
        """What was left so far."""
        return [Told(**json.loads(path.read_text())) for path in sorted(self.folder.glob("*.json"))]

    def only_one(self) -> Told:
        """What the only one said, once it had done its work."""
        wait_until(
            lambda: self.told() and all(told.ended_at for told in self.told()), "the worker's end", START_S + WORK_S
        )
        [told] = self.told()
        return told


@pytest.fixture
def worker(tmp_path: Path) -> FakeWorker:
    """A fake worker that nobody has started yet. What else its Python is for, as the plugin's MCP server, a real one
    does."""
    folder = tmp_path / "told"
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


def test_the_worker_works_on_after_a_session_and_holds_nothing_of_it(
    world: World, worker: FakeWorker, tmp_path: Path
) -> None:
    """The client is gone while the worker works: a session of its own, no descriptor, no variable of the session's.

    A process that leads its session was forked once and may still be found below the hook; ours is forked twice.
    """
    python = _program(tmp_path / "python", f'echo $$ >>{shlex.quote(f"{tmp_path}/hooks")}; exec "{PYTHON}" "$@"')
    fill(world, "say why before how")
    register(world, our_hooks(str(worker.program), python=str(python)))
    with start_print(world, "hello") as process:
        process.wait(timeout=300)
        wait_until(worker.told, "the worker's start", START_S)
        ended_before = [told.ended_at for told in worker.told()]

    told = worker.only_one()
    hooks = [int(pid) for pid in (tmp_path / "hooks").read_text().split()]
    assert (process.returncode, ended_before, len(hooks)) == (0, [None], 3)  # a start, a prompt, an end
    assert told.parent not in (process.pid, *hooks)
    assert told.session not in (told.pid, process.pid, os.getsid(0), *hooks)
    assert (told.inherited, told.is_silent, told.folder) == ([], True, "/")
    assert not {"CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID"} & set(told.environment)
    assert told.environment["HOME"] == str(world.home)
    assert told.arguments[-2:] == ["-m", "playbook_db.claude_code.worker"]


@pytest.mark.smoke
def test_the_worker_works_on_when_the_client_is_killed(world: World, worker: FakeWorker, tmp_path: Path) -> None:
    """SIGKILL while another hook of the session's end still runs, right after ours has started the worker."""
    release = tmp_path / "release"
    waits = f"for _ in $(seq 100); do [ -e {shlex.quote(str(release))} ] && exit; sleep 0.1; done"
    hooks = our_hooks(str(worker.program))
    fill(world, "say why before how")
    register(world, {**hooks, "SessionEnd": hooks["SessionEnd"] + foreign_hook(waits)})
    with start_print(world, "hello") as process:
        wait_until(worker.told, "the worker's start", START_S)
        was_running = process.poll() is None
        process.kill()
        process.wait(timeout=300)
    release.touch()

    told = worker.only_one()
    assert was_running
    assert told.ended_at
    assert [job.reason for job in jobs(world)] == ["SessionEnd:other"]


def test_a_plugin_starts_the_worker_of_its_own_environment(world: World, worker: FakeWorker) -> None:
    """Where the plugin has set one up. Our package is found without being installed; the client is outlived."""
    runtime = data_folder(world) / "runtime" / "bin" / "python"
    runtime.parent.mkdir(parents=True)
    runtime.symlink_to(worker.program)
    fill(world, "say why before how")

    run = run_print(world, "--plugin-dir", str(REPOSITORY), "hello")

    told = worker.only_one()
    assert (run.code, run.err) == (0, "")
    assert told.ended_at
    assert told.ended_at > run.ended
    assert told.environment["PYTHONPATH"] == str(REPOSITORY)
    assert not {name for name in told.environment if name.startswith("CLAUDE_PLUGIN_")}
