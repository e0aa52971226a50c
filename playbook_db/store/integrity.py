"""What the database itself says of its soundness, and whether what is kept beside the points is true of them."""

from sqlalchemy import Connection
from sqlalchemy import text as sql

from playbook_db.rules import selection
from playbook_db.store import sqlite

_MISCOUNTED = sql("""
SELECT p.key FROM playbooks AS p WHERE p.live_points <> (
    SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NULL
)
""")
_RANKS = sql("""
SELECT p.key, k.name, k.rank, k.helpful, k.harmful, (
    SELECT c.revision FROM changes AS c WHERE c.playbook_id = k.playbook_id AND c.point_id = k.id
    ORDER BY c.revision DESC LIMIT 1
) AS changed_in
FROM key_points AS k JOIN playbooks AS p ON p.id = k.playbook_id
""")
_TOLERANCE = 1e-9  # of a rank; another machine may round the last bit another way


def check_file(connection: Connection) -> list[str]:
    """What is wrong with the file or its references, in words; nothing where all is well."""
    return sqlite.check(connection) if connection.dialect.name == "sqlite" else []


def check_derived(connection: Connection) -> list[str]:
    """Where the count of live points or a point's rank isn't what its rows say, in words."""
    found = [f"the count of live points of {key} is wrong" for (key,) in connection.execute(_MISCOUNTED)]
    for key, name, rank, helpful, harmful, changed_in in connection.execute(_RANKS):
        if abs(rank - selection.rank(helpful, harmful, changed_in or 0)) > _TOLERANCE:
            found.append(f"the rank of {name} in {key} isn't what its votes and its last change give")
    return found
