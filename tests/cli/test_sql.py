"""sql and db metadata, as a script and a person see them."""

import csv
import io
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Playbook, on_terminal

STEERING = "SELECT 'a' || char(27) || '[31m' || char(155) || char(10) || char(8238) || 'b' AS told"
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


def test_json_keeps_types_of_values(playbook: Playbook) -> None:
    (row,) = playbook("sql", "--json", KINDS + ", 9e999 AS i").json

    assert row == {"t": 'ü,"', "n": 9007199254740993, "r": 0.1, "z": None, "b": "00ff", "e": "", "i": "inf"}


def test_equal_titles_get_distinct_json_keys(playbook: Playbook) -> None:
    (row,) = playbook("sql", "--json", "SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS A, 5 AS a").json

    assert row == {"a": 1, "a_3": 2, "a_2": 3, "A": 4, "a_4": 5}


def test_csv_keeps_each_value(playbook: Playbook) -> None:
    result = playbook("sql", "--csv", KINDS.replace("ü", "ü' || char(10) || '"))

    assert result.out.count("\r\n") == 2
    titles, row = csv.reader(io.StringIO(result.out, newline=""))
    assert titles == ["t", "n", "r", "z", "b", "e"]
    assert row == ['ü\n,"', "9007199254740993", "0.1", "", "00ff", ""]


@pytest.mark.parametrize(
    ("form", "begins"),
    [(["--csv"], "n\r\n1\r\n2\r\n"), (["--json"], '[\n{"n": 1},\n{"n": 2}'), ([], "n\n----\n1\n2\n")],
    ids=["csv", "json", "table"],
)
def test_rows_before_an_error_are_printed(playbook: Playbook, form: list[str], begins: str) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1200)"
    overflow = "SELECT -9223372036854775807 - 1"

    result = playbook("sql", *form, f"{numbers} SELECT abs(i) AS n FROM (SELECT i FROM n UNION ALL {overflow})")

    assert (result.code, "overflow" in result.err) == (1, True)
    assert result.out.startswith(begins)
    assert "1100" in result.out


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]], ids=["table", "json", "csv"])
def test_long_query_is_stopped(playbook: Playbook, form: list[str]) -> None:
    result = playbook("sql", "--timeout", "0.2", *form, FOREVER)

    assert result.code == 1
    assert "longer than 0.2 s" in result.err
    assert "--timeout" in result.err


@pytest.mark.parametrize("arguments", [("sql",), ("sql", "-")])
def test_sql_is_read_from_stdin(playbook: Playbook, arguments: tuple[str, ...]) -> None:
    result = playbook(*arguments, "--json", stdin="-- how many?\nSELECT count(*) AS n\nFROM live_key_points;\n")

    assert result.json == [{"n": 1}]


def test_project_parameter_is_the_current_project(playbook: Playbook, folder: Path, tmp_path: Path) -> None:
    count = "SELECT count(*) AS n, :project AS p FROM live_key_points WHERE playbook = :project"

    assert playbook("sql", "--json", count).json == [{"n": 1, "p": str(folder)}]
    assert playbook("sql", "--json", count, "--project", str(tmp_path)).json == [{"n": 0, "p": str(tmp_path)}]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_hostile_text_is_shown_harmless(playbook: Playbook, form: tuple[str, ...]) -> None:
    for question in (STEERING, 'SELECT 1 AS "\x1b[31m\x9bred"'):
        result = playbook("sql", *form, question)

        assert result.code == 0
        assert all(char.isprintable() or char == "\n" for char in result.out)
        json.loads(result.out) if form else None


@pytest.mark.slow
def test_table_fits_the_terminal(playbook: Playbook) -> None:
    seen = on_terminal("sql", f"SELECT 'pat-001' AS name, 7 AS helpful, '{'word ' * 30}' AS text, ({STEERING}) AS odd")

    assert all(len(line) <= 80 for line in seen.splitlines())
    assert all(char.isprintable() or char == "\n" for char in seen)
    assert seen.count("word") == 30
    assert seen.splitlines()[1].index("7") > seen.splitlines()[0].index("helpful")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("sql", "SELECT * FROM points"), 1, "The views are: "),
        (("sql", "SELECT * FORM points"), 1, 'near "FORM"'),
        (("sql", "SELECT nam FROM history"), 1, "PRAGMA table_info(VIEW)"),
        (("sql", "DELETE FROM votes"), 1, "only reads"),
        (("sql", "SELECT 1; SELECT 2"), 1, "one statement"),
        (("sql", "SELECT :me"), 1, ":project"),
        (("sql", ""), 1, "no statement"),
        (("sql", "--csv", "--json", "SELECT 1"), 2, "one of --csv, --line and --json"),
        (("sql", "SELECT 1", "--db", "postgresql://me:pw@127.0.0.1:1/db"), 1, "can't be reached"),
        (("sql", "SELECT 1", "--db", "nowhere.db"), 1, "playbook init"),
        (("db", "metadata", "--db", "postgresql://me:pw@host/db"), 1, "not an SQLite file"),
    ],
    ids=str,
)
def test_mistakes_are_explained(playbook: Playbook, arguments: tuple[str, ...], code: int, told: str) -> None:
    result = playbook(*arguments)

    assert (result.code, result.out) == (code, "")
    assert told in result.err


@pytest.mark.nightly
@pytest.mark.slow
def test_ctrl_c_stops_a_long_query(playbook: Playbook) -> None:
    question = f"SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT * FROM ({FOREVER})"  # the driver looks a row ahead
    command = [sys.executable, "-u", "-m", "playbook_db", "sql", "--csv", question]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a job in the background ignores
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"n\r\n", b"0\r\n"]
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=300)
        finally:
            process.kill()

    assert process.returncode == 130
    assert b"interrupted" in err


@pytest.mark.nightly
@pytest.mark.slow
def test_query_memory_is_limited(playbook: Playbook) -> None:
    """A query may use 512 MiB."""
    greedy = "WITH RECURSIVE n(i, b) AS (SELECT 1, zeroblob(9999999) UNION SELECT i + 1, zeroblob(9999999) FROM n)"

    done = subprocess.run(
        [sys.executable, "-m", "playbook_db", "sql", f"{greedy} SELECT count(*) FROM n"],
        capture_output=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 1
    assert b"the query takes too much memory" in done.stderr


@pytest.mark.slow
def test_closed_pipe_is_no_error(playbook: Playbook, home: Path) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) SELECT i FROM n"
    command = f"set -o pipefail; {shlex.quote(sys.executable)} -m playbook_db sql --csv '{numbers}' | head -2"

    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=300)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"i\r\n1\r\n", b"")
    assert not list(home.glob(".claude/playbook/playbook.db-*"))


def test_metadata_names_the_database(playbook: Playbook) -> None:
    """Without its ending, as in Datasette."""
    assert [*playbook("db", "metadata").json["databases"]] == ["playbook"]
    assert [*playbook("db", "metadata", "--db", "/x/some.db").json["databases"]] == ["some"]


@pytest.mark.parametrize("query", ["-- how many\nSELECT 1 AS n", "--how many\nSELECT 1 AS n"])
def test_query_may_begin_with_a_comment(playbook: Playbook, query: str) -> None:
    assert playbook("sql", "--csv", query, "--timeout", "5").out == "n\r\n1\r\n"


def test_missing_playbook_is_named(playbook: Playbook, tmp_path: Path) -> None:
    query = "SELECT name FROM live_key_points WHERE playbook = :project"
    (tmp_path / "other" / ".git").mkdir(parents=True)

    assert playbook("sql", query).err == ""
    assert "has no playbook" in playbook("--project", str(tmp_path / "other"), "sql", query).err
