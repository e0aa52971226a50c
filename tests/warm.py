"""Commands in processes of their own that need not import first, as importing takes longer than most commands.

`python -m tests.warm MODULE ...` imports what is named and forks for each line of its input. It has no threads, no open
database and nothing of a test.
"""

import atexit
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

_WEB = ("playbook_db.cli.main", "playbook_db.cli.look.servers", "playbook_db.web.serve")


@contextmanager
def command(*arguments: str, env: Mapping[str, str], lock_wait_s: float | None = None) -> Iterator[TextIO]:
    """Run `playbook ARGUMENT ...`; gives its standard output. It is terminated in the end."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "out")
        os.mkfifo(pipe)
        told = {"arguments": arguments, "env": dict(env), "folder": os.getcwd(), "out": pipe, "wait": lock_wait_s}
        process = _forking()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(told)}\n")
        process.stdin.flush()
        number = int(process.stdout.readline())
        with open(pipe, encoding="utf-8") as out:
            try:
                yield out
            finally:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGTERM)
                out.read()  # to its end, which is the process's


@functools.cache
def _forking() -> "subprocess.Popen[str]":
    program = [sys.executable, "-m", "tests.warm", *_WEB]
    root = Path(__file__).parents[1]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
    atexit.register(process.communicate)
    return process


def _be(told: Mapping[str, Any]) -> None:
    from playbook_db import settings
    from playbook_db.cli.main import run

    os.environ.clear()
    os.environ.update(told["env"])
    os.chdir(told["folder"])
    os.dup2(os.open(told["out"], os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if told["wait"] is not None:
        settings.LOCK_WAIT_S = told["wait"]
    sys.argv = ["playbook", *told["arguments"]]
    run()


def _main() -> None:
    for name in sys.argv[1:]:
        import_module(name)
    for line in sys.stdin:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        number = os.fork()
        if not number:
            try:
                _be(json.loads(line))
            finally:
                os._exit(70)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
