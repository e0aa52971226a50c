"""Running the hooks for real with a made-up event, as Claude Code would, and timing them beside a bare interpreter."""

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from playbook_db import settings
from playbook_db.claude_code import worker_start
from playbook_db.errors import DatabaseError
from playbook_db.rules import selection
from playbook_db.services import queueing
from playbook_db.store.engine import Store, open_store

_RUNS = 5
_PATIENCE_S = 20.0
_MADE_UP = "doctor-made-this-up"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a hook did: what it did, in words, or what was wrong; its median time and a bare interpreter's, in ms."""

    told: str
    problem: str
    median_ms: float
    bare_ms: float


def versions(python: str) -> tuple[str, str]:
    """The versions of *python* and of the SQLite that it brings."""
    code = "import sys, sqlite3; print(sys.version.split()[0], sqlite3.sqlite_version)"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=_PATIENCE_S, check=True)
    version, sqlite = done.stdout.split()
    return version, sqlite


def can_write(store: Store) -> bool:
    """Whether the write lock can be had within a second or so; nothing is written."""
    before, settings.LOCK_WAIT_S = settings.LOCK_WAIT_S, 1.0
    try:
        with store.transaction():
            return True
    except DatabaseError:
        return False
    finally:
        settings.LOCK_WAIT_S = before


def inject(python: str, hooks_folder: str, folder: str) -> Outcome:
    """Run the hook of SessionStart on the user's own database, for the project in *folder*; nothing is recorded,
    since the made-up session has no id."""
    event = {"hook_event_name": "SessionStart", "source": "startup", "cwd": folder}

    def why_wrong(done: "subprocess.CompletedProcess[bytes]") -> str:
        try:
            is_object = isinstance(json.loads(done.stdout), dict)
        except ValueError:
            is_object = False
        return "" if is_object else f"it printed {done.stdout[:80]!r}, which is no JSON object"

    def told(done: "subprocess.CompletedProcess[bytes]") -> str:
        text = json.loads(done.stdout).get("hookSpecificOutput", {}).get("additionalContext", "")
        entries = sum(" helpful=" in line and line.startswith("[") for line in text.splitlines())
        limit = selection.CLIENT_LIMIT_UNITS
        return f"shows {entries} points in {selection.utf16_units(text):,} of {limit:,} characters"

    return _try(_command(python, hooks_folder, "inject"), event, {"CLAUDE_PROJECT_DIR": folder}, why_wrong, told)


def enqueue(python: str, hooks_folder: str, folder: str) -> Outcome:
    """Run the hook of SessionEnd on a database and a project of its own, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="playbook-doctor-") as made:
        project = os.path.join(made, "project")
        os.mkdir(project)
        database = os.path.join(made, "config", "playbook", "playbook.db")
        event = {
            "hook_event_name": "SessionEnd", "reason": "other", "session_id": _MADE_UP, "cwd": project,
            "transcript_path": os.path.join(made, "transcript.jsonl"),
        }  # fmt: skip
        elsewhere = {
            "CLAUDE_CONFIG_DIR": os.path.join(made, "config"), "CLAUDE_PROJECT_DIR": project,
            "PLAYBOOK_DB_URL": database, "PLAYBOOK_NO_SETUP": "1",
        }  # fmt: skip
        with open_store(settings.database_url(database)) as store:

            def why_wrong(done: "subprocess.CompletedProcess[bytes]") -> str:
                if done.stdout:
                    return f"it printed {done.stdout[:80]!r}, where it must say nothing"
                kept = [job.session_id for job in queueing.list_jobs(store)]
                return "" if kept == [_MADE_UP] else "it left no job"

            command = _command(python, hooks_folder, "enqueue")
            return _try(command, event, elsewhere, why_wrong, lambda _: "notes a session's end")


def why_worker_fails(python: str) -> str:
    """Why *python* can't run the worker, in its own words; `""` where it can."""
    try:
        done = subprocess.run(
            [python, "-P", "-c", f"import {worker_start.WORKER}"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            cwd="/",
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


def _command(python: str, hooks_folder: str, hook: str) -> list[str]:
    # As registered for the user, which always answers; the worker is a program that does nothing.
    return [python, "-I", "-S", os.path.join(hooks_folder, f"{hook}.py"), "user", "/bin/true"]


def _try(
    command: Sequence[str],
    event: Mapping[str, str],
    variables: Mapping[str, str],
    why_wrong: "Callable[[subprocess.CompletedProcess[bytes]], str]",
    told: "Callable[[subprocess.CompletedProcess[bytes]], str]",
) -> Outcome:
    environment = {name: value for name, value in os.environ.items() if name != "PLAYBOOK_DISABLE"} | dict(variables)
    payload = json.dumps(event).encode()
    ours, bare = [], []
    for _ in range(_RUNS):
        took, done = _timed(command, payload, environment)
        ours.append(took)
        bare.append(_timed([command[0], "-I", "-S", "-c", "pass"], b"", environment)[0])
        problem = f"it ended with exit code {done.returncode}" if done.returncode else ""
        problem = problem or (f"it said on stderr: {done.stderr[:200]!r}" if done.stderr else "") or why_wrong(done)
        if problem:
            break
    times = (statistics.median(ours) * 1000, statistics.median(bare) * 1000)
    return Outcome("" if problem else told(done), problem, *times)


def _timed(
    command: Sequence[str], payload: bytes, environment: Mapping[str, str]
) -> "tuple[float, subprocess.CompletedProcess[bytes]]":
    started = time.perf_counter()
    done = subprocess.run(command, input=payload, env=environment, capture_output=True, timeout=_PATIENCE_S)
    return time.perf_counter() - started, done
