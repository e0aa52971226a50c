"""The environment of the plugin's worker: it is created once, and is complete or absent."""

import json
import os
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

from playbook_db.claude_code import plugin_env, registration
from playbook_db.claude_code.hooks import worker_start
from playbook_db.claude_code.hooks.hook_runner import Hook
from playbook_db.services.learning import queue
from tests.claude_code import running

pytestmark = pytest.mark.slow  # starts processes

_SETUP = running.HOOKS / "setup.py"
_UV = """#!/bin/sh
echo "$*" >> "{calls}"
if [ "$1" = venv ]; then
    for target; do :; done
    {then}
    mkdir -p "$target/bin"
    cat > "$target/bin/python" <<'END'
#!/bin/sh
if [ "$1" = -P ]; then echo "$PYTHONPATH $*" > "{calls}.worker"; exit 0; fi
case "$*" in *"import jinja2"*) exit 0;; *"import alembic"*) {trial};; esac
exec "{python}" "$@"
END
    chmod +x "$target/bin/python"
fi
"""


@pytest.fixture
def data(home: Path) -> Path:
    """The folder of the environment."""
    return home / ".claude" / "playbook"


@pytest.fixture
def calls(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The calls of a fake `uv` on the path, which installs nothing."""
    monkeypatch.setenv("PATH", f"{home / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    _put_uv(home)
    return home / "calls"


def _put_uv(home: Path, then: str = ":", trial: str = "exit 0") -> None:
    (home / "bin").mkdir(exist_ok=True)
    uv = home / "bin" / "uv"
    uv.write_text(_UV.format(calls=home / "calls", then=then, trial=trial, python=sys.executable))
    uv.chmod(0o755)


def _set_up(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [running.PYTHON, "-I", str(_SETUP), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def _state(data: Path) -> str:
    state: str = json.loads((data / "runtime.json").read_text())["state"]
    return state


def _made(calls: Path) -> int:
    return sum(line.startswith("venv") for line in calls.read_text().splitlines()) if calls.exists() else 0


def test_uv_creates_the_environment(data: Path, calls: Path) -> None:
    early = _set_up("--status", "list")
    assert (early.returncode, "The command did not run." in early.stdout) == (1, True)

    done = _set_up()

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    venv, install = calls.read_text().splitlines()
    assert venv.startswith("venv --quiet --python >=3.11 ")
    assert install.startswith("pip install --quiet --python ")
    assert all(
        name in install for name in ("sqlalchemy", "alembic", "click", "filelock", "rich", "starlette", "uvicorn")
    )
    assert (data / "runtime").is_symlink()
    assert os.access(data / "runtime" / "interpreter", os.X_OK)
    assert running.appears(calls.with_name("calls.worker"))
    assert calls.with_name("calls.worker").read_text() == f"{running.ROOT} -P -m playbook_db.claude_code.worker\n"
    status = _set_up("--status")
    assert (status.returncode, "is ready" in status.stdout) == (0, True)


def test_sessions_skip_works_before_the_setup(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s-1")
    program = running.ROOT / "bin" / "playbook"

    said = [
        subprocess.run([program, "sessions", *rest], capture_output=True, text=True, check=False).stdout
        for rest in (["skip", "--off"], ["skip"])
    ]

    assert ["isn't set up yet" in each for each in said] == [True, True]
    assert ["playbook no longer learns from session s-1" in each for each in said] == [False, True]
    assert queue.is_skipped("s-1")


def test_older_environment_is_replaced(data: Path, calls: Path) -> None:
    _set_up()
    old = Path(os.path.realpath(data / "runtime"))
    known = json.loads((data / "runtime.json").read_text())
    (data / "runtime.json").write_text(json.dumps({**known, "made_for": "other packages"}))
    old = old.rename(data / "runtime-1")
    (data / "runtime").unlink()
    (data / "runtime").symlink_to(old)

    assert _set_up().returncode == 0

    assert _made(calls) == 2
    assert os.path.realpath(data / "runtime") != str(old)
    assert not old.exists()
    assert sorted(path.name for path in data.iterdir() if path.name.startswith("runtime-")) == [
        os.path.basename(os.readlink(data / "runtime"))
    ]


def test_failure_is_retried_after_an_hour(data: Path, calls: Path, home: Path) -> None:
    _put_uv(home, 'mkdir -p "$target/half"; echo "no route to https://ann:hunter2@host" >&2; exit 2')

    assert _set_up().returncode == 1

    assert _state(data) == "failed"
    assert "no route to https://host" in _set_up("--status").stdout
    assert "hunter2" not in (data / "logs" / "setup.log").read_text()
    assert list(data.glob("runtime-*")) == []
    assert not (data / "runtime").exists()
    _put_uv(home)
    _set_up()
    assert _made(calls) == 1

    known = json.loads((data / "runtime.json").read_text())
    (data / "runtime.json").write_text(json.dumps({**known, "at": time.time() - 3700}))
    assert _set_up().returncode == 0
    assert (_made(calls), _state(data)) == (2, "ready")


def test_broken_environment_is_not_used(data: Path, calls: Path, home: Path) -> None:
    _put_uv(home, trial='echo "cannot open shared object" >&2; exit 1')
    assert _set_up().returncode == 1
    assert "cannot open shared object" in _set_up("--status").stdout
    assert not (data / "runtime").exists()


def test_failure_keeps_the_old_environment(data: Path, calls: Path, home: Path) -> None:
    _set_up()
    before = os.path.realpath(data / "runtime")
    assert running.appears(calls.with_name("calls.worker"))
    calls.with_name("calls.worker").unlink()
    (data / "runtime.json").write_text(json.dumps({"state": "ready", "made_for": "other packages"}))
    _put_uv(home, "exit 1")

    assert _set_up().returncode == 1
    assert os.path.realpath(data / "runtime") == before
    assert running.appears(calls.with_name("calls.worker"))
    calls.with_name("calls.worker").unlink()
    assert _set_up().returncode == 0
    assert running.appears(calls.with_name("calls.worker"))
    assert _made(calls) == 2


def test_hook_runs_the_setup_before_a_worker(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new version of the plugin may need other packages."""
    _set_up()
    started: list[list[str]] = []
    monkeypatch.setattr("playbook_db.claude_code.registration.own_scope", lambda: registration.PLUGIN)
    monkeypatch.setattr(worker_start, "start_detached", lambda command, environ: started.append(command))
    worker_start.start(Hook("enqueue", b""), str(running.ROOT))
    assert started == [[sys.executable, "-I", str(_SETUP)]]


def test_parallel_setups_install_once(data: Path, calls: Path, home: Path) -> None:
    _put_uv(home, "sleep 0.7")
    command = [running.PYTHON, "-I", str(_SETUP)]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(300) for process in both] == [0, 0]
    assert (_made(calls), _state(data)) == (1, "ready")


@pytest.mark.parametrize("name", ["PLAYBOOK_DISABLE", "PLAYBOOK_NO_SETUP", "CLAUDE_CODE_EVAL_CONFINED"])
def test_variables_turn_the_setup_off(data: Path, calls: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    assert _set_up().returncode == 0
    assert not data.exists()
    assert _made(calls) == 0


def _a_wheel(folder: Path, wanted: str) -> None:
    """A package with one empty module that satisfies *wanted*, such as `click>=8.2,<9`."""
    name, _, rest = wanted.partition(">=")
    name, version = name.replace("-", "_"), rest.partition(",")[0]
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.mark.nightly
def test_pip_replaces_uv(data: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = home / "wheels"
    wheels.mkdir()
    project = tomllib.loads((running.ROOT / "pyproject.toml").read_text())["project"]
    for name in (*project["dependencies"], *project["optional-dependencies"]["web"]):
        _a_wheel(wheels, name)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))

    done = _set_up()

    assert (done.returncode, _state(data)) == (0, "ready"), (data / "logs" / "setup.log").read_text()
    tried = subprocess.run([data / "runtime" / "bin" / "python", "-I", "-c", "import alembic, rich"], check=False)
    assert tried.returncode == 0


def test_setup_imports_nothing_from_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m venv` would import a `venv.py` of the current folder."""
    (tmp_path / "bait.py").write_text("print('started')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(plugin_env.SetupError, match="No module named bait"):
        plugin_env._run([sys.executable, "-m", "bait"])
