"""backup, restore-backup."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.store.sqlite_open import SCHEMA
from tests.cli.conftest import Playbook


@pytest.fixture
def data(playbook: Playbook, home: Path) -> Path:
    """The data folder, with a database of one point."""
    playbook("add", "use type hints")
    return home / ".claude" / "playbook"


def test_list_shows_time_and_kind(playbook: Playbook, data: Path) -> None:
    """The newest is first; one that can't be read says so."""
    playbook("backup")
    (made,) = (data / "backups").iterdir()
    (data / "backups" / "playbook-20260301T080910Z.daily.db").write_text("nothing")
    os.link(made, data / "backups" / "playbook-20260201T080910Z.schema-0002.db")

    lines = [line.split("\t") for line in playbook("backup", "--list").out.splitlines()]
    listed = playbook("backup", "--list", "--json").json

    assert [line[1] for line in lines] == ["by hand", "daily", "before leaving schema 0002"]
    assert [line[3] for line in lines] == [f"schema {SCHEMA:04d}", "can't be read", f"schema {SCHEMA:04d}"]
    assert [line[4] for line in lines] == [each["path"] for each in listed]
    assert [each["kind"] for each in listed] == ["hand", "daily", "schema-0002"]
    assert (listed[1]["time"], listed[1]["schema"]) == ("2026-03-01T08:09:10+00:00", None)


def test_restoring_keeps_the_current_database(playbook: Playbook, data: Path, folder: Path) -> None:
    """Without a terminal, it needs --yes."""
    playbook("backup", "copy.db")
    playbook("add", "prefer pathlib")

    refused = playbook("restore-backup", "copy.db")
    done = playbook("restore-backup", "copy.db", "--yes")

    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert (done.code, done.out) == (0, f"restored copy.db to {data / 'playbook.db'}\n")
    assert f"  {folder}: revision 2, 2 points -> revision 1, 1 point" in done.err
    (kept,) = (data / "backups").iterdir()
    assert kept.name.endswith(".before-restore.db")
    assert f"the database from before is kept as {kept}" in done.err
    assert "the next command there merges it" in done.err
    assert [point["name"] for point in playbook("list", "--json").json] == ["oth-001"]
    with closing(sqlite3.connect(kept)) as connection:
        assert connection.execute("SELECT count(*) FROM live_key_points").fetchone() == (2,)


@pytest.mark.parametrize(("answer", "is_done"), [("y\n", True), ("\n", False)])
def test_restoring_asks_on_a_terminal(
    playbook: Playbook, data: Path, monkeypatch: pytest.MonkeyPatch, answer: str, is_done: bool
) -> None:
    playbook("backup", "copy.db")
    playbook("add", "prefer pathlib")
    monkeypatch.setattr("playbook_db.cli.database.is_interactive", lambda: True)

    done = playbook("restore-backup", "copy.db", stdin=answer)

    assert done.code == 0
    assert len(playbook("list", "--json").json) == (1 if is_done else 2)
    assert ("nothing was changed" in done.err) != is_done


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:{}@127.0.0.1:1/x",
        "postgresql://127.0.0.1:1/x?password={}",
        "postgresql://me:12@host:{}@x/",
        "other://me:with/{}@host/x",
        "postgresql://me:a {}@host:port/x",
    ],
)
@pytest.mark.parametrize(
    "command",
    ["backup", "list", "db path", pytest.param("doctor", marks=[pytest.mark.slow, pytest.mark.nightly])],
)
@pytest.mark.usefixtures("quick_doctor")
def test_no_message_shows_a_database_password(playbook: Playbook, url: str, command: str) -> None:
    """The user's name isn't shown either."""
    done = playbook(*command.split(), "--db", url.format("h0rse-battery"))

    assert done.code in (0, 1)
    assert "h0rse-battery" not in done.out + done.err
    assert "me:" not in done.out + done.err


@pytest.fixture(params=["missing", "empty"])
def gone(request: pytest.FixtureRequest, playbook: Playbook, data: Path) -> Path:
    """The backup of a database that is missing, or empty."""
    playbook("backup")
    (made,) = (data / "backups").iterdir()
    for file in data.glob("playbook.db*"):
        file.unlink()
    if request.param == "empty":
        (data / "playbook.db").touch()
    return made


@pytest.mark.nightly(after=4)
@pytest.mark.parametrize(
    "command",
    [["list"], ["add", "another"], ["init", "--yes"], ["work"], ["db", "check"], ["backup"]],
    ids=" ".join,
)
def test_missing_database_is_not_recreated(playbook: Playbook, data: Path, gone: Path, command: list[str]) -> None:
    """If there are backups, each command names the newest one and creates nothing."""
    before = (data / "playbook.db").exists()
    done = playbook(*command)

    assert done.code == 1
    assert f"playbook restore-backup {gone}." in done.err
    assert "playbook init --new" in done.err
    assert (data / "playbook.db").exists() == before
    assert not before or (data / "playbook.db").stat().st_size == 0

    playbook("restore-backup", str(gone), "--yes")
    assert "use type hints" in playbook("list").out


def test_init_new_replaces_a_missing_database(playbook: Playbook, gone: Path) -> None:
    """It never replaces a database that exists."""
    assert playbook("init", "--new").code == 0
    assert playbook("list").out == ""
    assert gone.exists()

    playbook("add", "another")
    again = playbook("init", "--new")
    assert (again.code, "exists" in again.err) == (1, True)
    assert "another" in playbook("list").out
