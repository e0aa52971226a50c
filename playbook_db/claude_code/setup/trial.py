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
from contextlib import suppress
from functools import partial

from playbook_db import project_env, projects, settings
from playbook_db.claude_code.setup import install
from playbook_db.domain import prompt_text
from playbook_db.errors import PlaybookError
from playbook_db.services.learning import queue
from playbook_db.services.project import Store, open_store
from playbook_db.services.reading import status as reading

_PROMPT = "Which words of playbook/doctor.py does the index for full text find in the playbook of this project?"
_TIMEOUT_S = 20.0
_SESSION = "doctor-made-this-up"

# Takes a hook's output. Returns the problem, or `""`, and what the hook did. Raises ValueError for what isn't JSON.
_Judge = Callable[[bytes], tuple[str, str]]


def try_hooks(folder: str) -> Iterator[tuple[str, str, str]]:
    """Run each hook for the project in *folder*. Yield its name, the problem, or `""`, and a sentence about the result.

    All but enqueue run on the user's own database, but record nothing, because the session has no id.
    """
    event: dict[str, object] = {"cwd": folder, "transcript_path": "s.jsonl"}
    event |= {"hook_event_name": "SessionStart", "source": "startup"}
    here = {"CLAUDE_PROJECT_DIR": folder}
    yield _try("inject", folder, event, here, partial(_judge_inject, expected=_expected(folder)))
    event |= {"hook_event_name": "UserPromptSubmit", "prompt": _PROMPT}
    yield _try("remind", folder, event, here, partial(_judge_answer, work="searches points for prompts and errors"))
    call = {"tool_name": "Read", "tool_input": {"file_path": os.path.join(folder, "doctor.py")}}
    event |= {"hook_event_name": "PreToolUse", **call}
    yield _try("tool", folder, event, here, partial(_judge_answer, work="searches points for files and subagents"))
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


def _expected(folder: str) -> int:
    """Return how many points a session in *folder* should get; 0 if the database can't be read."""
    with suppress(PlaybookError):
        status = reading.read(project_env.database_url(folder), folder)
        return status.shown + status.user_shown
    return 0


def _judge_inject(output: bytes, *, expected: int) -> tuple[str, str]:
    text = json.loads(output).get("hookSpecificOutput", {}).get("additionalContext", "")
    if not text:
        problem = f"it shows no playbook, though there are points: {expected}" if expected else ""
        return problem, "shows nothing"
    count = len(re.findall(r"^\[[^\]]+\] helpful=", text, re.MULTILINE))
    return "", f"shows {count} {'point' if count == 1 else 'points'} in {prompt_text.utf16_units(text):,} characters"


def _judge_answer(output: bytes, *, work: str) -> tuple[str, str]:
    json.loads(output).keys()
    return "", work


def _judge_enqueue(output: bytes, *, store: Store) -> tuple[str, str]:
    if output:
        return f"it printed {output[:80]!r}, but must print nothing", ""
    is_queued = [job.session_id for job in queue.list_jobs(store)] == [_SESSION]
    return "" if is_queued else "it queued no job", "records a session's end"


def _try(
    hook: str, folder: str, event: Mapping[str, object], variables: Mapping[str, str], judge: _Judge
) -> tuple[str, str, str]:
    # It runs as if registered for the user, which always answers, and with a worker that does nothing. It logs into a
    # temporary folder, so that nobody takes these lines for a session's.
    programs = install.programs(folder)
    environment = {name: value for name, value in os.environ.items() if name != "PLAYBOOK_DISABLE"} | dict(variables)
    program = os.path.join(programs.hooks_folder, f"{hook}.py")
    with tempfile.TemporaryDirectory(prefix="playbook-doctor-") as logs:
        command = [programs.python, "-I", "-S", program, "user", "/bin/true", logs]
        started, payload = time.perf_counter(), json.dumps(event).encode()
        done = subprocess.run(command, input=payload, env=environment, capture_output=True, timeout=_TIMEOUT_S)
        took_ms = (time.perf_counter() - started) * 1000
        log = _log_text(os.path.join(logs, "hooks.log"))
    if done.returncode or done.stderr:
        return hook, f"it ended with exit code {done.returncode} and printed {done.stderr[:200]!r}", ""
    try:
        problem, message = judge(done.stdout)
    except (ValueError, AttributeError):
        problem, message = f"it printed {done.stdout[:80]!r}, which is not a JSON object", ""
    return hook, log or problem, f"{message}; takes {took_ms:.0f} ms"


def _log_text(log: str) -> str:
    """Return the messages in *log*, without times and the hook's name."""
    try:
        lines = projects.read_plain(log).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    text = " ".join(dict.fromkeys(line.partition(": ")[2] for line in lines))
    return text.removesuffix(" run: playbook doctor").removesuffix(" The session continued without the playbook;")
