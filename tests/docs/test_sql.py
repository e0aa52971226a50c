"""docs/sql.md and examples/ agree with the database and the command."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from playbook_db.cli.look.sql import aligned
from playbook_db.cli.main import main
from playbook_db.domain import playbook_file
from playbook_db.services import maintenance
from playbook_db.services.playbook import import_export
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.reading import sql as sql_service
from playbook_db.store.engine import Store, open_store
from tests.databases import DISTRIBUTED
from tests.docs.hafen import TODAY, live_two_weeks
from tests.postgres import drop_database, new_database, require_server

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DOCS = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
QUESTIONS = {question.title: question for question in sql_service.parse_questions(DOCS)}
ANSWERS = dict(re.findall(r"^### \d+\. ([^\n]+)\n```sql\n.*?^```text\n(.*?)```$", DOCS, re.MULTILINE | re.DOTALL))


@contextmanager
def _after_two_weeks(home: Path, url: str) -> Iterator[Project]:
    """The project of the examples."""
    folder = home / "hafen"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as environment, open_store(url) as store:
        environment.setenv("HOME", str(home))
        environment.delenv("CLAUDE_CONFIG_DIR", raising=False)
        project = Project.in_folder(store, str(folder))
        list(live_two_weeks(project))
        yield project


@pytest.fixture(scope="module")
def hafen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    home = tmp_path_factory.mktemp("home")
    with _after_two_weeks(home, f"sqlite:///{home / 'playbook.db'}") as project:
        yield project


@pytest.fixture(scope="module")
def on_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The same project on a server."""
    require_server()
    url = new_database()
    with _after_two_weeks(tmp_path_factory.mktemp("home"), str(url)) as project:
        if DISTRIBUTED:
            maintenance.distribute(str(url))
        yield project
    drop_database(url)


@pytest.fixture
def connection(hafen: Project) -> Iterator[sqlite3.Connection]:
    """A read-only connection, as docs/sql.md describes it."""
    with closing(sqlite3.connect(f"file:{hafen.store.where}?mode=ro", uri=True)) as opened:
        yield opened


def live(connection: sqlite3.Connection, kind: str) -> dict[str, list[str]]:
    """The columns of each view or table, without the search index."""
    ours = (
        "SELECT name FROM sqlite_master WHERE type = ? AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        " AND name NOT LIKE 'point!_search%' ESCAPE '!' AND name <> 'search_texts'"
    )
    names = [name for (name,) in connection.execute(ours, (kind,))]
    return {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}


def ask(connection: sqlite3.Connection, question: str, project: Project) -> sqlite3.Cursor:
    return connection.execute(QUESTIONS[question].sql.replace("'now'", f"'{TODAY}'"), {"project": project.key})


@pytest.mark.parametrize(("chapter", "kind"), [("Views", "view"), ("Tables", "table")])
def test_docs_describe_each_column(connection: sqlite3.Connection, chapter: str, kind: str) -> None:
    headings = re.findall(r"^### `(\w+)`$", DOCS.partition(f"\n## {chapter}\n")[2].partition("\n## ")[0], re.MULTILINE)
    described = sql_service.parse_tables(DOCS)

    assert {name: sorted(described[name].columns) for name in headings} == {
        name: sorted(columns) for name, columns in live(connection, kind).items()
    }
    assert all(described[name].about for name in headings)
    if kind == "view":
        assert [name for name in headings if not all(described[name].columns.values())] == []


def test_each_sql_block_is_a_numbered_question() -> None:
    assert DOCS.count("```sql\n") == len(QUESTIONS) == len(ANSWERS) == 15
    assert re.findall(r"^### (\d+)\.", DOCS, re.MULTILINE) == [str(number) for number in range(1, 16)]
    assert QUESTIONS.keys() == ANSWERS.keys()


def test_wrapped_paragraphs_become_one_line() -> None:
    history = sql_service.parse_tables(DOCS)["history"]
    wrapped, bare = (
        QUESTIONS["What would pruning take next?"],
        QUESTIONS["Which curator operations were skipped, by reason?"],
    )

    assert history.about == (
        "One row for each change. A revision that changed no point has one row, with NULL from `seq` on: for example "
        "only neutral votes, only skipped operations, or a top-level key of the file."
    )
    assert history.columns["seq"] == "the change's place in the revision, from 1"
    assert wrapped.note.endswith(
        "A point with 0 votes left is retired when the next session is learned from, "
        "unless `playbook edit` or a helpful vote saves the point."
    )
    assert bare.note == ""
    assert bare.sql.startswith("SELECT reason,")
    assert bare.sql.endswith("ORDER BY times DESC, reason;")


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_have_the_printed_answers(connection: sqlite3.Connection, hafen: Project, question: str) -> None:
    printed = ANSWERS[question].splitlines()
    cursor = ask(connection, question, hafen)

    columns = tuple(column[0] for column in cursor.description)
    lines = list(aligned(columns, cursor))

    assert len(lines) > 2
    assert lines == printed


@pytest.mark.nightly(after=3)
@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_the_same_on_a_server(on_server: Project, question: str) -> None:
    if DISTRIBUTED and "RECURSIVE" in QUESTIONS[question].sql:
        pytest.skip("Citus asks no such query of views")
    printed = ANSWERS[question].splitlines()
    query = QUESTIONS[question].sql.replace("'now'", f"'{TODAY}'")

    with sql_service.ask(str(on_server.store.url), query, project_key=on_server.key) as answer:
        lines = list(aligned(answer.columns, answer.rows))

    assert [line[: len(shown)] for line, shown in zip(lines, printed, strict=False)] == printed


def test_first_example_has_the_printed_answer(hafen: Project, capsys: pytest.CaptureFixture[str]) -> None:
    question, answer = re.findall(r"^\$ playbook sql \"(.*?)\"\n(.*?)\$ ", DOCS, re.MULTILINE | re.DOTALL)[0]

    code = main(["--project", hafen.folder, "--db", hafen.store.where, "sql", question])

    assert (code, capsys.readouterr().out) == (0, answer)


def test_datasette_metadata_fits_the_database(
    connection: sqlite3.Connection, hafen: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each query finds something for all projects and for one."""
    assert main(["--db", hafen.store.where, "db", "metadata"]) == 0
    (told_of,) = json.loads(capsys.readouterr().out)["databases"].items()

    assert told_of[0] == "playbook"
    views = live(connection, "view")
    there = views | live(connection, "table")
    assert told_of[1]["tables"].keys() == there.keys()
    for name, table in told_of[1]["tables"].items():
        assert {*table["columns"]} <= {*there[name]}
        assert name not in views or {*table["columns"]} == {*there[name]}
    assert told_of[1]["tables"]["alembic_version"]["hidden"]
    assert len(told_of[1]["queries"]) == len(QUESTIONS)
    for query in told_of[1]["queries"].values():
        statement = query["sql"].replace("'now'", f"'{TODAY}'")
        found, empty, elsewhere = (
            connection.execute(statement, {"project": project}).fetchall() for project in (hafen.key, "", "/nowhere")
        )
        assert found == empty != []
        assert elsewhere == []


@pytest.mark.postgres
def test_realistic_example_is_exported_unchanged(store: Store, folder: Path) -> None:
    data = (EXAMPLES / "realistic.json").read_bytes()
    project = Project.in_folder(store, str(folder))

    revised = import_export.import_playbook(project, playbook_file.decode(data, source="F"), source="F")

    assert (revised.revision, len(read_playbook(project).points)) == (1, 60)
    assert import_export.export_playbook(project).encode() == data
    assert not data.isascii()


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda file: file.name)
def test_example_files_load(file: Path) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))

    if "operations" in content:
        assert isinstance(content["operations"], list)
    else:
        assert playbook_file.decode(file.read_bytes(), source=file.name).playbook.points


def test_older_example_has_all_shapes_of_entries() -> None:
    reading = playbook_file.decode((EXAMPLES / "mixed_legacy.json").read_bytes(), source="F")

    assert {entry.shape for entry in reading.migrated} == {"bare_string", "dict_no_score", "dict_with_score"}
    assert len(reading.playbook.points) > len(reading.migrated)
    assert reading.is_flat


@pytest.mark.nightly
@pytest.mark.slow
def test_demo_ends_and_keeps_the_users_data(home: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.db"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

    done = subprocess.run(
        [sys.executable, EXAMPLES / "demo.py"],
        env={**os.environ, "PATH": path, "PLAYBOOK_DB_URL": str(theirs)},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    for line in (
        "  dry run: nothing was changed",
        "  ok: again.json equals exported.json byte for byte",
        "  ok: the edit of the file is in the database",
        "  ok: every step is in the history",
    ):
        assert line in done.stdout.splitlines()
    imported = r"  imported realistic\.json: 60 added; the playbook of .* has 60 points \(revision 1\)"
    assert re.search(f"^{imported}$", done.stdout, re.MULTILINE)
    assert "All promises held" in done.stdout
    assert not list(home.iterdir())
    assert not theirs.exists()
