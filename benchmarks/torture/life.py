"""A home and a project in which commands and hooks run, each in its own process."""

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from benchmarks.torture.promises import promise
from playbook_db.claude_code import registration
from playbook_db.cli.main import main as playbook

_NURSERY = multiprocessing.get_context("forkserver")  # a command's imports take longer than its work
_NURSERY.set_forkserver_preload(["__main__", "anthropic", "playbook_db.services.learning.learn", __name__])
_PATIENCE_S = 60.0  # for what hung once; far more than anything takes on a busy machine
_HOOK_S = 10.0  # beyond a hook's deadline, on a busy machine: those that hung never ended
_TRIES = 3
ROOM_BYTES = 1 << 30  # of memory for a command; once 2.1 GB were taken


@dataclass(frozen=True, slots=True)
class Ended:
    code: int | None
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Life:
    """A home, and a project with an empty `.claude`."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def data(self) -> Path:
        return self.home / ".claude" / "playbook"

    @property
    def database(self) -> Path:
        return self.data / "playbook.db"

    def project(self, name: str = "project") -> Path:
        made = self.folder / name
        (made / ".claude").mkdir(parents=True, exist_ok=True)
        return made

    def environ(self, project: Path, **more: str) -> dict[str, str]:
        self.home.mkdir(exist_ok=True)
        path = os.environ.get("PATH", os.defpath)
        own = {"HOME": str(self.home), "CLAUDE_PROJECT_DIR": str(project), "PLAYBOOK_NO_SETUP": "1"}
        return {"PATH": path, "PYTHONPATH": str(sandbox.ROOT), **own, **more}

    def command(self, *arguments: str, project: Path | None = None, may_end_with: int = 0, **environ: str) -> Ended:
        """Run `playbook` in a process of its own, with no terminal; it ends in time, and never with a bug."""
        place = project or self.project()
        said = [self.folder / "out", self.folder / "err"]
        given = (self.environ(place, **environ), place, arguments, said)
        process = _NURSERY.Process(target=_work, args=given)
        process.start()
        process.join(_PATIENCE_S)
        is_ended = process.exitcode is not None
        process.kill()
        process.join()
        out, err = (path.read_text("utf-8", "replace") for path in said)
        shown = f"playbook {' '.join(arguments)[:200]}"
        promise(is_ended, f"{shown} never ended")
        promise(process.exitcode in (0, may_end_with), f"{shown} ended with {process.exitcode}: {err[-2000:]}")
        return Ended(process.exitcode, out, err)

    def hook(
        self, name: str, *, project: Path | None = None, worker: str = "/bin/true", holds: bool = False, **options: Any
    ) -> str:
        """Run the hook as the client does, by way of a shell; it ends in time, with valid output. What it said.

        With *holds* nobody ever closes its standard input; *before* is done in the new process; *event* is another
        agent's, which gets nothing. On a machine so busy that its last resort ends it, it is run again.
        """
        place, before, others = project or self.project(), options.pop("before", None), options.pop("event", None)
        transcript = str(self.folder / f"{place.name}.jsonl")
        event = {"session_id": "s-1", "cwd": str(place), "transcript_path": transcript, "source": "startup"}
        event["hook_event_name"] = "SessionStart" if name == "inject" else "SessionEnd"
        event = others or event
        command = registration.command(
            name, scope="user", python=os.path.realpath(sys.executable), hooks_folder=str(sandbox.ROOT / "hooks"),
            worker_python=worker,
        )  # fmt: skip
        for _ in range(_TRIES):
            with subprocess.Popen(
                ["/bin/sh", "-c", command], env=self.environ(place, **options), stdin=subprocess.PIPE, cwd="/",
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=before,
            ) as process:  # fmt: skip
                try:
                    if holds:
                        process.wait(_HOOK_S)
                    out, err = process.communicate(json.dumps(event).encode(), _HOOK_S)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    raise AssertionError(f"{name} hadn't ended after {_HOOK_S:g} s") from None
            if err != b"Alarm clock\n":
                break
        promise(process.returncode == 0 and not err, f"{name} ended with {process.returncode} and said {err[-500:]!r}")
        says_nothing = others or name == "enqueue"
        promise(out == b"" if says_nothing else isinstance(json.loads(out), dict), f"{name} said {out[:500]!r}")
        return out.decode()


def _work(environ: Mapping[str, str], place: Path, arguments: tuple[str, ...], said: list[Path]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(place)
    resource.setrlimit(resource.RLIMIT_AS, (ROOM_BYTES, ROOM_BYTES))
    out, err = (path.open("w", encoding="utf-8", errors="surrogateescape") for path in said)
    with open(os.devnull) as sys.stdin, out as sys.stdout, err as sys.stderr:
        code = playbook(list(arguments))
    sys.exit(code)
