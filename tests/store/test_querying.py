"""Queries in SQL: they read, and do nothing else."""

import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from playbook_db.errors import ArgumentError, DamagedError, DatabaseError, SchemaError
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import user_sql
from playbook_db.store.engine import open_store
from playbook_db.store.sqlite_open import SCHEMA
from playbook_db.store.urls import sqlite_path

pytestmark = pytest.mark.sqlite

WRITES = [
    "INSERT INTO sections VALUES ('x', 'X', 9) RETURNING slug",
    "UPDATE key_points SET text = 'x'",
    "DELETE FROM votes; SELECT 1",
    "DROP TRIGGER votes_no_delete",
    "CREATE TABLE x AS SELECT * FROM history",
    "CREATE TEMP TABLE x (y)",
    "CREATE VIRTUAL TABLE temp.x USING fts5(y)",
    "ATTACH 'file:other.db?mode=rwc' AS other",
    "VACUUM INTO 'other.db'",
    "BEGIN IMMEDIATE",
    "PRAGMA user_version",
    "PRAGMA writable_schema = ON",
    "PRAGMA query_only = OFF",
    "SELECT * FROM pragma_journal_mode('DELETE')",
    "SELECT load_extension('x')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "/* SELECT */ DELETE FROM votes",
]
NO_SQL = [
    "SELECT 1; SELECT 2",
    "SELECT writefile('other.txt', 'x')",
    ".shell touch other.txt",
    "SELEC 1",
    "SELECT 1\0",
    "SELECT '\udcff'",
    " ;\n",
    "SELECT ?",
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
    """A copy of it, alone in the current folder."""
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
    """The hash and the time of each file in the folder of the database."""
    place = Path(url.removeprefix("sqlite:///")).parent
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in place.iterdir()
    }


@pytest.mark.parametrize("statement", WRITES)
def test_statement_that_writes_is_refused(url: str, statement: str) -> None:
    """No file changes, and none appears."""
    before = everything(url)

    with pytest.raises(ArgumentError, match="only reads"):
        ask(url, statement)

    assert everything(url) == before
    assert [*before] == ["playbook.db"]


@pytest.mark.parametrize("statement", NO_SQL, ids=ascii)
def test_bad_statement_is_explained(url: str, statement: str) -> None:
    before = everything(url)

    with pytest.raises(ArgumentError, match=r"docs/sql\.md"):
        ask(url, statement)

    assert everything(url) == before


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT name FROM live_key_points;  -- the points\n",
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "EXPLAIN QUERY PLAN SELECT * FROM history",
        "PRAGMA table_info(history)",
        "SELECT value FROM json_each('[1]')",
        "SELECT group_concat(name) OVER (ORDER BY name) FROM key_points",
        "SELECT name, pgsize FROM dbstat",
    ],
)
def test_reading_leaves_no_trace(url: str, statement: str) -> None:
    before = everything(url)

    assert ask(url, statement)

    assert everything(url) == before


def test_reader_that_stops_early_leaves_no_log(url: str) -> None:
    before = everything(url)

    with user_sql.ask(url, "SELECT * FROM history", project_key="") as answer:
        next(answer.rows)

    assert everything(url) == before


@pytest.fixture
def written(url: str) -> Iterator[sqlite3.Connection]:
    """A writer whose commit is still in the log."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE playbooks SET ignored = 1")
        connection.commit()
        yield connection


@pytest.mark.parametrize("is_leftover", [False, True])
def test_log_is_read_and_unchanged(url: str, written: sqlite3.Connection, tmp_path: Path, is_leftover: bool) -> None:
    """A hook leaves its log behind; nobody has that open."""
    if is_leftover:
        shutil.copytree(Path(url.removeprefix("sqlite:///")).parent, tmp_path / "left")
        url = f"sqlite:///{tmp_path}/left/playbook.db"
    before = everything(url)

    assert ask(url, "SELECT ignored FROM playbooks") == [(1,)]

    after = everything(url)
    assert [after[name] for name in ("playbook.db", "playbook.db-wal")] == [
        before[name] for name in ("playbook.db", "playbook.db-wal")
    ]


def test_endless_query_is_ended(url: str) -> None:
    """The rows that it found are kept."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    endless = f"SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT * FROM ({numbers} SELECT count(*) FROM n)"
    found = list[int]()

    def read() -> None:
        with user_sql.ask(url, endless, project_key="", timeout_s=0.2) as answer:
            found.extend(number for (number,) in answer.rows)

    with pytest.raises(ArgumentError, match=r"0\.2 s"):
        read()

    assert found == [0]  # the driver looks a row ahead
    assert not Path(f"{sqlite_path(url)}-wal").exists()


def test_query_with_few_long_steps_is_ended(url: str) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)"
    long = f"{numbers} SELECT sum(length(printf('%.*c', 20000000 + i % 2, 'x'))) FROM n"

    with pytest.raises(ArgumentError, match="took longer"), user_sql.ask(url, long, project_key="", timeout_s=0.2):
        pass


def test_running_query_blocks_no_writer(url: str) -> None:
    """Its rows stay those of one moment."""
    with user_sql.ask(url, "SELECT kind FROM history WHERE kind IS NOT NULL", project_key="") as answer:
        next(answer.rows)
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=0)) as other:
            other.execute("UPDATE playbooks SET ignored = 1")
            other.commit()
        assert list(answer.rows) == [("vote",)]

    assert ask(url, "SELECT ignored FROM playbooks") == [(1,)]


def test_queries_at_once_are_all_answered(url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(lambda _: ask(url, "SELECT count(*) FROM history"), range(40))

    assert [*answers] == [[(2,)]] * 40


def test_project_is_a_parameter(url: str) -> None:
    name = "it's; DROP TABLE votes --"

    assert ask(url, "SELECT :project, @project, $project", name) == [(name, name, name)]


def test_bad_utf_8_is_replaced(url: str) -> None:
    assert ask(url, "SELECT CAST(x'61ff62' AS TEXT)") == [("a\ufffdb",)]


def test_unknown_table_lists_the_views(url: str) -> None:
    with pytest.raises(ArgumentError, match=r"no such table: points\. The views are: .*live_key_points.*vote_log"):
        ask(url, "SELECT * FROM points")
    with pytest.raises(ArgumentError, match=r"The only parameter is :project\."):
        ask(url, "SELECT :name")


@pytest.mark.parametrize("schema", [SCHEMA - 1, SCHEMA + 1])
def test_query_never_migrates(url: str, schema: int) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute(f"PRAGMA user_version = {schema}")
    before = everything(url)

    with pytest.raises(SchemaError):
        ask(url, "SELECT 1")

    assert everything(url) == before


@pytest.mark.parametrize("other", ["postgresql://me:secret@/db?host=/nowhere", "sqlite:///nowhere/at/all.db"])
def test_other_databases_are_refused(other: str) -> None:
    """No file is created, and no password shown."""
    with pytest.raises(DatabaseError) as error:
        ask(other, "SELECT 1")

    assert "secret" not in str(error.value)


def test_damage_is_not_called_an_sql_error(url: str) -> None:
    ((page,),) = ask(url, "SELECT rootpage FROM sqlite_schema WHERE name = 'revisions'")
    with Path(url.removeprefix("sqlite:///")).open("r+b") as file:
        file.seek((int(str(page)) - 1) * 4096)
        file.write(bytes(range(1, 256)) * 16)

    with pytest.raises(DamagedError):
        ask(url, "SELECT * FROM history")
