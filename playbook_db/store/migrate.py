"""Create a database, migrate it to the schema SCHEMA, or refuse it."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from playbook_db import errors
from playbook_db.files import shipped_file
from playbook_db.store.connect import dialect_for
from playbook_db.store.dialect import Dialect, dialect_of
from playbook_db.store.sqlite import full_text
from playbook_db.store.sqlite_open import SCHEMA, newest_backup
from playbook_db.store.urls import sqlite_path

if TYPE_CHECKING:
    from sqlalchemy import Connection


def ensure_current(url: str) -> str | None:
    """Create or migrate the database at *url* because the user asked for it. See `bring_to_schema`."""
    with closing(dialect_for(url)) as dialect:
        return bring_to_schema(url, dialect, by_hand=True)


def bring_to_schema(url: str, dialect: Dialect, *, begins_anew: bool = False, by_hand: bool = False) -> str | None:
    """Create or migrate the database at *url* if needed. Return the path of the backup, or None if no backup was made.

    A missing database that has backups is created only if it *begins_anew*. A shared database is migrated only
    *by_hand*. Several processes may call this at once. Raises SchemaError, DatabaseError.
    """
    version = _version(dialect)
    if version and begins_anew:
        raise errors.DatabaseError(f"{dialect.where} exists. To create a new database, move it away first.")
    if version == SCHEMA:
        return None
    if not version and not begins_anew:
        refuse_lost(url)
    if version and dialect.is_shared and not by_hand:
        raise _too_old(dialect, version)
    dialect.prepare()
    with dialect.exclusive():
        version = _version(dialect)
        if version == SCHEMA:
            return None
        backup = dialect.back_up_before_migration(version) if version else None
        with dialect.explained():
            migrate(url)
    return backup


def require_current(url: str) -> None:
    """Raise SchemaError unless the database has the schema SCHEMA."""
    with closing(dialect_for(url)) as dialect:
        version = _version(dialect)
    if not version:
        refuse_lost(url)
        no_database = f"There is no database at {dialect.where}."
        problem = no_database if version is None else f"{dialect.where} is empty: it contains no playbook."
        raise errors.DatabaseError(problem, errors.Remedy("Run: {}", ("init",)))
    if version != SCHEMA:
        raise _too_old(dialect, version)


def refuse_lost(url: str) -> None:
    """Raise DatabaseError if there are backups of the missing or empty database at *url*."""
    path = sqlite_path(url)
    backup = newest_backup(path) if path else None
    if path and backup:
        raise errors.database_lost(path, backup)


def refuse_newer(where: str, version: int) -> None:
    """Raise SchemaError if *version* is newer than SCHEMA. *version* is the schema of the database *where*."""
    if version > SCHEMA:
        raise errors.SchemaError(
            f"{where} is at schema {version:04d}; this playbook-db knows {SCHEMA:04d} at most.",
            errors.Remedy(
                "A newer version wrote it: bring playbook-db up to date the way you installed it (a checkout: git "
                "pull, then install it again)."
            ),
        )


def _too_old(dialect: Dialect, version: int) -> errors.SchemaError:
    remedy = errors.Remedy("Run: {} (it makes a backup first).", ("db", "upgrade"))
    if dialect.is_shared:  # its URL isn't the user's default
        remedy = errors.Remedy("Its owner backs it up (pg_dump), and then runs: {}", ("--db", "URL", "db", "upgrade"))
    where = f"{dialect.where} is at schema {version:04d}"
    return errors.SchemaError(f"{where}; this playbook-db needs {SCHEMA:04d}.", remedy)


def migrate(url: str) -> None:
    """Migrate the database at *url* in one transaction. No other process may use the database meanwhile."""
    with closing(dialect_for(url)) as dialect:
        dialect.prepare()
        with dialect.make_engine(foreign_keys=False).begin() as connection:
            run_migrations(connection)


def run_migrations(connection: "Connection") -> None:
    """Run all migrations in the open transaction of *connection*."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", migrations_folder().replace("%", "%%"))
    with _new_views_and_triggers(connection):
        command.upgrade(config, "head")


@contextmanager
def upgrading(url: str) -> Iterator["Connection"]:
    """Open a transaction for Alembic's own commands that write to the database at *url*. A file is backed up first."""
    with closing(dialect_for(url)) as dialect:
        version = _version(dialect)
        if not version:
            refuse_lost(url)
        dialect.prepare()
        with dialect.exclusive():
            if version and version != SCHEMA:
                dialect.back_up_before_migration(version)
            with dialect.make_engine(foreign_keys=False).begin() as connection, _new_views_and_triggers(connection):
                yield connection


@contextmanager
def reading(url: str) -> Iterator["Connection"]:
    """Open a transaction for Alembic's commands that change nothing in the database at *url*."""
    with closing(dialect_for(url)) as dialect, dialect.unchanged() as connection:
        yield connection


@contextmanager
def _new_views_and_triggers(connection: "Connection") -> Iterator[None]:
    """Drop views and triggers before migrations, and create them again if the schema is then the newest."""
    from alembic.runtime.migration import MigrationContext

    dialect = dialect_of(connection)
    dialect.drop_views_and_triggers(connection)
    yield
    version = int(MigrationContext.configure(connection).get_current_revision() or 0)
    dialect.mark_version(connection, version)
    if version == SCHEMA:
        dialect.make_views_and_triggers(connection)
        if broken := dialect.broken_references(connection):
            raise errors.DatabaseError(
                f"The migration would leave {len(broken)} references to missing rows, so nothing was changed."
            )


def is_of_migrations(name: str | None, kind: str, _parents: Any) -> bool:
    """Return whether a migration creates the table or index *name*. The full-text index is created later."""
    return (kind, name) != ("index", "ix_key_points_search") and not (kind == "table" and name in full_text.TABLES)


def migrations_folder() -> str:
    """Return the folder of the migrations: in the installed package, else in the repository."""
    return os.path.dirname(shipped_file("migrations", "env.py", what="its migrations"))


def _version(dialect: Dialect) -> int | None:
    version = dialect.schema_version()
    refuse_newer(dialect.where, version or 0)
    return version
