"""A database that is kept open between uses, and what is noticed of what becomes of it meanwhile."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.errors import DamagedError, DatabaseLostError, SchemaTooNewError
from playbook_db.services import maintenance
from playbook_db.services.kept_store import KeptStore
from playbook_db.services.opening import open_project
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, open_store

pytestmark = pytest.mark.sqlite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is."""
    return tmp_path / "playbook.db"


@pytest.fixture
def kept(path: Path) -> Iterator[KeptStore]:
    """A database that is kept open."""
    made = KeptStore(f"sqlite:///{path}")
    yield made
    made.rest(after_s=0)


def _texts(kept: KeptStore) -> list[str]:
    with kept.opened() as store, store.read("/work") as book:
        return [point.text for point in book.live_points()]


def _add(path: Path, text: str) -> None:
    with open_store(f"sqlite:///{path}") as store:
        edit.add(Project.in_folder(store, "/work"), text)


def _count_open_here(path: Path) -> int:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system doesn't tell which files a process has open")
    return sum(os.path.realpath(f"/proc/self/fd/{each}") == str(path) for each in os.listdir("/proc/self/fd"))


def _is_open_here(path: Path) -> bool:
    return _count_open_here(path) > 0


def test_it_stays_open_until_it_rests(kept: KeptStore, path: Path) -> None:
    """Then no connection is left; who comes again gets what others did meanwhile."""
    with kept.opened() as first:
        pass
    with kept.opened() as second:
        kept.rest(after_s=0)  # not while it is used
        assert second is first
    assert _is_open_here(path)

    kept.rest()
    assert _is_open_here(path)  # it was used just now
    kept.rest(after_s=0)

    assert not _is_open_here(path)
    _add(path, "Run the tests.")
    assert _texts(kept) == ["Run the tests."]
    with kept.opened() as third:
        assert third is first


def test_another_file_in_its_place_is_noticed(kept: KeptStore, path: Path, tmp_path: Path) -> None:
    """As one that was moved there."""
    _add(path, "Of the first.")
    _add(tmp_path / "other.db", "Of the other.")
    assert _texts(kept) == ["Of the first."]

    os.replace(tmp_path / "other.db", path)
    for beside in tmp_path.glob("playbook.db-*"):
        beside.unlink()

    assert _texts(kept) == ["Of the other."]


def test_a_backup_in_its_place_is_noticed(kept: KeptStore, path: Path) -> None:
    """Restored while it is open."""
    _add(path, "Of old.")
    backup = maintenance.take(f"sqlite:///{path}").path
    _add(path, "Of late.")
    assert _texts(kept) == ["Of old.", "Of late."]

    with maintenance.candidate(f"sqlite:///{path}", backup) as chosen:
        maintenance.put_back(chosen)

    assert _texts(kept) == ["Of old."]


def test_a_database_that_is_gone_or_migrated_is_noticed(kept: KeptStore, path: Path) -> None:
    """With what opening it has to say; once it is right again, it goes on."""
    _add(path, "Run the tests.")
    assert len(_texts(kept)) == 1
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute("PRAGMA user_version = 9999")
    with pytest.raises(SchemaTooNewError):
        _texts(kept)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    assert len(_texts(kept)) == 1
    maintenance.take(f"sqlite:///{path}")

    for each in path.parent.glob("playbook.db*"):
        if each.is_file():
            each.unlink()

    with pytest.raises(DatabaseLostError):
        _texts(kept)


def test_one_that_is_damaged_meanwhile_is_let_go_of(kept: KeptStore, path: Path) -> None:
    """So that it can be repaired, and is opened anew afterwards."""
    _add(path, "Run the tests.")
    sound = path.with_suffix(".sound")
    kept.rest(after_s=0)
    shutil.copyfile(path, sound)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x55" * (path.stat().st_size - 4096))

    with pytest.raises(DamagedError):
        _texts(kept)

    assert not _is_open_here(path)
    os.replace(sound, path)
    assert _texts(kept) == ["Run the tests."]


def test_who_is_alone_has_no_other_connection_beside(kept: KeptStore, path: Path) -> None:
    """Neither of an earlier use, nor of one at the same time, nor for a later one."""
    _add(path, "Run the tests.")
    assert _texts(kept) == ["Run the tests."]
    others = [0]

    def use(_: int) -> None:
        with kept.opened() as store, store.read("/work"):
            others[0] += 1
            time.sleep(0.01)
            others[0] -= 1

    def erase(_: int) -> None:
        with kept.opened(alone=True) as store:
            assert others[0] == 0
            assert _count_open_here(path) <= 1  # its own
            with store.read("/work"):
                time.sleep(0.01)
            assert others[0] == 0

    with ThreadPoolExecutor(20) as pool:
        done = [pool.submit(erase if number % 10 == 0 else use, number) for number in range(60)]
        for each in done:
            each.result()
    erase(0)

    assert not _is_open_here(path)
    assert _texts(kept) == ["Run the tests."]


def test_many_at_once_wait_for_one_another(kept: KeptStore, path: Path, folder: Path) -> None:
    """One is answered after the other, and none finds the connections used up."""
    _add(path, "Run the tests.")
    most = [0]
    now = [0]

    def use(_: int) -> int:
        with kept.opened() as store:
            now[0] += 1
            most[0] = max(most[0], now[0])
            with open_project(f"sqlite:///{path}", str(folder), store=store, notify=print) as project:
                edit.add(project, f"Advice {_}.")
            now[0] -= 1
        return len(_texts(kept))

    with ThreadPoolExecutor(40) as pool:
        assert list(pool.map(use, range(60))) == [1] * 60
    assert most[0] == 1
