"""From a URL to the dialect of its database."""

from sqlalchemy.engine import URL

from playbook_db.errors import DatabaseError
from playbook_db.store import at_hand
from playbook_db.store.dialect import Dialect
from playbook_db.store.sqlite.dialect import SqliteDialect
from playbook_db.store.urls import described, parsed, sqlite_path


def dialect_for(url: URL | str) -> Dialect:
    """The dialect of the database at *url*. Raises SettingError where the URL can't be understood, DatabaseError where
    it names a kind of database that playbooks can't be kept in."""
    parsed_url = parsed(url)
    if parsed_url.get_backend_name() == "postgresql":
        from playbook_db.store.postgres.dialect import PostgresDialect  # late: who has SQLite need not have the driver

        return PostgresDialect(parsed_url)
    path = sqlite_path(parsed_url)
    if not path or path == ":memory:":
        raise DatabaseError(
            f"{described(parsed_url)} is no SQLite file, nor on PostgreSQL, and playbooks are kept in one of these. "
            "Name one with --db or PLAYBOOK_DB_URL, or use the default without both."
        )
    if odd := at_hand.no_regular_file(path):
        raise DatabaseError(f"{odd} is no regular file. Move it away, or name another database with --db.")
    return SqliteDialect(path)
