"""Backups, and how one is restored over any file, even while others use it."""

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.errors import DatabaseBusyError, DatabaseError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, find_membership, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import open_store
from playbook_db.store.sqlite import restore
from playbook_db.store.sqlite.backups import Backup, list_backups
from playbook_db.store.sqlite_open import SCHEMA
from playbook_db.store.team import memberships
from playbook_db.store.upkeep import database_file

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]  # databases of many states


@pytest.fixture
def url(project: Project) -> str:
    """A database with one point, open elsewhere."""
    edit.add(project, "use type hints")
    return f"sqlite:///{project.store.where}"


def _texts(project: Project) -> list[str]:
    return [point.text for point in read_playbook(project).points]


def _restore(url: str, file: str) -> maintenance.Replaced:
    with maintenance.candidate(url, file) as chosen:
        return maintenance.put_back(chosen)


def _kinds(path: str) -> list[str]:
    return [each.kind for each in list_backups(path)]


def test_backup_reports_its_content(url: str, project: Project) -> None:
    target = f"{project.folder}/copy.db"

    by_default, chosen = maintenance.take(url), maintenance.take(url, target)

    assert os.path.dirname(by_default.path) == os.path.join(os.path.dirname(project.store.where), "backups")
    assert chosen.path == target
    for taken in (by_default, chosen):
        assert [(held.key, held.revision, held.points) for held in taken.holds] == [(project.key, 1, 1)]
        assert taken.size_bytes == os.path.getsize(taken.path)


def test_backup_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="There is no database"):
        maintenance.take(f"sqlite:///{tmp_path / 'nothing.db'}")

    assert not list(tmp_path.glob("*.db"))
    assert not (tmp_path / "backups").exists()


def _set_age(taken: Backup | None, age: timedelta) -> None:
    assert taken is not None
    time = datetime.now(UTC) - age
    os.rename(taken.path, Path(taken.path).with_name(f"playbook-{time:%Y%m%dT%H%M%SZ}.daily.db"))


def test_daily_backup_is_taken_once_a_day(url: str, project: Project) -> None:
    maintenance.take(url)

    first = maintenance.take_daily(url)
    assert maintenance.take_daily(url) is None
    _set_age(first, timedelta(hours=23))
    assert maintenance.take_daily(url) is None
    _set_age(list_backups(project.store.where)[-1], timedelta(hours=25))
    second = maintenance.take_daily(url)
    _set_age(second, -timedelta(days=300))
    assert maintenance.take_daily(url) is not None

    assert sorted(_kinds(project.store.where)) == ["daily", "daily", "daily", "hand"]


def test_unchanged_database_needs_no_daily_backup(url: str, project: Project) -> None:
    project.store.tidy()
    _set_age(maintenance.take_daily(url), timedelta(days=7, minutes=1))
    before = (datetime.now(UTC) - timedelta(days=8)).timestamp()
    os.utime(project.store.where, (before, before))

    assert maintenance.take_daily(url) is None
    edit.add(project, "prefer pathlib")
    assert maintenance.take_daily(url) is not None


def test_restore_works_under_open_connections(url: str, project: Project) -> None:
    """The database from before is kept as a backup."""
    taken = maintenance.take(url)
    for number in range(60):
        edit.add(project, f"lesson {number} {'x' * 200}")

    with project.store.snapshot() as reading:
        query = "SELECT count(*) FROM key_points"
        assert reading.exec_driver_sql(query).scalar() == 61
        restored = _restore(url, taken.path)
        assert reading.exec_driver_sql(query).scalar() == 61

    assert _texts(project) == ["use type hints"]
    edit.add(project, "after")
    assert maintenance.check(project.store) == []
    assert restored.backup is not None
    assert _kinds(project.store.where) == ["before-restore", "hand"]
    assert os.stat(project.store.where).st_mode & 0o777 == 0o600
    _restore(url, restored.backup)
    assert len(_texts(project)) == 61


def test_backup_with_another_page_size_is_restored(url: str, project: Project) -> None:
    taken = maintenance.take(url)
    with closing(sqlite3.connect(taken.path)) as connection:
        connection.executescript("PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM")
    edit.add(project, "prefer pathlib")

    _restore(url, taken.path)

    assert _texts(project) == ["use type hints"]
    assert maintenance.check(project.store) == []


def test_restore_changes_no_membership(url: str, project: Project) -> None:
    before = maintenance.take(url)
    with project.store.write(project.key) as book:
        memberships.join(book, "postgresql://127.0.0.1:9/playbooks", "github.com/org/shop")
    joined = maintenance.take(url)

    _restore(url, before.path)
    assert find_membership(project) is not None

    with project.store.write(project.key) as book:
        memberships.leave(book)
    _restore(url, joined.path)
    assert find_membership(project) is None


@pytest.mark.nightly
def test_concurrent_writes_are_kept_in_a_backup(url: str, project: Project) -> None:
    taken = maintenance.take(url)
    committed: list[str] = []
    stop = threading.Event()

    def write() -> None:
        with open_store(url) as store:
            while not stop.is_set():
                edit.add(Project.in_folder(store, project.folder), text := f"lesson {len(committed)}")
                committed.append(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        kept = [_restore(url, taken.path).backup for _ in range(20)]
    finally:
        stop.set()
        writer.join()

    texts = set(_texts(project))
    for copy in kept:
        with closing(sqlite3.connect(str(copy))) as connection:
            texts |= {text for (text,) in connection.execute("SELECT text FROM live_key_points")}
    assert committed
    assert texts == {"use type hints", *committed}


@pytest.mark.parametrize("is_there", [True, False])
def test_older_backup_is_migrated_first(url: str, project: Project, tmp_path: Path, is_there: bool) -> None:
    """The backup itself stays as it is."""
    frozen, file = Path(__file__).parents[1] / "frozen" / "0001.db", tmp_path / "older.db"
    shutil.copy(frozen, file)
    place = project.store.where if is_there else str(tmp_path / "new" / "playbook.db")

    _restore(f"sqlite:///{place}", str(file))

    with open_store(f"sqlite:///{place}") as store:
        assert maintenance.check(store) == []
    assert file.read_bytes() == frozen.read_bytes()
    assert _kinds(place) == (["before-restore"] if is_there else [])


def _newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")


def _foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")


def _torn(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096 * 3 : 4096 * 20] = b"\xa5" * (4096 * 17)
    file.write_bytes(data)


def _unindexed(file: Path) -> None:
    """An index that misses a row, which a quick check doesn't see."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'ix_key_points_live'").fetchone()
        connection.execute(
            "UPDATE sqlite_master SET sql = ? WHERE name = 'ix_key_points_live'",
            (sql.replace("retired_in IS NULL", "retired_in IS NOT NULL"),),
        )
        connection.commit()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (Path.unlink, "There is no backup .*playbook backup --list"),
        (lambda file: file.write_text("dear diary " * 999), "is damaged or not an SQLite database"),
        (lambda file: file.write_bytes(b""), "is not a playbook database"),
        (_torn, "is damaged"),
        (_unindexed, "is damaged"),
        (_foreign, "is not a playbook database"),
        (_newer, "git pull"),
    ],
    ids=["missing", "text", "empty", "torn", "unindexed", "foreign", "newer"],
)
def test_bad_backups_are_refused_and_change_nothing(
    url: str, project: Project, tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    file = tmp_path / "copy.db"
    maintenance.take(url, str(file))
    spoil(file)
    files = [path for path in (file, *(Path(project.store.where + suffix) for suffix in ("", "-wal"))) if path.exists()]
    before = [path.read_bytes() for path in files]

    with pytest.raises(DatabaseError, match=message):
        _restore(url, str(file))

    assert [path.read_bytes() for path in files] == before
    assert list((tmp_path / "backups").glob("*")) == []


@pytest.mark.parametrize("is_newer", [True, False])
def test_foreign_databases_are_not_replaced(url: str, project: Project, tmp_path: Path, is_newer: bool) -> None:
    taken = maintenance.take(url)
    path = tmp_path / "theirs.db"
    shutil.copy(taken.path, path)
    (_newer if is_newer else _foreign)(path)
    before = path.read_bytes()

    with pytest.raises(DatabaseError, match="git pull" if is_newer else "another program"):
        _restore(f"sqlite:///{path}", taken.path)

    assert path.read_bytes() == before


def test_restore_works_without_a_database(url: str, project: Project, tmp_path: Path) -> None:
    """A leftover log is moved aside."""
    taken = maintenance.take(url)
    lost = tmp_path / "lost"
    lost.mkdir()
    edit.add(project, "only in the log")
    shutil.copy(f"{project.store.where}-wal", lost / "playbook.db-wal")

    restored = _restore(f"sqlite:///{lost / 'playbook.db'}", taken.path)

    with open_store(f"sqlite:///{lost / 'playbook.db'}") as store:
        assert _texts(Project.in_folder(store, project.folder)) == ["use type hints"]
    (aside,) = restored.aside
    assert aside.endswith("-wal")
    assert Path(aside).read_bytes() == Path(f"{project.store.where}-wal").read_bytes()
    assert os.stat(lost / "playbook.db").st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "damage",
    [_torn, lambda path: path.write_bytes(b"dear diary " * 999), lambda path: path.write_bytes(b"")],
    ids=["torn", "text", "empty"],
)
def test_damaged_database_is_moved_aside(
    url: str, project: Project, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """Its log goes with it."""
    taken = maintenance.take(url)
    path = Path(shutil.copy(taken.path, tmp_path / "damaged.db"))
    damage(path)
    Path(f"{path}-wal").write_bytes(b"")
    before = path.read_bytes()

    restored = _restore(f"sqlite:///{path}", taken.path)

    main = restored.aside[0]
    assert Path(main).read_bytes() == before
    assert f"{main}-wal" in restored.aside
    with open_store(f"sqlite:///{path}") as store:
        assert _texts(Project.in_folder(store, project.folder)) == ["use type hints"]


def test_restore_needs_the_write_lock(url: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = maintenance.take(url)
    edit.add(project, "prefer pathlib")
    with closing(sqlite3.connect(project.store.where, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.1)
        with pytest.raises(DatabaseBusyError):
            _restore(url, taken.path)

    assert len(_texts(project)) == 2
    assert _kinds(project.store.where) == ["hand"]


def test_restore_needs_a_backup_of_the_database(url: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = maintenance.take(url)
    edit.add(project, "prefer pathlib")

    def fail(*_: object, **__: object) -> None:
        raise DatabaseError("no room")

    monkeypatch.setattr("playbook_db.store.sqlite.backups.take", fail)
    with pytest.raises(DatabaseError, match="no room"):
        _restore(url, taken.path)

    assert len(_texts(project)) == 2
    assert maintenance.check(project.store) == []
    edit.add(project, "and others can write on")


def _backup_before_the_mirror(url: str, project: Project) -> Backup:
    """A backup; then a point is added, which the mirror has, too."""
    mirror.switch(project, on=True)
    taken = maintenance.take(url)
    edit.add(project, "prefer pathlib")
    mirror.sync(project)
    assert "pathlib" in Path(project.mirror_path).read_text(encoding="utf-8")
    return taken


def _assert_nothing_came_back(project: Project) -> None:
    for _ in range(2):
        assert "pathlib" not in Path(project.mirror_path).read_text(encoding="utf-8")
        assert _texts(project) == ["use type hints"]
        mirror.sync(project)


def test_mirror_in_step_follows_a_restore(url: str, project: Project) -> None:
    taken = _backup_before_the_mirror(url, project)

    _restore(url, taken.path)

    _assert_nothing_came_back(project)


def test_killed_restore_brings_nothing_back(url: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = _backup_before_the_mirror(url, project)

    def swap_and_die(*given: Any, **options: Any) -> None:
        put_in_place(*given, **options)
        raise KeyboardInterrupt

    put_in_place = restore.put_in_place
    monkeypatch.setattr(database_file, "put_in_place", swap_and_die)
    with pytest.raises(KeyboardInterrupt):
        _restore(url, taken.path)

    mirror.sync(project)
    _assert_nothing_came_back(project)


def test_edited_mirror_is_merged_after_a_restore(url: str, project: Project) -> None:
    """No vote counts twice."""
    edit.vote(project, "oth-001", "helpful")
    mirror.switch(project, on=True)
    taken = maintenance.take(url)
    edit.vote(project, "oth-001", "helpful")
    edit.add(project, "prefer pathlib")
    mirror.sync(project)
    with open(project.mirror_path, "a", encoding="utf-8") as file:
        file.write("\n")

    _restore(url, taken.path)
    assert _texts(project) == ["use type hints"]
    mirror.sync(project)

    assert [(point.text, point.helpful) for point in read_playbook(project).points] == [
        ("use type hints", 2), ("prefer pathlib", 0),
    ]  # fmt: skip
