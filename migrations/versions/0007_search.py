"""By which event of a session points were shown; those that are there were shown at its start.

The index for full text comes with it: it is no table of a migration but made after each, as views and triggers are.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_EVENTS = "'SessionStart', 'UserPromptSubmit', 'PostToolUseFailure', 'SubagentStart'"


def upgrade() -> None:
    for table in ("injections", "unsent_injections"):
        check = sa.CheckConstraint(f"event IN ({_EVENTS})", name=f"ck_{table}_event")
        op.add_column(table, sa.Column("event", TEXT, check, nullable=False, server_default=sa.text("'SessionStart'")))


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
