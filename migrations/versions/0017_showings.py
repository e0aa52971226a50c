"""Rename the tables of showings: `injections` becomes `showings`, and the former `showings` becomes `showing_counts`.

`unsent_injections` becomes `unsent_showings`. All rows stay. SQLite can't rename a constraint, so each table is copied
there.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# In this order, so that the name `showings` is free when it is given again.
_TABLES = {"showings": "showing_counts", "injections": "showings", "unsent_injections": "unsent_showings"}
_CREATED = sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name")
_CONSTRAINTS = sa.text(
    "SELECT conname FROM pg_constraint WHERE conrelid = CAST(:name AS regclass) AND contype IN ('p', 'f', 'c')"
)


def upgrade() -> None:
    rename = _rename if op.get_context().dialect.name == "postgresql" else _copy
    for old, new in _TABLES.items():
        rename(old, new)


def _rename(old: str, new: str) -> None:
    for name in op.get_bind().scalars(_CONSTRAINTS, {"name": old}).all():
        op.execute(f"ALTER TABLE {old} RENAME CONSTRAINT {name} TO {name.replace(old, new)}")
    op.rename_table(old, new)


def _copy(old: str, new: str) -> None:
    created = op.get_bind().scalars(_CREATED, {"name": old}).one()
    op.execute(created.replace(old, new))
    op.execute(f"INSERT INTO {new} SELECT * FROM {old}")
    op.drop_table(old)


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
