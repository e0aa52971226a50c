"""The worker outlives the session: it is outside the client's process tree."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.claude_code import running

pytestmark = pytest.mark.slow  # starts processes

_PROBE = """
import json, os, sys, time

def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True

while os.getppid() == int(sys.argv[2]):
    time.sleep(0.001)
found = {
    "pid": os.getpid(), "parent": os.getppid(), "group": os.getpgid(0), "session": os.getsid(0), "cwd": os.getcwd(),
    "on_nothing": [n for n in range(256) if is_open(n) and os.fstat(n).st_rdev == os.stat(os.devnull).st_rdev],
    "open": list(filter(is_open, range(256))),
    "environment": dict(os.environ), "arguments": sys.argv[3:],
}
with open(sys.argv[1] + ".new", "w") as file:
    json.dump(found, file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""
_STARTER = """
import os, sys
sys.path.append(sys.argv[1])
os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
os.set_inheritable(os.dup2(os.open(os.devnull, os.O_RDONLY), 200), True)
from playbook_db.claude_code.hooks import worker_start
command = [word.replace("STARTER", str(os.getpid())) for word in sys.argv[2:]]
worker_start.start_detached(command, {**os.environ, "MORE": "of it"})
print(os.getpid(), os.getsid(0))
"""


def _start(*command: str, **variables: str) -> tuple[int, int]:
    """Start *command* from another process; return that process and its session."""
    starter = [running.PYTHON, "-I", "-S", "-c", _STARTER, str(running.ROOT), *command]
    environ = {**os.environ, **variables}
    done = subprocess.run(starter, env=environ, capture_output=True, text=True, timeout=running.PATIENCE_S, check=True)
    number, session = done.stdout.split()
    return int(number), int(session)


def _probed(tmp_path: Path, **variables: str) -> tuple[int, int, dict[str, Any]]:
    probe, out = tmp_path / "probe.py", tmp_path / "probed"
    probe.write_text(_PROBE)
    starter, session = _start(running.PYTHON, str(probe), str(out), "STARTER", "an argument", **variables)
    assert running.appears(out)
    return starter, session, json.loads(out.read_text())


def test_worker_leaves_the_process_tree(tmp_path: Path) -> None:
    starter, session, probed = _probed(tmp_path)

    assert probed["parent"] not in (starter, os.getpid())
    assert probed["session"] not in (session, os.getsid(0))
    assert probed["group"] == probed["session"]
    assert probed["session"] != probed["pid"]  # no leader: it can't get a terminal
    assert probed["cwd"] == "/"
    assert probed["arguments"] == ["an argument"]


def test_worker_inherits_no_descriptors(tmp_path: Path) -> None:
    """The client waits for processes that hold its pipes."""
    _, _, probed = _probed(tmp_path)
    assert probed["on_nothing"] == probed["open"] == [0, 1, 2]


def test_session_variables_are_removed(tmp_path: Path) -> None:
    """The variables that you set yourself stay."""
    sessions = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PID")
    users = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "PLAYBOOK_DB_URL", "HTTPS_PROXY")
    _, _, probed = _probed(tmp_path, **dict.fromkeys((*sessions, *users), "x"))
    assert set(sessions) & set(probed["environment"]) == set()
    assert {*users, "MORE", "HOME"} <= set(probed["environment"])


def test_starter_does_not_wait(tmp_path: Path) -> None:
    gate, passed = tmp_path / "gate", tmp_path / "passed"
    os.mkfifo(gate)
    _start("/bin/sh", "-c", 'read _ <"$1" && : >"$2"', "sh", str(gate), str(passed))
    assert not passed.exists()
    gate.write_text("go\n")
    assert running.appears(passed)
