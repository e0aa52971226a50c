"""What people's own SQL may do: read, and nothing else, whatever they try."""

import hashlib
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.errors import ArgumentError, DamagedError, DatabaseError, PlaybookError, SchemaError
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import migrate, user_sql
from playbook_db.store.engine import open_store
from playbook_db.store.urls import sqlite_path

pytestmark = pytest.mark.sqlite

WRITES = [
    "INSERT INTO sections VALUES ('x', 'X', 9)",
    "INSERT INTO sections SELECT 'x', 'X', 9",
    "INSERT INTO sections VALUES ('x', 'X', 9) RETURNING slug",
    "REPLACE INTO sections VALUES ('pat', 'X', 1)",
    "UPDATE key_points SET text = 'x'",
    "UPDATE key_points SET text = 'x' RETURNING name",
    "DELETE FROM changes",
    "DELETE FROM votes; SELECT 1",
    "WITH gone AS (SELECT 1) DELETE FROM key_points",
    "WITH new AS (SELECT 'x', 'X', 9) INSERT INTO sections SELECT * FROM new",
    "INSERT INTO sections VALUES ('pat', 'X', 1) ON CONFLICT DO UPDATE SET name = 'X'",
    "DROP TABLE votes",
    "DROP VIEW history",
    "DROP TRIGGER votes_no_delete",
    "DROP INDEX ix_changes_point",
    "ALTER TABLE votes RENAME TO ballots",
    "ALTER TABLE votes ADD COLUMN x TEXT",
    "CREATE TABLE x (y)",
    "CREATE TABLE x AS SELECT * FROM history",
    "CREATE TEMP TABLE x (y)",
    "CREATE TEMP VIEW x AS SELECT 1",
    "CREATE VIEW x AS SELECT 1",
    "CREATE INDEX x ON votes (tag)",
    "CREATE TRIGGER x AFTER INSERT ON votes BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE x USING fts5(y)",
    "CREATE VIRTUAL TABLE temp.x USING fts5(y)",
    "CREATE VIRTUAL TABLE x USING rtree(a, b, c)",
    "ATTACH 'other.db' AS other",
    "ATTACH ':memory:' AS other",
    "ATTACH 'file:other.db?mode=rwc' AS other",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO 'other.db'",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT x",
    "RELEASE x",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA user_version = 9",
    "PRAGMA user_version",
    "PRAGMA application_id = 9",
    "PRAGMA writable_schema = ON",
    "PRAGMA query_only = OFF",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA incremental_vacuum",
    "PRAGMA optimize",
    "PRAGMA schema_version = 1",
    "PRAGMA trusted_schema = ON",
    "PRAGMA integrity_check",
    "SELECT * FROM pragma_journal_mode('DELETE')",
    "SELECT * FROM pragma_user_version",
    "SELECT load_extension('x')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "EXPLAIN DELETE FROM votes",
    "-- SELECT\nDELETE FROM votes",
    "/* SELECT */ DELETE FROM votes",
]
NO_SQL = [
    "SELECT 1; DELETE FROM votes",
    "SELECT 1; SELECT 2",
    "SELECT writefile('other.txt', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT edit('x')",
    ".shell touch other.txt",
    "SELECT * FROM votes INTO OUTFILE 'other.txt'",
    "SELECT * FROM other.votes",
    "SELEC 1",
    "SELECT 'x",
    "SELECT 1\0",
    "SELECT '\udcff'",
    "",
    " ;\n",
    "SELECT :name",
    "SELECT ?",
    "SELECT zeroblob(3000000000)",
    "SELECT zeroblob(100000000)",
    "SELECT no_column FROM history",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with a point and a vote."""
    place = tmp_path_factory.mktemp("made")
    with open_store(f"sqlite:///{place / 'playbook.db'}") as store:
        project = Project.in_folder(store, str(place))
        edit.add(project, "use type hints", section="pat")
        edit.vote(project, "pat-001", "helpful")
    return place / "playbook.db"


@pytest.fixture
def url(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A copy of it at rest, alone in the current folder."""
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    shutil.copy(made, place)
    return f"sqlite:///{place / 'playbook.db'}"


def ask(url: str, question: str, project_key: str = "") -> list[tuple[object, ...]]:
    """All rows of the answer."""
    with user_sql.ask(url, question, project_key=project_key) as answer:
        return list(answer.rows)


def everything(url: str) -> dict[str, tuple[str, int]]:
    """The content and the time of change of each file beside the database, and of the database itself."""
    place = Path(url.removeprefix("sqlite:///")).parent
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in place.iterdir()
    }


@pytest.mark.parametrize("statement", WRITES)
def test_what_would_do_more_than_read_is_refused_and_leaves_no_trace(url: str, statement: str) -> None:
    """No row, no schema, no setting, no file beside is changed or made, by whatever statement."""
    before = everything(url)

    with pytest.raises(ArgumentError, match="only reads"):
        ask(url, statement)

    assert everything(url) == before
    assert [*before] == ["playbook.db"]


@pytest.mark.parametrize("statement", NO_SQL, ids=ascii)
def test_what_is_no_single_statement_that_can_run_is_explained_and_leaves_no_trace(url: str, statement: str) -> None:
    """Several statements at once, functions of the shell, half a statement: the error is told, nothing happens."""
    before = everything(url)

    with pytest.raises(ArgumentError, match=r"docs/sql\.md"):
        ask(url, statement)

    assert everything(url) == before


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT name FROM live_key_points",
        "SELECT name FROM live_key_points;  -- the points\n",
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "VALUES (1)",
        "EXPLAIN SELECT * FROM history",
        "EXPLAIN QUERY PLAN SELECT * FROM history",
        "PRAGMA table_info(history)",
        "SELECT name FROM pragma_table_info('history')",
        "SELECT name FROM sqlite_schema",
        "SELECT value FROM json_each('[1]')",
        "SELECT * FROM json_tree('{\"a\": [1]}')",
        "SELECT group_concat(name) OVER (ORDER BY name) FROM key_points",
        "SELECT name, pgsize FROM dbstat",
        "SELECT regex.name FROM key_points AS regex ORDER BY random()",
    ],
)
def test_what_reads_is_answered_and_leaves_no_trace(url: str, statement: str) -> None:
    """Reading from a database at rest leaves the file as it is and no log beside it."""
    before = everything(url)

    assert ask(url, statement)

    assert everything(url) == before


def test_views_that_unfold_json_can_be_asked(url: str) -> None:
    """Every view can be read, those over JSON lists too."""
    names = [str(name) for (name,) in ask(url, "SELECT name FROM sqlite_schema WHERE type = 'view'")]

    assert {"shown_points", "point_use", "erasure_log"} <= {*names}
    assert all(ask(url, f"SELECT count(*) FROM {name}") for name in names)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc tells which files are open")
def test_long_sort_makes_no_file(url: str) -> None:
    """Where SQLite would take a temporary file, it takes memory."""
    numbers = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60000)"

    with user_sql.ask(
        url, f"{numbers} SELECT i, hex(zeroblob(100)) FROM n ORDER BY random()", project_key=""
    ) as answer:
        next(answer.rows)
        opened = [os.readlink(file.path) for file in os.scandir("/proc/self/fd") if os.path.islink(file.path)]

    assert not [file for file in opened if "(deleted)" in file and "etilqs" in file]


def test_reader_that_leaves_early_leaves_no_log(url: str) -> None:
    """Who takes the first row and goes away, as `head` does, leaves the file at rest too."""
    before = everything(url)

    with user_sql.ask(url, "SELECT * FROM history", project_key="") as answer:
        next(answer.rows)

    assert everything(url) == before


@pytest.fixture
def written(url: str) -> Iterator[sqlite3.Connection]:
    """A writer who has the database open, with a commit that is in the log alone."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE playbooks SET ignored = 1")
        connection.commit()
        yield connection


def test_log_of_others_is_read_and_left_to_them(url: str, written: sqlite3.Connection) -> None:
    """What is in the log alone is seen, and log and file stay as they are."""
    before = everything(url)

    assert ask(url, "SELECT ignored FROM playbooks") == [(1,)]

    del before["playbook.db-shm"]  # where readers tell each other that they are there
    assert {name: state for name, state in everything(url).items() if name in before} == before


def test_log_that_nobody_has_open_is_read_and_left(url: str, written: sqlite3.Connection, tmp_path: Path) -> None:
    """A hook leaves its log behind: asking doesn't work it into the file."""
    left = tmp_path / "left"
    left.mkdir()
    for file in Path(url.removeprefix("sqlite:///")).parent.iterdir():
        (left / file.name).write_bytes(file.read_bytes())
    here = f"sqlite:///{left / 'playbook.db'}"
    before = everything(here)

    assert ask(here, "SELECT ignored FROM playbooks") == [(1,)]

    for name in ("playbook.db", "playbook.db-wal"):
        assert everything(here)[name] == before[name]


def test_question_that_would_never_end_is_ended(url: str) -> None:
    """After the time that was given, with what was found until then; nothing is left beside the file."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    endless = f"SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT * FROM ({numbers} SELECT count(*) FROM n)"
    found, began = list[int](), time.monotonic()

    def read() -> None:
        with user_sql.ask(url, endless, project_key="", timeout_s=0.2) as answer:
            found.extend(number for (number,) in answer.rows)

    with pytest.raises(ArgumentError, match=r"0\.2 s"):
        read()

    assert found == [0]  # the driver looks a row ahead
    assert 0.2 < time.monotonic() - began < 30
    assert not Path(f"{sqlite_path(url)}-wal").exists()


def test_question_of_few_long_steps_is_ended_too(url: str) -> None:
    """Functions that work on large texts leave SQLite's machine few steps in which to look at the clock."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)"
    long = f"{numbers} SELECT sum(length(printf('%.*c', 20000000 + i % 2, 'x'))) FROM n"

    with pytest.raises(ArgumentError, match="took longer"), user_sql.ask(url, long, project_key="", timeout_s=0.2):
        pass


@pytest.mark.slow  # it waits
def test_ctrl_c_ends_a_question(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite tells of it as of any interruption; the command ends as after any Ctrl-C."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    is_over = user_sql._Clock.is_over

    def is_over_or_interrupted(clock: user_sql._Clock) -> bool:
        if threading.current_thread() is threading.main_thread() and sys.exc_info()[0] is None:
            raise KeyboardInterrupt
        return is_over(clock)

    monkeypatch.setattr(user_sql._Clock, "is_over", is_over_or_interrupted)

    with pytest.raises(KeyboardInterrupt), user_sql.ask(url, numbers, project_key="", timeout_s=5.0) as answer:
        next(answer.rows)


def test_time_of_who_reads_the_rows_is_not_the_question_s(url: str) -> None:
    """A pager may wait for a person: only what SQLite works counts."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT i FROM n"

    with user_sql.ask(url, numbers, project_key="", timeout_s=2.0) as answer:
        next(answer.rows)
        time.sleep(2.1)
        assert sum(1 for _ in answer.rows) == 99_999


def test_writer_is_not_kept_waiting_by_a_question_under_way(url: str) -> None:
    """While rows are read others commit, and the rows stay those of one moment."""
    with user_sql.ask(url, "SELECT kind FROM history WHERE kind IS NOT NULL", project_key="") as answer:
        next(answer.rows)
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=0)) as other:
            other.execute("UPDATE playbooks SET ignored = 1")
            other.commit()
        assert list(answer.rows) == [("vote",)]

    assert ask(url, "SELECT ignored FROM playbooks") == [(1,)]


def test_many_who_ask_at_once_are_all_answered(url: str) -> None:
    """One who cleans up after itself takes nothing from another who still reads."""
    failed: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(10):
                assert ask(url, "SELECT count(*) FROM history") == [(2,)]
        except BaseException as error:  # handed to the test's own thread
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failed


def test_project_is_a_parameter_and_never_part_of_the_sql(url: str) -> None:
    """A folder's name with quotes in it is compared, not run; it may stand anywhere, in each of SQLite's spellings."""
    name = "it's; DROP TABLE votes --"

    assert ask(url, "SELECT :project, @project, $project", name) == [(name, name, name)]


def test_text_that_is_no_utf_8_is_shown_as_far_as_it_is(url: str) -> None:
    """Bytes that are no text are replaced, and the rest is shown."""
    assert ask(url, "SELECT CAST(x'61ff62' AS TEXT)") == [("a\ufffdb",)]


def test_unknown_table_is_told_with_the_views_there_are(url: str) -> None:
    """Who guesses a name sees the names."""
    with pytest.raises(ArgumentError, match=r"no such table: points\. The views are: .*live_key_points.*vote_log"):
        ask(url, "SELECT * FROM points")


def test_unknown_column_is_told_with_where_columns_are_described(url: str) -> None:
    """Which column it was, and where to look."""
    with pytest.raises(ArgumentError, match=r"no such column: txt\..*docs/sql\.md"):
        ask(url, "SELECT txt FROM history")


def _at_schema(url: str, number: int) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute(f"PRAGMA user_version = {number}")


@pytest.mark.parametrize(("known", "error"), [(7, SchemaError), (1, SchemaError)])
def test_database_of_another_schema_is_told_and_not_migrated(
    url: str, known: int, error: type[PlaybookError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking is no reason to change the file."""
    _at_schema(url, 3)
    monkeypatch.setattr(migrate, "SCHEMA", known)
    before = everything(url)

    with pytest.raises(error):
        ask(url, "SELECT 1")

    assert everything(url) == before


@pytest.mark.parametrize(
    "other",
    [
        "postgresql://me:secret@/db?host=/nowhere/at/all",
        "sqlite:///nowhere/at/all.db",
        "sqlite:///:memory:",
        "sqlite://",
    ],
)
def test_database_that_is_none_of_ours_is_told(other: str) -> None:
    """A server's URL, a file that isn't there, a database in memory: an error that says so, and no file is made."""
    with pytest.raises(DatabaseError) as told:
        ask(other, "SELECT 1")

    assert "secret" not in str(told.value)


def test_damage_that_a_question_meets_is_told_as_damage(url: str) -> None:
    """Not as a mistake in the SQL."""
    ((page,),) = ask(url, "SELECT rootpage FROM sqlite_schema WHERE name = 'revisions'")
    with Path(url.removeprefix("sqlite:///")).open("r+b") as file:
        file.seek((int(str(page)) - 1) * 4096)
        file.write(bytes(range(1, 256)) * 16)

    with pytest.raises(DamagedError):
        ask(url, "SELECT * FROM history")
