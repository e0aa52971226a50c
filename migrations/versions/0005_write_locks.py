"""A row for each playbook that its writers lock, one after the other, where a database locks rows; SQLite has none."""

import sqlalchemy as sa
from alembic import op

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

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


    op.create_table(
        "memberships",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("joined_at", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", name="pk_memberships"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_memberships_playbook"),
        sa.CheckConstraint("url <> '' AND name <> ''", name="ck_memberships_named"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "unsent_injections",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("time", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("revision", COUNT, nullable=False),
        sa.Column("points", TEXT, nullable=False),
        sa.Column("left_out", COUNT, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "session_id", "time", name="pk_unsent_injections"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_unsent_injections_playbook"),
        sa.CheckConstraint("left_out >= 0", name="ck_unsent_injections_left_out"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
