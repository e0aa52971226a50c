"""Backups by hand and daily, and putting one back, whatever is there and whoever has it open."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from benchmarks import samples
from playbook_db import projects, settings
from playbook_db.domain import playbook_file
from playbook_db.errors import DatabaseBusyError, DatabaseError, SchemaError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project, find_membership, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import open_store
from playbook_db.store.sqlite import restore
from playbook_db.store.sqlite.backups import Backup, list_backups
from playbook_db.store.sqlite_open import SCHEMA
from playbook_db.store.team import memberships
from playbook_db.store.upkeep import database_file

pytestmark = [pytest.mark.sqlite, pytest.mark.slow]  # databases of many states

_FROZEN = Path(__file__).parents[1] / "frozen"


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


def test_a_backup_tells_what_it_holds(url: str, project: Project) -> None:
    """By itself in backups/ beside the database, or where it is asked for."""
    target = Path(project.folder) / "copy.db"

    by_itself, asked = maintenance.take(url), maintenance.take(url, str(target))

    assert os.path.dirname(by_itself.path) == os.path.join(os.path.dirname(project.store.where), "backups")
    assert asked.path == str(target)
    for taken in (by_itself, asked):
        assert [(held.key, held.revision, held.points) for held in taken.holds] == [(project.key, 1, 1)]
        assert taken.size_bytes == os.path.getsize(taken.path)


@pytest.mark.parametrize("content", [None, b""])
def test_where_there_is_no_database_none_is_made(tmp_path: Path, content: bytes | None) -> None:
    """Nothing is backed up, nothing is left."""
    path = tmp_path / "nothing.db"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(DatabaseError, match="There is no database"):
        maintenance.take(f"sqlite:///{path}")

    assert path.exists() == (content is not None)
    assert not (tmp_path / "backups").exists()


def test_another_kind_of_database_is_refused_in_words() -> None:
    """Its password isn't shown."""
    with pytest.raises(DatabaseError, match=r"use the server's own backups\. Run: pg_dump") as told:
        maintenance.take("postgresql://me:secret@host/x")

    assert "secret" not in str(told.value)


def _put_off(taken: Backup | None, age: timedelta) -> None:
    """Let the daily backup *taken* be of that age."""
    assert taken is not None
    time = datetime.now(UTC) - age
    os.rename(taken.path, Path(taken.path).with_name(f"playbook-{time:%Y%m%dT%H%M%SZ}.daily.db"))


def test_the_daily_backup_is_taken_once_a_day(url: str, project: Project) -> None:
    """One by hand doesn't stand for it, and a clock that was wrong for a while doesn't stop it."""
    maintenance.take(url)

    first = maintenance.take_daily(url)
    assert maintenance.take_daily(url) is None
    _put_off(first, timedelta(hours=23))
    assert maintenance.take_daily(url) is None
    _put_off(list_backups(project.store.where)[-1], timedelta(hours=25))
    second = maintenance.take_daily(url)
    _put_off(second, -timedelta(days=300))
    assert maintenance.take_daily(url) is not None

    assert sorted(_kinds(project.store.where)) == ["daily", "daily", "daily", "hand"]


def test_nothing_new_needs_no_daily_backup(url: str, project: Project) -> None:
    """A database that nobody wrote to for a week has the one of a week ago."""
    project.store.tidy()
    _put_off(maintenance.take_daily(url), timedelta(days=7, minutes=1))
    before = (datetime.now(UTC) - timedelta(days=8)).timestamp()
    os.utime(project.store.where, (before, before))

    assert maintenance.take_daily(url) is None
    edit.add(project, "prefer pathlib")
    assert maintenance.take_daily(url) is not None


def test_a_backup_comes_back_for_those_who_have_the_database_open(url: str, project: Project) -> None:
    """The open store reads on and writes on; what was there is kept, whole; the mode stays."""
    path = project.store.where
    taken = maintenance.take(url)
    for number in range(60):
        edit.add(project, f"lesson {number} {'x' * 200}")
    assert len(_texts(project)) == 61

    with project.store.snapshot() as reading:
        query = "SELECT count(*) FROM key_points"
        assert reading.exec_driver_sql(query).scalar() == 61
        restored = _restore(url, taken.path)
        assert reading.exec_driver_sql(query).scalar() == 61

    assert _texts(project) == ["use type hints"]
    edit.add(project, "after")
    assert maintenance.check(project.store) == []
    kept = restored.backup
    assert kept is not None
    assert _kinds(path) == ["before-restore", "hand"]
    assert restored.aside == ()
    assert os.stat(path).st_mode & 0o777 == 0o600
    _restore(url, kept)
    assert len(_texts(project)) == 61
    assert maintenance.check(project.store) == []


def test_what_is_here_and_what_would_come_is_told_before(url: str, project: Project) -> None:
    """A look changes nothing."""
    taken = maintenance.take(url)
    edit.add(project, "prefer pathlib")

    with maintenance.candidate(url, taken.path) as chosen:
        assert [(held.revision, held.points) for held in chosen.holds] == [(1, 1)]
        assert [(held.revision, held.points) for held in chosen.here] == [(2, 2)]
        assert chosen.state == "sound"

    assert len(_texts(project)) == 2
    assert os.listdir(os.path.dirname(taken.path)) == [os.path.basename(taken.path)]


def test_a_backup_that_comes_back_changes_no_membership(url: str, project: Project) -> None:
    """A project that has joined a team since stays a member's, and one that has left it does not join again."""
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
def test_nothing_that_is_written_meanwhile_is_lost_unseen(url: str, project: Project) -> None:
    """What others commit up to the last moment is in the backup that is kept: both are under one lock."""
    taken = maintenance.take(url)
    committed: list[str] = []
    stop = threading.Event()

    def write() -> None:
        with open_store(url) as store:
            while not stop.is_set():
                text = f"lesson {len(committed)}"
                edit.add(Project.in_folder(store, project.folder), text)
                committed.append(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        kept = []
        for _ in range(5):
            time.sleep(0.1)
            kept.append(_restore(url, taken.path).backup)
    finally:
        stop.set()
        writer.join()

    there = set(_texts(project))
    for copy in kept:
        with closing(sqlite3.connect(str(copy))) as connection:
            there |= {text for (text,) in connection.execute("SELECT text FROM live_key_points")}
    assert len(committed) > 5
    assert there == {"use type hints", *committed}


@pytest.mark.parametrize(
    "frozen",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.nightly] * (path.stem != "0001"))
        for path in sorted(_FROZEN.glob("*.db"))
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_backup_of_an_older_version_is_brought_to_our_schema(
    url: str, project: Project, tmp_path: Path, frozen: Path, is_there: bool
) -> None:
    """Before it takes the place: nobody ever sees the old schema there. The backup itself stays as it is."""
    file = tmp_path / "older.db"
    shutil.copy(frozen, file)
    place = project.store.where if is_there else str(tmp_path / "new" / "playbook.db")

    _restore(f"sqlite:///{place}", str(file))

    with open_store(f"sqlite:///{place}") as store:
        assert maintenance.check(store) == []
    assert file.read_bytes() == frozen.read_bytes()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("older.db-")]
    assert _kinds(place) == (["before-restore"] if is_there else [])


def test_where_the_page_sizes_differ_it_comes_back_all_the_same(url: str, project: Project, tmp_path: Path) -> None:
    """A log can hold one size only."""
    file = tmp_path / "large.db"
    maintenance.take(url, str(file))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("VACUUM")
    edit.add(project, "prefer pathlib")

    _restore(url, str(file))

    assert _texts(project) == ["use type hints"]
    assert maintenance.check(project.store) == []


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
    ("spoil", "error", "told"),
    [
        (lambda file: file.unlink(), DatabaseError, "There is no backup .*playbook backup --list"),
        (lambda file: (file.unlink(), file.mkdir()), DatabaseError, "There is no backup"),
        (lambda file: file.write_bytes(b""), DatabaseError, "is not a playbook database"),
        (lambda file: file.write_text("dear diary " * 999), DatabaseError, "is damaged or not an SQLite database"),
        (lambda file: file.write_bytes(file.read_bytes()[:30_000]), DatabaseError, "is damaged"),
        (_torn, DatabaseError, "is damaged"),
        (_unindexed, DatabaseError, "is damaged"),
        (_foreign, DatabaseError, "is not a playbook database"),
        (_newer, SchemaError, "git pull"),
    ],
    ids=["missing", "folder", "empty", "text", "truncated", "torn", "unindexed", "foreign", "newer"],
)
def test_what_is_no_good_backup_is_refused_and_nothing_is_touched(
    url: str, project: Project, tmp_path: Path, spoil: object, error: type[Exception], told: str
) -> None:
    """Neither the backup nor the database, not by a byte; no file is left."""
    file = tmp_path / "elsewhere" / "spoilt.db"
    file.parent.mkdir()
    maintenance.take(url, str(file))
    spoil(file)  # type: ignore[operator]
    before = file.read_bytes() if file.is_file() else None
    database = [Path(project.store.where + suffix).read_bytes() for suffix in ("", "-wal")]

    with pytest.raises(error, match=told):
        _restore(url, str(file))

    assert (file.read_bytes() if file.is_file() else None) == before
    assert [Path(project.store.where + suffix).read_bytes() for suffix in ("", "-wal")] == database
    assert list((tmp_path / "backups").glob("*")) + list((tmp_path / "backups").glob(".*")) == []
    assert set(os.listdir(file.parent)) <= {"spoilt.db"}


def test_a_refusal_carries_the_command_that_helps_as_data(url: str, tmp_path: Path) -> None:
    """A page or a program can offer it; a person reads it at the end of the message."""
    with pytest.raises(DatabaseError) as refused:
        _restore(url, str(tmp_path / "none.db"))

    assert refused.value.remedy is not None
    assert refused.value.remedy.commands == (("backup", "--list"),)
    assert str(refused.value).endswith("See the backups with: playbook backup --list")


def test_the_database_itself_is_no_backup_of_itself(url: str, project: Project) -> None:
    """Also under another name."""
    link = Path(project.folder) / "link.db"
    link.symlink_to(project.store.where)

    with pytest.raises(DatabaseError, match="is the database itself"):
        _restore(url, str(link))


@pytest.mark.parametrize("is_newer", [True, False])
def test_what_is_not_ours_to_replace_is_not_replaced(
    url: str, project: Project, tmp_path: Path, is_newer: bool
) -> None:
    """A newer database, and another program's."""
    taken = maintenance.take(url)
    path = tmp_path / "theirs.db"
    shutil.copy(taken.path, path)
    (_newer if is_newer else _foreign)(path)
    before = path.read_bytes()

    with pytest.raises(DatabaseError, match="git pull" if is_newer else "another program"):
        _restore(f"sqlite:///{path}", taken.path)

    assert path.read_bytes() == before


def test_where_no_database_is_the_backup_becomes_it(url: str, project: Project, tmp_path: Path) -> None:
    """A log that outlived its database is moved aside: it would be taken for the new one's."""
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


@pytest.mark.parametrize("damage", [b"", b"dear diary " * 999, None])
def test_a_damaged_database_is_moved_aside_with_its_log(
    url: str, project: Project, tmp_path: Path, damage: bytes | None
) -> None:
    """Never deleted: there may be something to salvage."""
    taken = maintenance.take(url)
    path = tmp_path / "bad" / "playbook.db"
    path.parent.mkdir()
    shutil.copy(taken.path, path)
    if damage is None:
        _torn(path)
    else:
        path.write_bytes(damage)
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").write_bytes(b"")
    before = path.read_bytes()

    for _ in range(2):
        restored = _restore(f"sqlite:///{path}", taken.path)
        main = restored.aside[0]
        assert Path(main).read_bytes() == before
        assert {Path(each).name for each in restored.aside} >= {Path(main).name, f"{Path(main).name}-wal"}
        with open_store(f"sqlite:///{path}") as store:
            assert _texts(Project.in_folder(store, project.folder)) == ["use type hints"]
        path.write_bytes(before)
        Path(f"{path}-wal").write_bytes(b"")
    assert len(list(path.parent.glob("playbook.db.damaged-*[Z0-9]"))) >= 2


def test_somebody_who_holds_the_write_lock_for_long_is_told(
    url: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is replaced, nothing is kept for it."""
    taken = maintenance.take(url)
    edit.add(project, "prefer pathlib")
    with closing(sqlite3.connect(project.store.where, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.1)
        with pytest.raises(DatabaseBusyError):
            _restore(url, taken.path)

    assert len(_texts(project)) == 2
    assert _kinds(project.store.where) == ["hand"]


def test_without_room_for_the_backup_before_it_nothing_is_replaced(
    url: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there can't be kept, so it stays."""
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


def test_a_worker_at_work_is_told_of(url: str, project: Project) -> None:
    """It is not waited for: what it commits comes on top, and is checked against what is there then."""
    taken = maintenance.take(url)
    assert not _restore(url, taken.path).worker_was_at_work

    with FileLock(settings.worker_lock(), mode=0o600):
        assert _restore(url, taken.path).worker_was_at_work


def _backup_before_the_mirror(url: str, project: Project) -> Backup:
    """A backup; then a point is added, which the mirror has, too."""
    mirror.switch(project, on=True)
    taken = maintenance.take(url)
    edit.add(project, "prefer pathlib")
    mirror.sync(project)
    assert "pathlib" in Path(project.mirror_path).read_text(encoding="utf-8")
    return taken


def _assert_nothing_came_back(project: Project) -> None:
    mirror.sync(project)
    assert _texts(project) == ["use type hints"]
    assert "pathlib" not in Path(project.mirror_path).read_text(encoding="utf-8")


def test_a_mirror_that_was_in_step_follows_the_backup(url: str, project: Project) -> None:
    """What went with the database doesn't come back through the file; it is in the backup taken before."""
    mirror.switch(project, on=True)
    taken = maintenance.take(url)
    then = Path(project.mirror_path).read_text(encoding="utf-8")
    edit.add(project, "prefer pathlib")
    mirror.sync(project)
    assert "pathlib" in Path(project.mirror_path).read_text(encoding="utf-8")

    _restore(url, taken.path)

    assert Path(project.mirror_path).read_text(encoding="utf-8") == then
    mirror.sync(project)
    assert _texts(project) == ["use type hints"]


def test_a_mirror_that_cant_be_read_for_a_moment_brings_nothing_back(
    url: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken for unchanged; when it can be read again, its content tells."""
    taken = _backup_before_the_mirror(url, project)

    def refuse(*_: object) -> bytes:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with monkeypatch.context() as patch:
        patch.setattr(projects, "read_plain", refuse)
        _restore(url, taken.path)

    _assert_nothing_came_back(project)


def test_a_kill_right_after_the_swap_brings_nothing_back(
    url: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database that comes in knows already which mirrors are to follow it."""
    taken = _backup_before_the_mirror(url, project)

    def swap_and_die(*given: Any, **options: Any) -> None:
        put_in_place(*given, **options)
        raise KeyboardInterrupt

    put_in_place = restore.put_in_place
    monkeypatch.setattr(database_file, "put_in_place", swap_and_die)
    with pytest.raises(KeyboardInterrupt):
        _restore(url, taken.path)

    _assert_nothing_came_back(project)
    assert [path.name for path in Path(taken.path).parent.iterdir() if "partial" in path.name] == []


def test_a_mirror_that_was_changed_since_is_merged_in(url: str, project: Project) -> None:
    """What came from somebody else meanwhile isn't lost to the playbook, and no vote counts twice."""
    mirror.switch(project, on=True)
    edit.vote(project, "oth-001", "helpful")
    mirror.sync(project)
    taken = maintenance.take(url)
    edit.vote(project, "oth-001", "helpful")
    edit.add(project, "prefer pathlib")
    mirror.sync(project)
    text = import_export.export_playbook(project)
    with open(project.mirror_path, "a", encoding="utf-8") as file:
        file.write("\n")

    _restore(url, taken.path)
    assert _texts(project) == ["use type hints"]
    mirror.sync(project)

    now = read_playbook(project)
    assert [(point.name, point.text, point.helpful) for point in now.points] == [
        ("oth-001", "use type hints", 2),
        ("oth-002", "prefer pathlib", 0),
    ]
    assert "prefer pathlib" in text
    assert maintenance.check(project.store) == []


_KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from playbook_db.services import maintenance
folder, seen, unkilled = Path(sys.argv[1]), ("restore.py", "sqlite_files.py", "backups.py"), 10**6
moments = [unkilled]
while moments:
    moment = moments.pop()
    home = folder / str(moment)
    shutil.copytree(folder / "start", home)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        if moment == unkilled:  # which tells how many lines there are: now some at which it dies
            lines = unkilled - int((home / "done").read_text())
            moments = list({*range(0, lines, lines // 7), *range(lines - 6, lines)})
        continue
    def at_line(frame, event, arg):
        global moment
        moment -= event == "line"
        if moment < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return at_line
    with maintenance.candidate(f"sqlite:///{home / 'playbook.db'}", str(folder / "small.db")) as chosen:
        sys.settrace(lambda frame, event, arg: at_line if frame.f_code.co_filename.endswith(seen) else None)
        maintenance.put_back(chosen)
        sys.settrace(None)
        (home / "done").write_text(str(moment))
        os._exit(0)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("state", ["sound", "damaged"])
def test_a_kill_in_the_middle_leaves_the_old_or_the_new_whole(
    url: str, project: Project, tmp_path: Path, state: str
) -> None:
    """Killed at any of its steps; what was there is there, or kept, byte for byte where it was damaged."""
    maintenance.take(url, str(tmp_path / "small.db"))
    reading = playbook_file.decode(samples.file_text(400), source="sample")
    import_export.import_playbook(project, reading, source="sample")
    start = tmp_path / "start"
    start.mkdir()
    maintenance.take(url, str(start / "playbook.db"))
    if state == "damaged":
        _torn(start / "playbook.db")
    before = (start / "playbook.db").read_bytes()

    subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=True)

    outcomes = []
    for home in sorted((each for each in tmp_path.iterdir() if each.name.isdigit()), key=lambda each: int(each.name)):
        path = home / "playbook.db"
        is_old = state == "damaged" and path.read_bytes() == before
        if not is_old:
            with open_store(f"sqlite:///{path}") as store:
                assert maintenance.check(store) == []
                points = len(_texts(Project.in_folder(store, project.folder)))
            assert points in ((1, 401) if state == "sound" else (1,))
            is_old = points == 401
        if not is_old:
            aside = [each.read_bytes() for each in home.glob("playbook.db.damaged-*")]
            assert aside == ([before] if state == "damaged" else [])
            assert _kinds(str(path)) == (["before-restore"] if state == "sound" else [])
        outcomes.append((is_old, (home / "done").exists()))
    assert len(outcomes) >= 12
    assert outcomes == sorted(outcomes, key=[(True, False), (False, False), (False, True)].index)
    assert len(set(outcomes)) == 3
