"""db check, upgrade and grant, and how commands explain a database that they can't read."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.files import alone
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests import postgres
from tests.cli.conftest import Playbook
from tests.databases import DISTRIBUTED

pytestmark = pytest.mark.slow  # databases in many states

_REPAIR = "playbook db repair"


@pytest.fixture
def database(folder: Path, home: Path) -> Path:
    """The user's database with some history, closed."""
    path = home / ".claude" / "playbook" / "playbook.db"
    with open_store(f"sqlite:///{path}") as store:
        project = Project.in_folder(store, str(folder))
        for number in range(12):
            edit.add(project, f"lesson {number} {'x' * 300}")
        edit.vote(project, "oth-001", "helpful")
        edit.retire(project, "oth-002")
    return path


def _files(path: Path) -> dict[str, bytes]:
    """The bytes of the database, and of its log unless that is empty."""
    found = {each.name: each.read_bytes() for each in (path, Path(f"{path}-wal")) if each.is_file()}
    return {name: data for name, data in found.items() if data or name == path.name}


def _change(path: Path, *statements: str) -> None:
    """Run *statements* without triggers and checks; a `DROP` keeps the triggers."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            if not statements[0].startswith("DROP"):
                (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (trigger,)).fetchone()
                connection.execute(f"DROP TRIGGER {trigger}")
                statements = (*statements, sql)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement)


@pytest.mark.nightly(after=3)
@pytest.mark.parametrize(
    ("spoil", "words", "is_seen_quickly"),
    [
        ("DELETE FROM revisions WHERE number = 5", "don't go from 1 to 13, but from 1 to 14", True),
        ("UPDATE heads SET live_points = 7", "the count of live points of", True),
        ("DROP TRIGGER changes_no_update", "the trigger changes_no_update is missing", True),
        ("CREATE TRIGGER spy AFTER INSERT ON votes BEGIN SELECT 1; END", "spy is not from playbook-db", True),
        ("ALTER TABLE jobs ADD COLUMN more TEXT", "the table jobs was changed", True),
        ("UPDATE key_points SET section = 'xyz' WHERE id = 3", "CHECK constraint failed", True),
        ("UPDATE heads SET header = 'no json'", "can't be read: JSONDecodeError", False),
        ("UPDATE key_points SET text = 'another' WHERE id = 3", "doesn't match its history", False),
        ("UPDATE key_points SET helpful = 5 WHERE id = 3", "doesn't match its history", False),
        ("UPDATE key_points SET rank = 5 WHERE id = 3", "the rank of oth-003", False),
        ("INSERT INTO undone_ranges VALUES (1, 1, 1, 2)", "don't match its undos", False),
        ("UPDATE changes SET point_id = 99 WHERE revision = 3", "refers to a row of key_points", False),
    ],
    ids=str,
)
def test_check_names_each_fault(
    playbook: Playbook, database: Path, spoil: str, words: str, is_seen_quickly: bool
) -> None:
    """It changes nothing."""
    _change(database, spoil)
    before = _files(database)

    done, listed, quick = playbook("db", "check"), playbook("db", "check", "--json"), playbook("db", "check", "--quick")

    assert (done.code, listed.code) == (1, 1)
    assert quick.code == is_seen_quickly
    assert words in done.out + quick.out
    assert _REPAIR in done.err
    assert listed.json["ok"] is False
    assert listed.json["problems"] == done.out.splitlines()
    assert _files(database) == before


def _newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def _foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


_UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: path.unlink(), "playbook init"),
    "folder": (_folder, "not a regular file"),
    "text": (lambda path: path.write_text("dear diary " * 999), _REPAIR),
    "torn": (lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xa5" * 40_960), _REPAIR),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:20_000]), _REPAIR),
    "no schema": (lambda path: path.write_bytes(path.read_bytes()[:100] + b"\xff" * 3996), _REPAIR),
    "foreign": (_foreign, "another program"),
    "newer": (_newer, "git pull"),
}


@pytest.mark.nightly(after=3)
@pytest.mark.parametrize("kind", _UNUSABLE)
def test_check_explains_an_unusable_file(playbook: Playbook, database: Path, kind: str) -> None:
    """It changes nothing; `--json` prints a document anyway."""
    spoil, remedy = _UNUSABLE[kind]
    spoil(database)
    before = _files(database)

    done, listed = playbook("db", "check"), playbook("db", "check", "--json")

    assert (done.code, listed.code) == (1, 1)
    assert remedy in done.out + done.err
    assert listed.json["database"] == str(database)
    assert listed.json["ok"] is False
    assert listed.json["problems"]
    assert _files(database) == before


def test_check_reads_the_log_of_a_killed_process(playbook: Playbook, database: Path, home: Path, folder: Path) -> None:
    """It merges none of it into the file."""
    with closing(sqlite3.connect(database)) as other:
        other.execute("SELECT count(*) FROM jobs").fetchone()
        playbook("add", "one more")
        copied = folder / "killed" / "playbook.db"
        copied.parent.mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(f"{database}{suffix}", f"{copied}{suffix}")
    before = _files(copied)
    assert len(before) == 2

    done = playbook("db", "check", "--db", str(copied))

    assert (done.code, done.out) == (0, f"{copied}: all is well\n")
    assert _files(copied) == before


@pytest.mark.nightly(after=5)
@pytest.mark.parametrize(
    "arguments",
    [("list",), ("add", "x"), ("backup", "x.db"), ("init",)],
    ids=str,
)
@pytest.mark.parametrize("kind", ["no schema", "torn"])
def test_commands_explain_a_damaged_database(
    playbook: Playbook, database: Path, folder: Path, arguments: tuple[str, ...], kind: str
) -> None:
    """They print one line, and write nothing."""
    _UNUSABLE[kind][0](database)
    before = _files(database)

    done = playbook(*arguments)

    assert (done.code, done.out) == (1, "")
    assert f"{database} is damaged or not an SQLite database" in done.err
    assert _REPAIR in done.err
    assert len(done.err.splitlines()) == 1
    assert _files(database) == before
    assert not os.path.exists(folder / "x.db")


@pytest.mark.nightly
def test_rights_are_granted_only_on_a_server(playbook: Playbook, database: Path) -> None:
    refused = playbook("db", "grant", "ben", "reader")
    assert refused.err.startswith(f"playbook: {database} is a file: set its rights with chmod.")
    server = postgres.require_server()
    if postgres.GIVEN:
        pytest.skip("the server is somebody's own; its users are not ours to make")
    url = postgres.new_database()
    with postgres.connected(server) as superuser:
        superuser.execute("CREATE ROLE ben")
    try:
        assert playbook("--db", str(url), "init").code == 0
        granted = playbook("--db", str(url), "db", "grant", "ben", "reader")
        assert (granted.out, granted.err) == (
            f"ben may read all of {maintenance.location(str(url))}, but write nothing\n",
            "playbook: ben can't log in itself, but its members can (or: ALTER ROLE ben LOGIN)\n",
        )
        record = playbook("--db", str(url), "db", "grant", "ben", "member", "--json").json
        assert (record["role"], record["right"], record["beyond"]) == ("ben", "member", [])
    finally:
        postgres.drop_database(url)
        with postgres.connected(server) as superuser:
            superuser.execute("DROP ROLE ben")


@pytest.mark.skipif(DISTRIBUTED, reason="the change doesn't reach the points on the workers")
def test_server_playbook_is_repaired_from_history(playbook: Playbook) -> None:
    postgres.require_server()
    url = postgres.new_database()
    try:
        at_server = ("--db", url.render_as_string(hide_password=False))
        playbook(*at_server, "add", "use type hints", "--section", "pat")
        with postgres.connected(url) as superuser:
            superuser.execute("SET session_replication_role = replica; UPDATE key_points SET text = 'owned'")
        check = playbook(*at_server, "db", "check").err
        planned = playbook(*at_server, "db", "repair", "--dry-run")
        record = playbook(*at_server, "db", "repair", "--yes", "--json").json

        assert check.endswith("1 problem. Restore each playbook from its history: playbook --db URL db repair\n")
        assert planned.out.endswith(": corrected: pat-001 (revision 2)\ndry run: nothing was changed\n")
        assert (record["repaired"], [each["revision"] for each in record["corrected"]]) == (True, [2])
        assert [point["text"] for point in playbook(*at_server, "list", "--json").json] == ["use type hints"]
        assert playbook(*at_server, "log", "--json").json[0]["role"] == url.username
    finally:
        postgres.drop_database(url)


def test_all_files_are_private(database: Path, playbook: Playbook) -> None:
    """Even if the umask allows more."""
    before = os.umask(0)
    try:
        for command in ("mirror on", "backup", "forget oth-003 --yes", "work"):
            assert playbook(*command.split()).code == 0, command
        with alone(str(database.parent / "runtime.lock")):
            pass
    finally:
        os.umask(before)

    files = [path for path in database.parent.rglob("*") if path.is_file()]
    assert {path.name.rpartition(".")[2] for path in files} >= {"db", "lock"}
    assert [path for path in files if path.stat().st_mode & 0o077] == []
