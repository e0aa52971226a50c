"""Transactions: all or nothing, and no update lost between threads and processes."""

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest
from filelock import FileLock
from sqlalchemy import text

from playbook_db import settings
from playbook_db.errors import ConflictError, DatabaseBusyError, DatabaseError
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store import engine, sqlite_open
from playbook_db.store.engine import Store, open_store
from playbook_db.store.sqlite import sqlite_dialect, sqlite_files
from tests.databases import put_empty_database


@pytest.mark.postgres
def test_exception_rolls_the_transaction_back(project: Project) -> None:
    edit.add(project, "use type hints")
    before = read_playbook(project)

    def fail_half_way() -> None:
        with project.store.write(project.key) as book:
            book.draft.retire("oth-001")
            book.commit("edit", "half done")
            book.connection.exec_driver_sql("UPDATE key_points SET text = 'half done'")
            raise RuntimeError("anything")

    with pytest.raises(RuntimeError, match="anything"):
        fail_half_way()

    assert read_playbook(project) == before


@pytest.mark.postgres
def test_threads_lose_no_vote(project: Project) -> None:
    edit.add(project, "use type hints")
    threads = [
        threading.Thread(target=lambda: [edit.vote(project, "oth-001", "helpful") for _ in range(10)]) for _ in range(6)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert read_playbook(project).by_name["oth-001"].helpful == 60


@pytest.mark.postgres
def test_wait_for_a_lock_ends_with_an_error(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.05)
    edit.add(project, "use ruff")

    with (
        project.store.write(project.key),
        open_store(str(project.store.url)) as impatient,
        pytest.raises(
            DatabaseBusyError, match=r"locked by another process.*Nothing was changed; run the command again"
        ),
    ):
        edit.add(Project.in_folder(impatient, project.folder), "use type hints")


@pytest.mark.postgres
def test_reader_sees_one_snapshot(store: Store, folder: Path) -> None:
    project = Project.in_folder(store, str(folder))
    edit.add(project, "use type hints")

    with store.read(project.key) as book:
        before = book.playbook()
        edit.add(project, "prefer pathlib")

        assert book.playbook() == before
    assert len(read_playbook(project).points) == 2


@pytest.mark.sqlite
def test_long_log_is_written_into_the_file(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Path(f"{project.store.where}-wal")
    for number in range(20):
        edit.add(project, f"lesson {number}")
    grown = log.stat().st_size
    monkeypatch.setattr(engine, "WAL_CHECKPOINT_BYTES", grown)

    edit.add(project, "one more")

    assert grown > 0
    assert log.stat().st_size < grown
    monkeypatch.setattr(engine, "WAL_CHECKPOINT_BYTES", 1)
    with FileLock(f"{project.store.where}.checkpoint.lock"):
        edit.add(project, "while another process does it")


def test_lasting_conflict_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_WAITS_S", (0, 0))
    use_case = Mock(side_effect=ConflictError("here"), __name__="use_case")

    with pytest.raises(ConflictError):
        engine.retry_on_conflict(use_case)()

    assert use_case.call_count == 3


def test_named_pipe_beside_the_file_is_refused(tmp_path: Path) -> None:
    """SQLite, and so each hook, would wait for somebody to write into the pipe."""
    path = tmp_path / "playbook.db"
    put_empty_database(path)
    os.mkfifo(f"{path}-wal")

    with pytest.raises(DatabaseError, match=r"playbook\.db-wal is not a regular file"):
        open_store(f"sqlite:///{path}")
    with pytest.raises(sqlite_open.UnusableError, match=r"playbook\.db-wal is not a regular file"):
        sqlite_open.connect(str(path), wait_s=0)


def test_store_writes_again_after_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that was opened to read only isn't kept."""
    path = tmp_path / "playbook.db"
    put_empty_database(path)

    def refuse(path: str, access: sqlite_files.Access) -> sqlite3.Connection:
        if access == "write":
            raise DatabaseError("its disk is full")
        return sqlite_files._open(path, "mode=ro&immutable=1", 0)

    count = text("SELECT count(*) FROM playbooks")
    with open_store(f"sqlite:///{path}") as store:
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_dialect, "open_file", refuse)
            with store.snapshot() as connection:
                assert connection.scalar(count) == 0
            with pytest.raises(DatabaseError, match="can't be used"), store.write("/a/project"):
                pass
        with store.write("/a/project"):
            pass

        with store.snapshot() as connection:
            assert connection.scalar(count) == 1


_ANOTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM playbooks").fetchone()
connection.close()
"""


@pytest.mark.slow
def test_second_store_keeps_the_first_ones_locks(tmp_path: Path) -> None:
    """Otherwise another process that closes its connection would delete the log."""
    path = tmp_path / "playbook.db"
    with open_store(f"sqlite:///{path}") as first, first.write("/p") as book:
        book.set_ignored(True)
    with open_store(f"sqlite:///{path}") as first:
        with first.write("/p") as book:
            book.set_ignored(False)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with open_store(f"sqlite:///{path}"):
            pass

        subprocess.run([sys.executable, "-c", _ANOTHER, str(path)], check=True)

        assert path.with_name("playbook.db-wal").exists()
