"""Drop the results of sessions, and the records of points that were held back from a session.

The views `session_comparison`, `session_impact` and `point_trials` leave, too. The columns `held_back` stay unread:
dropping them would fail if a user's own view named them.
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DELETE FROM trials WHERE held_back = 1")
    op.drop_table("session_outcomes")


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
