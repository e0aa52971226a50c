"""Setting up the Python environment for the plugin's worker and commands, once, in the background.

For `hooks/setup.py` and doctor. Runs on any Python, with the standard library alone. The environment has Python 3.11 or
later and our dependencies. It is built in a new folder of the data folder. Then a link is pointed at it.
"""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

from playbook_db import platforms, settings
from playbook_db.claude_code.hooks import worker_start
from playbook_db.claude_code.hooks.hook_runner import append_line, without_secrets
from playbook_db.files import alone, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLDEST = (3, 11)
_NEWEST_MINOR = 20  # how far to look for python3.N
_RETRY_AFTER_S = 3600.0  # after a failure; sessions start every few minutes
_STEP_S = 900  # for one step at most
_DEPENDENCIES = (
    "import sys, tomllib; told = tomllib.load(open(sys.argv[1], 'rb'))['project']; "
    "print(*told['dependencies'], *told['optional-dependencies']['web'], sep='\\n')"
)
_TRIAL = "import alembic, click, filelock, jinja2, python_multipart, rich, sqlalchemy, starlette, uvicorn"


class SetupError(Exception):
    """The environment can't be set up. The text says what to do."""


def main(arguments: "Sequence[str]") -> int:
    """Set up the environment, unless it is ready or being set up, and start the worker in it. Return the exit code.

    With `--status` and a command, print the state of the set-up instead. The command `sessions skip` is still carried
    out. With `--now` try again, even after a failure in the last hour.
    """
    problem = platforms.unsupported()
    if problem:
        print(problem)  # noqa: T201 - the answer of the command
        return 1
    if "--status" in arguments:
        print(describe())  # noqa: T201 - the answer of the command
        if list(arguments[-2:]) == ["sessions", "skip"] and settings.session():
            _keep_out(settings.session())
        elif len(arguments) > 1 and not is_ready():
            print("The command did not run. Repeat it when the set-up is done.")  # noqa: T201 - as above
        return 0 if is_ready() else 1
    if settings.is_disabled():
        return 0
    code = 0
    try:
        if settings.may_set_up():
            with alone(settings.runtime_dir() + ".lock") as is_alone:
                if not is_alone:
                    return 0
                if not is_ready() and ("--now" in arguments or not _has_just_failed()):
                    try:
                        _make()
                    except Exception as error:
                        _note("failed", error=str(error))
                        code = 1
        if os.access(settings.runtime_python(), os.X_OK):  # after a failure, an older environment is better than none
            worker_start.start_in_runtime()
    except Exception as error:  # nobody is there to read a traceback
        log = os.path.join(settings.logs_dir(), "hooks.log")
        append_line(log, f"setup: the worker can't be started ({error}); the jobs are kept. Run: playbook doctor")
        return 1
    return code


def is_ready(root: str = ROOT) -> bool:
    """Return whether the environment exists and has the dependencies of the plugin in the folder *root*."""
    return os.access(settings.runtime_python(), os.X_OK) and read_state().get("made_for") == _made_for(root)


def _has_just_failed() -> bool:
    state = read_state()
    return state.get("state") == "failed" and 0 <= time.time() - _time_of(state) < _RETRY_AFTER_S


def read_state() -> "dict[str, object]":
    """Return the set-up's state, or `{}` if it never began. `state` is working, failed or ready since the time `at`."""
    try:
        with open(_state_path(), "rb") as file:
            state = json.load(file)
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def describe(root: str = ROOT) -> str:
    """Describe in one line the state of the set-up of the plugin in *root*, and what to do if it failed."""
    known = read_state()
    state = known.get("state")
    if is_ready(root):
        return f"playbook's environment is ready: {settings.runtime_dir()}"
    since = time.strftime("%Y-%m-%d %H:%M:%S%z", time.localtime(_time_of(known)))
    if state == "working":
        return f"playbook's environment is being set up since {since}: {known.get('step')}"
    if state == "failed":
        return (
            f"playbook's environment could not be set up ({since}): {str(known.get('error')).rstrip('.')}. "
            f"It is tried again an hour later, or now with: {retry_command(root)}"
        )
    return "playbook's environment isn't set up yet; that begins with the next session"


def retry_command(root: str = ROOT) -> str:
    """Return the command that immediately retries the set-up of the plugin in *root*."""
    return f"python3 {shlex.quote(os.path.join(root, 'hooks', 'setup.py'))} --now"


def _keep_out(session: str) -> None:
    """Skip a session as `playbook sessions skip` does, which can't run before the set-up is done."""
    path = settings.skip_mark(os.path.basename(session))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "wb"):
        print(f"playbook no longer learns from session {session}")  # noqa: T201 - as above


def _make() -> None:
    link = settings.runtime_dir()
    target = f"{link}-{int(time.time())}-{os.getpid()}"
    try:
        if os.path.isdir(link) and not os.path.islink(link):
            raise SetupError(f"{link} is a folder, but must be a link. Move it away.")
        bins = (os.path.join(settings.home(), folder, "bin") for folder in (".local", ".cargo"))
        uv = shutil.which("uv", path=os.pathsep.join([os.environ.get("PATH", os.defpath), *bins]))
        _note("working", step="making the environment")
        _run([uv, "venv", "--quiet", "--python", ">=3.11", target] if uv else [_find_python(), "-m", "venv", target])
        python = os.path.join(target, "bin", "python")
        dependencies = _run([python, "-I", "-c", _DEPENDENCIES, os.path.join(ROOT, "pyproject.toml")]).splitlines()
        _note("working", step="installing " + ", ".join(dependencies))
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        install = [uv, "pip", "install", "--quiet", "--python", python] if uv else pip
        _run([*install, *dependencies])
        _run([python, "-I", "-c", _TRIAL])
        os.symlink(os.path.realpath(python), os.path.join(target, "interpreter"))
        _put_in_place(target)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    _note("ready", made_for=_made_for(ROOT))


def _put_in_place(target: str) -> None:
    """Point the link `runtime` at *target*, atomically, and remove the former environment."""
    link = settings.runtime_dir()
    before = os.path.realpath(link) if os.path.islink(link) else None
    temporary = os.path.join(target, "link")  # is removed with *target* on failure
    os.symlink(target, temporary)
    os.replace(temporary, link)
    if before and before != os.path.realpath(target):
        shutil.rmtree(before, ignore_errors=True)


def _find_python() -> str:
    """Return the path of a Python 3.11 or later: this one, or one on the PATH."""
    if sys.version_info >= OLDEST:
        return os.path.realpath(sys.executable)
    for minor in range(_NEWEST_MINOR, OLDEST[1] - 1, -1):
        python = shutil.which(f"python3.{minor}")
        if python and subprocess.run([python, "-I", "-c", "import venv"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    raise SetupError(
        f"the worker needs Python 3.11 or later, but this is {sys.version.split()[0]}. Install one, or install uv."
    )


def _run(command: "Sequence[str]") -> str:
    """Run *command* and return its output. If it fails, raise SetupError with the end of its error messages.

    It runs in `/`, because `python -m` imports from the current folder and uv reads settings there.
    """
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_STEP_S, cwd="/")
    if done.returncode:
        words = " ".join((done.stderr or done.stdout).split())[-600:]
        raise SetupError(f"`{' '.join(command[:4])}` failed: {words or f'exit code {done.returncode}'}")
    return done.stdout.strip()


def _made_for(root: str) -> str:
    """Return a digest of the project's tables, which differs if another version of the plugin needs other packages."""
    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        return hashlib.sha256(file.read().partition(b"\n[tool.")[0]).hexdigest()


def _note(state: str, **more: str) -> None:
    os.makedirs(settings.data_dir(), mode=0o700, exist_ok=True)
    more = {name: without_secrets(text) for name, text in more.items()}  # an installer may print a password
    replace_file(_state_path(), json.dumps(dict(more, state=state, at=time.time())).encode("utf-8"))
    append_line(os.path.join(settings.logs_dir(), "setup.log"), " ".join([state, *more.values()]))


def _state_path() -> str:
    return settings.runtime_dir() + ".json"


def _time_of(state: "dict[str, object]") -> float:
    at = state.get("at")
    return at if isinstance(at, (int, float)) else 0.0
