"""A database that a newer program has migrated."""

import pytest

from playbook_db.errors import SchemaError
from playbook_db.store import sqlite_open
from playbook_db.store.engine import Store, open_store
from playbook_db.store.sqlite_open import SCHEMA

pytestmark = pytest.mark.postgres

NEWER = SCHEMA + 2


def _stamp(store: Store, version: int) -> None:
    with store.transaction() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version:04d}'")
        if not store.is_shared:
            connection.exec_driver_sql(f"PRAGMA user_version = {version}")


def test_an_older_program_is_refused_and_told_what_to_do(store: Store) -> None:
    """Commands and hooks alike, on a file and on a server."""
    _stamp(store, NEWER)
    try:
        with pytest.raises(SchemaError, match=f"is at schema {NEWER:04d}; .* bring playbook-db up to date"):
            open_store(store.url.render_as_string(hide_password=False))
        if not store.is_shared:
            with pytest.raises(sqlite_open.UnusableError, match="bring playbook-db up to date"):
                sqlite_open.connect(store.where, wait_s=1)
    finally:
        _stamp(store, SCHEMA)  # the databases of a server are used again
