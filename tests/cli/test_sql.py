"""sql and db metadata."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest

from playbook_db.projects import USER_KEY
from tests.cli.conftest import Playbook, on_terminal

STEERING = "SELECT 'a' || char(27) || '[31m' || char(155) || char(10) || char(8238) || 'b' AS odd"
FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
KINDS = "SELECT 'ü,\"' AS t, 9007199254740993 AS n, 0.1 AS r, NULL AS z, x'00ff' AS b, '' AS e"


@pytest.fixture(autouse=True)
def _point(playbook: Playbook) -> None:
    playbook("add", "use type hints", "--section", "pat")


def test_piped_table_is_aligned(playbook: Playbook) -> None:
    """NULL is empty, a BLOB hexadecimal."""
    result = playbook("sql", "SELECT 'long text' AS a, NULL AS b, x'00ff' AS c UNION ALL SELECT 1, 2.5, 'x'")

    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "a          b    c",
        "---------  ---  ----",
        "long text       00ff",
        "1          2.5  x",
    ]


def test_csv_keeps_each_value(playbook: Playbook) -> None:
    result = playbook("sql", "--csv", KINDS.replace("ü", "ü' || char(10) || '"))

    assert result.out.count("\r\n") == 2
    titles, row = csv.reader(io.StringIO(result.out, newline=""))
    assert titles == ["t", "n", "r", "z", "b", "e"]
    assert row == ['ü\n,"', "9007199254740993", "0.1", "", "00ff", ""]


def test_rows_before_an_error_are_printed(playbook: Playbook) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1200)"
    overflow = "SELECT -9223372036854775807 - 1"

    result = playbook("sql", "--csv", f"{numbers} SELECT abs(i) AS n FROM (SELECT i FROM n UNION ALL {overflow})")

    assert (result.code, "overflow" in result.err) == (1, True)
    assert result.out.startswith("n\r\n1\r\n2\r\n")


def test_long_query_is_stopped(playbook: Playbook) -> None:
    result = playbook("sql", "--timeout", "0.2", FOREVER)

    assert result.code == 1
    assert "longer than 0.2 s" in result.err
    assert "--timeout" in result.err


def test_sql_is_read_from_stdin(playbook: Playbook) -> None:
    result = playbook("sql", "--json", stdin="-- how many?\nSELECT count(*) AS n\nFROM live_key_points;\n")

    assert result.json == [{"n": 1}]


def test_equal_titles_are_numbered(playbook: Playbook) -> None:
    assert playbook("sql", "--json", "SELECT 1 AS n, 2 AS n, 3 AS n_2").json == [{"n": 1, "n_3": 2, "n_2": 3}]


def test_project_parameter_is_the_current_project(playbook: Playbook, folder: Path, tmp_path: Path) -> None:
    count = "SELECT count(*) AS n, :project AS p FROM live_key_points WHERE playbook = :project"

    assert playbook("sql", "--json", count).json == [{"n": 1, "p": str(folder)}]
    assert playbook("sql", "--json", count, "--project", str(tmp_path)).json == [{"n": 0, "p": str(tmp_path)}]
    assert playbook("--user", "sql", "--json", count).json == [{"n": 0, "p": USER_KEY}]


@pytest.mark.slow
def test_table_fits_the_terminal(playbook: Playbook) -> None:
    seen = on_terminal("sql", f"SELECT 'pat-001' AS name, 7 AS helpful, '{'word ' * 30}' AS text, ({STEERING}) AS odd")

    assert all(len(line) <= 80 for line in seen.splitlines())
    assert seen.replace("\n", "").isprintable()
    assert seen.count("word") == 30
    assert seen.splitlines()[1].index("7") > seen.splitlines()[0].index("helpful")
    narrow = on_terminal("sql", "SELECT name, text FROM live_key_points", columns=20)
    assert narrow.splitlines() == ["name  pat-001", "text  use type hints", ""]


@pytest.mark.slow
def test_terminal_shows_all_rows() -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1001)"

    assert on_terminal("sql", f"{numbers} SELECT i FROM n").split()[-1] == "1001"


@pytest.mark.nightly
@pytest.mark.slow
def test_query_memory_is_limited(playbook: Playbook) -> None:
    """A query may use 512 MiB."""
    greedy = "WITH RECURSIVE n(i, b) AS (SELECT 1, zeroblob(9999999) UNION SELECT i + 1, zeroblob(9999999) FROM n)"

    command = [sys.executable, "-m", "playbook_db", "sql", f"{greedy} SELECT count(*) FROM n"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)

    assert done.returncode == 1
    assert b"the query takes too much memory" in done.stderr


def test_metadata_names_the_database(playbook: Playbook) -> None:
    """Without its ending, as in Datasette."""
    assert [*playbook("db", "metadata").json["databases"]] == ["playbook"]
    assert [*playbook("db", "metadata", "--db", "/x/some.db").json["databases"]] == ["some"]


def test_query_may_begin_with_a_comment(playbook: Playbook) -> None:
    assert playbook("sql", "--csv", "--how many\nSELECT 1 AS n", "--timeout", "5").out == "n\r\n1\r\n"


def test_missing_playbook_is_named(playbook: Playbook, tmp_path: Path) -> None:
    query = "SELECT name FROM live_key_points WHERE playbook = :project"
    (tmp_path / "other" / ".git").mkdir(parents=True)

    assert playbook("sql", query).err == ""
    assert "has no playbook" in playbook("--project", str(tmp_path / "other"), "sql", query).err
