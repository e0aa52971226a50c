"""What is said where no page can be made: a database that is busy, damaged, too new, gone, or another one by now."""

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.responses import HTMLResponse

from playbook_db.services import maintenance
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, open_store
from playbook_db.web import application
from tests.web.asking import page_of
from tests.web.conftest import Visitor, served

PAGES = ("", "points?q=tests", "points/oth-001", "history", "history/1", "review", "sessions", "numbers", "projects")
TEXT = "Run the tests with make."


@dataclass(frozen=True, slots=True)
class Site:
    """Who opened the pages of a project of one point, and the file of its database."""

    visitor: Visitor
    folder: Path
    path: Path

    @property
    def url(self) -> str:
        """The database."""
        return f"sqlite:///{self.path}"

    def says(self, status: int, *sentences: str) -> None:
        """Every page says so, and nothing else of the playbook."""
        for page in PAGES:
            answer = self.visitor.see(f"/{page}")
            assert (answer.status, TEXT in answer.body) == (status, False), page
            assert answer.headers["content-type"].startswith("text/html")
            for sentence in sentences:
                assert sentence in answer.body, page

    def is_well(self) -> None:
        """Every page is there."""
        assert [self.visitor.see(f"/{page}").status for page in PAGES] == [200] * len(PAGES)
        assert TEXT in self.visitor.see("/points").body


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server for all tests: what ails the database is gone after each of them."""
    place = tmp_path_factory.mktemp("application")
    home, folder = place / "home", place / "project"
    for each in (home, folder / ".claude"):
        each.mkdir(parents=True)
    path = home / ".claude/playbook/playbook.db"
    with open_store(f"sqlite:///{path}") as store:
        edit.add(Project.in_folder(store, str(folder)), TEXT)
    with served(folder, home, lock_wait_s=0.2) as address:
        visitor = Visitor(address)
        assert visitor.open().status == 303
        yield Site(visitor, folder, path)


@pytest.fixture
def site(made: Site) -> Iterator[Site]:
    """The site with a sound database, before and after."""
    made.is_well()
    kept = made.path.with_suffix(".kept")
    with closing(sqlite3.connect(made.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(made.path, kept)
    yield made
    for beside in made.path.parent.glob("playbook.db-*"):
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
    os.replace(kept, made.path)
    made.is_well()


def _give_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


def test_too_new_database_is_reported(site: Site) -> None:
    """Saving fails with the same sentence."""
    _give_version(site.path, 9999)

    site.says(409, "9999")
    assert site.visitor.send("/points/oth-001", do="helpful").status == 409


def test_damaged_database_names_the_repair(site: Site) -> None:
    with site.path.open("r+b") as file:
        file.seek(0)
        file.write(b"\x55" * site.path.stat().st_size)

    site.says(409, "damaged", "playbook db repair")


def test_missing_database_is_not_created_again(site: Site) -> None:
    """If backups exist, the pages refuse instead of creating an empty database."""
    backup = maintenance.take(site.url).path
    site.path.unlink()
    for beside in site.path.parent.glob("playbook.db-*"):
        beside.unlink()

    site.says(409, "backup")
    assert not site.path.exists()
    Path(backup).unlink()


def test_busy_database_can_be_read(site: Site) -> None:
    """Saving waits for the lock, then reports it."""
    with closing(sqlite3.connect(site.path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        site.is_well()
        answer = site.visitor.send("/points/oth-001", do="helpful")
        assert answer.status == 409
        assert "stayed locked by another process" in answer.body
        writer.execute("ROLLBACK")
    assert site.visitor.send("/points/oth-001", do="helpful").status == 303
    with closing(sqlite3.connect(site.path, isolation_level=None)) as alone:
        alone.execute("PRAGMA locking_mode = EXCLUSIVE")
        alone.execute("BEGIN IMMEDIATE")
        alone.execute("UPDATE playbooks SET key = key")
        alone.execute("COMMIT")  # the lock is kept
        answer = site.visitor.see("/history")
        assert (answer.status, "stayed locked" in answer.body) == (409, True)


def test_restored_database_is_shown(site: Site, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with open_store(f"sqlite:///{other}") as store:
        edit.add(Project.in_folder(store, str(site.folder)), "Of another database.")
    for beside in site.path.parent.glob("playbook.db-*"):
        beside.unlink()
    os.replace(other, site.path)

    assert "Of another database." in site.visitor.see("/points").body
    backup = maintenance.take(site.url).path
    with open_store(site.url) as store:
        edit.add(Project.in_folder(store, str(site.folder)), "Of late.")
    assert "Of late." in site.visitor.see("/points").body
    with maintenance.candidate(site.url, backup) as chosen:
        maintenance.put_back(chosen)
    assert "Of late." not in site.visitor.see("/points").body
    for each in Path(backup).parent.glob("*.db"):
        each.unlink()


def test_bug_is_shown_on_page_and_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []

    def breaks(_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(application, "_PAGES", [SimpleNamespace(ROUTES={("GET", "/points"): breaks})])
    monkeypatch.setattr(application, "_problem", lambda *said: told.append(said[1:]) or HTMLResponse("", said[-1]))

    site = application.Site(f"sqlite:///{tmp_path / 'playbook.db'}", None)
    with pytest.raises(ZeroDivisionError):
        page_of(site, "/points")

    assert told == [("This page failed", application._BUG, 500)]
    assert "ZeroDivisionError: a bug" in capsys.readouterr().err


def test_pages_are_built_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that erases reads the file's bytes afterwards, so no other page may have it open."""
    at_work, most = [0], [0]

    def slow(_: object) -> HTMLResponse:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        time.sleep(0.01)
        at_work[0] -= 1
        return HTMLResponse("")

    monkeypatch.setattr(application, "_PAGES", [SimpleNamespace(ROUTES={("GET", "/points"): slow})])
    with (
        closing(application.Site(f"sqlite:///{tmp_path / 'playbook.db'}", None)) as site,
        ThreadPoolExecutor(8) as pool,
    ):
        statuses = [status for status, _ in pool.map(lambda _: page_of(site, "/points"), range(20))]

    assert (statuses, most) == ([200] * 20, [1])
