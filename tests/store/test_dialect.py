"""What only one kind of database does stands behind the dialect, and errors of SQLite become ours in one place."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import playbook_db
from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError, OtherProgramError, SettingError
from playbook_db.store import urls
from playbook_db.store.connect import dialect_for
from playbook_db.store.sqlite import sqlite_files
from playbook_db.store.sqlite.sqlite_dialect import SqliteDialect
from playbook_db.store.sqlite.sqlite_files import open_file
from playbook_db.store.sqlite_open import SCHEMA
from tests.databases import put_empty_database

pytestmark = pytest.mark.postgres

PACKAGE = Path(playbook_db.__file__).parent


@pytest.mark.parametrize("url", ["nonsense://x", "sqlite+nothing:///x", "://"])
def test_bad_url_is_refused(url: str) -> None:
    with pytest.raises(SettingError, match="is not a database"):
        dialect_for(url)


def test_missing_driver_is_named_with_its_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urls, "find_spec", lambda _: None)

    with pytest.raises(SettingError, match=r"^A database on PostgreSQL needs psycopg, .*'\.\[postgres\]'") as told:
        dialect_for("postgresql://me:secret@host/db")

    assert "secret" not in str(told.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(DatabaseError, match="is neither an SQLite file nor a PostgreSQL database"):
        dialect_for(url)


def _make(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a)")


@pytest.mark.parametrize("access", ["read", "at rest", "check"])
def test_readers_can_not_write(tmp_path: Path, access: sqlite_files.Access) -> None:
    """Opening creates no file."""
    path = tmp_path / "x.db"
    with pytest.raises(DatabaseError, match=r"x\.db can't be opened: unable to open"):
        open_file(str(path), access)
    _make(path)

    with closing(open_file(str(path), access)) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("INSERT INTO t VALUES (1)")

    assert [file.name for file in tmp_path.glob("x*")] == ["x.db"]


def test_missing_file_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="can't be opened"):
        open_file(str(tmp_path / "x.db"), "write")

    assert not list(tmp_path.glob("x*"))


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
        (lambda _: _raise(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")), DamagedError, "is damaged"),
        (lambda _: _raise(OSError(28, "No space left on device")), DatabaseError, "X can't be copied: No space left"),
        (
            lambda path: _statement(path, "ATTACH 'file:/no/where' AS x"),
            DatabaseError,
            r"X can't be copied: .* Sorry\.",
        ),
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
