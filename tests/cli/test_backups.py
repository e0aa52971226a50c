"""backup, restore-backup, as a script and a person see them."""

import io
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.store.sqlite_open import SCHEMA
from tests.cli.conftest import Playbook


@pytest.fixture
def data(playbook: Playbook, home: Path) -> Path:
    """The data folder, with a database of one point in it."""
    playbook("add", "use type hints")
    return home / ".claude" / "playbook"


def test_a_backup_says_where_it_is_and_what_it_holds(playbook: Playbook, data: Path, folder: Path) -> None:
    """Beside the database by itself; --json is one document of the same."""
    done = playbook("backup")
    told = playbook("backup", str(folder / "copy.db"), "--json").json

    first, held = done.out.splitlines()
    (made,) = (data / "backups").iterdir()
    assert (done.code, done.err) == (0, "")
    assert first.startswith(f"{made} (")
    assert first.endswith(" KiB)")
    assert held == f"{folder}: revision 1, 1 point"
    assert told == {
        "path": str(folder / "copy.db"),
        "size_bytes": os.path.getsize(folder / "copy.db"),
        "playbooks": [{"project": str(folder), "revision": 1, "points": 1}],
    }


def test_what_is_there_is_never_overwritten(playbook: Playbook, data: Path, folder: Path) -> None:
    """The second time the file is in the way."""
    playbook("backup", "copy.db")
    before = (folder / "copy.db").read_bytes()
    playbook("add", "prefer pathlib")

    done = playbook("backup", "copy.db")

    assert (done.code, done.out) == (1, "")
    assert "copy.db exists already, and was not overwritten. Delete it, or name another file." in done.err
    assert (folder / "copy.db").read_bytes() == before


def test_the_list_shows_when_and_why(playbook: Playbook, data: Path) -> None:
    """Newest first, a line each; one that can't be read says so."""
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
    assert listed[1] == {
        "path": str(data / "backups" / "playbook-20260301T080910Z.daily.db"),
        "time": "2026-03-01T08:09:10+00:00",
        "kind": "daily",
        "size_bytes": 7,
        "schema": None,
    }


def test_where_there_are_none_the_list_says_what_to_do(playbook: Playbook, data: Path) -> None:
    """And is empty for a program."""
    assert playbook("backup", "--list", "--json").json == []
    done = playbook("backup", "--list")
    assert (done.code, done.out) == (0, "")
    assert "playbook backup" in done.err
    assert playbook("backup", "x.db", "--list").code == 2


def test_restoring_shows_what_goes_and_what_comes_and_keeps_what_was_there(
    playbook: Playbook, data: Path, folder: Path
) -> None:
    """Without a terminal it needs --yes."""
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


class _Terminal(io.TextIOWrapper):
    """Standard input, as a person's."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "is_done"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_a_person_is_asked(
    playbook: Playbook, data: Path, monkeypatch: pytest.MonkeyPatch, answer: str, is_done: bool
) -> None:
    """Whoever doesn't say yes has changed nothing."""
    playbook("backup", "copy.db")
    playbook("add", "prefer pathlib")
    monkeypatch.setattr(io, "TextIOWrapper", _Terminal)

    done = playbook("restore-backup", "copy.db", stdin=answer)

    assert done.code == 0
    assert len(playbook("list", "--json").json) == (1 if is_done else 2)
    assert ("nothing was changed" in done.err) != is_done


def test_what_is_no_backup_is_refused(playbook: Playbook, data: Path, folder: Path) -> None:
    """The message says so and where to find one that is."""
    (folder / "notes.txt").write_text("dear diary " * 999)

    done = playbook("restore-backup", "notes.txt", "--yes")

    assert (done.code, done.out) == (1, "")
    assert "notes.txt is damaged or not an SQLite database" in done.err
    assert "playbook backup --list" in done.err


def test_another_kind_of_database_is_told(playbook: Playbook) -> None:
    """A server's database has tools of its own; the line that does it is named, without user and password."""
    for arguments, tool in (
        (("backup",), "pg_dump"),
        (("backup", "--list"), "pg_dump"),
        (("restore-backup", "x.db", "--yes"), "pg_dump"),
    ):
        done = playbook(*arguments, "--db", "postgresql://me:secret@host/x")
        assert (done.code, done.out) == (1, "")
        assert f"postgresql://host/x is on a server: use the server's own backups. Run: {tool} " in done.err
        assert "secret" not in done.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:{}@127.0.0.1:1/x", "postgresql://{}@127.0.0.1:1/x", "postgresql://127.0.0.1:1/x?password={}",
        "other://me:{}@host/x",
        "postgresql://me:{}@host:port/x", "postgresql://me:12@host:{}@x/", "://me:{}@host", "other://me:with/{}@host/x",
        "postgresql://me:a {}@127.0.0.1:1/x", "postgresql://me:a {}@host:port/x",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "command",
    [
        "backup",
        "list",
        "work",
        "db path",
        "db check",
        pytest.param("doctor", marks=[pytest.mark.slow, pytest.mark.nightly]),
    ],
)
@pytest.mark.usefixtures("quick_doctor")
def test_no_message_tells_the_password_of_a_database(playbook: Playbook, url: str, command: str) -> None:
    """Nor the user: neither where the URL can't be read nor where it names a database that we can't use."""
    done = playbook(*command.split(), "--db", url.format("h0rse-battery"))

    assert done.code in (0, 1)
    assert "h0rse-battery" not in done.out + done.err
    assert "me:" not in done.out + done.err
    told = ("--db", "SQLite", "127.0.0.1:1/x can't be reached", "127.0.0.1:1/x is on a server")
    assert any(words in done.out + done.err for words in told) or command == "db path"


@pytest.fixture(params=["missing", "empty"])
def gone(request: pytest.FixtureRequest, playbook: Playbook, data: Path) -> Path:
    """The backup of a database that is gone since, or has nothing in it."""
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
    [
        ["list"], ["add", "another"], ["init"], ["init", "--yes"], ["project", "list"], ["sql", "SELECT 1"], ["work"],
        ["db", "upgrade"], ["db", "check"], ["backup"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_database_that_is_gone_is_not_begun_anew(
    playbook: Playbook, data: Path, gone: Path, command: list[str]
) -> None:
    """Where there are backups, each command says how the newest comes back, and makes nothing; and it does come."""
    before = (data / "playbook.db").exists()
    done = playbook(*command)

    assert done.code == 1
    assert f"playbook restore-backup {gone}." in done.err
    assert "playbook init --new" in done.err
    assert (data / "playbook.db").exists() == before
    assert not before or (data / "playbook.db").stat().st_size == 0

    playbook("restore-backup", str(gone), "--yes")
    assert "use type hints" in playbook("list").out


def test_a_database_that_is_gone_is_begun_anew_where_somebody_says_so(playbook: Playbook, gone: Path) -> None:
    """`init --new`, and that alone; the backups stay. It takes the place of no database that is there."""
    assert playbook("init", "--new").code == 0
    assert playbook("list").out == ""
    assert gone.exists()

    playbook("add", "another")
    again = playbook("init", "--new")
    assert (again.code, "exists" in again.err) == (1, True)
    assert "another" in playbook("list").out


def test_a_first_database_may_be_called_new(playbook: Playbook, data: Path) -> None:
    """Where there never was one."""
    for file in data.glob("playbook.db*"):
        file.unlink()

    assert playbook("init", "--new").code == 0
