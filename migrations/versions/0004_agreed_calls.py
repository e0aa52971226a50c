"""Add a column for model calls that the user agreed to beforehand. The day's budget doesn't count them.

Existing calls count as calls without such an agreement.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    check = sa.CheckConstraint("agreed IN (0, 1)", name="ck_model_calls_agreed")
    op.add_column("model_calls", sa.Column("agreed", sa.Integer, check, nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
