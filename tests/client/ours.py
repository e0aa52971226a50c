"""Our side, as the tests see it: hooks in a settings file, points in a playbook, jobs in the queue."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playbook_db.claude_code import registration
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.projects import project_key
from playbook_db.store.engine import open_store
from tests.client.harness import World
from tests.messages_api import MessagesApi, Request

REPOSITORY = Path(__file__).resolve().parents[2]
PYTHON = str(Path(sys.executable).resolve())  # an interpreter itself, no environment's link to it
NO_WORKER = shutil.which("true") or "true"  # as the worker's Python: it ends at once, and jobs stay in the queue
TITLE = "# Playbook"  # begins the text of a session's start


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the queue."""

    session_id: str
    transcript_path: str
    parent_path: str | None
    agent_id: str | None
    reason: str
    state: str


def data_folder(world: World) -> Path:
    """The folder of our files in that home."""
    return world.home / ".claude" / "playbook"


def our_hooks(worker_python: str = NO_WORKER, *, python: str = PYTHON) -> dict[str, list[dict[str, Any]]]:
    """The `hooks` of a settings file in which `playbook install` has registered ours, to run under *python*."""
    made = {}
    for event, (hook, timeout_s) in registration.EVENTS.items():
        command = registration.command(
            hook, scope="user", python=python, hooks_folder=str(REPOSITORY / "hooks"), worker_python=worker_python
        )
        matcher = {"matcher": registration.MATCHERS[event]} if event in registration.MATCHERS else {}
        made[event] = [{**matcher, "hooks": [{"type": "command", "command": command, "timeout": timeout_s}]}]
    return made


def foreign_hook(command: str, timeout_s: int = 20) -> list[dict[str, Any]]:
    """Another program's hook, as an entry of an event."""
    return [{"hooks": [{"type": "command", "command": command, "timeout": timeout_s}]}]


def register(world: World, hooks: Mapping[str, Any] | None = None) -> None:
    """Put *hooks*, else ours, into the user's settings of the client."""
    chosen = json.loads(world.settings_file.read_text())
    world.settings_file.write_text(json.dumps({**chosen, "hooks": our_hooks() if hooks is None else hooks}))


def fill(world: World, *texts: str, source: str = "edit") -> None:
    """Add a point for each of *texts* to the playbook of the world's project."""
    data_folder(world).mkdir(parents=True, exist_ok=True)
    key = project_key(str(world.project))
    with open_store(f"sqlite:///{data_folder(world) / 'playbook.db'}") as store, store.write(key) as book:
        for text in texts:
            book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS))
        book.commit(source, "filled for a test")
    (data_folder(world) / "worker.lock").touch()  # a worker has looked just now: none is due at the session's start


def set_plugin_up(world: World) -> None:
    """Create an environment of the plugin in that home."""
    python = data_folder(world) / "runtime" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)


def bring(world: World, **variables: str) -> None:
    """Let the settings of the world's project bring *variables* to the environment of its sessions."""
    file = world.project / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"env": variables}))


def ask_playbook(world: World, *arguments: str, given: str = "") -> str:
    """The output of `playbook ARGUMENT ...` in a terminal of the user's own; *given* is its input."""
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(world.home), "PYTHONPATH": str(REPOSITORY), **world.variables}
    command = [sys.executable, "-P", "-m", "playbook_db", *arguments]
    done = subprocess.run(
        command, cwd=world.project, env=variables, input=given, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done
    return done.stdout


def questions_of_the_worker(api: MessagesApi) -> list[Request]:
    """What a model was asked at *api* to learn from, and not by a session."""
    return [request for request in api.messages() if "bullet_tags" in json.dumps(request.body)]


def jobs(world: World) -> list[Job]:
    """Every job in the queue, oldest first."""
    columns = "session_id, transcript_path, parent_path, agent_id, reason, state"
    return [Job(*row) for row in _rows(world, f"SELECT {columns} FROM jobs ORDER BY created_at, id")]


def injected_sources(world: World) -> list[str]:
    """The source of each showing, oldest first."""
    return [row[0] for row in _rows(world, "SELECT source FROM showings ORDER BY time")]


def shown_events(world: World) -> list[str]:
    """The event of each showing, oldest first."""
    return [row[0] for row in _rows(world, "SELECT event FROM showings ORDER BY time")]


def revisions(world: World) -> list[tuple[str, str | None]]:
    """The actor and the session of each revision, oldest first."""
    return _rows(world, "SELECT actor, session_id FROM revisions ORDER BY number")


def spooled(world: World) -> list[dict[str, Any]]:
    """The jobs in the spool folder, oldest first."""
    return [json.loads(path.read_text()) for path in sorted((data_folder(world) / "spool").glob("*.json"))]


def log(world: World) -> str:
    """The hooks' log."""
    path = data_folder(world) / "logs" / "hooks.log"
    return path.read_text() if path.exists() else ""


def times_shown(request: Request, text: str) -> int:
    """How many entries of a playbook in *request* say *text*."""
    entry = rf"^\[[a-z]+-\d+\] helpful=\d+ harmful=\d+ :: {re.escape(text)}$"
    return len(re.findall(entry, request.said, re.MULTILINE))


def _rows(world: World, query: str) -> list[Any]:
    with closing(sqlite3.connect(data_folder(world) / "playbook.db", timeout=10)) as connection:
        return connection.execute(query).fetchall()
