"""The whole way in real processes: hook, worker, model, changed playbook."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.cli.main import main
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import Store, open_store
from tests.claude_code import running
from tests.claude_code.running import PYTHON, Client
from tests.learning.conftest import (
    GOOD,
    Answer,
    MessagesApi,
    answers,
    curation,
    model_at,
    reflection,
    write_session,
)
from tests.messages_api import Request

pytestmark = pytest.mark.slow  # starts processes

SESSIONS = 8


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """Claude Code in the project's folder, with a mirrored playbook of one point."""
    client = running.a_client(folder, home, is_patient=True)
    client.transcript.parent.mkdir(parents=True)
    with open_store(f"sqlite:///{client.database}") as store:
        project = Project.in_folder(store, str(folder))
        edit.add(project, "run the tests first", section="PATTERNS & APPROACHES")
        mirror.switch(project, on=True)
    return client


def _begin(client: Client, event: Mapping[str, Any]) -> "subprocess.Popen[bytes]":
    """Start the hook for *event*, with this Python for its worker."""
    process = subprocess.Popen(
        [PYTHON, "-I", "-S", "-c", running.patient("enqueue"), "user", sys.executable],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=client.folder,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(event).encode())
    process.stdin.close()
    process.stdin = None
    return process


def _hooks(client: Client, *events: Mapping[str, Any]) -> None:
    """Run a hook for each of *events*, all at once. None prints anything."""
    processes = [_begin(client, event) for event in events]
    ended = [(*process.communicate(timeout=running.PATIENCE_S), process.returncode) for process in processes]
    assert ended == [(b"", b"", 0)] * len(events)


def _drain(client: Client, patience_s: float = running.PATIENCE_S) -> None:
    """Wait until no worker is at work and nothing waits. If a job waits for a worker, start one."""
    end = time.monotonic() + patience_s
    quiet = 0
    while time.monotonic() < end:
        waiting = client.rows("SELECT 1 FROM jobs WHERE state IN ('queued', 'running')") or client.spooled()
        if worker.is_at_work():
            quiet = 0
        elif not waiting and quiet:
            return
        elif quiet == 20:
            subprocess.run([sys.executable, "-P", "-m", "playbook_db.claude_code.worker"], check=True, cwd="/")
        quiet += 1
        time.sleep(0.05)
    raise AssertionError(f"after {patience_s:g} s: {client.rows('SELECT state, error FROM jobs')}")


def _worker_log(client: Client) -> str:
    path = client.data / "logs" / "worker.log"
    return path.read_text() if path.exists() else ""


def _errands(client: Client, count: int) -> list[dict[str, Any]]:
    """The ends of *count* sessions, each with a transcript."""
    events = []
    for number in range(count):
        path = client.transcript.with_name(f"s-{number}.jsonl")
        write_session(path, f"errand {number}, a lesson")
        events.append(client.end(session_id=f"s-{number}", transcript_path=str(path)))
    return events


def test_from_a_hook_to_a_changed_playbook(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook starts a worker, which changes the playbook and its mirror. Nothing is printed or logged."""
    write_session(client.transcript, "mend the bug first, and say what it was")
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        _hooks(client, client.end())
        _drain(client)
        assert len(api.messages()) == 2
        assert api.outward() == []

    mirrored = json.loads((client.folder / ".claude" / "playbook.json").read_bytes())
    points = {entry["name"]: entry for section in mirrored["sections"].values() for entry in section}
    assert points["pat-001"]["helpful"] == 1
    assert points["pref-001"]["text"] == "say what was run"
    assert client.rows("SELECT name, helpful FROM key_points ORDER BY name") == [("pat-001", 1), ("pref-001", 0)]
    assert client.rows("SELECT state, attempts, error, reason FROM jobs") == [
        ("done", 1, None, "SessionEnd:prompt_input_exit")
    ]
    assert (_worker_log(client), client.log(), client.spooled()) == ("", [], [])


def test_hook_never_waits_for_the_model(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the hook that starts the worker, nor a later one."""
    events = _errands(client, 2)
    hooks_have_ended = threading.Event()

    def reflected(_: Request) -> str:
        assert hooks_have_ended.wait(running.PATIENCE_S)
        return reflection()

    with MessagesApi(*answers(reflected, curation())) as api:
        model_at(api, monkeypatch)
        _hooks(client, events[0])
        assert api.wait_for(bool)
        _hooks(client, events[1])
        states = [state for (state,) in client.rows("SELECT state FROM jobs ORDER BY id")]
        assert states == ["running", "queued"]
        hooks_have_ended.set()
        _drain(client)

    assert client.rows("SELECT DISTINCT state FROM jobs") == [("done",)]


def test_job_queued_while_the_worker_ends_is_done(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker of the late hook ends at once, because this one still holds the lock."""
    transcript = write_session(client.transcript, "mend the bug")
    late = iter([{"session_id": "s-1", "transcript_path": transcript}])
    was = Store.tidy

    def tidy(store: Store) -> None:
        for job in late:
            queue.take_in(store, str(client.folder), job)
            assert worker.run(settings.database_url()) is None
        was(store)

    monkeypatch.setattr(Store, "tidy", tidy)
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        worker.run(settings.database_url())

    assert client.rows("SELECT state FROM jobs") == [("done",)]


@pytest.mark.parametrize("status", [200, 401])
def test_errors_keep_no_secret(client: Client, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """The API repeats the key, and the address has a password. A refused key isn't the job's fault, so it waits."""
    key, password = "qzv81kkd0-b1t-x", "h0rse-battery"
    write_session(client.transcript, "mend the bug first, and say what it was")
    with MessagesApi(Answer(f"no: x-api-key={key}, Authorization: Bearer {key}", status=status)) as api:
        model_at(api, monkeypatch)
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url.replace("//", f"//ann:{password}@"))
        monkeypatch.setattr("playbook_db.llm.anthropic_api.WAITS_S", ())
        client.enqueue()
        result = worker.run(settings.database_url())

    assert result is not None
    assert (result.failed, result.put_off) == ((0, 1) if status == 401 else (1, 0))
    ((error,),) = client.rows("SELECT error FROM jobs")
    assert error.removeprefix("waits: ").startswith("claude-")
    assert ("job 1 of" in _worker_log(client)) is (status != 401)
    kept = [path for path in client.data.rglob("*") if path.is_file()]
    assert any(path.parent.name == "backups" for path in kept)
    for path in kept:
        assert key.encode() not in path.read_bytes(), path
        assert password.encode() not in path.read_bytes(), path


def test_errors_keep_no_secret_of_the_project(client: Client) -> None:
    """Only the environment of its own jobs has the key."""
    key = "qzv81kkd0-b1t-x"
    write_session(client.transcript, "mend the bug first, and say what it was")
    with MessagesApi(f"no JSON, but {key}") as api:
        env = {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": api.url}
        (client.folder / ".claude" / "settings.json").write_text(json.dumps({"env": env}))
        assert main(["--project", str(client.folder), "project", "trust", "--yes"]) == 0
        client.enqueue()
        result = worker.run(settings.database_url())

    assert result is not None
    assert result.failed == 1
    ((error,),) = client.rows("SELECT error FROM jobs")
    assert "no JSON, but [masked" in error
    assert "no JSON, but [masked" in _worker_log(client)
    assert all(key.encode() not in path.read_bytes() for path in client.data.rglob("*") if path.is_file())
