"""The worker: what waits is done once, by one, and what goes wrong is told in its log."""

import errno
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.claude_code.hooks import spool
from playbook_db.claude_code.worker import WorkResult
from playbook_db.errors import DatabaseBusyError, DatabaseError
from playbook_db.services import maintenance
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import Store, open_store
from playbook_db.store.sqlite.backups import list_backups
from tests.claude_code import running
from tests.claude_code.running import Client


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """The client in the project's folder, with an empty database."""
    return running.a_client(folder, home, is_patient=True)


def _job(folder: Path, transcript: str = "/t/s.jsonl") -> dict[str, str | None]:
    return {"project": str(folder), "transcript_path": transcript, "session_id": "s", "reason": "SessionEnd"}


def _log() -> list[str]:
    path = Path(settings.logs_dir(), "worker.log")
    return path.read_text().splitlines() if path.exists() else []


def test_all_that_waits_is_taken_in_oldest_first(client: Client) -> None:
    """Of any project."""
    for number, folder in enumerate([client.folder, client.home, client.folder]):
        spool.keep(_job(folder, f"/t/{number}.jsonl"))

    assert worker.run(settings.database_url()) == WorkResult(spooled=3, learned=3)

    rows = client.rows("SELECT transcript_path FROM jobs ORDER BY playbook_id, id")
    assert rows == [("/t/0.jsonl",), ("/t/2.jsonl",), ("/t/1.jsonl",)]
    assert spool.waiting() == []
    assert worker.run(settings.database_url()) == WorkResult()


def test_of_two_workers_one_leaves(client: Client) -> None:
    """At once, with nothing done."""
    spool.keep(_job(client.folder))

    with FileLock(settings.worker_lock(), mode=0o600):
        assert worker.run(settings.database_url()) is None
        assert worker.is_at_work()

    assert not worker.is_at_work()
    assert len(spool.waiting()) == 1


def test_nobody_is_at_work_where_nobody_ever_was(home: Path) -> None:
    """And asking makes nothing."""
    assert not worker.is_at_work()
    assert not (home / ".claude").exists()


def test_a_job_leaves_the_spool_after_its_commit_is_on_the_disk(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a loss of power takes both."""
    spool.keep(_job(client.folder))

    def fail(store: Store) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Store, "to_disk", fail)
    worker.run(settings.database_url())

    assert len(spool.waiting()) == 1


def test_what_comes_in_during_the_work_is_taken_in_too(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hook's own worker found this one at work, and left."""
    spool.keep(_job(client.folder, "/t/0.jsonl"))
    was = mirror.sync_changed
    later = iter([_job(client.folder, "/t/1.jsonl")])

    def meanwhile(store: object) -> object:
        for job in later:
            spool.keep(job)
        return was(store)  # type: ignore[arg-type]

    monkeypatch.setattr(mirror, "sync_changed", meanwhile)

    assert worker.run(settings.database_url()) == WorkResult(spooled=2, learned=2)


def test_a_mirror_that_changed_is_taken_in(client: Client) -> None:
    """So that the next session is told what git brought."""
    with open_store(settings.database_url()) as store:
        project = Project.in_folder(store, str(client.folder))
        mirror.switch(project, on=True)
        Path(project.mirror_path).write_text('{"key_points": ["from git"]}')

        assert worker.run(settings.database_url()) == WorkResult(mirrors=1)

        assert [point.text for point in read_playbook(project).points] == ["from git"]
    assert worker.run(settings.database_url()) == WorkResult()


def test_a_busy_database_leaves_the_job_for_later(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is neither lost nor called unreadable."""
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.1)
    spool.keep(_job(client.folder))
    with closing(sqlite3.connect(client.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusyError):
            worker.run(settings.database_url())
        connection.execute("ROLLBACK")

    assert len(spool.waiting()) == 1
    assert worker.run(settings.database_url()) == WorkResult(spooled=1, learned=1)


def test_an_older_database_is_brought_to_our_schema(client: Client) -> None:
    """Which the hooks may not do."""
    running.a_bad_database("older", client.database)
    spool.keep(_job(client.folder))

    assert worker.run(settings.database_url()) == WorkResult(spooled=1, learned=1)


@pytest.mark.parametrize("kind", ["garbage", "newer", "another's", "directory"])
def test_a_database_that_cannot_be_used_is_told_in_the_log(client: Client, kind: str) -> None:
    """Exit code 1; what waits still waits; not a byte is changed."""
    running.a_bad_database(kind, client.database)
    before = running.content(client.database)
    spool.keep(_job(client.folder))

    with pytest.raises(SystemExit) as left:
        worker.main()

    assert left.value.code == 1
    assert running.content(client.database) == before
    assert len(spool.waiting()) == 1
    assert len(_log()) == 1


def test_another_program_s_database_is_left_alone(client: Client) -> None:
    """Though its schema has no number, which looks like one that is older than ours."""
    client.database.unlink()
    with closing(sqlite3.connect(client.database)) as connection, connection:
        connection.execute("CREATE TABLE moz_places (url TEXT)")
    before = client.database.read_bytes()
    spool.keep(_job(client.folder))

    with pytest.raises(SystemExit):
        worker.main()

    assert client.database.read_bytes() == before
    assert len(spool.waiting()) == 1


@pytest.mark.slow
def test_what_is_no_plain_file_is_not_waited_for(client: Client) -> None:
    """In the spool: the others have their turn, and the worker comes to its end."""
    spool.keep(_job(client.folder, str(client.home / "session.jsonl")))
    os.mkfifo(Path(settings.spool_dir(), "1.json"))
    Path(settings.spool_dir(), "2.json").mkdir()
    command = [sys.executable, "-m", "playbook_db.claude_code.worker"]

    done = subprocess.run(command, cwd=client.folder, timeout=running.PATIENCE_S, check=False)

    assert done.returncode == 0
    assert client.rows("SELECT transcript_path, state FROM jobs") == [(str(client.home / "session.jsonl"), "done")]
    assert any("1.json" in line and "not a plain file" in line for line in _log())


def test_a_variable_switches_it_off(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """PLAYBOOK_DISABLE."""
    spool.keep(_job(client.folder))
    monkeypatch.setenv("PLAYBOOK_DISABLE", "1")

    worker.main()

    assert len(spool.waiting()) == 1


@pytest.mark.slow
def test_the_database_is_left_as_one_file(client: Client) -> None:
    """The next hook opens it at once."""
    client.enqueue()
    assert client.database.with_name("playbook.db-wal").stat().st_size

    worker.run(settings.database_url())

    wal = client.database.with_name("playbook.db-wal")
    assert not wal.exists() or wal.stat().st_size == 0  # else the next hook reads it back, page by page
    with closing(sqlite3.connect(f"file:{client.database}?immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (1,)


def test_queueing_what_is_queued_changes_nothing(client: Client) -> None:
    """Taken in twice, it waits once; a project that is kept out takes nothing."""
    with open_store(settings.database_url()) as store:
        for _ in range(2):
            assert queue.take_in(store, str(client.folder), _job(client.folder))
        edit.add(Project.in_folder(store, str(client.folder)), "a point")
        assert len(queue.list_jobs(store, str(client.folder))) == 1
        assert queue.list_jobs(store, "/another") == []


def test_a_backup_is_taken_once_a_day_after_the_work(client: Client) -> None:
    """It holds what was done before it; the next worker of the day takes none."""
    spool.keep(_job(client.folder))

    worker.run(settings.database_url())
    spool.keep(_job(client.folder, "/t/later.jsonl"))
    worker.run(settings.database_url())

    (backup,) = list_backups(str(client.database))
    assert backup.kind == "daily"
    with closing(sqlite3.connect(backup.path)) as connection:
        assert connection.execute("SELECT state FROM jobs").fetchall() == [("done",)]


def test_a_database_that_is_gone_is_not_begun_anew(client: Client) -> None:
    """What the hooks leave meanwhile waits in the spool, until the backup is back; and no backup of nothing is made."""
    taken = maintenance.take(settings.database_url())
    client.database.unlink()
    for number in range(2):
        spool.keep(_job(client.folder, f"/t/{number}.jsonl"))

    with pytest.raises(DatabaseError, match="gone or empty"):
        worker.run(settings.database_url())

    assert (len(spool.waiting()), client.database.exists()) == (2, False)
    assert [each.path for each in list_backups(str(client.database))] == [taken.path]
    with maintenance.candidate(settings.database_url(), taken.path) as chosen:
        maintenance.put_back(chosen)
    done = worker.run(settings.database_url())
    assert done is not None
    assert (done.spooled, spool.waiting()) == (2, [])


def test_a_backup_that_fails_is_told_and_fails_nothing(client: Client) -> None:
    """What was learnt is kept; the log says what is in the way."""
    (client.data / "backups").write_text("a file in its place")
    spool.keep(_job(client.folder))

    assert worker.run(settings.database_url()) == WorkResult(spooled=1, learned=1)

    (line,) = _log()
    assert "no backup was made: " in line
    assert str(client.data / "backups") in line
