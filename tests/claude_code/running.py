"""Run hooks as Claude Code does: each file in its own process, under any Python of this machine."""

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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code.worker import WorkResult
from playbook_db.claude_code.worker import run as run_worker
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.databases import put_empty_database

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / "hooks"
PYTHON = os.path.realpath(sys.executable)
SESSION = "21085438-3e85-4e82-b7cf-435eb11d75c5"
PATIENCE_S = 300.0  # for what would otherwise hang a test; far more than anything takes on a busy machine
_STARTS = 100  # of a bare interpreter: what a hook may take beyond its deadline
_REAL_HOME = os.path.expanduser("~")  # before a test's own takes its place
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH, _PR_CAPBSET_DROP = 1, 2, 24
_OLDEST = (3, 9)
_CHANGED = """import os, sys, time
sys.path.append({root!r})
from playbook_db.claude_code.hooks import {module}
{change}
__file__ = {file!r}
exec(open(__file__).read())
"""
_VERSION = "import sys; print('%d %d' % sys.version_info[:2])"


def patient(hook: str, change: str = "") -> str:
    """Code of *hook* after *change*, with a deadline that no busy machine reaches."""
    module = "remind" if hook == "tool" else hook
    return changed(hook, f"{module}.DEADLINE_S = {PATIENCE_S}\n{change}")


def changed(hook: str, change: str) -> str:
    """Code of *hook* after the statements *change*, which see its module."""
    module = "remind" if hook == "tool" else hook
    return _CHANGED.format(root=str(ROOT), module=module, change=change, file=str(HOOKS / f"{hook}.py"))


@functools.cache
def _pythons() -> dict[tuple[int, int], list[str]]:
    """Every other Python on this machine, by its version."""
    paths = ["/usr/bin/python3", *map(str, sorted(Path(_REAL_HOME, ".pyenv", "versions").glob("*/bin/python")))]
    paths += [found for minor in range(30) if (found := shutil.which(f"python3.{minor}")) and "shims" not in found]
    found: dict[tuple[int, int], list[str]] = {}
    for path in dict.fromkeys(map(os.path.realpath, paths)):
        if path == PYTHON or not os.access(path, os.X_OK):
            continue
        done = subprocess.run([path, "-c", _VERSION], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if done.returncode == 0:
            major, minor = done.stdout.split()
            found.setdefault((int(major), int(minor)), []).append(path)
    return found


def _parameters(versions: dict[tuple[int, int], list[str]], missing: str) -> Any:
    paths = [path for version in sorted(versions) for path in versions[version]]
    between = pytest.mark.nightly if len(paths) > 2 else ()
    listed = [pytest.param(path, id=path, marks=between if path in paths[1:-1] else ()) for path in paths]
    return listed or [pytest.param("", marks=pytest.mark.skip(reason=missing), id="none")]


_NEW = {version: paths for version, paths in _pythons().items() if version >= _OLDEST}
_OLD = {version: paths for version, paths in _pythons().items() if (3,) < version < _OLDEST}
every_other_python = pytest.mark.parametrize("python", _parameters(_NEW, "NO OTHER PYTHON from 3.9 on is here"))
every_too_old_python = pytest.mark.parametrize("python", _parameters(_OLD, "NO PYTHON OLDER than 3.9 is here"))


@dataclass(frozen=True)
class Ended:
    """How a hook ended, what it printed, and how long it took with the interpreter's start."""

    code: int
    out: bytes
    err: bytes
    took_s: float

    @property
    def context(self) -> str:
        """The text for the model."""
        text: str = json.loads(self.out)["hookSpecificOutput"]["additionalContext"]
        return text

    @property
    def message(self) -> str:
        """The line for the user, which the model doesn't see; `""` for none."""
        line: str = json.loads(self.out).get("systemMessage", "")
        return line

    @property
    def has_context(self) -> bool:
        """Whether there is a text for the model."""
        return "hookSpecificOutput" in json.loads(self.out)

    @property
    def names(self) -> list[str]:
        """The names of the points in the text for the model, in their order."""
        lines = self.context.splitlines() if self.has_context else []
        return [line.split("]")[0][1:] for line in lines if line.startswith("[")]

    @property
    def answer(self) -> tuple[int, bytes, bytes]:
        """Exit code, standard output and standard error."""
        return self.code, self.out, self.err


SILENT = (0, b"{}\n", b"")


@dataclass(frozen=True)
class Client:
    """Claude Code in a project's folder, with a database, and a program that replaces the worker and notes its start.

    If it `is_patient`, hooks have no deadline."""

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
        """The program that replaces the worker's Python."""
        return self.home / "worker"

    @property
    def transcript(self) -> Path:
        """The transcript of the session."""
        slug = re.sub("[^a-zA-Z0-9]", "-", str(self.folder))
        return self.home / ".claude" / "projects" / slug / f"{SESSION}.jsonl"

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """An event of the session as the client 2.1.329 sends it; fields that are None are left out."""
        sent = {
            "session_id": SESSION, "transcript_path": str(self.transcript), "cwd": str(self.folder),
            "hook_event_name": name, **fields,
        }  # fmt: skip
        return {field: value for field, value in sent.items() if value is not None}

    def start(self, source: str = "startup", **fields: Any) -> dict[str, Any]:
        """A session's start."""
        return self.event("SessionStart", source=source, **fields)

    def end(self, reason: str = "prompt_input_exit", **fields: Any) -> dict[str, Any]:
        """A session's end."""
        return self.event("SessionEnd", prompt_id="cb2cd6ec-c69e-434b-ac94-db1a39bb9059", reason=reason, **fields)

    def compaction(self, trigger: str = "manual") -> dict[str, Any]:
        """The event before a compaction."""
        return self.event("PreCompact", trigger=trigger, custom_instructions="keep names")

    def subagent_stop(self, agent_type: str = "general-purpose", **fields: Any) -> dict[str, Any]:
        """A subagent's end; without a type, that of a compaction's own agent."""
        path = self.transcript.with_suffix("") / "subagents" / "agent-a48f56874e781b2f1.jsonl"
        sent = {"agent_id": "a48f56874e781b2f1", "agent_type": agent_type, "agent_transcript_path": str(path)}
        return self.event("SubagentStop", stop_hook_active=False, effort={"level": "medium"}, **{**sent, **fields})

    def prompt(self, text: object, **fields: Any) -> dict[str, Any]:
        """A prompt, as the client 2.1.330 sends it."""
        sent = {"prompt_id": "e9b587aa-7000-4fa9-bb05-a8bdceb2544a", "permission_mode": "default", "prompt": text}
        return self.event("UserPromptSubmit", **{**sent, **fields})

    def failure(self, error: object, *, tool: str = "Bash", **tool_input: Any) -> dict[str, Any]:
        """A tool's failure."""
        sent = {"tool_name": tool, "tool_input": tool_input, "error": error, "is_interrupt": False, "duration_ms": 9}
        return self.event("PostToolUseFailure", tool_use_id="toolu_01", **sent)

    def call(self, tool: str, **tool_input: Any) -> dict[str, Any]:
        """The event before a tool's call."""
        return self.event("PreToolUse", tool_name=tool, tool_input=tool_input, tool_use_id="toolu_01")

    def subagent_start(self, agent_type: object = "general-purpose", **fields: Any) -> dict[str, Any]:
        """A subagent's start."""
        return self.event("SubagentStart", **{"agent_id": "a48f56874e781b2f1", "agent_type": agent_type, **fields})

    def run(  # noqa: PLR0913 - each is an option of its own
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
        change: str = "",
        **variables: str,
    ) -> Ended:
        """Run *hook*, registered in *scope* (None: without arguments), on *event*: bytes as they are, else as JSON.

        *argument* replaces the worker, *before* runs in the new process, and *change* in the hook's program before it
        begins. With *holds_stdin* nobody closes its standard input.
        """
        payload = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
        arguments = [] if scope is None else [scope, argument or str(self.worker)]
        program = [str(HOOKS / f"{hook}.py")]
        if self.is_patient or change:
            program = ["-c", (patient if self.is_patient else changed)(hook, change)]
        began = time.monotonic()
        with subprocess.Popen(
            [python, "-I", "-S", *program, *arguments], cwd=cwd or self.folder, preexec_fn=before,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PLAYBOOK_NO_SETUP": "1", **variables},
        ) as process:  # fmt: skip
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
        """Run the hook of prompts, errors and subagents, which never fails."""
        done = self.run("remind", event, **options)
        assert (done.code, done.err) == (0, b"")
        assert done.has_context or done.out == b"{}\n"
        return done

    def enqueue(self, event: object = None, **options: Any) -> Ended:
        """Run the hook that queues, which never fails and prints nothing."""
        done = self.run("enqueue", self.end() if event is None else event, **options)
        assert (done.code, done.out, done.err) == (0, b"", b"")
        return done

    def add(self, *texts: str) -> None:
        """Add points to the project's playbook."""
        with open_store(f"sqlite:///{self.database}") as store:
            for text in texts:
                edit.add(Project.in_folder(store, str(self.folder)), text)

    def fill(self, *texts: str) -> None:
        """Replace the database by one with a point for each of *texts*."""
        self.database.write_bytes(_filled(texts))
        self.change(f"UPDATE playbooks SET key = '{self.folder}'")

    def rows(self, query: str) -> list[Any]:
        """The rows that *query* finds in the database."""
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(query).fetchall()

    def change(self, statement: str) -> None:
        """Carry out *statement* in the database."""
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute(statement)

    @contextmanager
    def held(self, how: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        """Have another connection write to the database meanwhile."""
        with closing(sqlite3.connect(self.database, isolation_level=None)) as connection:
            connection.execute(how)
            yield
            connection.rollback()

    def work(self) -> WorkResult:
        """Run the worker in this process."""
        done = run_worker(f"sqlite:///{self.database}")
        assert done is not None
        return done

    def log(self) -> list[str]:
        """The lines of the hooks' log."""
        path = self.data / "logs" / "hooks.log"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def spooled(self) -> list[dict[str, Any]]:
        """The jobs in the spool, oldest first."""
        return [json.loads(path.read_bytes()) for path in sorted((self.data / "spool").glob("*.json"))]

    def worker_began(self) -> bool:
        """Whether the worker was started; waits for it."""
        return appears(self.worker.with_name("worker-began"))


@functools.cache
def _filled(texts: tuple[str, ...]) -> bytes:
    """A database with these points, made once: to add forty takes longer than a test."""
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
    """The client in *folder* with an empty database, after its first session."""
    client = Client(folder, home / ".claude" / "playbook" / "playbook.db", home, is_patient)
    put_empty_database(client.database)
    (client.data / "worker.lock").touch()  # a worker has looked just now
    (client.data / "told").mkdir()
    write_worker(client)
    return client


def client_fixture(*texts: str, is_patient: bool = True) -> Any:
    """A fixture: the client in the project's folder, whose playbook has a point for each of *texts*."""

    @pytest.fixture(name="client")
    def made(folder: Path, home: Path) -> Client:
        client = a_client(folder, home, is_patient=is_patient)
        if texts:
            (client.fill if len(texts) > 3 else client.add)(*texts)
        return client

    return made


def write_worker(client: Client) -> None:
    """Write the program that replaces the worker's Python."""
    client.worker.write_text('#!/bin/sh\necho "$*" > "$0.new" && mv "$0.new" "$0-began"\n')
    client.worker.chmod(0o755)


def is_in_time(done: Ended, deadline_s: float) -> bool:
    """Whether a hook ended by *deadline_s*, allowing for how long this machine takes to start a process."""
    return done.took_s < deadline_s + _STARTS * max(_bare_start_s() for _ in range(3))


def _bare_start_s() -> float:
    began = time.monotonic()
    subprocess.run([PYTHON, "-I", "-S", "-c", "pass"], check=True)
    return time.monotonic() - began


def appears(path: Path, within_s: float = PATIENCE_S) -> bool:
    """Whether *path* exists, or soon does."""
    end = time.monotonic() + within_s
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.005)
    return path.exists()


def without_roots_powers() -> None:
    """Let file permissions bind this process, even if it runs as root."""
    if os.geteuid() == 0:
        import ctypes

        libc = ctypes.CDLL(None)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def are_permissions_binding() -> bool:
    """Whether file permissions can bind a process here."""
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0)
        code = f"open({file.name!r})"
        tried = subprocess.run(
            [PYTHON, "-I", "-S", "-c", code], preexec_fn=without_roots_powers, stderr=subprocess.DEVNULL, check=False
        )
    return tried.returncode != 0


def a_bad_database(kind: str, path: Path) -> None:
    """Put a database at *path* that hooks may not use."""
    statements = {
        "older": "PRAGMA journal_mode = WAL",  # the first migration hasn't run yet
        "newer": "PRAGMA user_version = 9999",
        "another's": "CREATE TABLE moz_places (url TEXT); PRAGMA user_version = 77",
    }
    contents = {"garbage": b"no database at all, but longer than a header of one\n" * 400, "empty": b""}
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    if kind == "directory":
        path.mkdir()
    elif kind in contents:
        path.write_bytes(contents[kind])
    else:
        if kind == "newer":
            put_empty_database(path)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(statements[kind])


BAD_DATABASES = ("directory", "empty", "garbage", "older", "newer", "another's")


def content(path: Path) -> object:
    """The bytes of a file, or the names in a folder."""
    return sorted(os.listdir(path)) if path.is_dir() else path.read_bytes()


def imported(client: Client, hook: str, event: object, folder: Path) -> tuple[Ended, set[str]]:
    """Run *hook* on *event*, and list the modules that it had loaded when it ended."""
    listed = folder / "modules"
    change = (
        "was = os._exit\n"
        "def leave(code):\n"
        f"    file = os.open({str(listed)!r}, os.O_WRONLY | os.O_CREAT)\n"
        "    os.write(file, '\\n'.join(sys.modules).encode())\n"
        "    was(code)\n"
        "os._exit = leave"
    )
    done = client.run(hook, event, change=change)
    return done, set(listed.read_text().split())


HEAVY = {"contextlib", "dataclasses", "datetime", "pathlib", "sqlite3", "subprocess", "typing"}


def foreign(modules: set[str]) -> set[str]:
    """The modules that are neither Python's own nor ours."""
    tops = {name.partition(".")[0] for name in modules}
    return tops - set(sys.stdlib_module_names) - {"playbook_db", "__main__"}
