"""docs/sql.md and examples/ are true of the database and of the command as they are."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from playbook_db.rules import document, operations, voting
from playbook_db.rules.draft import Draft
from playbook_db.rules.playbook import Playbook, Vote
from playbook_db.services import editing, interchange
from playbook_db.services.project import Project
from playbook_db.services.revising import Proposal, Revised, revise
from playbook_db.store.engine import Store
from playbook_db.store.past import Past

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
DOCS = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
QUERIES = {
    title: (sql, answer)
    for title, sql, answer in re.findall(
        r"^### \d+\. (.+?)\n[^#]*?```sql\n(.*?)```\n[^#]*?```text\n(.*?)```", DOCS, re.MULTILINE | re.DOTALL
    )
}


@pytest.fixture
def hafen(store: Store, tmp_path: Path) -> Project:
    """The project of the examples, whose playbook is empty yet."""
    folder = tmp_path / "hafen"
    folder.mkdir()
    return Project(store, str(folder))


@pytest.fixture
def states(hafen: Project) -> dict[int, Playbook]:
    """The playbook of `hafen` after each revision of some days."""
    return {revised.revision or 0: revised.playbook for revised in live_some_days(hafen, datetime.now(UTC))}


@pytest.fixture
def connection(hafen: Project, states: dict[int, Playbook]) -> Iterator[sqlite3.Connection]:
    """The database of `hafen` after those days, as docs/sql.md says to open it."""
    with closing(sqlite3.connect(f"file:{hafen.store.where}?mode=ro", uri=True)) as opened:
        yield opened


def live_some_days(project: Project, start: datetime) -> Iterator[Revised]:
    """What happens to a playbook: an import, sessions that teach, votes, a batch, pruning, a change of mind."""
    realistic = document.decode((EXAMPLES / "realistic.json").read_bytes(), source="realistic.json")
    batch = json.loads((EXAMPLES / "operations.json").read_text(encoding="utf-8"))["operations"]
    holds = "A cancelled booking frees its night only after `expire_holds` ran; wait for it in tests."
    tides = "`hafen.jobs.tides` writes `tide` twice a day and never updates a row."

    yield interchange.import_playbook(project, realistic, source="realistic.json")
    yield learn(
        project,
        "5f0c2d1e-7a41-4c0b-9d55-0b6a4c1f2e90",
        start + timedelta(days=1),
        votes=[
            Vote("pat-002", "helpful", "the new route was four lines, and its rule has a test of its own"),
            Vote("pat-014", "harmful", "the table was replaced at noon; the page showed yesterday's tide"),
            Vote("mis-003", "neutral"),
            Vote("pat-404", "helpful"),
        ],
        batch=[{"type": "ADD", "section": "PROJECT CONTEXT", "text": holds}],
    )
    yield editing.vote(project, "pat-001", "helpful")
    yield editing.apply_batch(project, batch, origin="operations.json")
    yield learn(
        project,
        "c83b9e64-2f17-4e8a-8a3d-51d7e0f4b7aa",
        start + timedelta(days=3),
        votes=[Vote("pat-014", "harmful", "the same again, on another page"), Vote("pat-005", "helpful")],
        batch=[
            {"type": "UPDATE", "target_id": "ctx-007", "text": tides},
            {"type": "DELETE", "target_id": "pat-404"},
        ],
    )
    yield editing.prune(project)
    yield editing.restore(project, "mis-008")
    yield learn(
        project,
        "0d94ab37-61c2-4f6d-b1f0-9e2c7753d811",
        start + timedelta(days=4),
        votes=[Vote("ctx-002", "neutral")],
    )


def learn(
    project: Project, session_id: str, now: datetime, *, votes: list[Vote], batch: list[object] | None = None
) -> Revised:
    """What a session teaches, as one revision: votes first, then the curator's batch."""

    def plan(draft: Draft, _: Past) -> Proposal:
        taken = voting.cast_votes(draft, votes)
        skipped = operations.apply_operations(draft, batch or [])
        return Proposal("learn", "learnt from a session", votes=taken, skipped=skipped, session_id=session_id)

    return revise(project, plan, now=now)


def described(chapter: str) -> dict[str, list[str]]:
    """The columns that *chapter* of docs/sql.md describes, by view or table."""
    text = DOCS.partition(f"\n## {chapter}\n")[2].partition("\n## ")[0]
    named = re.findall(r"^### `(\w+)`\n(.*?)(?=^### |\Z)", text, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE) for name, body in named}


def live(connection: sqlite3.Connection, kind: str) -> dict[str, list[str]]:
    """The columns of each view or table that the database has."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,))]
    return {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for name in names}


@pytest.mark.parametrize(("chapter", "kind"), [("Views", "view"), ("Tables", "table")])
def test_docs_describe_every_column_there_is_and_none_that_is_not(
    connection: sqlite3.Connection, chapter: str, kind: str
) -> None:
    """Each view and table of the database has its chapter in docs/sql.md, with its columns in their order."""
    assert described(chapter) == live(connection, kind)


def test_docs_answer_ten_questions() -> None:
    """Every SQL block is a worked query: a question in words, the SQL, an answer."""
    assert len(QUERIES) == 10
    assert DOCS.count("```sql\n") == 10


@pytest.mark.parametrize("question", QUERIES)
def test_worked_query_runs_as_it_stands_and_finds_something(connection: sqlite3.Connection, question: str) -> None:
    """Each query gives rows on a database with history, under the titles that its printed answer has."""
    sql, answer = QUERIES[question]

    cursor = connection.execute(sql)

    assert [column[0] for column in cursor.description] == answer.splitlines()[0].split()
    assert cursor.fetchall()


def test_query_for_a_past_state_says_what_the_playbook_was(
    states: dict[int, Playbook], connection: sqlite3.Connection
) -> None:
    """The worked query rebuilds the playbook as of a revision: its points, texts, counters and order."""
    sql = QUERIES["What did the playbook hold as of revision 3?"][0]

    rows = connection.execute(sql).fetchall()

    assert rows == [(p.section, p.name, p.helpful, p.harmful, p.text) for p in states[3].points]


def test_query_for_the_growth_ends_at_the_points_of_today(
    states: dict[int, Playbook], connection: sqlite3.Connection
) -> None:
    """Points added and restored minus points retired are the points that are live."""
    sql = QUERIES["How did the playbook grow, day by day?"][0]

    rows = connection.execute(sql).fetchall()

    assert rows[-1][-1] == len(states[max(states)].points)


def test_realistic_example_comes_back_byte_for_byte(store: Store, folder: Path) -> None:
    """export(import(F)) is F, for a canonical file of 60 points with text beyond ASCII and a key of its own."""
    data = (EXAMPLES / "realistic.json").read_bytes()
    project = Project(store, str(folder))

    revised = interchange.import_playbook(project, document.decode(data, source="F"), source="F")

    assert len(revised.playbook.points) == 60
    assert interchange.export_playbook(project).encode() == data
    assert not data.isascii()


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda file: file.name)
def test_every_example_file_loads(file: Path) -> None:
    """A file in examples/ is a playbook that can be imported, or a curator's batch that can be applied."""
    content = json.loads(file.read_text(encoding="utf-8"))

    if "operations" in content:
        assert isinstance(content["operations"], list)
    else:
        assert document.decode(file.read_bytes(), source=file.name).playbook.points


def test_older_example_mixes_all_four_shapes_of_entries() -> None:
    """A bare text, an object with a text alone, one with a score, a canonical one."""
    reading = document.decode((EXAMPLES / "mixed_legacy.json").read_bytes(), source="F")

    assert {entry.shape for entry in reading.migrated} == {"bare_string", "dict_no_score", "dict_with_score"}
    assert len(reading.playbook.points) > len(reading.migrated)
    assert reading.is_flat


def test_demo_tells_its_story_to_the_end_and_leaves_the_user_alone(home: Path, tmp_path: Path) -> None:
    """`make demo` exits with 0 after every promise held, and never touches the home or database of who runs it."""
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
        "  imported realistic.json: 60 added; the playbook has 60 points (revision 1)",
        "  dry run: nothing was written",
        "  ok: again.json equals exported.json byte for byte",
        "  ok: the edit made by hand is in the database",
        "  ok: every step is in the history",
    ):
        assert line in done.stdout.splitlines()
    assert "All promises held" in done.stdout
    assert not list(home.iterdir())
    assert not theirs.exists()
