"""Repairing a damaged database: what is kept, and that nothing is overwritten."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from playbook_db import settings
from playbook_db.domain.playbook import KeyPoint
from playbook_db.errors import DatabaseBusyError, DatabaseError, SchemaError
from playbook_db.services import maintenance, repair
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store.sqlite import backups, sqlite_files
from tests.databases import fill_once

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]  # databases of many states
_PAGE = 4096


@pytest.fixture
def path(project: Project) -> Path:
    """A closed database file with a history."""
    project.store.close()
    fill_once("repair", Path(project.store.where), project.key, lambda: _live(project))
    return _closed(project)


def _live(project: Project) -> None:
    for number in range(1, 41):
        edit.add(project, f"advice {number} " + "and why it holds " * 8, section="pat")
    for number in range(1, 41, 3):
        edit.vote(project, f"pat-{number:03d}", "helpful")
    edit.edit(project, "pat-002", text="advice 2, reworded")
    edit.retire(project, "pat-004", reason="wrong")


def _closed(project: Project) -> Path:
    project.store.tidy()
    project.store.close()
    return Path(project.store.where)


def _points(project: Project) -> dict[str, KeyPoint]:
    return dict(read_playbook(project).by_name)


def _pages(path: Path, name: str) -> list[int]:
    """The numbers of the pages of a table."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT pageno, pagetype FROM dbstat WHERE name = ?", (name,)).fetchall()
    leaves = [number for number, kind in rows if kind == "leaf"]
    return leaves or [number for number, _ in rows]


def _zero(path: Path, *numbers: int) -> bytes:
    with path.open("rb+") as file:
        for number in numbers:
            file.seek((number - 1) * _PAGE)
            file.write(bytes(_PAGE))
    return path.read_bytes()


def _repair(path: Path, **options: Any) -> repair.Repaired:
    repaired = repair.repair(f"sqlite:///{path}", folder=os.environ["CLAUDE_PROJECT_DIR"], **options)
    assert options.get("dry_run") or not maintenance.check_database(f"sqlite:///{path}").problems
    return repaired


def _rows(path: Path, table: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return sorted(connection.execute(f"SELECT * FROM {table}"), key=repr)


def test_sound_database_is_left_alone(path: Path) -> None:
    before = path.read_bytes()

    assert not _repair(path).is_damaged
    assert path.read_bytes() == before
    assert not list(path.parent.glob("playbook.db.damaged*"))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "damage", ["heads SET live_points = live_points + 1", "key_points SET text = 'damaged' WHERE name = 'pat-007'"]
)
def test_rows_that_differ_from_history_are_corrected(path: Path, project: Project, damage: str) -> None:
    """A dry run reports the same, and changes nothing."""
    before, revisions = _points(project), _rows(path, "revisions")
    project.store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE {damage}")
        connection.commit()
    data = path.read_bytes()

    planned = _repair(path, dry_run=True)
    assert path.read_bytes() == data
    repaired = _repair(path)

    assert [each.key for each in planned.corrected] == [project.key]
    assert (repaired.corrected, repaired.aside) == (planned.corrected, None)
    assert _points(project) == before
    assert [row for row in _rows(path, "revisions") if row in revisions] == revisions


@pytest.mark.parametrize("damage", ["page", "empty", "zeros"])
def test_newest_sound_backup_replaces_a_damaged_file(path: Path, project: Project, damage: str) -> None:
    backup = backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    before = [_rows(path, table) for table in ("revisions", "changes", "key_points", "votes")]
    edit.add(project, "learned since the backup", section="pat")
    _closed(project)
    Path(f"{backup.path[:-3]}-broken.db").write_bytes(b"no database")
    if damage == "page":
        _zero(path, *_pages(path, "changes"))
    else:
        path.write_bytes(b"" if damage == "empty" else bytes(50_000))
    damaged = path.read_bytes()

    planned = _repair(path, dry_run=True)
    assert (path.read_bytes(), planned.aside) == (damaged, None)
    repaired = _repair(path)

    assert repaired.backup is not None
    assert planned.backup == repaired.backup
    assert repaired.backup.path == backup.path
    assert Path(repaired.aside or "").read_bytes() == damaged
    assert [_rows(path, table) for table in ("revisions", "changes", "key_points", "votes")] == before


@pytest.mark.nightly
@pytest.mark.parametrize("damage", ["page", "structure"])
def test_damaged_search_index_loses_no_point(path: Path, project: Project, damage: str) -> None:
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    edit.add(project, "learned since the backup", section="pat")
    before = _points(project)
    _closed(project)
    if damage == "page":
        _zero(path, *_pages(path, "point_search_data"))
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(
                "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'porter', 'x')"
            )

    repaired = _repair(path)

    assert (repaired.has_wrong_search, repaired.backup) == (True, None)
    assert _points(project) == before
    assert maintenance.check_database(f"sqlite:///{path}").problems == ()


@pytest.mark.nightly
def test_damaged_log_is_kept_with_its_file(path: Path, project: Project) -> None:
    edit.add(project, "in the log")
    data, logged = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    project.store.close()
    path.write_bytes(data[:16] + bytes(84) + data[100:])
    Path(f"{path}-wal").write_bytes(logged)
    damaged = path.read_bytes()

    repaired = _repair(path)

    assert repaired.aside is not None
    assert (Path(repaired.aside).read_bytes(), Path(f"{repaired.aside}-wal").read_bytes()) == (damaged, logged)
    assert "in the log" in {point.text for point in _points(project).values()}


@pytest.mark.nightly
def test_mirror_is_the_last_resort(path: Path, project: Project) -> None:
    """The user must consent to it, because the old consent is lost."""
    mirror.switch(project, on=True)
    before = _points(project)
    content = Path(project.mirror_path).read_bytes()
    _closed(project)
    path.write_bytes(b"\0" * 50_000)

    repaired = _repair(path)

    (message,) = repaired.mirrors
    assert message.startswith(f"{project.mirror_path} holds 39 key points")
    assert message.endswith("playbook init")
    assert (_points(project), mirror.state(project)) == ({}, "undecided")
    assert Path(project.mirror_path).read_bytes() == content
    mirror.accept(project)
    assert {(p.name, p.text, p.helpful) for p in _points(project).values()} == {
        (p.name, p.text, p.helpful) for p in before.values()
    }


def test_mirror_adds_what_the_backup_lacks(path: Path, project: Project) -> None:
    mirror.switch(project, on=True)
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    edit.vote(project, "pat-040", "helpful")
    edit.add(project, "learned since", section="pat")
    mirror.sync(project)
    before = {(p.name, p.text, p.helpful, p.harmful) for p in _points(project).values()}
    _closed(project)
    _zero(path, *_pages(path, "changes")[::2])

    repaired = _repair(path)
    mirror.sync(project)

    assert any("added" in note for note in repaired.mirrors)
    assert {(p.name, p.text, p.helpful, p.harmful) for p in _points(project).values()} == before


def test_killed_repair_can_be_repeated(path: Path, project: Project) -> None:
    edit.add(project, "in the log alone")
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    data, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    project.store.close()
    path.write_bytes(data[:16] + bytes(84) + data[100:])
    aside = f"{path}.damaged-20260101T000000Z"
    os.link(path, aside)
    Path(f"{aside}-wal").write_bytes(log)
    Path(f"{path}-wal").unlink(missing_ok=True)
    Path(f"{path}-shm").unlink(missing_ok=True)
    (path.parent / "playbook.db.repairing").mkdir()

    repaired = _repair(path)

    assert "in the log alone" in {point.text for point in _points(project).values()}
    assert repaired.aside is not None
    assert Path(f"{repaired.aside}-wal").read_bytes() == log
    assert not os.path.exists(aside)
    assert not (path.parent / "playbook.db.repairing").exists()


def test_file_that_changed_meanwhile_is_not_replaced(path: Path, tmp_path: Path) -> None:
    copied = sqlite_files.copy_to(str(path), str(tmp_path / "copy"))
    with path.open("ab") as file:
        file.write(b"more")
    (tmp_path / "new").write_bytes(b"new")

    swapped = sqlite_files.swap(str(tmp_path / "new"), str(path), now=datetime.now(UTC), copied=copied)

    assert swapped is None
    assert path.read_bytes().endswith(b"more")


@pytest.mark.nightly
def test_database_open_elsewhere_is_not_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT count(*) FROM votes').fetchall();"
        "print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    other.stdout.readline()
    backups.take(str(path), backups.BY_HAND, now=datetime.now(UTC))
    damaged = _zero(path, _pages_of_changes(path))
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.2)

    with pytest.raises(DatabaseBusyError):
        _repair(path)
    other.communicate("")

    assert path.read_bytes() == damaged
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 5.0)
    assert _repair(path).aside is not None


def _pages_of_changes(path: Path) -> int:
    """A page of the history, read from a copy: this process must not open the file."""
    copy = Path(f"{path}.copy")
    copy.write_bytes(path.read_bytes())
    found = _pages(copy, "changes")[0]
    copy.unlink()
    return found


def test_running_worker_prevents_a_repair(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = _zero(path, *_pages(path, "changes"))
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.1)
    os.makedirs(settings.data_dir(), exist_ok=True)

    with FileLock(settings.worker_lock()), pytest.raises(DatabaseError, match="The worker used"):
        _repair(path)

    assert path.read_bytes() == damaged


def test_foreign_and_newer_databases_are_refused(path: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "firefox.db"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA user_version = 99; UPDATE alembic_version SET version_num = '0099'")

    for file, error in ((foreign, DatabaseError), (path, SchemaError)):
        before = file.read_bytes()
        with pytest.raises(error):
            _repair(file)
        assert file.read_bytes() == before
