"""What the database itself says of its soundness."""

from sqlalchemy import Connection

from playbook_db.store import sqlite


def check_file(connection: Connection) -> list[str]:
    """What is wrong with the file or its references, in words; nothing where all is well."""
    return sqlite.check(connection) if connection.dialect.name == "sqlite" else []
