"""Which role of the server wrote each revision; nobody knows it of those that are there, nor of any in a file.

With it comes a trigger that the server makes after each migration: a point is what its last change says.
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
