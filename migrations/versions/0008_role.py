"""Add a column for the server's role that wrote a revision. It is NULL for existing revisions and in files.

From this version on, a server's trigger checks that each point matches its last change.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("revisions", sa.Column("role", TEXT))


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
