"""Running the hooks for doctor, with made-up events, and timing them.

The user's data stays as it is, because the hook that writes runs with a temporary folder and database.
"""

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial

from playbook_db import project_env, projects, settings
from playbook_db.claude_code.hooks import remind
from playbook_db.claude_code.setup import install
from playbook_db.domain import prompt_text
from playbook_db.services.learning import queue
from playbook_db.services.project import Store, open_store
from playbook_db.store import sqlite_open

_PROMPT = "Which words of playbook/doctor.py does the index for full text find in the playbook of this project?"
_TIMEOUT_S = 20.0
_SESSION = "doctor-made-this-up"

# Takes a hook's output and log. Returns what the hook did, or `""` and the problem.
_Judge = Callable[[bytes, str], tuple[str, str]]


def try_hooks(folder: str) -> Iterator[tuple[str, bool, str]]:
    """Run each hook for the project in *folder*. Yield its name, whether it works, and a sentence about the result.

    Inject and remind run on the user's own database, but record nothing, because the session has no id.
    """
    event = {"hook_event_name": "SessionStart", "source": "startup", "cwd": folder, "transcript_path": "s.jsonl"}
    here = {"CLAUDE_PROJECT_DIR": folder}
    yield _try("inject", folder, event, here, partial(_judge_inject, folder=folder))
    event = event | {"hook_event_name": "UserPromptSubmit", "prompt": _PROMPT}
    yield _try("remind", folder, event, here, _judge_remind)
    with tempfile.TemporaryDirectory(prefix="playbook-doctor-") as temporary:
        project, transcript = os.path.join(temporary, "project"), os.path.join(temporary, "transcript.jsonl")
        os.mkdir(project)
        database = os.path.join(temporary, "config", "playbook", "playbook.db")
        event = {
            "hook_event_name": "SessionEnd", "reason": "other", "session_id": _SESSION, "cwd": project,
            "transcript_path": transcript,
        }  # fmt: skip
        elsewhere = {
            "CLAUDE_CONFIG_DIR": os.path.join(temporary, "config"), "CLAUDE_PROJECT_DIR": project,
            "PLAYBOOK_DB_URL": database, "PLAYBOOK_NO_SETUP": "1",
        }  # fmt: skip
        with open_store(settings.database_url(database)) as store:
            yield _try("enqueue", folder, event, elsewhere, partial(_judge_enqueue, store=store))


def _judge_inject(output: bytes, log: str, *, folder: str) -> tuple[str, str]:
    try:
        text = json.loads(output).get("hookSpecificOutput", {}).get("additionalContext", "")
    except (ValueError, AttributeError):
        return "", f"it printed {output[:80]!r}, which is not a JSON object"
    if not text:
        return ("", f"it shows no playbook: {log}") if log else _judge_silence(folder)
    count = len(re.findall(r"^\[[^\]]+\] helpful=", text, re.MULTILINE))
    used = f"shows {count} {'point' if count == 1 else 'points'} in {prompt_text.utf16_units(text):,} characters"
    return ("", f"it {used}, but: {log}") if log else (used, "")


def _judge_silence(folder: str) -> tuple[str, str]:
    """Judge a hook that showed nothing to a session in *folder*."""
    path = settings.sqlite_file(project_env.database_url(folder))
    if path and (loss := sqlite_open.loss_of(path)):
        return "", f"it shows no playbook: {loss}"
    if path is None or not os.path.exists(path):
        return "shows nothing", ""
    with ExitStack() as stack:
        connection = stack.enter_context(closing(sqlite_open.connect(path, wait_s=_TIMEOUT_S)))
        books = [source.book for source in remind.sources(connection, path, folder)]
        for book in books:  # a team's replica has a connection of its own
            stack.enter_context(closing(book.connection))
    if any(book.project.live_points for book in books):
        return "", f"it shows no playbook: {path} has points for it"
    return "shows nothing, as it has no points to show", ""


def _judge_remind(output: bytes, log: str) -> tuple[str, str]:
    try:
        is_object = isinstance(json.loads(output), dict)
    except ValueError:
        is_object = False
    problem = log if is_object else f"it printed {output[:80]!r}, which is not a JSON object"
    return "" if problem else "searches points for prompts, errors and subagents", problem


def _judge_enqueue(output: bytes, log: str, *, store: Store) -> tuple[str, str]:
    if output:
        return "", f"it printed {output[:80]!r}, but must print nothing"
    if log:
        return "", log
    is_queued = [job.session_id for job in queue.list_jobs(store)] == [_SESSION]
    return ("records a session's end", "") if is_queued else ("", "it queued no job")


def _try(
    hook: str, folder: str, event: Mapping[str, str], variables: Mapping[str, str], judge: _Judge
) -> tuple[str, bool, str]:
    # It runs as if registered for the user, which always answers, and with a worker that does nothing. It logs into a
    # temporary folder, so that the next doctor doesn't find these lines.
    programs = install.programs(folder)
    environment = {name: value for name, value in os.environ.items() if name != "PLAYBOOK_DISABLE"} | dict(variables)

    def run(*arguments: str, payload: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [programs.python, "-I", "-S", *arguments]
        return subprocess.run(command, input=payload, env=environment, capture_output=True, timeout=_TIMEOUT_S)

    program = os.path.join(programs.hooks_folder, f"{hook}.py")
    with tempfile.TemporaryDirectory(prefix="playbook-doctor-") as logs:
        began = time.perf_counter()
        run("-c", "pass")
        started = time.perf_counter()
        done = run(program, "user", "/bin/true", logs, payload=json.dumps(event).encode())
        ended = time.perf_counter()
        log = _log_text(os.path.join(logs, "hooks.log"))
    if done.returncode or done.stderr:
        summary, problem = "", f"it ended with exit code {done.returncode} and printed {done.stderr[:200]!r}"
    else:
        summary, problem = judge(done.stdout, log)
    speed = f"takes {(ended - started) * 1000:.0f} ms; Python alone takes {(started - began) * 1000:.0f} ms"
    return (hook, False, f"{problem} ({speed})") if problem else (hook, True, f"{summary}; {speed}")


def _log_text(log: str) -> str:
    """Return the messages in *log*, without times and the hook's name."""
    try:
        lines = projects.read_plain(log).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    text = " ".join(dict.fromkeys(line.partition(": ")[2] for line in lines))
    return text.removesuffix(" run: playbook doctor").removesuffix(" The session continued without the playbook;")
