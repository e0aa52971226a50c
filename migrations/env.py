"""Runs the migrations: on the connection that the store hands over, or on the configured URL for `alembic`."""

from alembic import context

from playbook_db import settings
from playbook_db.store import connect, migrate

config = context.config
handed_over = config.attributes.get("connection")

if context.is_offline_mode():
    raise SystemExit("playbook-db migrates a real database only; run it without --sql.")
if handed_over is not None:
    migrate.run_migrations(context, handed_over)
else:
    given = context.get_x_argument(as_dictionary=True).get("db") or config.get_main_option("sqlalchemy.url")
    dialect = connect.dialect_for(settings.database_url(given))
    with dialect.make_engine(foreign_keys=False).begin() as connection:
        migrate.run_migrations(context, connection)
