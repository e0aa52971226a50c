"""Erasing in the tables and in the bytes: nothing is overlooked, and the way through leaves its trace."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Text

from playbook_db.domain.erasure import MARK, Eraser
from playbook_db.errors import DatabaseError
from playbook_db.services import edit, forget
from playbook_db.services.forget import Request, Wanted
from playbook_db.services.projects import Project
from playbook_db.store import tables
from playbook_db.store.engine import open_store
from playbook_db.store.erasure import STRUCTURE, WRITTEN, all_playbooks, find
from playbook_db.store.past import Past
from playbook_db.store.sqlite import erased_bytes
from tests.sample_database import write_sample_database

_TOLD = "Zanzibar 4711"


def test_every_column_of_texts_is_known_to_hold_words_or_structure() -> None:
    """A new column must be put into one of the two lists, and no list names what isn't there."""
    there = {
        f"{table.name}.{column.name}"
        for table in tables.metadata.tables.values()
        for column in table.columns
        if isinstance(column.type, Text)
    }
    written = {f"{table}.{column}" for table, columns in WRITTEN.items() for column in columns}
    structure = {f"{table}.{column}" for table, columns in STRUCTURE.items() for column in columns}

    assert written | structure == there
    assert not written & structure


def test_every_written_column_is_searched(project: Project) -> None:
    """A word in any of them is found, and nowhere is it found once it is blanked."""
    _fill_everything(project)

    with project.store.snapshot() as connection:
        found = find(connection, 1, Eraser(frozenset({_TOLD})), ())

    assert {passage.field for passage in found} == {f"{name}.{c}" for name, held in WRITTEN.items() for c in held}
    assert all(_TOLD not in (passage.after or "") for passage in found)


def test_only_the_playbook_that_is_meant_is_touched(project: Project, tmp_path: Path) -> None:
    """The same words in another project's playbook stay."""
    other = Project(project.store, str(tmp_path / "other"))
    for each in (project, other):
        edit.add(each, f"use {_TOLD}")

    forget.forget(project, Request(name="oth-001"))

    assert edit.find(project, "oth-001").point.text == MARK
    assert edit.find(other, "oth-001").point.text == f"use {_TOLD}"


def test_a_copy_is_masked_and_its_triggers_stand_as_before(tmp_path: Path) -> None:
    """The triggers are out of the way while it is rewritten, and not after."""
    copy = tmp_path / "older.db"
    write_sample_database(copy)
    with erased_bytes.opened(str(copy)) as connection:
        key = all_playbooks(connection)[1]
        text = Past.open(connection, key).connection.exec_driver_sql(
            "SELECT text FROM key_points WHERE playbook_id = 1 AND name = 'pat-001'"
        ).scalar_one()  # fmt: skip
    triggers = _triggers(copy)
    assert text[:60].encode() in copy.read_bytes()

    def mask(partial: str) -> None:
        with erased_bytes.opened(partial, writes=True) as connection:
            forget.mask(Past.open(connection, key), Wanted(frozenset({"pat-001"}), frozenset({text})))

    erased_bytes.rewrite(str(copy), mask, drop_triggers=True)

    assert text[:60].encode() not in copy.read_bytes()
    assert (_triggers(copy), [path.name for path in tmp_path.glob("older*")]) == (triggers, ["older.db"])
    with open_store(f"sqlite:///{copy}") as store, store.snapshot() as connection:
        assert Past.open(connection, key).playbook().by_name["pat-001"].text == MARK


def test_a_rewriting_that_fails_leaves_the_copy_as_it_was(tmp_path: Path) -> None:
    """To the byte, and nothing beside it."""
    copy = tmp_path / "older.db"
    write_sample_database(copy)
    before = copy.read_bytes()

    def fail(partial: str) -> None:
        with closing(sqlite3.connect(partial)) as connection:
            connection.execute("PRAGMA user_version = 99")
        raise DatabaseError("the disk is full")

    with pytest.raises(DatabaseError, match="disk is full"):
        erased_bytes.rewrite(str(copy), fail, drop_triggers=True)

    assert copy.read_bytes() == before
    assert [path.name for path in tmp_path.glob("older*")] == ["older.db"]


def test_a_damaged_copy_is_told_and_left(tmp_path: Path) -> None:
    """What can't be checked can't be said to be clean."""
    copy = tmp_path / "older.db"
    data = bytearray(write_sample_database(copy).read_bytes())
    data[4096 * 3 : 4096 * 9] = b"\xff" * (4096 * 6)
    copy.write_bytes(data)

    with pytest.raises(DatabaseError, match=r"older\.db"):
        erased_bytes.rewrite(str(copy), lambda _: None, drop_triggers=False)

    assert copy.read_bytes() == bytes(data)


def test_the_triggers_let_an_erasure_through_and_nothing_else(project: Project) -> None:
    """With a row of `erasures` open, texts can be blanked; but no other words can be put into their place, and
    counters, kinds and numbers still can't be changed."""
    edit.add(project, f"use {_TOLD}")
    edit.apply_batch(project, ["nonsense"], origin="a test")
    edit.vote(project, "oth-001", "helpful")
    with closing(sqlite3.connect(project.store.where, isolation_level=None)) as raw:
        raw.execute(
            "INSERT INTO erasures (playbook_id, id, revision, asked, points, time) VALUES (1,1,3,'name','[]','t')"
        )
        raw.execute("UPDATE changes SET text = '[forgotten]' WHERE text IS NOT NULL")
        for statement in (
            "UPDATE changes SET helpful = 9",
            "UPDATE changes SET kind = 'edit'",
            "UPDATE changes SET text = 'a lie' WHERE text IS NOT NULL",
            "UPDATE changes SET reason = 'a lie'",
            "UPDATE revisions SET message = 'a lie'",
            "UPDATE revisions SET header = '{}', final_newline = 1",
            "UPDATE votes SET rationale = 'a lie'",
            "UPDATE skipped_operations SET reason = 'a lie'",
            "UPDATE skipped_operations SET operation = '{}'",
            "UPDATE changes SET text = 'slipped in' WHERE text IS NULL",
            "UPDATE votes SET tag = 'harmful'",
            "UPDATE revisions SET time = 'now'",
            "DELETE FROM changes",
            "DELETE FROM erasures",
            "UPDATE erasures SET points = '[]', id = 7",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                raw.execute(statement)
        raw.execute("UPDATE erasures SET finished_at = 't'")
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute("UPDATE changes SET text = 'again' WHERE text IS NOT NULL")


def test_a_forgotten_point_never_comes_back(project: Project) -> None:
    """Whatever raw SQL asks; nor is a point forgotten without a trace."""
    for text in ("use ruff always", f"use {_TOLD}"):
        edit.add(project, text)
    edit.retire(project, "oth-001")
    forget.forget(project, Request(name="oth-002"))

    with closing(sqlite3.connect(project.store.where, isolation_level=None)) as raw:
        for statement in (
            "UPDATE key_points SET forgotten = 0 WHERE id = 2",
            "UPDATE key_points SET text = 'again' WHERE id = 2",
            "UPDATE key_points SET retired_in = NULL, retired_reason = NULL, forgotten = 0 WHERE id = 2",
            "UPDATE key_points SET retired_reason = 'the text again' WHERE id = 2",
            "UPDATE key_points SET forgotten = 1 WHERE id = 1",
            "UPDATE erasures SET finished_at = NULL",
            "UPDATE erasures SET fields = 0",
            "UPDATE erasures SET scrubbed_at = NULL",
            "DELETE FROM erasures",
            "INSERT OR REPLACE INTO erasures SELECT * FROM erasures",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                raw.execute(statement)


def _triggers(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        return connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name").fetchall()


def _fill_everything(project: Project) -> None:
    """Put the words into every written column of one playbook, by raw SQL, its triggers out of the way."""
    edit.add(project, "use ruff always")
    edit.vote(project, "oth-001", "helpful")
    edit.apply_batch(project, ["nonsense"], origin="a test")
    edit.retire(project, "oth-001")
    with closing(sqlite3.connect(project.store.where, isolation_level=None)) as raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("INSERT INTO reflections (playbook_id, id, session_id, created_at) VALUES (1, 1, 's', 't')")
        raw.execute("INSERT INTO jobs (playbook_id, id, kind, created_at) VALUES (1, 1, 'learn', 't')")
        raw.execute("INSERT INTO votes (playbook_id, revision, seq, name, tag) VALUES (1, 1, 9, 'x', 'helpful')")
        raw.execute("UPDATE revisions SET header = '{}', final_newline = 1")
        values = {"text": f"use {_TOLD}", "json": f'[{{"x": "{_TOLD}"}}]', "header": f'{{"x": "{_TOLD}"}}'}
        for table, columns in WRITTEN.items():
            for column, kind in columns.items():
                condition = " WHERE name IS NOT NULL" if (table, column) == ("votes", "name") else ""
                raw.execute(f"UPDATE {table} SET {column} = ?{condition}", [values[kind]])
