"""A database with a bit of everything in it, as a version of ours leaves it on a disk."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import text as sql

from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.services.playbook import edit, undo
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.learning import Call
from playbook_db.store.queries import hook_queries

TIME = "2026-11-21T01:05:52.123456+00:00"


def write_sample_database(path: Path) -> Path:
    """Write the database *path*, with no other file beside it, as with a backup.

    It has two playbooks with points in every section, votes, changed texts, retired points and a merge. It also has a
    skipped operation, undos of undos, calls of a model, and sessions that were shown points."""
    with open_store(f"sqlite:///{path}") as store:
        for folder, count in (("/work/harbour", 8), ("/work/lighthouse", 2)):
            project = Project.in_folder(store, folder)
            for slug in SECTION_SLUGS.values():
                for number in range(1, count + 1):
                    text = f"Advice number {number} for {folder}, in {slug}. " + "So it is. " * 20
                    edit.add(project, text, section=slug)
            edit.vote(project, "pat-001", "helpful")
            edit.vote(project, "pat-001", "neutral")
            edit.vote(project, "mis-002", "harmful")
            edit.edit(project, "ctx-001", text="Advice that was put in other words.")
            edit.retire(project, "oth-002", reason="it didn't help")
            reworded = {"type": "UPDATE", "target_id": "oth-001", "text": "Advice that a batch put in other words."}
            edit.apply_batch(project, ["nonsense", reworded], origin="a test")
            merged = {"type": "MERGE", "source_ids": ["mis-001", "mis-002"], "merged_text": "Both in one."}
            edit.apply_batch(project, [merged], origin="a test")
            edit.vote(project, "pat-001", "harmful")
            for _ in range(3):
                undo.undo(project)
            edit.vote(project, "pat-002", "helpful")
            undo.undo(project)
            with store.write(project.key) as book:
                book.add_call(Call("reflect", "a model", 1000, 100, 10, 0.5, duration_ms=1), session_id="a session")
            with store.transaction() as connection:
                for session in ("a session", "a session", "another"):
                    shown = {"playbook_id": 1 + (count == 2), "session_id": session, "source": "startup"}
                    rest = {"revision": 1, "points": "[1, 2]", "left_out": 0, "now": TIME, "event": "SessionStart"}
                    connection.execute(sql(hook_queries.ADD_SHOWING), shown | rest)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    Path(f"{path}.upgrade.lock").unlink()
    return path
