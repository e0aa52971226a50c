"""work and jobs."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from playbook_db import settings
from playbook_db.claude_code.hooks import spool
from playbook_db.domain.times import local
from playbook_db.services.learning import queue
from playbook_db.store.engine import open_store
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.cli.conftest import Playbook


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    return running.a_client(folder, home, is_patient=True)


def test_work_does_waiting_jobs(playbook: Playbook, folder: Path) -> None:
    spool.keep({"project": str(folder), "transcript_path": "/t/s.jsonl"})

    said = "{} read from the spool, 0 sessions found; {} learned from, 0 put off, 0 failed; 0 mirrors updated\n"
    assert playbook("work").out == said.format("1 job", 1)
    assert playbook("work").out == said.format("0 jobs", 0)


def test_work_leaves_a_running_worker_alone(playbook: Playbook, client: Client) -> None:
    with FileLock(settings.worker_lock(), mode=0o600):
        done = playbook("work")

    assert (done.code, done.out) == (0, "another worker is running\n")


@pytest.mark.slow
def test_worker_deletes_old_finished_jobs(playbook: Playbook, client: Client) -> None:
    ages = {"done long ago": 91, "done lately": 89, "failed": 400}
    with open_store(settings.database_url()) as store:
        for session in ages:
            queue.take_in(store, str(client.folder), {"session_id": session, "transcript_path": f"/t/{session}"})
            job = queue.claim(store)
            assert job is not None
            if session == "failed":
                queue.note_failure(store, job, "no", for_good=True)
            else:
                queue.finish(store, job)
    with closing(sqlite3.connect(settings.default_database())) as database, database:
        for session, days in ages.items():
            then = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="microseconds")
            database.execute("UPDATE jobs SET finished_at = ? WHERE session_id = ?", (then, session))

    assert playbook("work").code == 0
    with open_store(settings.database_url()) as store:
        assert [job.session_id for job in queue.list_jobs(store)] == ["done lately", "failed"]


@pytest.mark.slow
def test_jobs_of_all_projects_can_be_listed(playbook: Playbook, client: Client) -> None:
    (client.home / "other").mkdir()
    client.enqueue(CLAUDE_PROJECT_DIR=str(client.home / "other"))

    assert playbook("jobs").out == ""
    assert playbook("jobs", "--all").out.startswith(f"{client.home / 'other'}\t1\tqueued\t")
    assert [job["project"] for job in playbook("jobs", "--all", "--json").json] == [str(client.home / "other")]


@pytest.mark.slow
def test_waiting_job_has_its_reason_and_next_try(playbook: Playbook, client: Client) -> None:
    client.enqueue()
    with open_store(settings.database_url()) as store:
        job = queue.claim(store)
        assert job is not None
        queue.put_off(store, job, "the key was refused.", until="2026-03-01T14:30:00.000000+00:00")

    time = local("2026-03-01T14:30:00+00:00")
    assert f"waits: the key was refused. (next try: {time}, or now with: playbook work)" in playbook("jobs").out
    assert playbook("jobs", "--json").json[0]["next_try"] == "2026-03-01T14:30:00.000000+00:00"


@pytest.mark.slow
def test_jobs_can_be_retried(playbook: Playbook, client: Client) -> None:
    client.enqueue()
    client.enqueue(client.subagent_stop())
    fail = "UPDATE jobs SET state = 'failed', attempts = 3, error = 'no answer'"
    client.change(fail)

    assert playbook("jobs", "retry", "1", "2").out.count("is queued") == 2
    assert playbook("jobs", "retry", "--all").out == "no job failed or waits\n"
    client.change(fail)
    assert playbook("jobs", "retry", "--all").out == "2 jobs are queued; to run them now: playbook work\n"
    assert playbook("jobs", "retry").code == 2
