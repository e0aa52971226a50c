"""Create a database, migrate it to the schema SCHEMA, or refuse it."""

import functools
import os
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from playbook_db import errors, settings
from playbook_db.files import shipped_file
from playbook_db.store.connect import dialect_for
from playbook_db.store.dialect import Dialect, dialect_of
from playbook_db.store.sqlite import full_text
from playbook_db.store.sqlite_open import SCHEMA, newest_backup
from playbook_db.store.urls import sqlite_path

_ROWS_READ_BY = 6  # the last migration that computes new values from rows

if TYPE_CHECKING:
    from sqlalchemy import Connection


def ensure_current(url: str) -> str | None:
    """Create or migrate the database at *url* because the user asked for it. See `bring_to_schema`."""
    with closing(dialect_for(url)) as dialect:
        return bring_to_schema(url, dialect, by_hand=True)


def bring_to_schema(url: str, dialect: Dialect, *, begins_anew: bool = False, by_hand: bool = False) -> str | None:
    """Create or migrate the database at *url* if needed. Return the path of the backup, or None if no backup was made.

    A missing database that has backups is created only if it *begins_anew*. A shared database is migrated only
    *by_hand*. Several processes may call this at once. Raises SchemaTooNewError, SchemaTooOldError, DatabaseLostError.
    """
    version = _version(dialect)
    if version and begins_anew:
        raise errors.DatabaseError(f"{dialect.where} exists. To create a new database, move it away first.")
    if version == SCHEMA:
        return None
    if not version and not begins_anew:
        refuse_lost(url)
    if version and dialect.is_shared and not by_hand:
        raise errors.SchemaTooOldError(dialect.where, version, SCHEMA, is_shared=True)
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
    """Raise SchemaTooOldError or SchemaTooNewError unless the database has the schema SCHEMA."""
    with closing(dialect_for(url)) as dialect:
        version = _version(dialect)
    if not version:
        refuse_lost(url)
        no_database = f"There is no database at {dialect.where}."
        problem = no_database if version is None else f"{dialect.where} is empty: it contains no playbook."
        raise errors.DatabaseError(problem, errors.Remedy("Run: {}", ("init",)))
    if version != SCHEMA:
        raise errors.SchemaTooOldError(dialect.where, version, SCHEMA, is_shared=dialect.is_shared)


def refuse_lost(url: str) -> None:
    """Raise DatabaseLostError if there are backups of the missing or empty database at *url*."""
    path = sqlite_path(url)
    backup = newest_backup(path) if path else None
    if path and backup:
        raise errors.DatabaseLostError(path, backup)


def refuse_newer(where: str, version: int) -> None:
    """Raise SchemaTooNewError if *version* is newer than SCHEMA. *version* is the schema of the database *where*."""
    if version > SCHEMA:
        raise errors.SchemaTooNewError(where, version, SCHEMA)


def refuse_unreleased(dialect: Dialect) -> None:
    """Raise DatabaseError if a checkout from before the first migration created the database."""
    from sqlalchemy import inspect

    with dialect.unchanged() as connection:
        tables = inspect(connection)
        if not tables.has_table("revisions"):
            return
        if not any(column["name"] == "actor" for column in tables.get_columns("revisions")):
            raise errors.DatabaseError(
                f"{dialect.where} was created before version 0.1.0, and can't be migrated. It was not changed. With "
                "the old version run `playbook export -o playbook.json` in each project, then move the database away. "
                "With this version run `playbook init --new`, then `playbook import playbook.json` in each project."
            )


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
    command.upgrade(config, "head")


def run_alembic_command(context: Any, url: str | None) -> None:
    """Run an Alembic command on the database at *url*, by default the configured one. `migrations/env.py` passes the
    command's *context*. Commands that only read change nothing and create no file."""
    from alembic.util import CommandError
    from sqlalchemy.exc import DBAPIError

    url = settings.database_url(url)
    try:
        with closing(dialect_for(url)) as dialect:
            context.configure(url=url)
            if _is_read_only(context.get_context().opts):
                with dialect.unchanged() as connection:
                    run_alembic(context, connection)
                return
            version = dialect.schema_version()  # raises if the database is another program's
            if not version:
                refuse_lost(url)
            refuse_unreleased(dialect)
            dialect.prepare()
            with dialect.exclusive():
                if version and version != SCHEMA:
                    dialect.back_up_before_migration(version)
                with dialect.make_engine(foreign_keys=False).begin() as connection:
                    run_alembic(context, connection)
    except errors.PlaybookError as error:
        raise CommandError(str(error)) from error
    except DBAPIError as error:
        raise CommandError(
            f"{error.orig}. Nothing was changed. If the database is stamped with the wrong revision, correct that: "
            "alembic stamp REVISION"
        ) from error


def print_sql(context: Any, url: str | None) -> None:
    """Print the statements that `alembic upgrade --sql` would run on a server. Raises CommandError."""
    from alembic.util import CommandError

    from playbook_db.store.postgres import dialect

    url = settings.database_url(url)
    if sqlite_path(url):
        raise CommandError("--sql works only for a server. Name the server: alembic -x db=postgresql://HOST/NAME ...")
    start = context.get_starting_revision_argument()
    if start and int(start) < _ROWS_READ_BY:
        raise CommandError(
            f"The migrations up to {_ROWS_READ_BY:04d} compute values from existing rows. Start later, such as at "
            f"{_ROWS_READ_BY:04d}:head, or run the upgrade without --sql."
        )

    def print_all(statements: Iterable[str]) -> None:
        for statement in statements:
            context.get_context().impl.static_output(statement)

    def begin(migrates: bool) -> None:
        print_all(dialect.dropping_statements() if migrates else ())

    migrations = _configure(context, begin, url=url, literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()
        if migrations and context.get_revision_argument() == context.script.get_current_head():
            print_all(
                (*dialect.making_statements(), dialect.naming_oldest(SCHEMA, _oldest_program(context.script, SCHEMA)))
            )


def run_alembic(context: Any, connection: "Connection") -> None:
    """Run the command of Alembic's *context* in the open transaction of *connection*. Drop views and triggers before
    migrations, and create them again at the newest schema."""
    from alembic.util import CommandError
    from sqlalchemy import inspect

    dialect = dialect_of(connection)

    def begin(migrates: bool) -> None:
        if migrates:
            dialect.drop_views_and_triggers(connection)
        elif not inspect(connection).has_table("revisions"):
            raise CommandError(f"{dialect.where} has no tables yet. Create them: alembic upgrade head")

    migrations = _configure(
        context,
        begin,
        connection=connection,
        include_name=_is_of_migrations,
        on_version_apply=functools.partial(_mirror_version, context.script),
        process_revision_directives=functools.partial(_number, context),
    )
    with context.begin_transaction():
        context.run_migrations()
    if migrations and context.get_context().get_current_revision() == context.script.get_current_head():
        dialect.make_views_and_triggers(connection)
        broken = dialect.broken_references(connection)
        if broken:
            raise errors.DatabaseError(
                f"The migration would leave {len(broken)} references to missing rows, so nothing was changed."
            )


def _configure(context: Any, begin: Callable[[bool], None], **options: Any) -> list[Any]:
    """Configure Alembic's *context*. Before its steps Alembic calls *begin*, with True if there are migrations among
    the steps. Return a list to which Alembic's migrations are added later."""
    from alembic.runtime.migration import RevisionStep
    from alembic.util import CommandError

    from playbook_db.store.tables import metadata

    migrations: list[RevisionStep] = []

    def plan(heads: Any, migration_context: Any) -> list[Any]:
        steps = list(alembics_plan(heads, migration_context))
        migrations.extend(step for step in steps if isinstance(step, RevisionStep))
        if any(step.is_downgrade for step in migrations):
            raise CommandError(
                "playbook-db can't downgrade a database without losing changes. Restore the backup from before the "
                "upgrade: playbook restore-backup FILE"
            )
        if steps:
            begin(bool(migrations))
        return steps

    context.configure(target_metadata=metadata, **options)
    defaults = context.get_context().opts
    alembics_plan = defaults["fn"]
    context.configure(target_metadata=metadata, fn=plan, dont_mutate=_is_read_only(defaults), **options)
    return migrations


def _is_read_only(options: dict[str, Any]) -> bool:
    """Return whether Alembic's command only reads. A command that writes has a target revision in its *options*."""
    return "destination_rev" not in options


def migrations_folder() -> str:
    """Return the folder of the migrations: in the installed package, else in the repository."""
    return os.path.dirname(shipped_file("migrations", "env.py", what="its migrations", error=errors.DatabaseError))


def _version(dialect: Dialect) -> int | None:
    version = dialect.schema_version()
    refuse_newer(dialect.where, version or 0)
    return version


def _is_of_migrations(name: str | None, kind: str, _parents: Any) -> bool:
    """Return whether a migration creates the table or index *name*. The full-text index is created later."""
    return (kind, name) != ("index", "ix_key_points_search") and not (kind == "table" and name in full_text.TABLES)


def _number(context: Any, _migration_context: Any, _revision: Any, scripts: "list[Any]") -> None:
    """Give a new migration the next number unless the user passed `--rev-id`."""
    for script in scripts:
        if not getattr(context.config.cmd_opts, "rev_id", None):
            script.rev_id = f"{int(context.script.get_current_head() or 0) + 1:04d}"


def _mirror_version(scripts: Any, *, ctx: Any, heads: Iterable[str], **_: Any) -> None:
    """Copy the schema's version from Alembic's table to a place that is read without Alembic."""
    version = int(max(heads, default="0"))
    dialect_of(ctx.connection).mark_version(ctx.connection, version, _oldest_program(scripts, version))


def _oldest_program(scripts: Any, version: int) -> int:
    """Return the oldest program that may write to the schema *version*. The strictest migration decides."""
    stated = {each.revision: getattr(each.module, "oldest_program", each.revision) for each in scripts.walk_revisions()}
    return max((int(oldest) for revision, oldest in stated.items() if int(revision) <= version), default=version)
