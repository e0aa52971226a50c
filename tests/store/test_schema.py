"""The schema: its checks and triggers, also against plain SQL."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from playbook_db.domain.playbook import why_text_unusable
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import tables
from playbook_db.store.engine import Store, open_store
from playbook_db.store.migrate import migrations_folder
from playbook_db.store.sqlite_open import SCHEMA
from tests.databases import REFUSALS, PlainConnection, raw_connection, server_without


@pytest.fixture
def raw(project: Project) -> Iterator[Any]:
    """A plain connection, as a person's shell has it, to a playbook of one point."""
    edit.add(project, "use type hints", section="pat")
    with raw_connection(project.store) as connection, server_without(connection, key_points="key_points_on_record"):
        yield connection


def _insert(raw: Any, **columns: object) -> None:
    row = {
        "playbook_id": 1, "id": 2, "name": "pat-002", "section": "pat", "position": 2,
        "text": "a text", "helpful": 0, "harmful": 0, "created_in": 1, **columns,
    }  # fmt: skip
    raw.execute(f"INSERT INTO key_points ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", [*row.values()])


@pytest.mark.postgres
@pytest.mark.parametrize(
    "fault",
    [
        {"helpful": -1},
        {"harmful": None},
        {"helpful": "many"},
        {"text": " \t\n\r"},
        {"text": "\u2003\u00a0"},
        {"text": None},
        {"name": "  "},
        {"name": None},
        {"section": "PATTERNS"},
        {"name": "pat-001"},
        {"id": 1},
        {"retired_reason": "because"},
    ],
    ids=str,
)
def test_bad_row_is_refused(raw: Any, fault: dict[str, object]) -> None:
    with pytest.raises(REFUSALS):
        _insert(raw, **fault)
    _insert(raw)  # without the fault


@pytest.mark.postgres
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE revisions SET message = 'never happened'",
        "UPDATE revisions SET header = NULL, final_newline = NULL, message = '[forgotten]'",
        "DELETE FROM revisions",
        "INSERT OR REPLACE INTO revisions (playbook_id, number, time, source, actor) VALUES (1, 1, 't', 'edit', 'a')",
        "INSERT INTO revisions (playbook_id, number, time, source, actor) VALUES (1, 7, 't', 'edit', 'a')",
        "UPDATE changes SET text = '[forgotten]'",
        "DELETE FROM changes",
        "UPDATE votes SET tag = 'harmful'",
        "DELETE FROM votes",
        "UPDATE skipped_operations SET operation = '[forgotten]'",
        "DELETE FROM skipped_operations",
        "DELETE FROM key_points",
        "INSERT OR REPLACE INTO key_points SELECT * FROM key_points",
        *(
            f"INSERT INTO {name} SELECT * FROM {name} WHERE true ON CONFLICT (playbook_id, {key}) DO UPDATE SET {what}"
            for name, key, what in (
                ("revisions", "number", "actor = 'nobody'"),
                ("changes", "revision, seq", "helpful = 9"),
                ("key_points", "id", "name = 'pat-009'"),
            )
        ),
        "UPDATE key_points SET name = 'pat-002'",
        "UPDATE key_points SET retired_in = 1, forgotten = 1",
        "DELETE FROM playbooks",
        "INSERT INTO erasures (playbook_id, id, revision, selected_by, points, time) VALUES (1, 1, 1, 'x', '[]', 't')",
    ],
)
def test_history_can_not_be_rewritten(raw: Any, project: Project, statement: str) -> None:
    edit.vote(project, "pat-001", "helpful")
    edit.apply_batch(project, ["nonsense", {"type": "ADD", "text": "use ruff"}], origin="a test")
    if " OR REPLACE " in statement and isinstance(raw, PlainConnection):
        pytest.skip("PostgreSQL knows no OR REPLACE")

    with pytest.raises(REFUSALS, match=r"append|next number|given once|never|for ever|last revision"):
        raw.execute(statement)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE playbooks SET kind = 'team'",
        "INSERT INTO revisions (playbook_id, number, time, source) VALUES (1, 2, 't', 'edit')",
        "INSERT INTO revisions (playbook_id, number, time, source, actor) VALUES (1, 2, 't', 'edit', ' ')",
    ],
)
def test_kinds_and_actors_are_checked(raw: Any, statement: str) -> None:
    with pytest.raises(REFUSALS, match=r"constraint failed|violates (check|not-null) constraint"):
        raw.execute(statement)


@pytest.mark.postgres
def test_older_revisions_take_no_change(raw: Any, project: Project) -> None:
    edit.vote(project, "pat-001", "helpful")

    with pytest.raises(REFUSALS, match="last revision"):
        raw.execute(
            "INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful) "
            "VALUES (1, 1, 9, 1, 'vote', 'pat', 1, 9, 0)"
        )


@pytest.mark.postgres
def test_invisible_text_is_refused(raw: Any) -> None:
    """Invisible characters are allowed among visible ones."""
    codes = [*range(1, 0xD800), *range(0xE000, 0x10000)]
    invisible = [chr(code) for code in codes if why_text_unusable(chr(code))]
    assert {" ", "\u200b", "\ufeff", "\u3000"} <= {*invisible}
    for text in (*invisible, "".join(invisible)):
        with pytest.raises(REFUSALS, match=r"the text of a key point is not blank|_text_not_blank"):
            raw.execute("UPDATE key_points SET text = ?", (text,))
    with pytest.raises(REFUSALS, match="the text of a key point is not blank"):
        _insert(raw, text="\u200b\n\u2060")

    raw.execute("UPDATE key_points SET text = ?", ("".join([*invisible, "a", *invisible]),))
    _insert(raw, text="\u2070")  # a superscript zero, beside the invisible ones


@pytest.mark.postgres
@pytest.mark.parametrize("statement", ["DELETE FROM sections", "UPDATE sections SET position = position + 10"])
def test_sections_are_fixed(raw: Any, statement: str) -> None:
    with pytest.raises(REFUSALS, match="the sections are fixed"):
        raw.execute(statement)


@pytest.mark.postgres
def test_sections_match_the_rules(raw: Any) -> None:
    rows = raw.execute("SELECT name, slug FROM sections ORDER BY position").fetchall()

    assert rows == list(SECTION_SLUGS.items())


@pytest.mark.sqlite
def test_migrations_create_the_codes_tables(store: Store, tmp_path: Path) -> None:
    """Tables and indexes are the same word for word, except for checks."""
    fresh = tmp_path / "fresh.db"
    engine = create_engine(f"sqlite:///{fresh}")
    tables.metadata.create_all(engine)
    engine.dispose()

    migrated = {name: _without_checks(sql) for name, sql in _schema(store.where).items()}
    assert migrated == _schema(str(fresh))


@pytest.mark.sqlite
def test_file_has_the_version_of_the_last_migration(store: Store) -> None:
    """Hooks read only PRAGMA user_version."""
    newest = max(int(path.name[:4]) for path in Path(migrations_folder(), "versions").glob("0*.py"))
    connection = sqlite3.connect(store.where)

    assert newest == SCHEMA
    assert connection.execute("PRAGMA user_version").fetchone() == (newest,)
    assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (f"{newest:04d}",)
    connection.close()


def test_database_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "data" / "playbook.db"
    with open_store(f"sqlite:///{path}") as store, store.transaction() as connection:
        connection.exec_driver_sql("INSERT INTO playbooks (key, created_at) VALUES ('k', 't')")
        modes = {name.name: oct(name.stat().st_mode & 0o777) for name in path.parent.glob("playbook.db*")}

    assert oct(path.parent.stat().st_mode & 0o777) == "0o700"
    assert modes["playbook.db"] == modes["playbook.db-wal"] == "0o600"


def _without_checks(sql: str) -> str:
    """*sql* without its CHECK constraints."""
    while found := re.search(r",? CONSTRAINT ck_\w+ CHECK \(", sql):
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(sql[end], 0)
            end += 1
        sql = sql[: found.start()] + sql[end:]
    return sql


def _schema(path: str) -> dict[str, str]:
    connection = sqlite3.connect(path)
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL "
        "AND name NOT IN ('alembic_version', 'sqlite_stat1') AND name NOT LIKE 'point_search%'"
    ).fetchall()
    connection.close()
    return {name: re.sub(r"\s+", " ", sql) for name, sql in found}
