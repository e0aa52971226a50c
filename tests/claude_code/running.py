"""Running the hooks as Claude Code does: the files themselves, each in a process of its own, under any Python here."""

import functools
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.databases import empty_database, put_empty_database

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / "hooks"
PYTHON = os.path.realpath(sys.executable)
SESSION = "21085438-3e85-4e82-b7cf-435eb11d75c5"
PATIENCE_S = 300.0  # for what would otherwise hang a test; far more than anything takes on a busy machine
_STARTS = 100  # of a bare interpreter: what a hook may take beyond its deadline
_REAL_HOME = os.path.expanduser("~")  # before a test's own takes its place
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH, _PR_CAPBSET_DROP = 1, 2, 24
_OLDEST = (3, 9)
_PATIENTLY = """import sys
sys.path.append({root!r})
from playbook_db.claude_code.hooks import {module}
{module}.DEADLINE_S = {patience_s}
__file__ = {file!r}
exec(open(__file__).read())
"""
_TELL = "import sys; print('%d %d' % sys.version_info[:2])"


def patient(hook: str) -> str:
    """Code that is *hook* with a deadline that no busy machine lets pass."""
    module = "remind" if hook == "tool" else hook
    return _PATIENTLY.format(root=str(ROOT), module=module, patience_s=PATIENCE_S, file=str(HOOKS / f"{hook}.py"))


@functools.cache
def _pythons() -> dict[tuple[int, int], list[str]]:
    """Every other Python on this machine, by its version."""
    paths = ["/usr/bin/python3", *map(str, sorted(Path(_REAL_HOME, ".pyenv", "versions").glob("*/bin/python")))]
    paths += [found for minor in range(30) if (found := shutil.which(f"python3.{minor}")) and "shims" not in found]
    found: dict[tuple[int, int], list[str]] = {}
    for path in dict.fromkeys(map(os.path.realpath, paths)):
        if path == PYTHON or not os.access(path, os.X_OK):
            continue
        told = subprocess.run([path, "-c", _TELL], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if told.returncode == 0:
            major, minor = told.stdout.split()
            found.setdefault((int(major), int(minor)), []).append(path)
    return found


def _parameters(versions: dict[tuple[int, int], list[str]], missing: str) -> Any:
    paths = [path for version in sorted(versions) for path in versions[version]]
    between = pytest.mark.nightly if len(paths) > 2 else ()
    listed = [pytest.param(path, id=path, marks=between if path in paths[1:-1] else ()) for path in paths]
    return listed or [pytest.param("", marks=pytest.mark.skip(reason=missing), id="none")]


every_other_python = pytest.mark.parametrize(
    "python",
    _parameters(
        {version: paths for version, paths in _pythons().items() if version >= _OLDEST},
        "NO OTHER PYTHON from 3.9 on is on this machine: what the hooks do under one was not seen",
    ),
)
every_too_old_python = pytest.mark.parametrize(
    "python",
    _parameters(
        {version: paths for version, paths in _pythons().items() if (3,) < version < _OLDEST},
        "NO PYTHON OLDER than 3.9 is on this machine: what the hooks do under one was not seen",
    ),
)


@dataclass(frozen=True)
class Ended:
    """How a hook ended, what it said, and how long it took, the interpreter's start included."""

    code: int
    out: bytes
    err: bytes
    took_s: float

    @property
    def context(self) -> str:
        """What went before the session."""
        told: str = json.loads(self.out)["hookSpecificOutput"]["additionalContext"]
        return told

    @property
    def message(self) -> str:
        """What the user was told, and the model not; `""` for nothing."""
        told: str = json.loads(self.out).get("systemMessage", "")
        return told

    @property
    def has_context(self) -> bool:
        """Whether anything went before the session."""
        return "hookSpecificOutput" in json.loads(self.out)


SILENT = (0, b"{}\n", b"")


@dataclass(frozen=True)
class Client:
    """Claude Code in a project's folder, with a database, and a program in the place of the worker's Python that only
    notes that it was started. Where it `is_patient`, hooks have all the time that a busy machine takes."""

    folder: Path
    database: Path
    home: Path
    is_patient: bool = False

    @property
    def data(self) -> Path:
        """The folder of the logs and the spool."""
        return self.home / ".claude" / "playbook"

    @property
    def worker(self) -> Path:
        """The program that stands for the worker's Python."""
        return self.home / "worker"

    @property
    def transcript(self) -> Path:
        """The transcript of the session."""
        slug = re.sub("[^a-zA-Z0-9]", "-", str(self.folder))
        return self.home / ".claude" / "projects" / slug / f"{SESSION}.jsonl"

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """An event of the session as the client 2.1.329 tells it, with *fields* added; one that is None is left out."""
        told = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            "cwd": str(self.folder),
            "hook_event_name": name,
            **fields,
        }
        return {field: value for field, value in told.items() if value is not None}

    def start(self, source: str = "startup", **fields: Any) -> dict[str, Any]:
        """A session's start."""
        return self.event("SessionStart", source=source, **fields)

    def end(self, reason: str = "prompt_input_exit", **fields: Any) -> dict[str, Any]:
        """A session's end."""
        return self.event("SessionEnd", prompt_id="cb2cd6ec-c69e-434b-ac94-db1a39bb9059", reason=reason, **fields)

    def compaction(self, trigger: str = "manual") -> dict[str, Any]:
        """What comes before a compaction."""
        return self.event("PreCompact", trigger=trigger, custom_instructions="keep names")

    def subagent_stop(self, agent_type: str = "general-purpose", **fields: Any) -> dict[str, Any]:
        """A subagent's end; with no type, the one that a compaction has."""
        path = self.transcript.with_suffix("") / "subagents" / "agent-a48f56874e781b2f1.jsonl"
        told = {"agent_id": "a48f56874e781b2f1", "agent_type": agent_type, "agent_transcript_path": str(path)}
        return self.event("SubagentStop", stop_hook_active=False, effort={"level": "medium"}, **{**told, **fields})

    def prompt(self, text: object, **fields: Any) -> dict[str, Any]:
        """A prompt, as the client 2.1.330 tells it."""
        told = {"prompt_id": "e9b587aa-7000-4fa9-bb05-a8bdceb2544a", "permission_mode": "default", "prompt": text}
        return self.event("UserPromptSubmit", **{**told, **fields})

    def failure(self, error: object, *, tool: str = "Bash", **tool_input: Any) -> dict[str, Any]:
        """A tool's failure, likewise."""
        told = {"tool_name": tool, "tool_input": tool_input, "error": error, "is_interrupt": False, "duration_ms": 9}
        return self.event("PostToolUseFailure", tool_use_id="toolu_01", **told)

    def call(self, tool: str, **tool_input: Any) -> dict[str, Any]:
        """What comes before a tool's call, likewise."""
        return self.event("PreToolUse", tool_name=tool, tool_input=tool_input, tool_use_id="toolu_01")

    def subagent_start(self, agent_type: object = "general-purpose", **fields: Any) -> dict[str, Any]:
        """A subagent's start, likewise."""
        return self.event("SubagentStart", **{"agent_id": "a48f56874e781b2f1", "agent_type": agent_type, **fields})

    def run(
        self,
        hook: str,
        event: object = b"",
        *,
        python: str = PYTHON,
        scope: str | None = "user",
        before: Callable[[], object] | None = None,
        holds_stdin: bool = False,
        argument: str | None = None,
        cwd: Path | None = None,
        **variables: str,
    ) -> Ended:
        """Run *hook*, registered in *scope* (None: without arguments), on *event*: bytes as they are, else as JSON.

        *argument* is the second one, in place of the worker.
        *before* is done in the new process; with *holds_stdin* nobody ever closes its standard input.
        """
        payload = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
        arguments = [] if scope is None else [scope, argument or str(self.worker)]
        file = str(HOOKS / f"{hook}.py")
        began = time.monotonic()
        with subprocess.Popen(
            [python, "-I", "-S", *(["-c", patient(hook)] if self.is_patient else [file]), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd or self.folder,
            env={**os.environ, "PLAYBOOK_NO_SETUP": "1", **variables},
            preexec_fn=before,
        ) as process:
            assert process.stdin is not None
            try:
                if holds_stdin:
                    process.stdin.write(payload)
                    process.stdin.flush()
                    process.wait(PATIENCE_S)
                    took_s = time.monotonic() - began
                    process.stdin.close()
                    process.stdin = None
                    out, err = process.communicate(timeout=PATIENCE_S)
                else:
                    out, err = process.communicate(payload, timeout=PATIENCE_S)
                    took_s = time.monotonic() - began
            except subprocess.TimeoutExpired:
                process.kill()
                raise AssertionError(f"{hook} was still there after {PATIENCE_S:g} s") from None
        return Ended(process.returncode, out, err, took_s)

    def inject(self, event: object = None, **options: Any) -> Ended:
        """Run the hook of SessionStart."""
        return self.run("inject", self.start() if event is None else event, **options)

    def remind(self, event: object, **options: Any) -> Ended:
        """Run the hook of prompts, errors and subagents; it never fails and never says anything on stderr."""
        done = self.run("remind", event, **options)
        assert (done.code, done.err) == (0, b"")
        assert isinstance(json.loads(done.out), dict)
        return done

    def enqueue(self, event: object = None, **options: Any) -> Ended:
        """Run the hook that queues; it never says anything and never fails, whatever there is."""
        done = self.run("enqueue", self.end() if event is None else event, **options)
        assert (done.code, done.out, done.err) == (0, b"", b"")
        return done

    def add(self, *texts: str) -> None:
        """Add a point for each of *texts* to the project's playbook."""
        with open_store(f"sqlite:///{self.database}") as store:
            for text in texts:
                edit.add(Project.in_folder(store, str(self.folder)), text)

    def fill(self, *texts: str) -> None:
        """Put a database in place whose playbook of this project has a point for each of *texts*, and nothing else."""
        self.database.write_bytes(_filled(texts))
        self.change(f"UPDATE playbooks SET key = '{self.folder}'")

    def rows(self, query: str) -> list[Any]:
        """What *query* finds in the database."""
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(query).fetchall()

    def change(self, statement: str) -> None:
        """Carry out *statement* in the database."""
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute(statement)

    def log(self) -> list[str]:
        """The lines that the hooks left in their log."""
        path = self.data / "logs" / "hooks.log"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def spooled(self) -> list[dict[str, Any]]:
        """The jobs in the spool, oldest first."""
        return [json.loads(path.read_bytes()) for path in sorted((self.data / "spool").glob("*.json"))]

    def worker_began(self) -> bool:
        """Whether the worker was started; waits for it a little."""
        return appears(self.worker.with_name("worker-began"))


@functools.cache
def _filled(texts: tuple[str, ...]) -> bytes:
    """A database with a project that has a point for each of *texts*; to add forty takes longer than a test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "playbook.db")
        put_empty_database(path)
        with open_store(f"sqlite:///{path}") as store:
            project = Project.in_folder(store, folder)
            for text in texts:
                edit.add(project, text)
            store.tidy()
        return path.read_bytes()


def a_client(folder: Path, home: Path, *, is_patient: bool = False) -> Client:
    """The client in *folder*, with an empty database where the hooks look for it; not at its first session."""
    client = Client(folder, home / ".claude" / "playbook" / "playbook.db", home, is_patient)
    put_empty_database(client.database)
    (client.data / "worker.lock").touch()  # a worker has looked just now
    (client.data / "told").mkdir()
    write_worker(client)
    return client


def write_worker(client: Client) -> None:
    """Put the program there that stands for the worker's Python."""
    client.worker.write_text('#!/bin/sh\necho "$*" > "$0.new" && mv "$0.new" "$0-began"\n')
    client.worker.chmod(0o755)


def is_in_time(done: Ended, deadline_s: float) -> bool:
    """Whether a hook ended at *deadline_s* at the latest, give or take what this machine, busy or not, takes for the
    start of a process."""
    return done.took_s < deadline_s + _STARTS * max(_bare_start_s() for _ in range(3))


def _bare_start_s() -> float:
    began = time.monotonic()
    subprocess.run([PYTHON, "-I", "-S", "-c", "pass"], check=True)
    return time.monotonic() - began


def appears(path: Path, within_s: float = PATIENCE_S) -> bool:
    """Whether there is something at *path*, or soon is."""
    end = time.monotonic() + within_s
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.005)
    return path.exists()


def without_roots_powers() -> None:
    """Let file permissions bind this process and what it becomes, even where that is root."""
    if os.geteuid() == 0:
        import ctypes

        libc = ctypes.CDLL(None)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def are_permissions_binding() -> bool:
    """Whether a process without root's powers can be had here at all."""
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0)
        code = f"open({file.name!r})"
        tried = subprocess.run(
            [PYTHON, "-I", "-S", "-c", code], preexec_fn=without_roots_powers, stderr=subprocess.DEVNULL, check=False
        )
    return tried.returncode != 0


def a_bad_database(kind: str, path: Path) -> None:
    """Put something at *path* that is no database of ours, or none that this code may touch."""
    path.unlink(missing_ok=True)
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    if kind == "directory":
        path.mkdir()
    elif kind == "empty":
        path.touch()
    elif kind == "garbage":
        path.write_bytes(b"no database at all, but longer than a header of one\n" * 400)
    elif kind == "older":
        with closing(sqlite3.connect(path)) as connection:  # the first migration hasn't run yet
            connection.execute("PRAGMA journal_mode = WAL")
    elif kind == "newer":
        put_empty_database(path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 9999")
    elif kind == "another's":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE moz_places (url TEXT)")
            connection.execute("PRAGMA user_version = 77")
    elif kind == "truncated":
        path.write_bytes(empty_database()[:6000])
    else:
        raise ValueError(kind)


BAD_DATABASES = ("directory", "empty", "garbage", "older", "newer", "another's")


def content(path: Path) -> object:
    """All that stands at *path*: bytes, or a folder's names."""
    return sorted(os.listdir(path)) if path.is_dir() else path.read_bytes()


def imported(hook: str, event: Mapping[str, Any], client: Client, folder: Path) -> tuple[Ended, set[str]]:
    """Run *hook* on *event* and see which modules it had loaded when it ended."""
    driver = folder / "driver.py"
    listed = folder / "modules"
    driver.write_text(
        "import os, sys\n"
        "was = os._exit\n"
        "def leave(code):\n"
        f"    file = os.open({str(listed)!r}, os.O_WRONLY | os.O_CREAT)\n"
        "    os.write(file, '\\n'.join(sys.modules).encode())\n"
        "    was(code)\n"
        "os._exit = leave\n"
        f"__file__ = {str(HOOKS / f'{hook}.py')!r}\n"
        "with open(__file__) as file:\n"
        "    code = file.read()\n"
        "exec(compile(code, __file__, 'exec'))\n"
    )
    began = time.monotonic()
    done = subprocess.run(
        [PYTHON, "-I", "-S", str(driver), "user", str(client.worker)],
        input=json.dumps(event).encode(),
        capture_output=True,
        cwd=client.folder,
        timeout=PATIENCE_S,
        check=False,
    )
    ended = Ended(done.returncode, done.stdout, done.stderr, time.monotonic() - began)
    return ended, set(listed.read_text().split())


HEAVY = {"contextlib", "dataclasses", "datetime", "pathlib", "sqlite3", "subprocess", "typing"}


def foreign(modules: set[str]) -> set[str]:
    """Those of *modules* that are neither Python's own nor ours."""
    tops = {name.partition(".")[0] for name in modules}
    return tops - set(sys.stdlib_module_names) - {"playbook_db", "__main__"}
