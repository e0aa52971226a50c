"""Copies of the whole file: how they are named, what is in one, which of them go."""

import errno
import os
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from playbook_db.errors import DamagedError, DatabaseError
from playbook_db.services.playbook import edit, forget
from playbook_db.services.playbook.forget import Request
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.sqlite import backups
from playbook_db.store.sqlite.backups import BY_HAND, DAILY, Held, held_in, list_backups, take, take_to
from playbook_db.store.sqlite_open import newest_backup

pytestmark = pytest.mark.sqlite

_NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)


@pytest.fixture
def path(project: Project) -> str:
    """A database with one point, open elsewhere."""
    edit.add(project, "use type hints")
    return project.store.where


def _names(path: str) -> list[str]:
    folder = Path(backups.folder_of(path))
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_backup_is_one_file_for_its_owner(path: str) -> None:
    """It also holds what only the write-ahead log has so far."""
    taken = take(path, BY_HAND, now=_NOW)

    assert os.path.getsize(f"{path}-wal") > 0
    assert _names(path) == ["playbook-20261121T101500Z.db"]
    assert (os.stat(taken.path).st_mode & 0o777, os.stat(os.path.dirname(taken.path)).st_mode & 0o777) == (0o600, 0o700)
    with closing(sqlite3.connect(f"file:{taken.path}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT text FROM live_key_points").fetchall() == [("use type hints",)]
    assert _names(path) == ["playbook-20261121T101500Z.db"]


def test_text_forgotten_during_a_backup_is_not_in_it(
    project: Project, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erasure can't find a backup that isn't finished."""
    real = backups.place

    def place(partial: str, names: Iterable[str]) -> str:
        monkeypatch.setattr(backups, "place", real)
        forget.forget(project, Request(name="oth-001"))
        return real(partial, names)

    monkeypatch.setattr(backups, "place", place)

    taken = take(path, DAILY, now=_NOW)

    assert b"use type hints" not in Path(taken.path).read_bytes()
    assert _names(path) == [os.path.basename(taken.path)]


def test_content_is_read_without_a_write(path: str, folder: Path) -> None:
    taken = take(path, BY_HAND, now=_NOW)
    before = os.stat(taken.path)

    assert held_in(taken.path) == [Held(str(folder), 1, 1)]
    assert os.stat(taken.path) == before


@pytest.mark.parametrize("has_links", [True, False])
def test_backups_of_one_second_have_different_names(
    path: str, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    """The list begins with the last one. Not all file systems have hard links."""
    if not has_links:
        monkeypatch.setattr(os, "link", Mock(side_effect=OSError(errno.EPERM, "not permitted")))
    taken = [take(path, BY_HAND, now=_NOW).path for _ in range(3)]

    assert [Path(each).name for each in taken] == [
        "playbook-20261121T101500Z.db",
        "playbook-20261121T101500Z-2.db",
        "playbook-20261121T101500Z-3.db",
    ]
    assert [found.path for found in list_backups(path)] == taken[::-1]


def test_list_has_only_backups_of_this_database(path: str) -> None:
    """A database of another name in the same folder has backups of its own."""
    hand, daily = take(path, BY_HAND, now=_NOW), take(path, DAILY, now=_NOW + timedelta(days=1))
    for other in ("playbook-2.db", "playbook-20261399T101500Z.db", "playbook-old-20261121T101500Z.db", "notes.txt"):
        shutil.copy(hand.path, Path(hand.path).with_name(other))

    assert list_backups(path) == [daily, hand]
    assert [Path(each.path).name for each in list_backups(str(Path(path).with_name("playbook-old.db")))] == [
        "playbook-old-20261121T101500Z.db"
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("there.db", "exists already, and was not overwritten"),
        ("link.db", "exists already"),
        ("no/such/folder.db", r"There is no folder .*no/such. Create it"),
    ],
)
def test_no_file_is_overwritten(path: str, tmp_path: Path, target: str, message: str) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "there.db").write_text("mine")
    (place / "link.db").symlink_to(place / "nowhere")
    before = sorted(os.listdir(place))

    with pytest.raises(DatabaseError, match=message):
        take_to(path, str(place / target))

    assert sorted(os.listdir(place)) == before
    assert (place / "there.db").read_text() == "mine"


def test_full_disk_leaves_no_file(path: str, tmp_path: Path) -> None:
    """A limit on the size of files has the same effect."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, was[1]))
    try:
        with pytest.raises(DatabaseError, match=r"playbook.db can't be copied: .*No backup was made"):
            take_to(path, str(place / "full.db"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)

    assert os.listdir(place) == []


def _torn(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


def _with_a_bad_row(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE key_points SET helpful = -1")


@pytest.mark.parametrize("spoil", [_torn, _with_a_bad_row])
def test_damaged_database_is_not_backed_up(path: str, spoil: Callable[[Path], None]) -> None:
    """The copy fails, or isn't sound."""
    broken = Path(path).with_name("broken.db")
    shutil.copy(take(path, BY_HAND, now=_NOW).path, broken)
    spoil(broken)
    data = broken.read_bytes()

    with pytest.raises(DamagedError, match="playbook db repair"):
        take(str(broken), BY_HAND, now=_NOW)

    assert broken.read_bytes() == data
    assert _names(path) == ["playbook-20261121T101500Z.db"]


def test_rotation_keeps_backups_that_people_made(path: str) -> None:
    then = _NOW - timedelta(days=365)
    first = take(path, BY_HAND, now=then).path
    kinds = {"": 40, ".before-restore": 40, ".daily": 11, ".schema-0002": 3}
    for day in range(1, 40):
        for kind in kinds:
            os.link(first, Path(first).with_name(f"playbook-{then + timedelta(days=day):%Y%m%dT%H%M%SZ}{kind}.db"))
    os.link(first, Path(first).with_name("playbook-20251121T101500Z.before-restore.db"))

    backups.rotate(path)

    left = [each.kind for each in list_backups(path)]
    assert {kind: left.count(kind.lstrip(".") or BY_HAND) for kind in kinds} == kinds
    newest = f"{then + timedelta(days=39):%Y%m%d}"
    assert max(each.time for each in list_backups(path) if each.kind == "schema-0002").strftime("%Y%m%d") == newest


def test_empty_backups_never_replace_full_ones(path: str, tmp_path: Path) -> None:
    """Empty and unreadable backups rotate among themselves."""
    good = [take(path, kind, now=_NOW - timedelta(days=40)).path for kind in (DAILY, "schema-0001")]
    with open_store(f"sqlite:///{tmp_path / 'new.db'}"):
        empty = take(str(tmp_path / "new.db"), BY_HAND, now=_NOW).path
    for day in range(40):
        for kind in ("daily", "schema-0001"):
            os.link(empty, Path(good[0]).with_name(f"playbook-{_NOW + timedelta(days=day):%Y%m%dT%H%M%SZ}.{kind}.db"))
    Path(good[0]).with_name("playbook-20300101T000000Z.daily.db").write_text("no database")

    backups.rotate(path)

    left = [each.kind for each in list_backups(path)]
    assert (left.count("daily"), left.count("schema-0001")) == (11 + 1, 3 + 1)
    assert all(map(os.path.exists, good))


def test_newest_is_found_by_its_name(path: str) -> None:
    """Hooks can't open backups."""
    assert newest_backup(path) is None
    for day in (1, 3, 2):
        take(path, (BY_HAND, DAILY, "schema-0001")[day - 1], now=_NOW + timedelta(days=day))
    Path(backups.folder_of(path), "playbook-old.db").touch()
    Path(backups.folder_of(path), "playbook-2-20300101T000000Z.db").touch()

    assert newest_backup(path) == list_backups(path)[0].path


def test_unfinished_files_are_deleted_after_a_day(path: str) -> None:
    """Until then the backup may still be running."""
    folder = Path(backups.make_folder(path))
    fresh, old = folder / ".playbook-x.partial", folder / ".playbook-y.partial"
    for file in (fresh, old):
        file.write_text("half")
    os.utime(old, (time.time() - 90_000,) * 2)

    assert sorted(backups.partials(path)) == [str(fresh), str(old)]
    backups.rotate(path)
    assert backups.partials(path) == [str(fresh)]
