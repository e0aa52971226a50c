"""Bringing a database to the schema that this code knows: making it, migrating it, refusing a newer one."""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playbook_db.errors import DatabaseError, SchemaTooNewError, SchemaTooOldError
from playbook_db.store.connect import Dialect, dialect_for, dialect_of, sqlite_path
from playbook_db.store.hook_queries import SCHEMA
from playbook_db.store.sqlite import backups

if TYPE_CHECKING:
    from sqlalchemy import Connection


def ensure_current(url: str) -> str | None:
    """Make or migrate the database at *url* if it isn't at our schema; the backup's path where one was made.

    Several processes may call this at once; one does the work. Raises SchemaTooNewError.
    """
    dialect = dialect_for(url)
    if _is_current(dialect):
        return None
    dialect.prepare()
    with dialect.exclusive():
        if _is_current(dialect):
            return None
        version = dialect.schema_version()
        backup = dialect.back_up_before_migration(version) if version else None
        migrate(url)
    return backup


def require_current(url: str) -> None:
    """Raise SchemaTooOldError or SchemaTooNewError unless the database is at our schema; change nothing."""
    dialect = dialect_for(url)
    version = dialect.schema_version()
    if version is None:
        raise DatabaseError(f"There is no database at {dialect.where}. Run: playbook init{_newest_backup(url)}")
    if not version:
        raise DatabaseError(f"{dialect.where} is empty: no playbook is in it. Run: playbook init{_newest_backup(url)}")
    if version != SCHEMA:
        refuse_newer(dialect.where, version)
        raise SchemaTooOldError(dialect.where, version, SCHEMA)


def refuse_newer(where: str, version: int) -> None:
    """Raise SchemaTooNewError where *version*, the schema of the database *where*, is none that this code knows."""
    if version > SCHEMA:
        raise SchemaTooNewError(where, version, SCHEMA)


def migrate(url: str) -> None:
    """Run all migrations on the database at *url*, in one transaction; nobody else may be at it."""
    from alembic import command
    from alembic.config import Config

    dialect = dialect_for(url)
    dialect.prepare()
    engine = dialect.make_engine(foreign_keys=False)  # a rebuilt table must not empty those that refer to it
    try:
        with engine.begin() as connection:
            config = Config(attributes={"connection": connection})
            config.set_main_option("script_location", migrations_folder().replace("%", "%%"))
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def run_migrations(context: Any, connection: "Connection") -> None:
    """Run Alembic's *context* on *connection*, inside the transaction that is under way there.

    Views and triggers are dropped before and made after: SQLite refuses to rebuild a table under a view, and
    drops triggers with a rebuilt table without a word.
    """
    from playbook_db.store.tables import metadata

    dialect = dialect_of(connection)
    dialect.drop_views_and_triggers(connection)
    context.configure(connection=connection, target_metadata=metadata, on_version_apply=_mirror_version)
    with context.begin_transaction():
        context.run_migrations()
    dialect.make_views_and_triggers(connection)
    broken = dialect.broken_references(connection)
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


def _newest_backup(url: str) -> str:
    """How to put the newest backup in the place of the database at *url*, as the end of a sentence."""
    path = sqlite_path(url)
    found = backups.list_backups(path) if path else []
    return f" (or bring back what was there: playbook restore-backup {found[0].path})" if found else ""


def _is_current(dialect: Dialect) -> bool:
    version = dialect.schema_version()
    if version is not None:
        refuse_newer(dialect.where, version)
    return version == SCHEMA


def _mirror_version(*, ctx: Any, heads: Iterable[str], **_: Any) -> None:
    """Note beside the tables which migration the database is at: reading that takes no Alembic."""
    dialect_of(ctx.connection).mark_version(ctx.connection, int(max(heads, default="0")))
