"""Add a column for the event at which a session was shown points. Existing showings were at the session's start.
Showings from more than a year ago get tables that only count them. Showings for a team's database get the time when
they were sent; existing ones are unsent.

The full-text index is new, too. Like views and triggers, it is created after each run of the migrations.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_EVENTS = "'SessionStart', 'UserPromptSubmit', 'PostToolUseFailure', 'SubagentStart'"


def upgrade() -> None:
    for table in ("injections", "unsent_injections"):
        check = sa.CheckConstraint(f"event IN ({_EVENTS})", name=f"ck_{table}_event")
        op.add_column(table, sa.Column("event", TEXT, check, nullable=False, server_default=sa.text("'SessionStart'")))
    op.add_column("unsent_injections", sa.Column("sent_at", TEXT))
    for column in ("by_prompt", "at_error", "to_subagent"):
        check = sa.CheckConstraint(f"{column} >= 0", name=f"ck_showings_{column}")
        op.add_column("showings", sa.Column(column, COUNT, check, nullable=False, server_default=sa.text("0")))
    _make_folded_showings()
    _make_folded_sessions()


def _make_folded_showings() -> None:
    counts = ("cited", "helpful", "harmful")
    op.create_table(
        "folded_showings",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("point_id", COUNT, nullable=False),
        sa.Column("event", TEXT, nullable=False),
        sa.Column("sessions", COUNT, nullable=False),
        *(sa.Column(name, COUNT, nullable=False) for name in counts),
        sa.Column("first_at", TEXT, nullable=False),
        sa.Column("last_at", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "point_id", "event", name="pk_folded_showings"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_folded_showings_playbook"),
        sa.ForeignKeyConstraint(
            ["playbook_id", "point_id"], ["key_points.playbook_id", "key_points.id"], name="fk_folded_showings_point_id"
        ),
        sa.CheckConstraint(f"event IN ({_EVENTS})", name="ck_folded_showings_event"),
        sa.CheckConstraint("sessions >= 1", name="ck_folded_showings_sessions"),
        *(sa.CheckConstraint(f"{name} >= 0", name=f"ck_folded_showings_{name}") for name in counts),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _make_folded_sessions() -> None:
    op.create_table(
        "folded_sessions",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("first_at", TEXT, nullable=False),
        sa.Column("was_shown", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "session_id", name="pk_folded_sessions"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_folded_sessions_playbook"),
        sa.CheckConstraint("was_shown IN (0, 1)", name="ck_folded_sessions_was_shown"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
