"""The hook that queues a session: it keeps each job once, and never disturbs the session."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import spool
from tests.claude_code import running
from tests.claude_code.running import BAD_DATABASES, SESSION, Client

pytestmark = pytest.mark.slow  # starts processes

_ROW = "SELECT kind, session_id, transcript_path, parent_path, agent_id, reason, state, attempts FROM jobs"

client = running.client_fixture(is_patient=False)


def test_session_end_is_queued(client: Client) -> None:
    client.enqueue()

    assert client.rows(_ROW) == [
        ("learn", SESSION, str(client.transcript), None, None, "SessionEnd:prompt_input_exit", "queued", 0)
    ]
    assert client.rows("SELECT key FROM playbooks") == [(os.path.realpath(client.folder),)]
    assert client.spooled() == []
    assert client.log() == []
    assert client.worker_began()


def test_compaction_is_queued(client: Client) -> None:
    client.enqueue(client.compaction("auto"))
    assert client.rows(_ROW) == [("learn", SESSION, str(client.transcript), None, None, "PreCompact:auto", "queued", 0)]


def test_subagent_end_is_queued(client: Client) -> None:
    event = client.subagent_stop()
    client.enqueue(event)
    fields = (event["agent_transcript_path"], str(client.transcript), event["agent_id"])
    assert client.rows(_ROW) == [("learn", SESSION, *fields, "SubagentStop:general-purpose", "queued", 0)]


def test_compaction_agent_is_ignored(client: Client) -> None:
    """It has no type and leaves no transcript."""
    event = client.subagent_stop("")
    client.enqueue(event)
    assert client.rows(_ROW) == []

    path = Path(event["agent_transcript_path"])
    path.parent.mkdir(parents=True)
    path.touch()
    client.enqueue(event)

    assert [row[2] for row in client.rows(_ROW)] == [str(path)]
    assert client.log() == []


@running.every_too_old_python
def test_old_python_blocks_no_compaction(client: Client, python: str) -> None:
    """Exit code 2 would block it."""
    client.enqueue(client.compaction(), python=python)


def test_waiting_transcript_is_queued_once(client: Client) -> None:
    client.enqueue()
    client.enqueue(client.compaction())
    assert [row[5] for row in client.rows(_ROW)] == ["SessionEnd:prompt_input_exit"]
    client.change("UPDATE jobs SET state = 'done'")
    client.enqueue(client.end("other"))
    assert client.rows("SELECT id, state, reason FROM jobs ORDER BY id")[1] == (2, "queued", "SessionEnd:other")


def test_unknown_project_is_logged(client: Client) -> None:
    client.enqueue(client.end(cwd="not/absolute"), CLAUDE_PROJECT_DIR="")
    (line,) = client.log()
    assert "neither CLAUDE_PROJECT_DIR nor cwd names the project" in line
    assert client.rows(_ROW) == []


@pytest.mark.parametrize(
    ("setting", "event"), [("on_exit", "exit"), ("on_clear", "clear"), ("on_subagent_stop", "SubagentStop")]
)
def test_each_setting_excludes_its_event(client: Client, setting: str, event: str) -> None:
    (client.home / ".claude" / "settings.json").write_text(json.dumps({f"playbook_update_{setting}": False}))
    for each in (client.end("exit"), client.end("clear"), client.subagent_stop(), client.compaction()):
        client.enqueue(each)
        is_excluded = event in (each.get("reason"), each["hook_event_name"])
        assert len(client.rows(_ROW)) == int(not is_excluded)
        client.change("DELETE FROM jobs")


@pytest.mark.parametrize(
    ("user", "project", "local", "is_on"),
    [(False, True, None, True), (True, None, False, False), (False, "no", None, False)],
)
def test_nearest_settings_file_wins(client: Client, user: Any, project: Any, local: Any, is_on: bool) -> None:
    for path, value in (
        (client.home / ".claude" / "settings.json", user),
        (client.folder / ".claude" / "settings.json", project),
        (client.folder / ".claude" / "settings.local.json", local),
    ):
        if value is not None:
            path.write_text(json.dumps({"playbook_update_on_exit": value}))

    client.enqueue()

    assert bool(client.rows(_ROW)) is is_on


def test_ignored_project_is_not_queued(client: Client) -> None:
    client.add("a point")
    client.change("UPDATE playbooks SET ignored = 1")
    client.enqueue()
    assert client.rows(_ROW) == []
    assert client.spooled() == []
    assert client.log() == []


def test_two_registrations_queue_once(client: Client) -> None:
    command = registration.command(
        "enqueue", scope="user", python=running.PYTHON, hooks_folder=str(running.HOOKS), worker_python="python3"
    )
    document = {"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": command}]}]}}
    (client.home / ".claude" / "settings.json").write_text(json.dumps(document))

    client.enqueue(scope="plugin")
    assert client.rows(_ROW) == []
    client.enqueue(client.compaction(), scope="plugin")
    assert len(client.rows(_ROW)) == 1


@pytest.mark.parametrize("how", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_locked_database_uses_the_spool(client: Client, how: str) -> None:
    with client.held(how):
        client.enqueue()

    (job,) = client.spooled()
    assert job["project"] == os.path.realpath(client.folder)
    assert (job["session_id"], job["transcript_path"]) == (SESSION, str(client.transcript))
    (line,) = client.log()
    assert "locked; the job waits in" in line

    assert (client.work().spooled, client.work().spooled) == (1, 0)
    ((queued_at, *row),) = client.rows(_ROW.replace("SELECT", "SELECT created_at,"))
    assert queued_at == job["queued_at"]
    assert row[1:3] == [SESSION, str(client.transcript)]
    assert client.spooled() == []


def test_killed_worker_queues_no_job_twice(client: Client) -> None:
    """The worker was killed after its commit, before it removed the file."""
    running.a_bad_database("directory", client.database)
    client.enqueue(client.subagent_stop())
    (file,) = (client.data / "spool").glob("*.json")
    kept = file.read_bytes()
    client.database.rmdir()
    client.work()
    client.change("UPDATE jobs SET state = 'queued'")  # it had not come to that yet
    file.write_bytes(kept)

    client.work()

    assert len(client.rows(_ROW)) == 1
    assert not file.exists()


def test_missing_database_uses_the_spool(client: Client) -> None:
    client.database.unlink()

    client.enqueue()

    (path,) = (client.data / "spool").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert client.log() == []
    assert client.work().spooled == 1
    assert len(client.rows(_ROW)) == 1


@pytest.mark.parametrize("kind", BAD_DATABASES)
def test_bad_database_uses_the_spool(client: Client, kind: str) -> None:
    running.a_bad_database(kind, client.database)
    before = running.content(client.database)

    client.enqueue()

    assert running.content(client.database) == before
    assert [job["transcript_path"] for job in client.spooled()] == [str(client.transcript)]
    (line,) = client.log()
    assert str(client.database) in line


@pytest.mark.skipif(not running.are_permissions_binding(), reason="NOT HERE: file permissions bind nobody here")
@pytest.mark.parametrize(("path", "mode"), [("database", 0o000), ("database", 0o444), ("data", 0o500)])
def test_missing_permission_is_spooled_or_logged(client: Client, path: str, mode: int) -> None:
    place: Path = getattr(client, path)
    (client.data / "logs").mkdir()
    place.chmod(mode)
    try:
        client.enqueue(before=running.without_roots_powers)
    finally:
        place.chmod(0o700)

    (line,) = client.log()
    if path == "data" and not client.spooled():
        assert "is not queued" in line
        assert str(client.transcript) in line
    else:
        assert len(client.spooled()) == 1


@pytest.mark.parametrize("url", ["postgresql://u:secret@host/db", "postgresql:/u:secret@host/db"])
def test_server_url_uses_the_spool(client: Client, url: str) -> None:
    client.enqueue(PLAYBOOK_DB_URL=url)
    assert len(client.spooled()) == 1
    assert "secret" not in "".join(client.log())


def test_broken_spool_files_are_set_aside(client: Client) -> None:
    folder = client.data / "spool"
    folder.mkdir()
    bad = {"1.json": b"{", "2.json": b"[]", "3.json": b"{}", "4.json": b"\xff", "5.json": b"[" * 100_000}
    for name, content in {**bad, "6.json.part": b"{half"}.items():
        (folder / name).write_bytes(content)
    client.database.unlink()
    client.enqueue()

    assert client.work().spooled == 1

    left = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert left == {**{f"{name}.unreadable": content for name, content in bad.items()}, "6.json.part": b"{half"}
    assert len(client.rows(_ROW)) == 1
    assert len((client.data / "logs" / "worker.log").read_text().splitlines()) == len(bad)


def test_ignored_jobs_leave_the_spool(client: Client) -> None:
    client.add("a point")
    client.change("UPDATE playbooks SET ignored = 1")
    spool.keep({"project": os.path.realpath(client.folder), "transcript_path": "/t"})
    assert client.work().spooled == 0
    assert client.spooled() == []
    assert client.rows(_ROW) == []


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_closed_streams_are_no_error(client: Client, descriptor: int) -> None:
    client.enqueue(before=lambda: os.close(descriptor))
    assert len(client.rows(_ROW)) == (descriptor != 0)
    assert client.rows("PRAGMA integrity_check") == [("ok",)]


def test_hanging_database_uses_the_spool(client: Client) -> None:
    client.enqueue(change="enqueue.sqlite_open.connect = lambda *_, **__: time.sleep(60)")
    assert len(client.spooled()) == 1
    assert "didn't answer in time" in client.log()[0]


def test_missing_worker_loses_no_job(client: Client) -> None:
    client.worker.unlink()
    client.enqueue()
    assert len(client.rows(_ROW)) == 1


@pytest.mark.parametrize("name", [".claude/settings.json", ".git"])
@pytest.mark.parametrize("is_endless", [False, True], ids=["pipe", "endless"])
def test_endless_project_files_are_ignored(client: Client, name: str, is_endless: bool) -> None:
    """A clone may bring a pipe, or a link to a device."""
    if is_endless:
        (client.folder / name).symlink_to("/dev/zero")
    else:
        os.mkfifo(client.folder / name)

    client.enqueue(scope="local")

    assert client.rows("SELECT count(*) FROM jobs") == [(1,)]
    assert client.log() == []
