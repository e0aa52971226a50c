"""Erasing: no column is forgotten, and triggers allow nothing else."""

import pytest
from sqlalchemy import Text

from playbook_db.domain.erasure import Eraser
from playbook_db.services.playbook import edit, forget
from playbook_db.services.playbook.forget import Request
from playbook_db.services.project import Project
from playbook_db.store import tables
from playbook_db.store.playbook.erased_rows import WRITTEN, find
from playbook_db.store.urls import sqlite_path
from tests.databases import REFUSALS, raw_connection, server_without, switch_triggers_off

pytestmark = pytest.mark.postgres

_TEXT = "Zanzibar 4711"
# Names, keys, ids, paths, times, sections and kinds: nobody's secrets.
_STRUCTURE = {
    "playbooks": ("key", "kind", "mirror", "created_at", "root_commit", "origin"),
    "sections": ("slug", "name"),
    "revisions": ("time", "source", "actor", "session_id", "role"),
    "key_points": ("name", "section", "confirmed_at"),
    "changes": ("kind", "section", "cause"),
    "votes": ("tag",),
    "proposals": ("kind", "trust", "session_id", "created_at", "state", "decided_at", "decided_by"),
    "distinct_points": ("time", "actor"),
    "mirrors": ("path", "sha256"),
    "transcripts": ("path", "session_id", "last_uuid", "updated_at", "first_uuid"),
    "reflections": ("session_id", "transcript_path", "model", "created_at", "finished_at"),
    "model_calls": ("kind", "session_id", "model", "time"),
    "jobs": (
        "kind", "session_id", "transcript_path", "reason", "state", "not_before", "lease_until", "created_at",
        "finished_at", "parent_path", "agent_id", "folder",
    ),
    "showings": ("session_id", "source", "points", "held_back", "time", "event"),
    "unsent_showings": ("session_id", "source", "points", "held_back", "time", "event", "sent_at"),
    "memberships": ("url", "name", "joined_at"),
    "showing_counts": ("last_at",),
    "citations": ("session_id", "time"),
    "trials": ("session_id", "time"),
    "erasures": ("selected_by", "points", "time", "finished_at", "purged_at"),
}  # fmt: skip


def test_each_text_column_is_in_one_list() -> None:
    """A new column belongs into `WRITTEN` or into `_STRUCTURE`."""
    columns = {
        f"{table.name}.{column.name}"
        for table in tables.metadata.tables.values()
        for column in table.columns
        if isinstance(column.type, Text)
    }
    written = {f"{table}.{column}" for table, columns in WRITTEN.items() for column in columns}
    structure = {f"{table}.{column}" for table, columns in _STRUCTURE.items() for column in columns}

    assert written | structure == columns
    assert not written & structure


def test_each_written_column_is_erased(project: Project) -> None:
    _fill_everything(project)

    with project.store.snapshot() as connection:
        fields = list(find(connection, 1, Eraser(frozenset({_TEXT}))))

    assert {field.name for field in fields} == {f"{name}.{c}" for name, held in WRITTEN.items() for c in held}
    assert all(_TEXT not in (field.after or "") for field in fields)


def test_triggers_allow_only_erasures(project: Project) -> None:
    """During an erasure texts can be erased, but not replaced by others."""
    edit.add(project, f"use {_TEXT}")
    edit.apply_batch(project, ["nonsense", {"type": "ADD", "text": "use mypy"}], origin="a test")
    edit.vote(project, "oth-001", "helpful")
    last = {"changes": "changes_on_record", "erasures": "erasures_of_last_revision"}
    with raw_connection(project.store) as raw, server_without(raw, **last):
        raw.execute(
            "INSERT INTO erasures (playbook_id, id, revision, selected_by, points, time) VALUES (1,1,3,'name','[]','t')"
        )
        raw.execute("UPDATE changes SET text = '[forgotten]' WHERE text IS NOT NULL")
        for statement in (
            "UPDATE changes SET helpful = 9",
            "UPDATE changes SET text = 'a lie' WHERE text IS NOT NULL",
            "UPDATE changes SET text = 'slipped in' WHERE text IS NULL",
            "UPDATE changes SET evidence = 'a lie'",
            "UPDATE revisions SET message = 'a lie'",
            "UPDATE votes SET rationale = 'a lie'",
            "UPDATE votes SET tag = 'harmful'",
            "UPDATE skipped_operations SET operation = '{}'",
            "DELETE FROM changes",
            "DELETE FROM erasures",
            "UPDATE erasures SET points = '[]', id = 7",
        ):
            with pytest.raises(REFUSALS):
                raw.execute(statement)
        raw.execute("UPDATE erasures SET finished_at = 't'")
        with pytest.raises(REFUSALS, match="append-only"):
            raw.execute("UPDATE changes SET text = 'again' WHERE text IS NOT NULL")


def test_forgotten_point_never_comes_back(project: Project) -> None:
    for text in ("use ruff always", f"use {_TEXT}"):
        edit.add(project, text)
    edit.retire(project, "oth-001")
    forget.forget(project, Request(name="oth-002"))

    with raw_connection(project.store) as raw:
        for statement in (
            "UPDATE key_points SET forgotten = 0 WHERE id = 2",
            "UPDATE key_points SET text = 'again' WHERE id = 2",
            "UPDATE key_points SET retired_in = NULL, retired_reason = NULL, forgotten = 0 WHERE id = 2",
            "UPDATE key_points SET forgotten = 1 WHERE id = 1",
            "UPDATE erasures SET finished_at = NULL",
            "DELETE FROM erasures",
            "INSERT INTO erasures SELECT * FROM erasures WHERE true"
            " ON CONFLICT (playbook_id, id) DO UPDATE SET finished_at = NULL",
            *(["INSERT OR REPLACE INTO erasures SELECT * FROM erasures"] if sqlite_path(project.store.url) else []),
        ):
            with pytest.raises(REFUSALS):
                raw.execute(statement)


def _fill_everything(project: Project) -> None:
    """Write the text into every written column of one playbook, past its triggers."""
    edit.add(project, "use ruff always")
    edit.vote(project, "oth-001", "helpful")
    reworded = {"type": "UPDATE", "target_id": "oth-001", "text": "use ruff every time"}
    edit.apply_batch(project, ["nonsense", reworded], origin="a test")
    edit.retire(project, "oth-001")
    with raw_connection(project.store) as raw:
        switch_triggers_off(raw)
        raw.execute("INSERT INTO reflections (playbook_id, id, session_id, created_at) VALUES (1, 1, 's', 't')")
        raw.execute("INSERT INTO jobs (playbook_id, id, kind, created_at) VALUES (1, 1, 'learn', 't')")
        raw.execute("INSERT INTO votes (playbook_id, revision, seq, name, tag) VALUES (1, 1, 9, 'x', 'helpful')")
        raw.execute("INSERT INTO extra_fields VALUES (1, 1, '{}')")
        raw.execute(
            "INSERT INTO proposals (playbook_id, id, kind, operation, evidence, trust, created_at)"
            " VALUES (1, 1, 'ADD', '{}', '[]', 'outside', 't')"
        )
        raw.execute("UPDATE revisions SET header = '{}', final_newline = 1")
        values = {"text": f"use {_TEXT}", "json": f'[{{"x": "{_TEXT}"}}]', "header": f'{{"x": "{_TEXT}"}}'}
        for table, columns in WRITTEN.items():
            for column, kind in columns.items():
                condition = " WHERE name IS NOT NULL" if (table, column) == ("votes", "name") else ""
                raw.execute(f"UPDATE {table} SET {column} = ?{condition}", [values[kind]])
