"""Removing a whole playbook with its history from an SQLite file."""

from sqlalchemy import Connection, delete, select

from playbook_db.errors import DatabaseError
from playbook_db.store import tables
from playbook_db.store.dialect import dialect_of
from playbook_db.store.sqlite import full_text

_TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"


def remove(connection: Connection, key: str) -> None:
    """Remove the playbook *key*. Meanwhile, inside the transaction, the triggers that protect a history are gone.
    Raises DatabaseError for a database on a server."""
    if dialect_of(connection).is_shared:
        raise DatabaseError("A playbook can only be removed from a database in a file. Nothing was changed.")
    number = connection.execute(select(tables.playbooks.c.id).filter_by(key=key)).scalar_one()
    triggers = connection.exec_driver_sql(_TRIGGERS).all()
    for name, _ in triggers:
        connection.exec_driver_sql(f'DROP TRIGGER "{name}"')
    for table in reversed(tables.metadata.sorted_tables):
        if "playbook_id" in table.c:
            connection.execute(delete(table).filter_by(playbook_id=number))
    connection.execute(delete(tables.playbooks).filter_by(id=number))
    full_text.make(connection.exec_driver_sql)
    for _, statement in triggers:
        connection.exec_driver_sql(statement)
