"""The worker: one at a time does each job once, and logs problems."""

import errno
import sqlite3
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
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import Store, open_store
from playbook_db.store.sqlite.backups import list_backups
from tests.claude_code import running
from tests.claude_code.running import Client

client = running.client_fixture()


def _job(folder: Path, transcript: str = "/t/s.jsonl") -> dict[str, str | None]:
    return {"project": str(folder), "transcript_path": transcript, "session_id": "s", "reason": "SessionEnd"}


def _log() -> list[str]:
    path = Path(settings.logs_dir(), "worker.log")
    return path.read_text().splitlines() if path.exists() else []


def test_jobs_are_queued_oldest_first(client: Client) -> None:
    for number, folder in enumerate([client.folder, client.home, client.folder]):
        spool.keep(_job(folder, f"/t/{number}.jsonl"))

    assert worker.run(settings.database_url()) == WorkResult(spooled=3, learned=3)

    rows = client.rows("SELECT transcript_path FROM jobs ORDER BY playbook_id, id")
    assert rows == [("/t/0.jsonl",), ("/t/2.jsonl",), ("/t/1.jsonl",)]
    assert spool.waiting() == []
    assert worker.run(settings.database_url()) == WorkResult()


def test_second_worker_leaves(client: Client) -> None:
    spool.keep(_job(client.folder))
    with FileLock(settings.worker_lock(), mode=0o600):
        assert worker.run(settings.database_url()) is None
        assert worker.is_at_work()
    assert not worker.is_at_work()
    assert len(spool.waiting()) == 1


def test_spool_keeps_a_job_until_its_fsync(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.keep(_job(client.folder))

    def fail(store: Store) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Store, "to_disk", fail)
    worker.run(settings.database_url())

    assert len(spool.waiting()) == 1


def test_late_jobs_are_queued_too(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.keep(_job(client.folder, "/t/0.jsonl"))
    was = mirror.sync_changed
    later = iter([_job(client.folder, "/t/1.jsonl")])

    def meanwhile(store: object) -> object:
        for job in later:
            spool.keep(job)
        return was(store)  # type: ignore[arg-type]

    monkeypatch.setattr(mirror, "sync_changed", meanwhile)

    assert worker.run(settings.database_url()) == WorkResult(spooled=2, learned=2)


def test_changed_mirror_is_merged(client: Client) -> None:
    with open_store(settings.database_url()) as store:
        project = Project.in_folder(store, str(client.folder))
        mirror.switch(project, on=True)
        Path(project.mirror_path).write_text('{"key_points": ["from git"]}')

        assert worker.run(settings.database_url()) == WorkResult(mirrors=1)

        assert [point.text for point in read_playbook(project).points] == ["from git"]
    assert worker.run(settings.database_url()) == WorkResult()


def test_busy_database_keeps_the_job(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.1)
    spool.keep(_job(client.folder))
    with closing(sqlite3.connect(client.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusyError):
            worker.run(settings.database_url())
        connection.execute("ROLLBACK")

    assert len(spool.waiting()) == 1
    assert worker.run(settings.database_url()) == WorkResult(spooled=1, learned=1)


@pytest.mark.parametrize("kind", ["garbage", "newer", "another's", "directory"])
def test_bad_database_is_logged_and_unchanged(client: Client, kind: str) -> None:
    running.a_bad_database(kind, client.database)
    before = running.content(client.database)
    spool.keep(_job(client.folder))

    with pytest.raises(SystemExit) as left:
        worker.main()

    assert left.value.code == 1
    assert running.content(client.database) == before
    assert len(spool.waiting()) == 1
    assert len(_log()) == 1


@pytest.mark.slow
def test_worker_empties_the_wal(client: Client) -> None:
    client.enqueue()
    assert client.database.with_name("playbook.db-wal").stat().st_size

    worker.run(settings.database_url())

    wal = client.database.with_name("playbook.db-wal")
    assert not wal.exists() or wal.stat().st_size == 0  # else the next hook reads it back, page by page
    with closing(sqlite3.connect(f"file:{client.database}?immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (1,)


def test_backup_is_made_once_a_day(client: Client) -> None:
    spool.keep(_job(client.folder))

    worker.run(settings.database_url())
    spool.keep(_job(client.folder, "/t/later.jsonl"))
    worker.run(settings.database_url())

    (backup,) = list_backups(str(client.database))
    assert backup.kind == "daily"
    with closing(sqlite3.connect(backup.path)) as connection:
        assert connection.execute("SELECT state FROM jobs").fetchall() == [("done",)]


def test_failed_backup_stops_no_learning(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    spool.keep(_job(client.folder))
    monkeypatch.setattr(maintenance, "take_daily", fail)

    assert worker.run(settings.database_url()) == WorkResult(spooled=1, learned=1)
    assert "no backup was made: [Errno 28] No space left on device" in _log()[-1]


def test_variable_disables_the_worker(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.keep(_job(client.folder))
    monkeypatch.setenv("PLAYBOOK_DISABLE", "1")

    worker.main()

    assert len(spool.waiting()) == 1


def test_missing_database_is_not_recreated(client: Client) -> None:
    """Jobs wait in the spool until the backup is restored."""
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
