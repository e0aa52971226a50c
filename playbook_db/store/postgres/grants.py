"""Grant rights on a server: on our tables, views and functions, in their schema.

A reader can read. A member can also write rows, but triggers prevent changes of the history, and no grant allows
changes of a table. An owner has the role that owns the tables, and can migrate them. Default privileges cover objects
of later migrations, which belong to the same role (`become_owner`).
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from psycopg.errors import InsufficientPrivilege
from sqlalchemy import Connection, Row
from sqlalchemy import text as sql

from playbook_db.errors import ServerError
from playbook_db.store.dialect import dialect_of
from playbook_db.store.tables import metadata

Right = Literal["reader", "member", "owner"]
RIGHTS: tuple[Right, ...] = get_args(Right)
_ONLY_READ = ("alembic_version", "sections")  # only migrations write these tables
_SEQUENCE = "playbooks_id_seq"
_WRITE = "INSERT, UPDATE, DELETE"
_BEYOND: dict[Right, tuple[str, ...]] = {  # privileges that the right doesn't include
    "reader": ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"),
    "member": ("TRUNCATE", "REFERENCES", "TRIGGER"),
    "owner": (),
}
_LOCK = sql("SELECT pg_advisory_xact_lock(:lock)")
_GRANTS_LOCK = 0x504C4247  # "PLBG": two grants at once would change the same row of the server's catalog
_OURS = "quote_ident(current_schema())::regnamespace"
_ROLE = sql(
    "SELECT oid, rolname, quote_ident(rolname) AS name, rolsuper, rolcanlogin FROM pg_roles WHERE rolname = :role"
)
_OWNER = sql(f"""
SELECT r.oid, rolname, quote_ident(rolname) AS name, rolsuper, quote_ident(current_schema()) AS schema,
       pg_has_role(current_user, r.oid, 'USAGE') AS is_ours,
       pg_has_role(current_user, r.oid, 'MEMBER') AS is_within_reach
FROM pg_class AS c JOIN pg_roles AS r ON r.oid = c.relowner
WHERE c.relname = 'alembic_version' AND c.relnamespace = {_OURS}
""")
_VIEWS = sql(f"SELECT quote_ident(relname) FROM pg_class WHERE relkind = 'v' AND relnamespace = {_OURS}")
_DICTIONARIES = sql(f"SELECT oid::regdictionary::text FROM pg_ts_dict WHERE dictnamespace = {_OURS}")
_ROUTINES = sql(f"SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = {_OURS}")
_GRANTEES = sql(f"""
SELECT quote_ident(r.rolname), bool_or(privilege_type = 'INSERT')
FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS granted JOIN pg_roles AS r ON r.oid = granted.grantee
WHERE c.relname = 'playbooks' AND c.relnamespace = {_OURS} GROUP BY r.rolname
""")
_IS_MEMBER = sql("SELECT count(*) FROM pg_auth_members WHERE member = :role AND roleid = :owner")
_ALL_MAY_MAKE = sql("SELECT has_schema_privilege('public', current_schema(), 'CREATE')")
_STILL_MAY = sql(f"""
SELECT may || ' on ' || string_agg(c.relname, ', ' ORDER BY c.relname COLLATE "C")
FROM pg_class AS c CROSS JOIN unnest(CAST(:beyond AS text[])) AS may
WHERE c.relname = ANY(:tables) AND c.relnamespace = {_OURS} AND has_table_privilege(CAST(:role AS oid), c.oid, may)
GROUP BY may
UNION ALL
SELECT 'CREATE in the schema ' || current_schema()
WHERE has_schema_privilege(CAST(:role AS oid), current_schema(), 'CREATE')
UNION ALL
SELECT 'all rights of ' || rolname || ', who owns the tables' FROM pg_roles
WHERE oid = :owner AND pg_has_role(CAST(:role AS oid), oid, 'MEMBER')
""")
_MAY_CONNECT = sql("SELECT has_database_privilege(CAST(:role AS oid), current_database(), 'CONNECT')")


@dataclass(frozen=True, slots=True)
class Granted:
    """The result of a grant: `role` now has the `right` on the tables of `owner`. `beyond` lists further privileges
    that the role has from elsewhere. `notes` are for the user."""

    role: str
    right: Right
    owner: str
    beyond: tuple[str, ...]
    notes: tuple[str, ...]


def grant(connection: Connection, role: str, right: Right) -> Granted:
    """Grant *right* to *role* in the current schema, and revoke our other grants to the role. Raises ServerError if
    that fails."""
    connection.execute(_LOCK, {"lock": _GRANTS_LOCK})
    owner, to = _looked_up(connection, role, right)
    notes = [*_close_schema(connection, owner)]
    if not to.rolcanlogin:
        notes.append(f"{role} can't log in itself, but its members can (or: ALTER ROLE {to.name} LOGIN)")
    if right == "owner" and to.oid != owner.oid and owner.rolsuper:  # a member of that role would become a superuser
        _hand_over(connection, owner, to)
        notes.append(f"the tables belonged to {owner.rolname}, a superuser; now they belong to {role}")
        owner = connection.execute(_OWNER).one()
    elif to.oid != owner.oid:
        run(connection, *_revoked(connection, to.name, owner), *_grant_statements(connection, to.name, owner, right))
        if right == "owner":
            _membership(connection, owner, f"GRANT {owner.name} TO {to.name}")
        elif connection.scalar(_IS_MEMBER, {"role": to.oid, "owner": owner.oid}):
            _membership(connection, owner, f"REVOKE {owner.name} FROM {to.name}")
    values = {"role": to.oid, "owner": owner.oid, "beyond": [*_BEYOND[right]], "tables": list(metadata.tables)}
    beyond = () if right == "owner" else tuple(connection.scalars(_STILL_MAY, values))
    if not connection.scalar(_MAY_CONNECT, {"role": to.oid}):
        notes.append(f"{role} may not connect; the database's owner runs: GRANT CONNECT ON DATABASE ... TO {to.name}")
    return Granted(role, right, owner.rolname, beyond, tuple(notes))


def become_owner(connection: Connection) -> None:
    """Let the current transaction act as the role that owns the tables. New objects then belong to the same role. Do
    nothing if there are no tables. Raises ServerError if the user isn't a member of the role."""
    owner = connection.execute(_OWNER).first()
    if owner is None:
        return
    if not owner.is_within_reach:
        raise ServerError(
            f"The tables of {dialect_of(connection).where} belong to {owner.rolname}; no other user may migrate them. "
            "Ask that user to make you an owner: playbook db grant ROLE owner"
        )
    run(connection, f"SET LOCAL ROLE {owner.name}")


def _looked_up(connection: Connection, role: str, right: Right) -> tuple[Row[Any], Row[Any]]:
    """Look up the tables' owner and *role* on the server. Raise ServerError if *role* can't get the *right*."""
    where = dialect_of(connection).where
    owner, to = connection.execute(_OWNER).one(), connection.execute(_ROLE, {"role": role}).first()
    if not owner.is_ours:
        raise ServerError(
            f"The tables of {where} belong to {owner.rolname}; only that user can grant rights. Name that user, "
            "or a superuser, in the URL that you give with --db."
        )
    if to is None:
        name = connection.scalar(sql("SELECT quote_ident(:role)"), {"role": role})
        raise ServerError(
            f"The server of {where} has no role {role}. Create it: createuser --pwprompt {shlex.quote(role)} (or in "
            f"SQL: CREATE ROLE {name} LOGIN PASSWORD '...')"
        )
    if to.rolsuper or role.startswith("pg_"):
        raise ServerError(f"{role} is a superuser or a built-in role (pg_...), which grants can't limit.")
    if to.oid == owner.oid and right != "owner":
        raise ServerError(
            f"{role} owns the tables of {where}, and a grant can't change that. Use another role for members, or as a "
            f"superuser give the tables to another role: REASSIGN OWNED BY {owner.name} TO ..."
        )
    return owner, to


def _close_schema(connection: Connection, owner: Row[Any]) -> Iterator[str]:
    """Let only the owner create tables and functions in our schema. Before PostgreSQL 15 everybody may create them in
    `public`."""
    if connection.scalar(_ALL_MAY_MAKE):
        run(connection, f"GRANT CREATE ON SCHEMA {owner.schema} TO {owner.name}")
        run(connection, f"REVOKE CREATE ON SCHEMA {owner.schema} FROM PUBLIC")
        if not connection.scalar(_ALL_MAY_MAKE):
            yield f"from now on only {owner.rolname} and the schema's owner can create tables in {owner.schema}"


def _membership(connection: Connection, owner: Row[Any], statement: str) -> None:
    try:
        run(connection, statement)
    except InsufficientPrivilege:  # since PostgreSQL 16 users can't even grant their own role
        raise ServerError(
            f"You may not grant or revoke the role {owner.rolname}. Nothing was changed. Ask a superuser of the server "
            f"to run this command, or: {statement}"
        ) from None


def _hand_over(connection: Connection, owner: Row[Any], to: Row[Any]) -> None:
    """Make *to* the owner of all our objects. Grant the existing rights again as the new owner."""
    granted = [(str(name), bool(writes)) for name, writes in connection.execute(_GRANTEES) if name != owner.name]
    for name, _ in granted:
        run(connection, *_revoked(connection, name, owner))
    run(connection, *(f"ALTER TABLE {name} OWNER TO {to.name}" for name in (*_tables(), *connection.scalars(_VIEWS))))
    for kind, names in (("ROUTINE", _ROUTINES), ("TEXT SEARCH DICTIONARY", _DICTIONARIES)):
        run(connection, *(f"ALTER {kind} {name} OWNER TO {to.name}" for name in connection.scalars(names).all()))
    run(connection, f"GRANT USAGE, CREATE ON SCHEMA {owner.schema} TO {to.name}")
    now = connection.execute(_OWNER).one()
    for name, writes in granted:
        if name != to.name:
            run(connection, *_grant_statements(connection, name, now, "member" if writes else "reader"))


def _tables() -> list[str]:
    return [*metadata.tables, "alembic_version"]


def _revoked(connection: Connection, to: str, owner: Row[Any]) -> Iterator[str]:
    yield f"REVOKE ALL ON SCHEMA {owner.schema} FROM {to} CASCADE"
    yield f"REVOKE ALL ON {', '.join([*_tables(), *connection.scalars(_VIEWS)])} FROM {to} CASCADE"
    yield f"REVOKE ALL ON SEQUENCE {_SEQUENCE} FROM {to} CASCADE"
    yield f"REVOKE ALL ON ROUTINE {', '.join(connection.scalars(_ROUTINES))} FROM {to} CASCADE"
    for what in ("TABLES", "SEQUENCES", "ROUTINES"):
        yield f"{_by_default(owner)} REVOKE ALL ON {what} FROM {to} CASCADE"


def _grant_statements(connection: Connection, to: str, owner: Row[Any], right: Right) -> Iterator[str]:
    yield f"GRANT USAGE ON SCHEMA {owner.schema} TO {to}"
    yield f"GRANT SELECT ON {', '.join([*_tables(), *connection.scalars(_VIEWS)])} TO {to}"
    yield f"GRANT EXECUTE ON ROUTINE {', '.join(connection.scalars(_ROUTINES))} TO {to}"
    yield f"{_by_default(owner)} GRANT EXECUTE ON ROUTINES TO {to}"
    if right == "reader":
        yield f"{_by_default(owner)} GRANT SELECT ON TABLES TO {to}"
        return
    yield f"GRANT {_WRITE} ON {', '.join(name for name in _tables() if name not in _ONLY_READ)} TO {to}"
    yield f"GRANT USAGE ON SEQUENCE {_SEQUENCE} TO {to}"
    yield f"{_by_default(owner)} GRANT SELECT, {_WRITE} ON TABLES TO {to}"
    yield f"{_by_default(owner)} GRANT USAGE ON SEQUENCES TO {to}"


def _by_default(owner: Row[Any]) -> str:
    return f"ALTER DEFAULT PRIVILEGES FOR ROLE {owner.name} IN SCHEMA {owner.schema}"


def run(connection: Connection, *statements: str) -> None:
    """Run *statements* one by one, as Citus needs it."""
    driver = connection.connection.dbapi_connection  # not through SQLAlchemy: a name may contain %
    for statement in statements:
        driver.execute(statement)  # type: ignore[union-attr]
