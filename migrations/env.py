"""Run Alembic's commands on the store's connection, or without one on the configured database."""

from alembic import context

from playbook_db.store import migrate

url = context.get_x_argument(as_dictionary=True).get("db") or context.config.get_main_option("sqlalchemy.url")
connection = context.config.attributes.get("connection")
if connection is not None:
    migrate.run_alembic(context, connection)
elif context.is_offline_mode():
    migrate.print_sql(context, url)
else:
    migrate.run_alembic_command(context, url)
