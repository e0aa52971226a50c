"""Bringing a database to the schema that this code knows: making it, migrating it, refusing a newer one."""

import functools
import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from playbook_db import settings
from playbook_db.errors import (
    DatabaseError,
    DatabaseLostError,
    PlaybookError,
    Remedy,
    SchemaTooNewError,
    SchemaTooOldError,
    UnreleasedSchemaError,
)
from playbook_db.files import shipped_file
from playbook_db.store.connect import Dialect, dialect_for, dialect_of, sqlite_path
from playbook_db.store.hook_queries import SCHEMA, newest_backup
from playbook_db.store.sqlite import full_text

if TYPE_CHECKING:
    from sqlalchemy import Connection


def ensure_current(url: str, *, begins_anew: bool = False, by_hand: bool = False) -> str | None:
    """Make or migrate the database at *url* if it isn't at our schema; the backup's path where one was made.

    One that is gone is made where it *begins_anew*, else only where there are no backups of it. One that is shared is
    migrated only *by_hand*. Several processes may call this at once; one does the work. Raises SchemaTooNewError,
    SchemaTooOldError, DatabaseLostError.
    """
    with closing(dialect_for(url)) as dialect:
        return bring_to_schema(url, dialect, begins_anew=begins_anew, by_hand=by_hand)


def bring_to_schema(url: str, dialect: Dialect, *, begins_anew: bool = False, by_hand: bool = False) -> str | None:
    """The same, where the *dialect* of the database at *url* is there and goes on being used."""
    version = _version(dialect)
    if version and begins_anew:
        raise DatabaseError(f"{dialect.where} is there; nothing was begun anew. To do so, move it away first.")
    if version == SCHEMA:
        return None
    if not version and not begins_anew:
        refuse_lost(url)
    if version and dialect.is_shared and not by_hand:
        raise SchemaTooOldError(dialect.where, version, SCHEMA, is_shared=True)
    dialect.prepare()
    with dialect.exclusive():
        version = _version(dialect)
        if version == SCHEMA:
            return None
        refuse_unreleased(dialect)
        backup = dialect.back_up_before_migration(version) if version else None
        with dialect.explained():
            migrate(url)
    return backup


def require_current(url: str) -> None:
    """Raise SchemaTooOldError or SchemaTooNewError unless the database is at our schema; change nothing."""
    with closing(dialect_for(url)) as dialect:
        version = _version(dialect)
    if not version:
        refuse_lost(url)
        no_database = f"There is no database at {dialect.where}."
        what = no_database if version is None else f"{dialect.where} is empty: no playbook is in it."
        raise DatabaseError(what, Remedy("Run: {}", ("init",)))
    if version != SCHEMA:
        raise SchemaTooOldError(dialect.where, version, SCHEMA, is_shared=dialect.is_shared)


def refuse_lost(url: str) -> None:
    """Raise DatabaseLostError where there are backups of the database at *url*, which isn't there or is empty."""
    path = sqlite_path(url)
    backup = newest_backup(path) if path else None
    if path and backup:
        raise DatabaseLostError(path, backup)


def refuse_newer(where: str, version: int) -> None:
    """Raise SchemaTooNewError where *version*, the schema of the database *where*, is none that this code knows."""
    if version > SCHEMA:
        raise SchemaTooNewError(where, version, SCHEMA)


def refuse_unreleased(dialect: Dialect) -> None:
    """Raise UnreleasedSchemaError where the database has tables of ours, but not as the first migration makes them."""
    from sqlalchemy import inspect

    with dialect.unchanged() as connection:
        tables = inspect(connection)
        if not tables.has_table("revisions"):
            return
        if not any(column["name"] == "actor" for column in tables.get_columns("revisions")):
            raise UnreleasedSchemaError(dialect.where)


def migrate(url: str) -> None:
    """Run all migrations on the database at *url*, in one transaction; nobody else may be at it."""
    dialect = dialect_for(url)
    dialect.prepare()
    with _migrating(dialect) as connection:
        run_migrations(connection)


def run_migrations(connection: "Connection") -> None:
    """Run all migrations on *connection*, inside the transaction that is under way there."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", migrations_folder().replace("%", "%%"))
    command.upgrade(config, "head")


def run_alembic_command(context: Any, url: str | None) -> None:
    """Run the command that somebody gave to Alembic, which calls `migrations/env.py` with its *context*, on the
    database at *url*, else on the configured one. Commands that only look change nothing and make no file."""
    from alembic.util import CommandError

    url = settings.database_url(url)
    try:
        dialect = dialect_for(url)
        context.configure(url=url)
        if "destination_rev" not in context.get_context().opts:  # upgrade, downgrade and stamp have one
            with dialect.unchanged() as connection:
                run_alembic(context, connection)
            return
        if not dialect.schema_version():  # which raises where the database isn't ours
            refuse_lost(url)
        refuse_unreleased(dialect)
        dialect.prepare()
        with dialect.exclusive(), _migrating(dialect) as connection:
            run_alembic(context, connection)
    except PlaybookError as error:
        raise CommandError(str(error)) from error


def run_alembic(context: Any, connection: "Connection") -> None:
    """Run Alembic's *context* on *connection*, inside the transaction that is under way there.

    Where migrations are to run, views and triggers are dropped before and made after.
    """
    from alembic.runtime.migration import RevisionStep
    from alembic.util import CommandError

    from playbook_db.store.tables import metadata

    dialect = dialect_of(connection)
    migrations: list[RevisionStep] = []

    def plan(heads: Any, migration_context: Any) -> list[Any]:
        steps = list(alembics_plan(heads, migration_context))
        migrations.extend(step for step in steps if isinstance(step, RevisionStep))
        if any(step.is_downgrade for step in migrations):
            raise CommandError(
                "playbook-db doesn't migrate down, which would lose what was written since; put back the backup that "
                "was taken before the upgrade: playbook restore-backup FILE"
            )
        if migrations:
            dialect.drop_views_and_triggers(connection)
        return steps

    context.configure(connection=connection)
    alembics_plan = context.get_context().opts["fn"]
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_name=_is_of_migrations,
        on_version_apply=_mirror_version,
        process_revision_directives=functools.partial(_number, context),
        fn=plan,
    )
    with context.begin_transaction():
        context.run_migrations()
    if migrations:
        dialect.make_views_and_triggers(connection)
        broken = dialect.broken_references(connection)
        if broken:
            raise DatabaseError(
                f"A migration would have left {len(broken)} rows without their parents; nothing was changed."
            )


def migrations_folder() -> str:
    """Where the migrations are: in the installed package, else in the repository's own folder."""
    return os.path.dirname(shipped_file("migrations", "env.py", what="its migrations", error=DatabaseError))


def _version(dialect: Dialect) -> int | None:
    version = dialect.schema_version()
    refuse_newer(dialect.where, version or 0)
    return version


@contextmanager
def _migrating(dialect: Dialect) -> "Iterator[Connection]":
    """A transaction for migrations: a rebuilt table must not empty those that refer to it."""
    engine = dialect.make_engine(foreign_keys=False)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _is_of_migrations(name: str | None, kind: str, _parents: Any) -> bool:
    """Whether migrations make what is called *name*: the index for full text is made after them."""
    return not (kind == "table" and name in full_text.TABLES)


def _number(context: Any, _migration_context: Any, _revision: Any, scripts: "list[Any]") -> None:
    """Give a new migration the next number, unless `--rev-id` gave it one."""
    for script in scripts:
        if not getattr(context.config.cmd_opts, "rev_id", None):
            script.rev_id = f"{int(context.script.get_current_head() or 0) + 1:04d}"


def _mirror_version(*, ctx: Any, heads: Iterable[str], **_: Any) -> None:
    """Note beside the tables which migration the database is at: reading that takes no Alembic."""
    dialect_of(ctx.connection).mark_version(ctx.connection, int(max(heads, default="0")))
