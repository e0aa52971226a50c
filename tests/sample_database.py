"""A database with a bit of everything in it, as a version of ours leaves it on a disk."""

import sqlite3
from contextlib import closing
from pathlib import Path

from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.services import edit
from playbook_db.services.projects import Project
from playbook_db.store.engine import open_store


def write_sample_database(path: Path) -> Path:
    """Make the database *path*: two playbooks with points in every section, votes, changed texts, retired points and a
    skipped operation. Nothing lies beside it, as with a backup."""
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
            edit.apply_batch(project, ["nonsense"], origin="a test")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    Path(f"{path}.upgrade.lock").unlink()
    return path
