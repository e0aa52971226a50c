"""Distribute tables by playbook over the servers that Citus knows. All rows of a playbook are on the same server.

`playbooks` and `sections` are complete on each server. Citus can't distribute a table that has triggers or that other
tables refer to. So references, views and triggers are dropped and created again, in the same transaction.
"""

from sqlalchemy import Connection
from sqlalchemy import text as sql
from sqlalchemy.schema import AddConstraint, DropConstraint

from playbook_db.errors import DatabaseError
from playbook_db.store.dialect import Dialect
from playbook_db.store.postgres.grants import become_owner
from playbook_db.store.postgres.server_errors import explained
from playbook_db.store.tables import metadata, playbooks, sections

_WHOLE = (playbooks, sections)
# Settings until the end of the transaction. Without Citus they have no effect.
_SETTINGS = sql("""
SELECT set_config('citus.enable_unsafe_triggers', 'on', true),
       set_config('citus.multi_shard_modify_mode', 'sequential', true), set_config('client_min_messages', 'error', true)
""")
_CITUS = sql("""
SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS is_there,
       EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'citus') AS is_installed,
       current_setting('citus.shard_count', true) IS NOT NULL AS is_loaded,
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS may_create
""")
_SPREAD = sql("SELECT CAST(logicalrelid AS text) FROM pg_dist_partition")
_PARTS = sql("""
SELECT count(DISTINCT p.groupid), count(DISTINCT s.shardid)
FROM pg_dist_shard AS s JOIN pg_dist_placement AS p ON p.shardid = s.shardid WHERE s.logicalrelid = 'heads'::regclass
""")


def let_citus(connection: Connection) -> None:
    """Until the transaction ends, let Citus create triggers and change its tables one by one."""
    connection.execute(_SETTINGS)


def require_citus(connection: Connection, where: str) -> bool:
    """Return whether the database *where* has the extension. Raises DatabaseError if it can't be created."""
    citus = connection.execute(_CITUS).one()
    needs = {
        "its server has no Citus. Install that extension on the server": citus.is_installed,
        "its server doesn't load Citus. Put citus first in its shared_preload_libraries, and restart": citus.is_loaded,
        "it lacks the extension. Ask a superuser to run in this database: CREATE EXTENSION citus": citus.may_create,
    }
    missing = next((need for need, is_met in needs.items() if not is_met), None)
    if missing and not citus.is_there:
        raise DatabaseError(f"{where} can't be distributed: {missing}; then run this command again.")
    return bool(citus.is_there)


def distribute(dialect: Dialect) -> tuple[int, int, bool]:
    """Distribute the tables by playbook over the servers that Citus knows. Return the number of servers, the number of
    shards, and whether a table had to be distributed. Raises DatabaseError if a requirement isn't met."""
    with dialect.unchanged() as connection:
        is_there = require_citus(connection, dialect.where)
    engine = dialect.make_engine()
    with dialect.exclusive(), explained(dialect.where, otherwise="can't be distributed"):
        if not is_there:
            with engine.begin() as connection:
                connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS citus")
        with engine.begin() as connection:
            return _spread_tables(connection, dialect)


def _spread_tables(connection: Connection, dialect: Dialect) -> tuple[int, int, bool]:
    known = set(connection.scalars(_SPREAD))
    tables = [table for table in (*_WHOLE, *metadata.sorted_tables) if table.name not in known]
    names = list(dict.fromkeys(table.name for table in tables))
    if names:
        become_owner(connection)
        connection.exec_driver_sql(f"LOCK TABLE {', '.join(metadata.tables)} IN ACCESS EXCLUSIVE MODE")
        dialect.drop_views_and_triggers(connection)
        _spread(connection, names)
        dialect.make_views_and_triggers(connection)
    servers, parts = connection.execute(_PARTS).one()
    return int(servers), int(parts), bool(names)


def _spread(connection: Connection, names: list[str]) -> None:
    whole = {table.name for table in _WHOLE}
    between = [  # foreign keys between distributed tables
        reference
        for table in metadata.sorted_tables
        for reference in sorted(table.foreign_key_constraints, key=lambda each: str(each.name))
        if reference.referred_table not in _WHOLE and not {table.name, reference.referred_table.name}.isdisjoint(names)
    ]
    for reference in between:
        connection.execute(DropConstraint(reference))
    for name in names:
        call = (
            f"create_reference_table('{name}')"
            if name in whole
            else f"create_distributed_table('{name}', 'playbook_id')"
        )
        connection.exec_driver_sql(f"SELECT {call}")
    for name in reversed(names):  # removes the rows that were copied into shards
        connection.exec_driver_sql(f"SELECT truncate_local_data_after_distributing_table('{name}')")
    for reference in between:
        connection.execute(AddConstraint(reference))
