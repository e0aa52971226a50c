"""What only one kind of database does stands behind the dialect, and errors of SQLite become ours in one place."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import playbook_db
from playbook_db import settings
from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError, OtherProgramError, SettingError
from playbook_db.store import urls
from playbook_db.store.connect import dialect_for
from playbook_db.store.dialect import dialect_of
from playbook_db.store.engine import Store
from playbook_db.store.sqlite import sqlite_files
from playbook_db.store.sqlite.sqlite_dialect import SqliteDialect
from playbook_db.store.sqlite.sqlite_files import open_file
from playbook_db.store.sqlite_open import SCHEMA
from tests.databases import put_empty_database

pytestmark = pytest.mark.postgres

PACKAGE = Path(playbook_db.__file__).parent


def modules_with(*words: str) -> list[str]:
    """The modules of the package that have any of *words* in their code."""
    return sorted(
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if any(word in file.read_text(encoding="utf-8") for word in words)
    )


def test_sqlite_files_are_opened_in_one_place() -> None:
    """And by the hooks, which do without it."""
    assert modules_with("sqlite3.connect(\n") == ["store/sqlite/sqlite_files.py"]
    assert modules_with('sqlite3.connect(":memory:")') == ["store/sqlite/full_text.py"]  # no file
    assert modules_with(" sqlite.connect(") == ["store/sqlite_open.py"]
    assert (PACKAGE / "store" / "sqlite" / "sqlite_files.py").read_text(encoding="utf-8").count("sqlite3.connect") == 1


def test_nobody_asks_which_kind_of_database_it_is() -> None:
    """That is the dialect's to know; by the URL alone it is chosen."""
    assert modules_with("dialect.name", "dialect_name") == []
    assert modules_with("get_backend_name") == ["store/connect.py", "store/urls.py"]


@pytest.mark.slow
def test_no_other_database_is_in_memory(tmp_path: Path) -> None:
    """Its part of SQLAlchemy would cost each command more than all of ours; Alembic alone, which migrates, has it."""
    put_empty_database(tmp_path / "playbook.db")
    code = (
        "import sys; from playbook_db.services.playbook import edit\n"
        "from playbook_db.services.project import Project\n"
        "from playbook_db.store.engine import open_store\n"
        f"with open_store({f'sqlite:///{tmp_path}/playbook.db'!r}) as store:\n"
        "    edit.add(Project(store, '/work/harbour'), 'use type hints')\n"
        "print([name for name in sys.modules if 'postgres' in name or 'psycopg' in name])"
    )

    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)

    assert done.stdout == "[]\n"


@pytest.mark.parametrize("url", ["nonsense://x", "sqlite+nothing:///x", "://"])
def test_a_url_that_names_no_database_is_told(url: str) -> None:
    """Not a traceback but the value and what is wrong with it."""
    with pytest.raises(SettingError, match="is not a database"):
        dialect_for(url)


def test_a_driver_that_is_missing_is_told_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who keeps playbooks in a file need not have it."""
    monkeypatch.setattr(urls, "find_spec", lambda _: None)

    with pytest.raises(SettingError, match=r"^A database on PostgreSQL needs psycopg, .*'\.\[postgres\]'") as told:
        dialect_for("postgresql://me:secret@host/db")

    assert "secret" not in str(told.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(url: str) -> None:
    """It would be gone with the process."""
    with pytest.raises(DatabaseError, match="is neither an SQLite file nor a PostgreSQL database"):
        dialect_for(url)


def test_a_connection_knows_its_dialect(store: Store) -> None:
    """A reader's and a writer's."""
    with store.snapshot() as reader, store.transaction() as writer:
        assert dialect_of(reader) is dialect_of(writer)
        assert dialect_of(reader).where == store.where


def _make(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a)")


@pytest.mark.parametrize("access", ["read", "at rest", "check"])
def test_only_who_opens_to_write_can_write(tmp_path: Path, access: sqlite_files.Access) -> None:
    """And nobody makes a file by opening it."""
    path = tmp_path / "x.db"
    with pytest.raises(DatabaseError, match=r"x\.db can't be opened: unable to open"):
        open_file(str(path), access)
    _make(path)

    with closing(open_file(str(path), access)) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("INSERT INTO t VALUES (1)")

    assert [file.name for file in tmp_path.glob("x*")] == ["x.db"]


def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    """Who writes opens what is there; making it is another thing."""
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
def test_errors_of_the_driver_become_ours(
    tmp_path: Path, fail: Callable[[Path], None], kind: type[Exception], text: str
) -> None:
    """Each says what happened, to what, and how things stand."""
    path = tmp_path / "x.db"
    _make(path)
    explained = sqlite_files.explained("X", "can't be copied", end="Sorry.", of_files=True)

    with pytest.raises(kind, match=text), explained:
        fail(path)


@pytest.mark.parametrize(
    "error", [sqlite3.IntegrityError("x"), sqlite3.ProgrammingError("x"), OSError("x"), ZeroDivisionError()]
)
def test_bugs_stay_what_they_are(error: Exception) -> None:
    """Their traceback helps more than any words; and files that aren't the database's are none of its business."""
    with pytest.raises(type(error)), sqlite_files.explained("X"):
        raise error


def test_the_wait_for_a_lock_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the setting as it is when the wait begins."""
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.05)
    dialect = SqliteDialect(str(tmp_path / "x.db"))
    dialect.prepare()
    engine = dialect.make_engine()
    with engine.begin(), pytest.raises(DatabaseBusyError, match=r"for 0\.05 s"), engine.begin():
        pass
    engine.dispose()


def test_schema_version_tells_none_empty_ours_and_others_apart(tmp_path: Path) -> None:
    """Nothing is made by looking."""
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


def test_a_version_that_only_the_log_holds_is_seen(tmp_path: Path) -> None:
    """The file's own header is older then."""
    path = tmp_path / "playbook.db"
    put_empty_database(path)
    with closing(open_file(str(path), "write")) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")

        assert SqliteDialect(str(path)).schema_version() == SCHEMA + 1
