"""What works on this machine and what doesn't, tried for real, and what to do about each.

Nothing of the user's changes: the hook that writes is tried in a folder and a database of its own.
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from playbook_db import settings
from playbook_db.claude_code import install, plugin_env, spool, worker, worker_start
from playbook_db.domain import prompt_text
from playbook_db.errors import DatabaseError, NoModelError, PlaybookError
from playbook_db.services import queue
from playbook_db.store.engine import Store, open_store

_SOUND_SQLITE = (3, 51, 3)  # before, two connections that checkpoint at once can, rarely, damage the file
_LITTLE_DISK_BYTES = 50 * 1024 * 1024
_LOG_LINES = 3
_LONG_WITHOUT_BACKUP = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `state` is `ok`, `note` (worth knowing) or `broken`; `remedy` is what to do, empty
    where there is nothing to do."""

    about: str
    state: str
    told: str
    remedy: str = ""


def examine(url: str, folder: str) -> list[Finding]:
    """All findings for the database at *url* and the project in *folder*."""
    findings: list[Finding] = []
    looks = (_interpreter, _data_folder, _database, _backups, _queue, _registrations, _hooks, _worker, _model, _logs)
    for look in looks:
        try:
            findings += look(url, folder)
        except PlaybookError as error:
            findings.append(Finding(_about(look), "broken", str(error), "Do what the line above says"))
        except Exception as error:  # the outer door: one look that fails must not hide the others
            told = f"{type(error).__name__}: {error}"
            findings.append(Finding(_about(look), "broken", told, "Report the line above: doctor should know it"))
    return findings


def _about(look: Callable[..., object]) -> str:
    return look.__name__.strip("_").replace("_", " ")


def _interpreter(url: str, folder: str) -> Iterator[Finding]:
    python = install.hook_python(folder)
    version, sqlite = versions(python)
    told = f"{python}: Python {version}, SQLite {sqlite}"
    number = tuple(map(int, sqlite.split(".")))
    if number < (3, 37):
        yield Finding(
            "interpreter",
            "broken",
            f"{told}; 3.37 or later is needed",
            "Install a newer Python, then: playbook install",
        )
    elif number < _SOUND_SQLITE:
        yield Finding(
            "interpreter",
            "ok",
            f"{told}. SQLite before 3.51.3 can damage a file that two connections checkpoint at once; "
            "here only one ever does, under a lock",
        )
    else:
        yield Finding("interpreter", "ok", told)


def _data_folder(url: str, folder: str) -> Iterator[Finding]:
    path = settings.data_dir()
    if not os.path.isdir(path):
        yield Finding("data folder", "note", f"{path} isn't there yet", "playbook init")
        return
    mode = os.stat(path).st_mode & 0o777
    if not os.access(path, os.W_OK | os.X_OK):
        yield Finding("data folder", "broken", f"{path} can't be written", f"chmod u+rwx {path}")
    elif mode & 0o077:
        yield Finding("data folder", "note", f"{path} can be read by others (mode {mode:o})", f"chmod 700 {path}")
    else:
        yield Finding("data folder", "ok", path)
    free = shutil.disk_usage(path).free
    if free < _LITTLE_DISK_BYTES:
        yield Finding("disk", "broken", f"{free >> 20} MiB are left where {path} is", "Make room on that disk")


def _database(url: str, folder: str) -> Iterator[Finding]:
    from playbook_db.services import maintenance
    from playbook_db.store.connect import described
    from playbook_db.store.engine import open_store
    from playbook_db.store.hook_queries import SCHEMA

    where = described(url)
    if settings.sqlite_file(url) is None:
        yield Finding(
            "database", "broken", f"{where} is none that hooks can open", "Unset PLAYBOOK_DB_URL, or name a file"
        )
        return
    if not os.path.exists(where) and not os.path.exists(f"{where}-wal"):
        yield Finding("database", "note", f"{where} isn't there yet", "playbook init")
        return
    report = maintenance.check_database(url)
    if report.problems:
        told = f"{where}: {len(report.problems)} problems, first: {report.problems[0]}"
        yield Finding("database", "broken", told, report.remedy or "See all of it with: playbook db check")
        return
    yield Finding("database", "ok", f"{where}: schema {SCHEMA:04d}, {os.path.getsize(where) / 1024:,.0f} KiB, sound")
    with open_store(url) as store:
        if not can_write(store):
            yield Finding(
                "database", "broken", f"{where} is locked by another process", "End the program that holds it"
            )


def _backups(url: str, folder: str) -> Iterator[Finding]:
    from playbook_db.services import maintenance

    path = settings.sqlite_file(url)
    if path is None or not os.path.exists(path):
        return
    try:
        last, unsaved = maintenance.unsaved_for(url)
    except DatabaseError:  # told of above
        return
    if last is None:
        yield Finding("backups", "note", "there is none yet; the worker takes one a day", "playbook backup")
        return
    told = f"the last of {last.time:%Y-%m-%d %H:%M} UTC: {last.path}"
    if unsaved > _LONG_WITHOUT_BACKUP:
        yield Finding("backups", "note", f"{told}; what changed since is in none", "playbook backup")
    else:
        yield Finding("backups", "ok", told)


def _queue(url: str, folder: str) -> Iterator[Finding]:
    from playbook_db.services import queue
    from playbook_db.store.engine import open_store

    waiting = len(spool.waiting())
    if waiting:
        yield Finding("spool", "note", f"{waiting} jobs wait in {settings.spool_dir()}", "playbook work")
    path = settings.sqlite_file(url)
    if path is None or not os.path.exists(path):
        return
    try:
        with open_store(url) as store:
            jobs = queue.list_jobs(store)
    except DatabaseError:  # told of above
        return
    counts = {state: sum(job.state == state for job in jobs) for state in ("queued", "running", "done", "failed")}
    told = ", ".join(f"{count} {state}" for state, count in counts.items())
    failed = [job for job in jobs if job.state == "failed"]
    if failed:
        last = failed[-1]
        told += f"; the last to fail: job {last.id} of {last.key}: {last.error}"
        yield Finding("queue", "note", told, "playbook jobs --all")
    else:
        yield Finding("queue", "ok", told)


def _registrations(url: str, folder: str) -> Iterator[Finding]:
    found = install.find_registrations(folder)
    yield from (Finding("settings", "broken", problem, "Mend the file") for problem in found.unreadable)
    for path in found.off:
        yield Finding("settings", "broken", f"{path} turns all hooks off (disableAllHooks)", f"Take that out of {path}")
    for place in found.files:
        again = f"playbook install --scope {place.scope}"
        if place.missing:
            yield Finding("hooks", "broken", f"{place.path} lacks {', '.join(place.missing)}", again)
        elif place.dead:
            yield Finding("hooks", "broken", f"{place.path} names {place.dead}, which isn't there", again)
        else:
            yield Finding("hooks", "ok", f"registered in {place.path}")
    if found.plugin:
        yield Finding("plugin", "ok", f"{found.plugin} is in use")
    if len(found.files) + bool(found.plugin) > 1:
        yield Finding("hooks", "note", "registered more than once; the first answers, the others stay silent")
    if not found.files and not found.plugin:
        yield Finding("hooks", "broken", "registered nowhere: Claude Code doesn't know of them", "playbook install")
    if settings.is_disabled():
        yield Finding("hooks", "note", "PLAYBOOK_DISABLE is set: the hooks do nothing", "unset PLAYBOOK_DISABLE")


def _hooks(url: str, folder: str) -> Iterator[Finding]:
    python = install.hook_python(folder)
    for hook, trial in (("inject", inject), ("enqueue", enqueue)):
        outcome = trial(python, install.hooks_folder(), folder)
        speed = f"{outcome.median_ms:.0f} ms, a bare interpreter {outcome.bare_ms:.0f} ms"
        if outcome.problem:
            yield Finding(hook, "broken", f"{outcome.problem} ({speed})", "See the log lines below")
        else:
            yield Finding(hook, "ok", f"{outcome.told}; {speed}")


def _worker(url: str, folder: str) -> Iterator[Finding]:
    if worker.is_at_work():
        yield Finding("worker", "ok", "at work just now")
    if install.find_registrations(folder).plugin:
        told = plugin_env.describe()
        state = plugin_env.read_state().get("state")
        yield Finding("worker", "ok" if plugin_env.is_ready() else "broken" if state == "failed" else "note", told)
    python = install.worker_python(folder)
    problem = why_worker_fails(python)
    if problem:
        yield Finding("worker", "broken", f"{python} can't run it: {problem}", "playbook install")
    else:
        yield Finding("worker", "ok", f"{python} can run it")


def _model(url: str, folder: str) -> Iterator[Finding]:
    from playbook_db.llm import choose

    try:
        yield Finding("model access", "ok", choose.describe_access())
    except NoModelError as error:
        yield Finding(
            "model access", "note", str(error), "Set a key, or install Claude Code, so that sessions are learnt from"
        )


def _logs(url: str, folder: str) -> Iterator[Finding]:
    for name in ("hooks.log", "worker.log", "setup.log"):
        try:
            with open(os.path.join(settings.logs_dir(), name), encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for line in lines[-_LOG_LINES:]:
            yield Finding(name, "note", line)


# Running the hooks for real with a made-up event, as Claude Code would, and timing them beside a bare interpreter.


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
        limit = prompt_text.CLIENT_LIMIT_UNITS
        return f"shows {entries} points in {prompt_text.utf16_units(text):,} of {limit:,} characters"

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
                kept = [job.session_id for job in queue.list_jobs(store)]
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
