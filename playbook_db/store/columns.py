"""What the tables are made of: column types, named constraints, keys. `schema` has them all together."""

from sqlalchemy import (
    REAL,
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    Table,
)
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

COUNT = BigInteger().with_variant(Integer(), "sqlite")  # STRICT tables know INTEGER alone
REAL_NUMBER: TypeEngine[float] = Double().with_variant(REAL(), "sqlite")
_WHITE_SPACE = (
    9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288,
)  # fmt: skip

metadata = MetaData()


def not_blank(table: str, column: str) -> list[SchemaItem]:
    """A check that *column* holds more than white space, as `str.strip` understands it, in each dialect's words."""
    name = f"ck_{table}_{column}_not_blank"
    codes = ", ".join(map(str, _WHITE_SPACE))
    return [
        CheckConstraint(f"trim({column}, char({codes})) <> ''", name=name).ddl_if(dialect="sqlite"),
        CheckConstraint(f"{column} ~ '[^[:space:]]'", name=name).ddl_if(dialect="postgresql"),
    ]


def one_of(table: str, column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"ck_{table}_{column}")


def at_least(table: str, column: str, least: int) -> CheckConstraint:
    return CheckConstraint(f"{column} >= {least}", name=f"ck_{table}_{column}")


def table(name: str, *items: SchemaItem, with_rowid: bool = True) -> Table:
    return Table(name, metadata, *items, sqlite_strict=True, sqlite_with_rowid=with_rowid)


def of_playbook(table: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name=f"fk_{table}_playbook")


def of_revision(table: str, column: str = "revision") -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["playbook_id", column], ["revisions.playbook_id", "revisions.number"], name=f"fk_{table}_{column}"
    )


def of_point(table: str, column: str = "point_id") -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["playbook_id", column], ["key_points.playbook_id", "key_points.id"], name=f"fk_{table}_{column}"
    )
