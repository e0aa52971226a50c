"""How many rows a query reads."""

import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.services.reading import sql as sql_service
from playbook_db.store.engine import open_store
from playbook_db.store.queries.hook_queries import StoredProject

REVISIONS, POINTS, SHOWN = 3000, 150, 40
_FIRST = StoredProject((1, "/first", 0, "off", POINTS, REVISIONS, "", None))  # as `learned_points` needs it
QUESTIONS = {question.title: question.sql for question in sql_service.parse_questions(sql_service.read_docs())}
OF_POINT = ("history", "rewordings", "vote_log", "votes_by_point", "cited_points", "point_use", "lineage")
OF_SESSION = ("history", "vote_log", "shown_points", "cited_points", "reflection_log")

Ask = Callable[..., tuple[int, list[Any]]]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A playbook with a long history, of which each point and session has a small part."""
    path = tmp_path_factory.mktemp("long") / "playbook.db"
    with open_store(f"sqlite:///{path}") as store:
        edit.add(Project.in_folder(store, "/work/harbour"), "the first", section="pat")
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA synchronous = OFF")
        raw.execute("BEGIN")
        _live(raw, random.Random(7))
        raw.execute("COMMIT")
        raw.execute("ANALYZE")  # as the worker's PRAGMA optimize does it in time
    return path


def _live(raw: sqlite3.Connection, rng: random.Random) -> None:
    live, newest = [1], 1
    for number in range(2, REVISIONS + 2):
        time, session, is_undo = f"2026-01-01T00:00:00.{number:06d}+00:00", f"session-{number:05d}", number % 50 == 0
        raw.execute(
            "INSERT INTO revisions (playbook_id, number, time, source, actor, session_id, undoes_from, undoes_to)"
            " VALUES (1, ?, ?, ?, 'ann', ?, ?, ?)",
            (number, time, *(("undo", None, number - 1, number - 1) if is_undo else ("learn", session, None, None))),
        )
        changes = [(point, "vote", None, None) for point in rng.sample(live, min(2, len(live)))]
        for seq, (point, *_) in enumerate([] if is_undo else changes, 1):
            raw.execute(
                "INSERT INTO votes VALUES (1, ?, ?, ?, NULL, 'helpful', 'it held', 0, NULL)", (number, seq, point)
            )
        if is_undo:
            raw.execute("INSERT INTO undone_ranges VALUES (1, ?, ?, ?)", (number - 1, number - 1, number))
        if number % 10 == 0:
            changes.append((live[0], "edit", f"text {number}", None))
        if len(live) < POINTS or number % 40 == 0:
            newest += 1
            raw.execute(
                "INSERT INTO key_points (playbook_id, id, name, section, position, text, helpful, harmful, created_in)"
                " VALUES (1, ?, ?, 'pat', ?, 'a text', 0, 0, ?)",
                (newest, f"pat-{newest:03d}", newest, number),
            )
            changes.append((newest, "add", "a text", None))
            if len(live) >= POINTS:
                changes += [(live.pop(0), "retire", None, newest) for _ in range(2)]
            live.append(newest)
        for seq, (point, kind, text, successor) in enumerate(changes, 1):
            raw.execute(
                "INSERT INTO changes VALUES (1, ?, ?, ?, ?, 'pat', 1, 1, 0, ?, NULL, ?, NULL, NULL)",
                (number, seq, point, kind, text, successor),
            )
        shown = json.dumps(rng.sample(live, min(SHOWN, len(live))))
        raw.execute(
            "INSERT INTO showings VALUES (1, ?, 1, 'startup', ?, ?, 0, ?, 'SessionStart', NULL)",
            (session, number, shown, time),
        )
        raw.execute("INSERT INTO citations VALUES (1, ?, ?, 1, ?)", (session, rng.choice(live), time))
        raw.execute(
            "INSERT INTO reflections (playbook_id, id, revision, session_id, created_at, finished_at)"
            " VALUES (1, ?, ?, ?, ?, ?)",
            (number, number, session, time, time),
        )


@pytest.fixture
def connection(database: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(database)) as opened:
        yield opened


@pytest.fixture
def ask(connection: sqlite3.Connection) -> Ask:
    """Asks a question. Returns the number of SQLite's steps, in hundreds, and the answer."""

    def run(statement: str, **values: str) -> tuple[int, list[Any]]:
        steps: list[int] = []
        connection.set_progress_handler(lambda: steps.append(1), 100)
        rows = connection.execute(statement, {"project": "/work/harbour", **values}).fetchall()
        connection.set_progress_handler(None, 0)
        return len(steps), rows

    return run


def tables_read(connection: sqlite3.Connection, statement: str) -> set[str]:
    """The tables that *statement* reads."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    read: set[str] = set()

    def note(action: int, name: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and name in tables:
            read.add(name)
        return sqlite3.SQLITE_OK

    connection.set_authorizer(note)
    connection.execute(f"EXPLAIN {statement}", {"project": "/work/harbour"})
    connection.set_authorizer(None)
    return read


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("view", "column", "value"),
    [
        *((view, "name", "pat-100") for view in OF_POINT),
        *((view, "session_id", "session-02001") for view in OF_SESSION),
    ],
)
def test_query_about_one_thing_reads_few_rows(ask: Ask, view: str, column: str, value: str) -> None:
    steps, rows = ask(f"SELECT * FROM {view} WHERE playbook = :project AND {column} = :value", value=value)

    assert rows or view in ("rewordings", "lineage", "cited_points")
    assert 10 * steps < ask("SELECT max(text), max(successor) FROM history")[0]


@pytest.mark.nightly(after=3)
@pytest.mark.parametrize("question", QUESTIONS)
def test_documented_query_reads_tables_at_most_3_times(connection: sqlite3.Connection, ask: Ask, question: str) -> None:
    one_pass = 0
    for table in tables_read(connection, QUESTIONS[question]):
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        one_pass += ask(f"SELECT {', '.join(f'max({column})' for column in columns)} FROM {table}")[0]

    assert ask(QUESTIONS[question])[0] <= 3 * one_pass
