"""Making, migrating and refusing databases."""

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from playbook_db.errors import DatabaseError, SchemaTooNewError, SchemaTooOldError
from playbook_db.services import editing
from playbook_db.services.project import Project
from playbook_db.store import upgrade
from playbook_db.store.engine import open_store

_NEXT_MIGRATION = '''
"""A column more; the points that are there get an empty one."""
import sqlalchemy as sa
from alembic import op
revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

def upgrade() -> None:
    op.add_column("key_points", sa.Column("note", sa.Text))
    {then}
'''


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The code as it will be one migration later; the migration's file."""
    folder = tmp_path / "migrations"
    shutil.copytree(upgrade.migrations_folder(), folder)
    monkeypatch.setattr(upgrade, "migrations_folder", lambda: str(folder))
    monkeypatch.setattr(upgrade, "SCHEMA", 2)
    return folder / "versions" / "0002_note.py"


def _version(path: Path) -> int:
    connection = sqlite3.connect(path)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(version)


def _an_old_database(path: Path, folder: Path) -> None:
    with open_store(f"sqlite:///{path}") as store:
        editing.add(Project(store, str(folder)), "use type hints")


def test_an_older_database_is_upgraded_after_a_backup_beside_it(
    tmp_path: Path, folder: Path, request: pytest.FixtureRequest
) -> None:
    """The points are there afterwards, the version is told in the file, and the backup holds the old schema."""
    path = tmp_path / "playbook.db"
    _an_old_database(path, folder)
    request.getfixturevalue("next_version").write_text(_NEXT_MIGRATION.format(then="pass"))

    backup = upgrade.ensure_current(f"sqlite:///{path}")

    assert backup is not None
    assert Path(backup).parent == path.parent
    assert (_version(path), _version(Path(backup))) == (2, 1)
    for file in (path, Path(backup)):
        connection = sqlite3.connect(file)
        assert connection.execute("SELECT text FROM live_key_points").fetchall() == [("use type hints",)]
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute("DELETE FROM changes")
        connection.close()


def test_a_migration_that_fails_leaves_the_database_as_it_was(
    tmp_path: Path, folder: Path, request: pytest.FixtureRequest
) -> None:
    """A migration is one transaction: its schema, its views and its triggers come together or not at all."""
    path = tmp_path / "playbook.db"
    _an_old_database(path, folder)
    request.getfixturevalue("next_version").write_text(_NEXT_MIGRATION.format(then="raise ZeroDivisionError"))

    with pytest.raises(ZeroDivisionError):
        upgrade.ensure_current(f"sqlite:///{path}")

    connection = sqlite3.connect(path)
    assert _version(path) == 1
    assert "note" not in [row[1] for row in connection.execute("PRAGMA table_info(key_points)")]
    assert connection.execute("SELECT text FROM live_key_points").fetchall() == [("use type hints",)]
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("DELETE FROM changes")
    connection.close()


def test_a_database_newer_than_the_code_is_refused_and_untouched(tmp_path: Path, folder: Path) -> None:
    """An older playbook-db must not write what it doesn't understand."""
    path = tmp_path / "playbook.db"
    _an_old_database(path, folder)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(SchemaTooNewError, match=r"schema 0099.*knows 0001.*pip install --upgrade"):
        open_store(f"sqlite:///{path}")

    assert path.read_bytes() == before


def test_where_migrating_is_not_wanted_an_older_database_is_told(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names both versions and the command that helps."""
    path = tmp_path / "playbook.db"
    _an_old_database(path, folder)
    monkeypatch.setattr(upgrade, "SCHEMA", 2)

    with pytest.raises(SchemaTooOldError, match=r"schema 0001.*needs 0002.*playbook db upgrade"):
        upgrade.require_current(f"sqlite:///{path}")


def test_a_file_that_is_no_database_is_refused_and_untouched(tmp_path: Path) -> None:
    """Nothing is ever written into a file that we don't understand."""
    path = tmp_path / "notes.txt"
    path.write_text("dear diary " * 1000)

    with pytest.raises(DatabaseError, match=r"notes.txt is damaged or no SQLite database"):
        open_store(f"sqlite:///{path}")

    assert path.read_text() == "dear diary " * 1000


def test_the_database_of_another_program_is_refused_and_untouched(tmp_path: Path) -> None:
    """An SQLite file with tables of its own is somebody else's."""
    path = tmp_path / "firefox.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(DatabaseError, match="another program"):
        open_store(f"sqlite:///{path}")

    assert path.read_bytes() == before


def test_eight_processes_that_open_a_new_database_at_once_make_one(tmp_path: Path) -> None:
    """The first makes it, the others wait; each then adds its point."""
    path = tmp_path / "playbook.db"
    script = (
        "import sys; from playbook_db.services import editing; from playbook_db.services.project import Project\n"
        "from playbook_db.store.engine import open_store\n"
        f"with open_store('sqlite:///{path}') as store: editing.add(Project(store, {str(tmp_path)!r}), sys.argv[1])\n"
    )

    running = [
        subprocess.Popen([sys.executable, "-c", script, f"lesson number {number}"], stderr=subprocess.PIPE)
        for number in range(8)
    ]

    assert [(child.communicate()[1], child.returncode) for child in running] == [(b"", 0)] * 8
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*), count(DISTINCT name) FROM live_key_points").fetchone() == (8, 8)
    connection.close()
