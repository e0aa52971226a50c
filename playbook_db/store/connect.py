"""Choose the dialect for a database's URL."""

from sqlalchemy.engine import URL

from playbook_db.errors import DatabaseError
from playbook_db.store import sqlite_open
from playbook_db.store.dialect import Dialect
from playbook_db.store.sqlite.sqlite_dialect import SqliteDialect
from playbook_db.store.urls import described, parsed, sqlite_path


def dialect_for(url: URL | str) -> Dialect:
    """Return the dialect for the database at *url*. Raises SettingError for an invalid URL, DatabaseError for an
    unsupported kind of database."""
    parsed_url = parsed(url)
    if parsed_url.get_backend_name() == "postgresql":
        from playbook_db.store.postgres.postgres_dialect import PostgresDialect  # late: its driver may be missing

        return PostgresDialect(parsed_url)
    path = sqlite_path(parsed_url)
    if not path or path == ":memory:":
        raise DatabaseError(
            f"{described(parsed_url)} is neither an SQLite file nor a PostgreSQL database. Name one of these with "
            "--db or PLAYBOOK_DB_URL, or omit both to use the default database."
        )
    if odd := sqlite_open.no_regular_file(path):
        raise DatabaseError(f"{odd} is not a regular file. Move it away, or name another database with --db.")
    return SqliteDialect(path)
