"""What pages show if the database is busy, damaged, too new, missing or restored, and after a bug."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.responses import HTMLResponse

from playbook_db.services import maintenance
from playbook_db.services.playbook import edit
from playbook_db.web import application
from tests.web.asking import page_of
from tests.web.conftest import Pages, pages_in

PAGES = ("", "points?q=tests", "points/oth-001", "history", "history/1", "review", "sessions", "numbers", "projects")
TEXT = "Run the tests with make."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """One server for all tests, and a project with one point."""
    with pages_in(tmp_path_factory.mktemp("pages"), lambda project: edit.add(project, TEXT), lock_wait_s=0.2) as pages:
        yield pages


@pytest.fixture
def pages(served: Pages) -> Iterator[Pages]:
    """The pages, whose database is put back afterwards."""
    path = _file(served)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = path.with_suffix(".kept")
    shutil.copyfile(path, kept)
    yield served
    _remove(path)
    os.replace(kept, path)
    _all_work(served)


def _file(pages: Pages) -> Path:
    return Path(pages.url.removeprefix("sqlite:///"))


def _remove(path: Path) -> None:
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink(missing_ok=True)


def _all_work(pages: Pages) -> None:
    assert [pages.see(f"/{page}").status for page in PAGES] == [200] * len(PAGES)
    assert TEXT in pages.see("/points").body


def _all_say(pages: Pages, *sentences: str) -> None:
    """Every page has *sentences* instead of the playbook."""
    for page in PAGES:
        answer = pages.see(f"/{page}")
        assert (answer.status, TEXT in answer.body) == (409, False), page
        assert answer.headers["content-type"].startswith("text/html")
        assert [sentence for sentence in sentences if sentence not in answer.body] == [], page


def test_too_new_database_is_reported(pages: Pages) -> None:
    """Saving fails with the same sentence."""
    with closing(sqlite3.connect(_file(pages))) as connection:
        connection.execute("PRAGMA user_version = 9999")

    _all_say(pages, "9999")
    assert pages.send("/points/oth-001", do="helpful").status == 409


def test_damaged_database_names_the_repair(pages: Pages) -> None:
    _file(pages).write_bytes(b"\x55" * 100_000)

    _all_say(pages, "damaged", "playbook db repair")


def test_missing_database_is_not_created_again(pages: Pages) -> None:
    """If backups exist, the pages refuse instead of creating an empty database."""
    backup = Path(maintenance.take(pages.url).path)
    _remove(_file(pages))

    _all_say(pages, "backup")
    assert not _file(pages).exists()
    backup.unlink()


def test_restored_database_is_shown(pages: Pages) -> None:
    backup = Path(maintenance.take(pages.url).path)
    pages.add("Added later.")
    assert "Added later." in pages.see("/points").body

    with maintenance.candidate(pages.url, str(backup)) as chosen:
        maintenance.put_back(chosen)

    assert "Added later." not in pages.see("/points").body
    for each in backup.parent.glob("*.db"):
        each.unlink()


def test_bug_is_shown_on_page_and_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = []

    def breaks(_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(application, "_PAGES", [SimpleNamespace(ROUTES={("GET", "/points"): breaks})])
    monkeypatch.setattr(application, "_problem", lambda *args: problems.append(args[1:]) or HTMLResponse("", args[-1]))

    site = application.Site(f"sqlite:///{tmp_path / 'playbook.db'}", None)
    with pytest.raises(ZeroDivisionError):
        page_of(site, "/points")

    assert problems == [("This page failed", application._BUG, 500)]
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
