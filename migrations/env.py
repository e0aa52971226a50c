"""Alembic's environment, for files and servers.

`playbook` passes its open connection. For the command `alembic` the database is `-x db=URL`, else the URL in the ini
file, else the user's database.
"""

from alembic import command, context
from alembic.util import CommandError
from sqlalchemy import Connection

from playbook_db import settings
from playbook_db.errors import PlaybookError
from playbook_db.store import migrate
from playbook_db.store.tables import metadata


def run(connection: Connection, *, writes: bool = True) -> None:
    """Run the command on *connection*. Unless it *writes*, don't create Alembic's table."""
    ours = migrate.is_of_migrations
    context.configure(connection=connection, target_metadata=metadata, include_name=ours, dont_mutate=not writes)
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
elif context.is_offline_mode():
    raise CommandError("playbook-db's migrations read rows, so they can't be printed. Leave out --sql.")
else:
    url = context.get_x_argument(as_dictionary=True).get("db") or context.config.get_main_option("sqlalchemy.url")
    writes = context.config.cmd_opts.cmd[0] in (command.upgrade, command.stamp)
    open_database = migrate.upgrading if writes else migrate.reading
    try:
        with open_database(settings.database_url(url)) as connection:
            run(connection, writes=writes)
    except PlaybookError as error:
        raise CommandError(str(error)) from error
