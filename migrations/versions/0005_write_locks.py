"""A row for each playbook that its writers lock, one after the other, where a database locks rows; SQLite has none."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "write_locks",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", name="pk_write_locks"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_write_locks_playbook"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
