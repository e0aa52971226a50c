"""SQLite files that somebody else made: what is in them can neither change what is written nor do anything else."""

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from playbook_db.store import sqlite_open
from playbook_db.store.sqlite.sqlite_files import open_file, statements
from playbook_db.store.sqlite_open import SCHEMA
from tests.cli.conftest import Playbook

pytestmark = pytest.mark.sqlite

TEXT = "run the tests first"
_TRIGGER = "CREATE TRIGGER {} AFTER UPDATE ON key_points BEGIN UPDATE key_points SET text = 'evil' WHERE id = 1; END"
REFUSED = {  # by what the message names
    "trigger 'helper'": _TRIGGER.format("helper"),
    "trigger 'point_search_changed'": f"DROP TRIGGER point_search_changed; {_TRIGGER.format('point_search_changed')}",
    r"trigger 'a\x1b[2J'": _TRIGGER.format('"a\x1b[2J"'),
    "view 'live_key_points'": "DROP VIEW live_key_points; CREATE VIEW live_key_points AS SELECT 'evil' AS text",
    "view 'Search_Texts'": "DROP VIEW search_texts; CREATE VIEW Search_Texts AS SELECT 1 AS id, 'evil' AS text",
}
HARMLESS = {
    "a generated column that calls a function": "ALTER TABLE key_points ADD COLUMN e TEXT AS (steal(text)) VIRTUAL",
    "an index that calls a function": "CREATE INDEX e ON key_points (steal(text))",
    "a virtual table": "CREATE VIRTUAL TABLE e USING fts5(text)",
    "a virtual table in place of ours": "ALTER TABLE votes RENAME TO v; CREATE VIRTUAL TABLE votes USING fts5(x)",
}
OWN = {
    "a view": "CREATE VIEW best AS SELECT name, text FROM live_key_points WHERE helpful > 3",
    "a view of the index": "CREATE VIEW best AS SELECT rowid FROM point_search WHERE point_search MATCH 'tests'",
    "a view of JSON": "CREATE VIEW best AS SELECT json_extract(points, '$[0]') FROM showings",
    "a table and an index": "CREATE TABLE notes (n TEXT); CREATE INDEX of_notes ON notes (n)",
}


@pytest.fixture
def foreign(playbook: Playbook, tmp_path: Path) -> Path:
    """A file with a playbook of this project that has one point; the user's own database has another."""
    path = tmp_path / "foreign.db"
    assert playbook("--db", str(path), "add", TEXT).code == 0
    assert playbook("add", "the user's own").code == 0
    return path


def _bait(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.create_function("steal", 1, str, deterministic=True)
        connection.executescript(script)


def _ways(path: Path) -> list[list[str]]:
    """The ways on which a foreign file comes in."""
    target = path.with_name("target.db")
    return [
        ["--db", str(path), "vote", "oth-001", "helpful"],
        ["--db", str(path), "stats"],
        ["db", "transfer", str(path), str(target)],
        ["db", "transfer", str(target), str(path)],
        ["restore-backup", str(path), "--yes"],
    ]


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize("named", REFUSED)
def test_foreign_triggers_and_views_are_refused(playbook: Playbook, foreign: Path, named: str, home: Path) -> None:
    """Neither database is changed."""
    _bait(foreign, REFUSED[named])
    own = home / ".claude" / "playbook" / "playbook.db"
    before = own.read_bytes(), foreign.read_bytes()

    for way in _ways(foreign):
        done = playbook(*way)
        assert (done.code, done.out) == (1, ""), way
        assert f"{foreign} has SQL that is not from playbook-db" in done.err
        assert named in done.err
        assert "drop it with sqlite3" in done.err

    assert (own.read_bytes(), foreign.read_bytes()) == before
    assert playbook("--db", str(foreign), "db", "check").code == 1


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("what", HARMLESS)
def test_foreign_functions_change_nothing(playbook: Playbook, foreign: Path, what: str) -> None:
    _bait(foreign, HARMLESS[what])

    for way in _ways(foreign):
        assert playbook(*way).code in (0, 1), way

    with closing(sqlite3.connect(foreign)) as connection:
        assert connection.execute("SELECT DISTINCT text FROM changes ORDER BY text").fetchall()[-1:] == [(TEXT,)]


@pytest.mark.parametrize("access", ["read", "at rest", "check", "write", "hook"])
def test_no_connection_trusts_the_schema(foreign: Path, access: Any) -> None:
    opened = sqlite_open.connect(str(foreign), wait_s=0) if access == "hook" else open_file(str(foreign), access)

    with closing(opened) as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("what", OWN)
def test_own_views_and_tables_are_allowed(playbook: Playbook, foreign: Path, what: str) -> None:
    _bait(foreign, OWN[what])

    for way in _ways(foreign)[:3]:
        assert playbook(*way).code == 0, way
    if "VIEW best" in OWN[what]:
        assert playbook("--db", str(foreign), "sql", "SELECT count(*) FROM best").code == 0
    assert playbook("restore-backup", str(foreign), "--yes").code == 0
    assert TEXT in playbook("list").out


@pytest.mark.parametrize(
    "version", [SCHEMA - 1, *(pytest.param(version, marks=pytest.mark.nightly) for version in range(1, SCHEMA - 1))]
)
def test_migration_replaces_old_triggers(playbook: Playbook, tmp_path: Path, version: int) -> None:
    """Foreign ones go, too."""
    for way in (0, 2, 4):
        path = tmp_path / f"{way}.db"
        shutil.copy(Path(__file__).parents[1] / "frozen" / f"{version:04d}.db", path)
        _bait(path, _TRIGGER.format("helper"))
        assert "SQL that is not from playbook-db" not in playbook(*_ways(path)[way]).err
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT count(*) FROM key_points WHERE text = 'evil'").fetchone() == (0,)


def test_new_triggers_need_a_new_schema() -> None:
    """Otherwise, older databases are refused. Change the schema's number and the digest together."""
    files = ("views.sql", "search_triggers.sql", "triggers.sql", "search.sql")
    made = [each for name in files for each in statements(name) if each.startswith(("CREATE VIEW", "CREATE TRIGGER"))]

    assert (SCHEMA, hashlib.sha256("\n".join(made).encode()).hexdigest()[:16]) == (17, "38bae556c72b29ee")
