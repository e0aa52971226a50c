"""The whole way in real processes: a hook's payload, the worker that it starts, the model, the changed playbook."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.claude_code import learner, worker
from playbook_db.cli.main import main
from playbook_db.services import maintenance
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import Store, open_store
from tests.claude_code import running
from tests.claude_code.running import PYTHON, Client
from tests.learning.conftest import Answer, MessagesApi, Rule, answers, curation, is_reflector, model_at, reflection
from tests.messages_api import Request
from tests.transcripts import TranscriptBuilder, a_call

pytestmark = pytest.mark.slow  # starts processes

SESSIONS = 8
ADD = {"type": "ADD", "text": "say what was run", "section": "USER PREFERENCES"}
GOOD = answers(reflection(("pat-001", "helpful")), curation(ADD))


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """The client in the project's folder, with one point in the playbook, which is mirrored."""
    made = running.a_client(folder, home, is_patient=True)
    made.transcript.parent.mkdir(parents=True)
    with open_store(f"sqlite:///{made.database}") as store:
        project = Project.in_folder(store, str(folder))
        edit.add(project, "run the tests first", section="PATTERNS & APPROACHES")
        mirror.switch(project, on=True)
    return made


@pytest.fixture
def odd_client(client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The client in a folder whose name isn't UTF-8, with a mirrored playbook of one point."""
    folder = client.folder.with_name(os.fsdecode(b"caf\xe9"))
    try:
        (folder / ".claude").mkdir(parents=True)
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folder))
    odd = replace(client, folder=folder)
    odd.transcript.parent.mkdir(parents=True)
    with open_store(f"sqlite:///{odd.database}") as store:
        project = Project.in_folder(store, str(folder))
        edit.add(project, "run the tests first", section="PATTERNS & APPROACHES")
        mirror.switch(project, on=True)
    return odd


def _begin(client: Client, event: Mapping[str, Any]) -> "subprocess.Popen[bytes]":
    """The hook for *event*, under way, with the Python of these tests for its worker."""
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
    """Run a hook for each of *events*, all at once, to silent ends."""
    processes = [_begin(client, event) for event in events]
    told = [(*process.communicate(timeout=running.PATIENCE_S), process.returncode) for process in processes]
    assert told == [(b"", b"", 0)] * len(events)


def _drain(client: Client, patience_s: float = running.PATIENCE_S) -> None:
    """Wait until no worker is at work and nothing waits. Where a job waits and nobody works, the next one begins."""
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


def _session(path: Path, name: str, *said: str, agent_id: str = "") -> str:
    """The transcript at *path*, in which the point is cited after each thing *said*."""
    built = TranscriptBuilder(name, agent_id=agent_id)
    for text in said:
        built.user(text)
        built.assistant("Following [pat-001], I run the tests.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return built.write(path)


def _numbered() -> tuple[Rule, Rule]:
    """A model that teaches, of the session that says `errand N`, the lesson N."""

    def reflected(request: Request) -> str:
        (number,) = set(re.findall(r"errand (\d+)", request.last_said))
        return reflection(("pat-001", "helpful"), analysis=f"Errand-{number} went well.")

    def curated(request: Request) -> str:
        (number,) = set(re.findall(r"Errand-(\d+)", request.last_said))
        return curation({**ADD, "text": f"lesson {number}"})

    return answers(reflected, curated)


def _errands(client: Client, count: int) -> list[dict[str, Any]]:
    """The ends of *count* sessions, each with a transcript of its own."""
    events = []
    for number in range(count):
        path = client.transcript.with_name(f"s-{number}.jsonl")
        _session(path, f"s-{number}", f"errand {number}, a lesson")
        events.append(client.end(session_id=f"s-{number}", transcript_path=str(path)))
    return events


def test_from_a_hook_to_a_changed_playbook(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook starts a worker, which learns: votes, a new point, the mirror; the job is done, and nothing is told."""
    _session(client.transcript, running.SESSION, "mend the bug first, and say what it was")
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


@pytest.mark.nightly
def test_what_a_session_ignores_is_learned_from_and_counted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks, worker and command: of a session's two points it ignores the one, and cites the other."""
    with open_store(f"sqlite:///{client.database}") as store:
        rule = "Run tests with `uv run pytest`, never bare `pytest`."
        edit.add(Project.in_folder(store, str(client.folder)), rule, section="PATTERNS & APPROACHES")
    assert "uv run pytest" in client.inject().context
    session = TranscriptBuilder(running.SESSION)
    later = {"timestamp": "2999-01-01T00:00:00.000Z"}
    session.user("mend the bug, please", **later)
    session.assistant("I read first, see [pat-001].", a_call("Bash", command="pytest -x"), **later)
    session.result("no such plugin", is_error=True, **later)
    session.write(client.transcript)
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        _hooks(client, client.end())
        _drain(client)

    stats = [sys.executable, "-P", "-m", "playbook_db", "stats", "--json"]
    done = subprocess.run(stats, cwd=client.folder, capture_output=True, check=True)
    use = json.loads(done.stdout)["use"]
    assert [use[name] for name in ("shown", "followed", "cited", "ignored", "helpful")] == [2, 1, 1, 1, 1]
    assert (_worker_log(client), client.log(), client.spooled()) == ("", [], [])


@pytest.mark.nightly
def test_a_folder_whose_name_is_no_utf_8_is_learned_from(odd_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shown, queued, learned from and mirrored as any other, by hook, worker and command alike."""
    _session(odd_client.transcript, running.SESSION, "mend the bug first, and say what it was")
    assert "run the tests first" in odd_client.inject().context
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        _hooks(odd_client, odd_client.end())
        _drain(odd_client)

    mirrored = (odd_client.folder / ".claude" / "playbook.json").read_text("utf-8")
    assert "say what was run" in mirrored
    assert "say what was run" in odd_client.inject().context
    assert odd_client.rows("SELECT state, error FROM jobs") == [("done", None)]
    assert (_worker_log(odd_client), odd_client.log()) == ("", [])


@pytest.mark.nightly
def test_sessions_that_end_at_once_lose_no_vote_and_no_point(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight ends at once on one playbook: each votes once, and each adds its point."""
    events = _errands(client, SESSIONS)
    with MessagesApi(*_numbered()) as api:
        model_at(api, monkeypatch)
        _hooks(client, *events)
        _drain(client)
        assert len(api.messages()) == 2 * SESSIONS

    assert client.rows("SELECT helpful FROM key_points WHERE name = 'pat-001'") == [(SESSIONS,)]
    added = client.rows("SELECT text FROM key_points WHERE name <> 'pat-001'")
    assert sorted(added) == sorted((f"lesson {number}",) for number in range(SESSIONS))
    assert client.rows("SELECT DISTINCT state FROM jobs") == [("done",)]
    with open_store(f"sqlite:///{client.database}") as store:
        assert maintenance.check(store) == []
    assert _worker_log(client) == ""


@pytest.mark.nightly
def test_a_session_seen_by_many_events_is_learnt_from_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two compactions, three subagents and the end: two calls for each chunk, however often it is seen."""
    agents = [client.transcript.with_suffix("") / "subagents" / f"agent-a{number}.jsonl" for number in range(3)]
    _session(client.transcript, running.SESSION, "first task")
    for number, agent in enumerate(agents):
        _session(agent, running.SESSION, f"look into part {number}", agent_id=f"a{number}")
    stops = [
        client.subagent_stop(agent_id=f"a{number}", agent_transcript_path=str(agent))
        for number, agent in enumerate(agents)
    ]
    events = [client.compaction("auto"), stops[0], client.compaction(), *stops[1:], client.end()]
    with MessagesApi(*answers(reflection(("pat-001", "helpful")), curation())) as api:
        model_at(api, monkeypatch)
        counts = []
        for grown in (False, True):
            if grown:
                _session(client.transcript, running.SESSION, "first task", "second task")
                _session(agents[0], running.SESSION, "look into part 0", "look again", agent_id="a0")
            _hooks(client, *events)
            _drain(client)
            counts.append(len(api.messages()))
        asked = [request.last_said for request in api.messages() if is_reflector(request)]

    assert counts == [8, 12]
    assert sum("first task" in said for said in asked) == 1
    assert sum("second task" in said for said in asked) == 1
    assert sum("look into part 0" in said for said in asked) == 1
    # Votes on the user's words count; a subagent's user is the assistant, whose words are no evidence.
    assert client.rows("SELECT helpful FROM key_points WHERE name = 'pat-001'") == [(2,)]
    assert client.rows("SELECT DISTINCT state FROM jobs") == [("done",)]


def test_a_hook_never_waits_for_the_model(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends while the model is silent, the first time and while the worker is at it."""
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


@pytest.mark.parametrize("timeout_s", ["", "0.4"])
def test_an_endpoint_that_hangs_costs_one_deadline(
    client: Client, monkeypatch: pytest.MonkeyPatch, timeout_s: str
) -> None:
    """However patient a single request is; the job stays, with what went wrong, and counts one try."""
    monkeypatch.setattr(learner, "JOB_DEADLINE_S", 1.0)
    monkeypatch.setenv("AGENTIC_CONTEXT_TIMEOUT_S", timeout_s)
    transcript = _session(client.transcript, "s-1", "mend the bug")
    with MessagesApi(Answer(reflection(), delay_s=60.0)) as api, open_store(settings.database_url()) as store:
        model_at(api, monkeypatch)
        queue.take_in(store, str(client.folder), {"session_id": "s-1", "transcript_path": transcript})
        import anthropic  # noqa: F401 - it takes most of the deadline

        began = time.monotonic()
        done = worker.run(settings.database_url())
        took_s = time.monotonic() - began
        (job,) = queue.list_jobs(store)

    assert took_s < 60
    assert done is not None
    assert (done.learned, done.failed) == (0, 1)
    assert (job.state, job.attempts) == ("queued", 1)
    assert job.error
    assert job.not_before
    assert len(api.messages()) <= 3
    assert client.rows("SELECT helpful FROM key_points") == [(0,)]


def test_a_job_queued_while_the_worker_ends_is_learnt_from_too(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook that queued it started a worker, which left because this one still held the lock."""
    transcript = _session(client.transcript, "s-1", "mend the bug")
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


@pytest.mark.parametrize("status", [200, 401, 500])
def test_no_error_keeps_a_secret(client: Client, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """An API that repeats the key, and an address with a password: neither is in the database, its backup, the log."""
    key, password = "qzv81kkd0-b1t-x", "h0rse-battery"
    _session(client.transcript, running.SESSION, "mend the bug first, and say what it was")
    with MessagesApi(Answer(f"no: x-api-key={key}, Authorization: Bearer {key}", status=status)) as api:
        model_at(api, monkeypatch)
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url.replace("//", f"//ann:{password}@"))
        monkeypatch.setattr("playbook_db.llm.anthropic_api.WAITS_S", ())
        client.enqueue()
        result = worker.run(settings.database_url())

    assert result is not None
    # A key that is refused isn't the job's fault: it waits.
    assert (result.failed, result.put_off) == ((0, 1) if status == 401 else (1, 0))
    ((error,),) = client.rows("SELECT error FROM jobs")
    assert error.removeprefix("waits: ").startswith("claude-")
    assert ("job 1 of" in _worker_log(client)) is (status != 401)
    kept = [path for path in client.data.rglob("*") if path.is_file()]
    assert any(path.parent.name == "backups" for path in kept)
    for path in kept:
        assert key.encode() not in path.read_bytes(), path
        assert password.encode() not in path.read_bytes(), path


def test_no_error_keeps_a_secret_that_the_project_brings(client: Client) -> None:
    """Its key is in no environment but that of its own jobs."""
    key = "qzv81kkd0-b1t-x"
    _session(client.transcript, running.SESSION, "mend the bug first, and say what it was")
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
