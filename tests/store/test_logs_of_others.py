"""A database file beside the write-ahead log of another one."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from playbook_db.store import sqlite_open
from playbook_db.store.sqlite_open import UnusableError, require_own_log


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file with a log, as a killed program leaves them, and `former.db`, the file without the log."""
    path, live = tmp_path / "playbook.db", tmp_path / "live.db"
    with sqlite3.connect(live) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE points (text)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(live, tmp_path / "former.db")
        connection.execute("INSERT INTO points VALUES ('use uv')")
        connection.commit()
        shutil.copy(live, path)
        shutil.copy(f"{live}-wal", f"{path}-wal")
    connection.close()
    return path


def test_file_is_used_with_its_own_log(database: Path) -> None:
    """This holds after a checkpoint, too."""
    require_own_log(str(database))
    log = Path(f"{database}-wal").read_bytes()
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    Path(f"{database}-wal").write_bytes(log)
    os.utime(database, (9e9, 9e9))
    require_own_log(str(database))


@pytest.mark.parametrize("is_renamed", [False, True])
def test_other_file_beside_a_log_is_refused(database: Path, is_renamed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy can keep an old time, and a program can rename it into place."""
    monkeypatch.setattr(sqlite_open, "_TOGETHER_S", -1)  # as if it were put there a second later
    former = database.with_name("former.db")
    time = database.stat().st_mtime - 86_400
    os.utime(former, (time, time))
    if is_renamed:
        former.rename(database)
    else:
        shutil.copy2(former, database)

    with pytest.raises(UnusableError, match="was replaced beside a log of the former file"):
        require_own_log(str(database))


def test_file_with_new_mode_works_after_a_touch(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new mode looks like a new file."""
    log = Path(f"{database}-wal")
    monkeypatch.setattr(sqlite_open, "_TOGETHER_S", -1)
    database.chmod(0o640)

    with pytest.raises(UnusableError, match=f"If only the file's owner or mode was changed: touch {log}"):
        require_own_log(str(database))
    monkeypatch.undo()
    log.touch()
    require_own_log(str(database))
