"""Bringing a database to the schema that this code knows: making it, migrating it, refusing a newer one."""

import os
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playbook_db.errors import DatabaseError, SchemaTooNewError, SchemaTooOldError
from playbook_db.store import connecting, sqlite
from playbook_db.store.read import SCHEMA

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

    sqlite.prepare_file(path)
    with FileLock(f"{path}.upgrade.lock", mode=0o600):
        if _stands_at_ours(path):
            return None
        return _migrate(url, path)


def require_current(url: str) -> None:
    """Raise SchemaTooOldError or SchemaTooNewError unless the database is at our schema; change nothing."""
    path = _path(url)
    found = sqlite.schema_version(path)
    if found is None:
        raise DatabaseError(f"There is no database at {path}. Run: playbook init")
    if found != SCHEMA:
        _refuse_newer(path, found)
        raise SchemaTooOldError(path, found, SCHEMA)


def run_migrations(context: Any, connection: "Connection") -> None:
    """Run Alembic's *context* on *connection*, inside the transaction that is under way there.

    Views and triggers are dropped before and made after: SQLite refuses to rebuild a table under a view, and
    drops triggers with a rebuilt table without a word.
    """
    from playbook_db.store.tables import metadata

    for kind in ("view", "trigger"):
        for name in sqlite.object_names(connection, kind):
            connection.exec_driver_sql(f'DROP {kind} "{name}"')
    context.configure(connection=connection, target_metadata=metadata, on_version_apply=_mirror_version)
    with context.begin_transaction():
        context.run_migrations()
    for statement in (*sqlite.statements("views.sql"), *sqlite.statements("triggers.sql")):
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


def _path(url: str) -> str:
    path = connecting.sqlite_path(url)
    if not path:
        raise DatabaseError(f"{url} is no SQLite file; this version of playbook-db keeps playbooks in one.")
    return path


def _stands_at_ours(path: str) -> bool:
    found = sqlite.schema_version(path)
    if found is not None:
        _refuse_newer(path, found)
    return found == SCHEMA


def _refuse_newer(path: str, found: int) -> None:
    if found > SCHEMA:
        raise SchemaTooNewError(path, found, SCHEMA)


def _migrate(url: str, path: str) -> str | None:
    from alembic import command
    from alembic.config import Config

    found = sqlite.schema_version(path)
    backup = None
    if found:
        backup = f"{path}.schema-{found:04d}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.backup"
        sqlite.back_up(path, backup)
    migrating = connecting.for_migrations(url)
    try:
        with migrating.begin() as connection:
            config = Config(attributes={"connection": connection})
            config.set_main_option("script_location", migrations_folder().replace("%", "%%"))
            command.upgrade(config, "head")
    finally:
        migrating.dispose()
    os.chmod(path, 0o600)
    return backup


def _mirror_version(*, ctx: Any, step: Any, **_: Any) -> None:
    """Note in the file's own header which migration it is at: reading that takes no Alembic."""
    sqlite.mark_version(ctx.connection, int(step.up_revision_id if step.is_upgrade else step.down_revision_ids[0]))
