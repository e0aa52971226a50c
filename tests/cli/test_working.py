"""work and jobs."""

from pathlib import Path

import pytest
from filelock import FileLock

from playbook_db import settings
from playbook_db.claude_code import spool
from tests.claude_code import running
from tests.claude_code.running import SESSION, Client
from tests.cli.conftest import Playbook


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """The client in the project's folder, with an empty database."""
    return running.a_client(folder, home)


def test_work_takes_in_what_waits(playbook: Playbook, folder: Path) -> None:
    """And says how much; the second time there is nothing."""
    spool.keep({"project": str(folder), "transcript_path": "/t/s.jsonl"})

    assert (
        playbook("work").out
        == "1 job taken in from the spool, 0 sessions found; 1 learned from, 0 put off, 0 failed; 0 mirrors taken in\n"
    )
    assert (
        playbook("work").out
        == "0 jobs taken in from the spool, 0 sessions found; 0 learned from, 0 put off, 0 failed; 0 mirrors taken in\n"
    )


def test_work_leaves_where_a_worker_is_at_it(playbook: Playbook, client: Client) -> None:
    """No error: it will be done."""
    with FileLock(settings.worker_lock(), mode=0o600):
        done = playbook("work")

    assert (done.code, done.out) == (0, "another worker is at it\n")


@pytest.mark.slow
def test_jobs_are_listed_as_json(playbook: Playbook, client: Client, folder: Path) -> None:
    """A list of objects, the oldest first."""
    client.enqueue()
    client.enqueue(client.subagent_stop())
    client.change("UPDATE jobs SET state = 'failed', attempts = 3, error = 'no answer' WHERE id = 2")

    first, second = playbook("jobs", "--json").json

    assert first.pop("created").endswith("+00:00")
    assert first == {
        "id": 1,
        "project": str(folder),
        "kind": "learn",
        "session": SESSION,
        "transcript": str(client.transcript),
        "agent": None,
        "reason": "SessionEnd:prompt_input_exit",
        "state": "queued",
        "attempts": 0,
        "error": None,
        "finished": None,
    }
    assert [second[name] for name in ("id", "state", "attempts", "error")] == [2, "failed", 3, "no answer"]
    assert second["agent"] == "a48f56874e781b2f1"


@pytest.mark.slow
def test_jobs_are_listed_in_lines(playbook: Playbook, client: Client) -> None:
    """Id, state, attempts, session, why."""
    client.enqueue()

    assert playbook("jobs").out == f"1\tqueued\t0\t{SESSION}\tSessionEnd:prompt_input_exit\n"


@pytest.mark.slow
def test_jobs_of_other_projects_are_listed_where_all_are_asked_for(playbook: Playbook, client: Client) -> None:
    """With the project before each."""
    (client.home / "other").mkdir()
    client.enqueue(CLAUDE_PROJECT_DIR=str(client.home / "other"))

    assert playbook("jobs").out == ""
    assert playbook("jobs", "--json").json == []
    assert playbook("jobs", "--all").out.startswith(f"{client.home / 'other'}\t1\tqueued\t")
    assert [job["project"] for job in playbook("jobs", "--all", "--json").json] == [str(client.home / "other")]
