"""Runs Alembic's commands: on the connection that the store hands over, else on the database that is configured."""

from alembic import context
from alembic.util import CommandError

from playbook_db.store import migrate

connection = context.config.attributes.get("connection")
if connection is not None:
    migrate.run_alembic(context, connection)
elif context.is_offline_mode():
    raise CommandError("playbook-db migrates a real database only; run it without --sql.")
else:
    url = context.get_x_argument(as_dictionary=True).get("db") or context.config.get_main_option("sqlalchemy.url")
    migrate.run_alembic_command(context, url)
