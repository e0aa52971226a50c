"""Each session's start is recorded, so that a session without an end is learned from, too."""

import json
import os
import resource
import sqlite3
import time
from contextlib import closing

import pytest

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.services.project import open_store
from tests.claude_code import running
from tests.claude_code.running import SESSION, Client
from tests.databases import put_empty_database
from tests.transcripts import TranscriptBuilder

pytestmark = pytest.mark.slow  # starts processes

client = running.client_fixture()


def _kept(client: Client) -> list[str]:
    """The files in the spool."""
    folder = client.data / "spool"
    return sorted(os.listdir(folder)) if folder.exists() else []


STARTED, ENDED = f"{SESSION}.started", f"{SESSION}.ended"


def test_start_names_the_transcript(client: Client) -> None:
    assert client.inject().out == b"{}\n"

    content = json.loads((client.data / "spool" / STARTED).read_bytes())
    assert content == {
        "project": os.path.realpath(client.folder),
        "folder": str(client.folder),
        "transcript_path": str(client.transcript),
    }
    assert client.rows("SELECT * FROM showings") == []
    assert client.log() == []


@pytest.mark.parametrize("problem", ["there is none", "it is damaged", "it is locked"])
def test_start_is_kept_despite_a_bad_database(client: Client, problem: str) -> None:
    if problem == "there is none":
        client.database.unlink()
    elif problem == "it is damaged":
        running.a_bad_database("garbage", client.database)
    with closing(sqlite3.connect(client.database if problem == "it is locked" else ":memory:")) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        client.inject()

    assert _kept(client) == [STARTED]


@pytest.mark.parametrize("name", ["../../s", "", ".", "a\x00b", "\ud800", "x" * 5000, None])
def test_odd_session_ids_are_not_kept(client: Client, name: object) -> None:
    done = client.inject({**client.start(), "session_id": name})
    assert (done.code, done.out, done.err) == running.SILENT
    assert _kept(client) == []


def test_end_closes_the_record(client: Client) -> None:
    client.inject()
    start = client.data / "spool" / STARTED
    os.utime(start, (0, 0))

    client.enqueue(client.compaction())
    client.enqueue(client.subagent_stop())
    assert _kept(client) == [STARTED]
    began = time.time() - 1
    client.enqueue()
    assert _kept(client) == [ENDED]
    assert (client.data / "spool" / ENDED).stat().st_mtime >= began

    client.inject(client.start("resume"))
    assert _kept(client) == [ENDED, STARTED]


@pytest.mark.parametrize(
    ("setting", "event", "left"), [("on_exit", "exit", []), ("on_subagent_stop", "subagent", [STARTED])]
)
def test_excluded_end_removes_the_record(client: Client, setting: str, event: str, left: list[str]) -> None:
    """A subagent's end doesn't concern the session's record."""
    client.inject()
    (client.home / ".claude" / "settings.json").write_text(json.dumps({f"playbook_update_{setting}": False}))
    client.enqueue(client.subagent_stop() if event == "subagent" else client.end(event))
    assert _kept(client) == left
    assert client.rows("SELECT * FROM jobs") == []


def test_unwritten_end_is_learned_from_later(client: Client) -> None:
    """The disk is full, so neither the database nor the spool can be written."""
    built = TranscriptBuilder(SESSION)
    built.user("the tests fail")
    client.transcript.parent.mkdir(parents=True)
    built.write(client.transcript)
    os.utime(client.transcript, (0, 0))  # it has been silent for long
    client.inject()
    running.a_bad_database("garbage", client.database)

    done = client.enqueue(before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))

    assert (done.code, done.out, _kept(client)) == (0, b"", [STARTED])
    put_empty_database(client.database)
    client.add("a point")  # of this project
    with open_store(settings.database_url()) as store:
        assert [job["session_id"] for _, job in worker.find_lost_sessions(store)] == [SESSION]
