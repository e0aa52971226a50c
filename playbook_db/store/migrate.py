"""Bringing a database to the schema that this code knows: making it, migrating it, refusing a newer one."""

import os
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playbook_db.errors import DatabaseError, SchemaTooNewError, SchemaTooOldError
from playbook_db.store import connect
from playbook_db.store.hook_queries import SCHEMA
from playbook_db.store.sqlite import backups, dialect

if TYPE_CHECKING:
    from sqlalchemy import Connection


def ensure_current(url: str) -> str | None:
    """Make or migrate the SQLite database at *url* if it isn't at our schema; the backup's path where one was made.

    Several processes may call this at once; one does the work. Raises SchemaTooNewError.
    """
    path = _path(url)
    if _stands_at_ours(path):
        return None
    from filelock import FileLock

    dialect.prepare_file(path)
    with FileLock(lock_path(path), mode=0o600):
        if _stands_at_ours(path):
            return None
        found = dialect.schema_version(path)
        backup = backups.take(path, f"schema-{found:04d}", now=datetime.now(UTC)).path if found else None
        migrate(url)
        os.chmod(path, 0o600)
        backups.rotate(path)
    return backup


def lock_path(path: str) -> str:
    """The lock that who gives the database file *path* another schema, or another content, holds meanwhile."""
    return f"{path}.upgrade.lock"


def require_current(url: str) -> None:
    """Raise SchemaTooOldError or SchemaTooNewError unless the database is at our schema; change nothing."""
    path = _path(url)
    found = dialect.schema_version(path)
    if found is None:
        raise DatabaseError(f"There is no database at {path}. Run: playbook init{_newest_backup(path)}")
    if not found:
        raise DatabaseError(f"{path} is empty: no playbook is in it. Run: playbook init{_newest_backup(path)}")
    if found != SCHEMA:
        refuse_newer(path, found)
        raise SchemaTooOldError(path, found, SCHEMA)


def refuse_newer(path: str, found: int) -> None:
    """Raise SchemaTooNewError where *found*, the schema of the database file *path*, is none that this code knows."""
    if found > SCHEMA:
        raise SchemaTooNewError(path, found, SCHEMA)


def migrate(url: str) -> None:
    """Run all migrations on the SQLite database at *url*, in one transaction; nobody else may be at it."""
    from alembic import command
    from alembic.config import Config

    migrating = connect.for_migrations(url)
    try:
        with migrating.begin() as connection:
            config = Config(attributes={"connection": connection})
            config.set_main_option("script_location", migrations_folder().replace("%", "%%"))
            command.upgrade(config, "head")
    finally:
        migrating.dispose()


def run_migrations(context: Any, connection: "Connection") -> None:
    """Run Alembic's *context* on *connection*, inside the transaction that is under way there.

    Views and triggers are dropped before and made after: SQLite refuses to rebuild a table under a view, and
    drops triggers with a rebuilt table without a word.
    """
    from playbook_db.store.tables import metadata

    for kind in ("view", "trigger"):
        for name in dialect.object_names(connection, kind):
            connection.exec_driver_sql(f'DROP {kind} "{name}"')
    context.configure(connection=connection, target_metadata=metadata, on_version_apply=_mirror_version)
    with context.begin_transaction():
        context.run_migrations()
    for statement in (*dialect.statements("views.sql"), *dialect.statements("triggers.sql")):
        connection.exec_driver_sql(statement)
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise DatabaseError(
            f"A migration would have left {len(broken)} rows without their parents; nothing was changed."
        )


def migrations_folder() -> str:
    """Where the migrations are: in the installed package, else in the repository's own folder."""
    package = Path(str(files("playbook_db")))
    for folder in (package / "_migrations", package.parent / "migrations"):
        if (folder / "env.py").is_file():
            return str(folder)
    raise DatabaseError("This installation lacks its migrations. Run: pip install --force-reinstall playbook-db")


def _newest_backup(path: str) -> str:
    """How to put the newest backup in the place of the file *path*, as the end of a sentence."""
    found = backups.list_backups(path)
    return f" (or bring back what was there: playbook restore-backup {found[0].path})" if found else ""


def _path(url: str) -> str:
    path = connect.sqlite_path(url)
    if not path:
        raise DatabaseError(f"{url} is no SQLite file; this version of playbook-db keeps playbooks in one.")
    return path


def _stands_at_ours(path: str) -> bool:
    found = dialect.schema_version(path)
    if found is not None:
        refuse_newer(path, found)
    return found == SCHEMA


def _mirror_version(*, ctx: Any, step: Any, **_: Any) -> None:
    """Note in the file's own header which migration it is at: reading that takes no Alembic."""
    dialect.mark_version(ctx.connection, int(step.up_revision_id if step.is_upgrade else step.down_revision_ids[0]))
