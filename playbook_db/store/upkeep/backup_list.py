"""List the backups of a database file with their schemas. Needs no SQLAlchemy."""

from contextlib import closing, suppress

from playbook_db.errors import DatabaseError
from playbook_db.store.sqlite import sqlite_files
from playbook_db.store.sqlite.backups import Backup, list_backups

__all__ = ["Backup", "with_schemas"]


def with_schemas(path: str) -> list[tuple[Backup, int | None]]:
    """Return the backups of the database file *path*, newest first, each with its schema (None: unreadable)."""
    return [(backup, _schema(backup.path)) for backup in list_backups(path)]


def _schema(path: str) -> int | None:
    with suppress(DatabaseError), closing(sqlite_files.open_file(path, "at rest")) as connection:
        version, application, tables = connection.execute(sqlite_files.VERSIONS).fetchone()
        return int(version) if application == sqlite_files.APPLICATION_ID or not tables else None
    return None
