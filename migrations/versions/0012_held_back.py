"""Add a column for points that were held back from a session, for comparison. It is NULL in existing rows."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    for table in ("injections", "unsent_injections"):
        op.add_column(table, sa.Column("held_back", TEXT))


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
