"""What holds for a database on a PostgreSQL server, beside what all tests with a `store` hold for it too."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, inspect
from sqlalchemy.engine import URL

from playbook_db.store import tables
from playbook_db.store.engine import open_store
from tests import postgres
from tests.databases import empty_database

pytestmark = pytest.mark.slow

# What may differ between the schemas that the migrations make: SQLite's strict tables know one kind of whole number,
# and number a table's rows by themselves.
_TYPES = {"BIGINT": "INTEGER", "DOUBLE PRECISION": "REAL"}
_DEFAULTS = {"nextval('playbooks_id_seq'": "None"}


@pytest.fixture(scope="module")
def fresh() -> Iterator[URL]:
    """A database on a server that the migrations have just made."""
    postgres.require_server()
    url = postgres.new_database()
    open_store(str(url)).close()
    yield url
    postgres.drop_database(url)


@pytest.fixture
def server(fresh: URL) -> Iterator[Engine]:
    """An engine to it that is none of ours."""
    engine = create_engine(fresh.set(drivername="postgresql+psycopg"))
    yield engine
    engine.dispose()


def _described(engine: Engine) -> dict[str, Any]:
    """Each table: its columns, keys, checks and indexes, by name, in words that both databases have."""
    look = inspect(engine)
    described: dict[str, Any] = {}
    for table in look.get_table_names():
        if table in ("alembic_version", "sqlite_stat1"):
            continue
        described[table] = {
            "columns": {
                column["name"]: (
                    _TYPES.get(kind := str(column["type"]).split(" COLLATE")[0], kind),
                    column["nullable"],
                    _DEFAULTS.get(value := str(column["default"]).split("::")[0], value),
                )
                for column in look.get_columns(table)
            },
            "primary key": look.get_pk_constraint(table)["constrained_columns"],
            "foreign keys": {
                key["name"]: (key["constrained_columns"], key["referred_table"], key["referred_columns"])
                for key in look.get_foreign_keys(table)
            },
            "unique": {key["name"]: key["column_names"] for key in look.get_unique_constraints(table)},
            "checks": sorted(str(check["name"]) for check in look.get_check_constraints(table)),
            "indexes": {
                index["name"]: (
                    [name or "expression" for name in index["column_names"]],
                    bool(index["unique"]),
                    any(option.endswith("_where") for option in index.get("dialect_options", {})),
                )
                for index in look.get_indexes(table)
                if not index.get("duplicates_constraint")
            },
        }
    return described


def test_the_one_chain_of_migrations_makes_the_same_schema_on_both(server: Engine, tmp_path: Any) -> None:
    """Tables, columns, keys, checks and indexes; but for the types above, nothing differs."""
    (tmp_path / "playbook.db").write_bytes(empty_database())
    sqlite = create_engine(f"sqlite:///{tmp_path / 'playbook.db'}")

    ours, theirs = _described(sqlite), _described(server)
    sqlite.dispose()

    assert ours.keys() == theirs.keys() == tables.metadata.tables.keys()
    for table, described in ours.items():
        assert theirs[table] == described, table


def test_counts_are_wide_and_texts_are_compared_by_their_characters(server: Engine) -> None:
    """Whatever the server's own language is; a count may be larger than 2**31."""
    look = inspect(server)

    for table in tables.metadata.tables.values():
        for column in look.get_columns(table.name):
            ours = table.c[column["name"]]
            kind = str(ours.type.compile(dialect=server.dialect)).replace('"', "")
            assert str(column["type"]).replace('"', "") == kind, ours
            if kind.startswith("TEXT"):
                assert kind == "TEXT COLLATE C", ours
