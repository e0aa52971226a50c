"""Add columns for the place of a project and of a session. They are NULL in existing rows.

A playbook that is ignored, keeps or refuses a mirror, or has joined a team was made a project on purpose: its folder
stays a project of its own, even below the root of a repository.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("playbooks", sa.Column("initialized", sa.Integer, nullable=False, server_default=sa.text("0")))
    for column in ("root_commit", "origin"):
        op.add_column("playbooks", sa.Column(column, TEXT))
    op.add_column("jobs", sa.Column("folder", TEXT))
    op.execute(
        "UPDATE playbooks SET initialized = 1 WHERE mirror <> 'undecided' OR ignored = 1 "
        "OR id IN (SELECT playbook_id FROM memberships)"
    )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
