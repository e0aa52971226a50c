"""Add a table for the sessions that followed a point or ignored it, with their failed calls.

The table is empty at first: nothing is known about earlier sessions.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "trials",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("point_id", COUNT, nullable=False),
        *(
            sa.Column(name, COUNT, nullable=False, server_default=sa.text("0"))
            for name in ("held_back", "followed", "ignored", "failed_calls")
        ),
        sa.Column("time", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "session_id", "point_id", name="pk_trials"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_trials_playbook"),
        sa.ForeignKeyConstraint(
            ["playbook_id", "point_id"], ["key_points.playbook_id", "key_points.id"], name="fk_trials_point_id"
        ),
        sa.CheckConstraint("held_back IN (0, 1)", name="ck_trials_held_back"),
        sa.CheckConstraint("followed IN (0, 1)", name="ck_trials_followed"),
        sa.CheckConstraint("ignored >= 0", name="ck_trials_ignored"),
        sa.CheckConstraint("failed_calls >= 0 AND failed_calls <= ignored", name="ck_trials_failed_calls"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("ix_trials_point", "trials", ["playbook_id", "point_id"])


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
