"""URLs, files and errors of the two kinds of database."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError, OtherProgramError, SettingError
from playbook_db.store import urls
from playbook_db.store.connect import dialect_for
from playbook_db.store.sqlite import sqlite_files
from playbook_db.store.sqlite.sqlite_dialect import SqliteDialect
from playbook_db.store.sqlite.sqlite_files import open_file
from playbook_db.store.sqlite_open import SCHEMA
from tests.databases import put_empty_database


@pytest.mark.parametrize("url", ["nonsense://x", "://"])
def test_bad_url_is_refused(url: str) -> None:
    with pytest.raises(SettingError, match="is not a database"):
        dialect_for(url)


def test_missing_driver_is_named_with_its_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urls, "find_spec", lambda _: None)

    with pytest.raises(SettingError, match=r"^A database on PostgreSQL needs psycopg, .*'\.\[postgres\]'") as error:
        dialect_for("postgresql://me:secret@host/db")

    assert "secret" not in str(error.value)


def test_database_in_memory_is_refused() -> None:
    with pytest.raises(DatabaseError, match="is neither an SQLite file nor a PostgreSQL database"):
        dialect_for("sqlite:///:memory:")


def _make(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a)")


@pytest.mark.parametrize("access", ["read", "at rest", "check", "write"])
def test_opening_creates_no_file(tmp_path: Path, access: sqlite_files.Access) -> None:
    with pytest.raises(DatabaseError, match=r"x\.db can't be opened: unable to open"):
        open_file(str(tmp_path / "x.db"), access)

    assert not list(tmp_path.glob("x*"))


@pytest.mark.parametrize("access", ["read", "at rest", "check"])
def test_readers_can_not_write(tmp_path: Path, access: sqlite_files.Access) -> None:
    path = tmp_path / "x.db"
    _make(path)

    with closing(open_file(str(path), access)) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("INSERT INTO t VALUES (1)")

    assert [file.name for file in tmp_path.glob("x*")] == ["x.db"]


def _statement(path: Path, statement: str) -> None:
    with closing(open_file(str(path), "write", wait_s=0)) as connection:
        connection.execute(statement)


def _locked(path: Path) -> None:
    with closing(open_file(str(path), "write")) as other:
        other.execute("BEGIN IMMEDIATE")
        _statement(path, "BEGIN IMMEDIATE")


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("fail", "kind", "text"),
    [
        (_locked, DatabaseBusyError, "stayed locked by another process"),
        (lambda path: _statement(path, "SELECT * FROM points"), DamagedError, "no such table: points"),
        (lambda _: _raise(OSError(28, "No space left on device")), DatabaseError, "X can't be copied: No space left"),
    ],
)
def test_driver_errors_become_ours(
    tmp_path: Path, fail: Callable[[Path], None], kind: type[Exception], text: str
) -> None:
    path = tmp_path / "x.db"
    _make(path)
    explained = sqlite_files.explained("X", "can't be copied", end="Sorry.", of_files=True)

    with pytest.raises(kind, match=text), explained:
        fail(path)


def test_schema_version_of_each_kind_of_file(tmp_path: Path) -> None:
    """Reading the version creates no file."""
    path = tmp_path / "x.db"
    dialect = SqliteDialect(str(path))
    assert dialect.schema_version() is None
    dialect.prepare()
    assert dialect.schema_version() == 0
    _make(path)
    with pytest.raises(OtherProgramError):
        dialect.schema_version()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 12")
        connection.execute("PRAGMA application_id = 0x504C4244")
    assert dialect.schema_version() == 12
    os.truncate(path, 0)
    Path(f"{path}-wal").write_text("the log of a file that is gone")
    with pytest.raises(DamagedError, match="its log is not"):
        dialect.schema_version()


def test_version_in_the_log_is_read(tmp_path: Path) -> None:
    """The header of the file has an older version."""
    path = tmp_path / "playbook.db"
    put_empty_database(path)
    with closing(open_file(str(path), "write")) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")

        assert SqliteDialect(str(path)).schema_version() == SCHEMA + 1
