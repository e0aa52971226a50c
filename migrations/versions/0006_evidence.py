"""Add evidence, proposals that wait for a person, and columns for pinned, resting and confirmed points.

An existing point counts as confirmed when it was added, last reworded or last voted helpful. Ranks change to the upper
bound. Showings without use are counted from now on. Also add tables for similar points that stay separate, and for the
results of sessions.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_CONFIRMED = """
UPDATE key_points SET confirmed_at = (
    SELECT max(r.time) FROM revisions AS r
    WHERE r.playbook_id = key_points.playbook_id AND (
        r.number = key_points.created_in
        OR r.number = (SELECT max(c.revision) FROM changes AS c WHERE c.playbook_id = key_points.playbook_id
                       AND c.point_id = key_points.id AND c.text IS NOT NULL)
        OR r.number = (SELECT max(v.revision) FROM votes AS v WHERE v.playbook_id = key_points.playbook_id
                       AND v.point_id = key_points.id AND v.tag = 'helpful')))
"""


def upgrade() -> None:
    _add_columns()
    op.execute(sa.text(_CONFIRMED))
    op.execute(sa.text("UPDATE showings SET used_at = sessions"))
    if not op.get_context().as_sql:  # `--sql` starts with an empty database, or at a later revision
        _rank_by_upper_bound(op.get_bind())
    op.drop_index("ix_key_points_rank", "key_points")
    shown = sa.text("retired_in IS NULL AND resting = 0")
    op.create_index(
        "ix_key_points_rank",
        "key_points",
        ["playbook_id", sa.text("pinned DESC"), sa.text("rank DESC"), "id"],
        sqlite_where=shown,
        postgresql_where=shown,
    )
    _make_proposals()
    _make_kept_apart()
    _make_session_outcomes()


def _add_columns() -> None:
    for table, column in (("key_points", "pinned"), ("key_points", "resting"), ("votes", "ignored")):
        check = sa.CheckConstraint(f"{column} IN (0, 1)", name=f"ck_{table}_{column}")
        op.add_column(table, sa.Column(column, sa.Integer, check, nullable=False, server_default=sa.text("0")))
    op.add_column("key_points", sa.Column("confirmed_at", TEXT))
    for table, column in (("changes", "evidence"), ("votes", "evidence"), ("reflections", "lessons")):
        op.add_column(table, sa.Column(column, TEXT))
    check = sa.CheckConstraint("used_at >= 0", name="ck_showings_used_at")
    op.add_column("showings", sa.Column("used_at", COUNT, check, nullable=False, server_default=sa.text("0")))


def _rank_by_upper_bound(connection: sa.Connection) -> None:
    """Raise each rank from the lower bound of its votes' interval to the upper bound."""
    ranked = connection.execute(sa.text("SELECT playbook_id, id, helpful, harmful FROM key_points")).all()
    rows = [
        {"playbook": playbook, "point": point, "more": _width(helpful, harmful)}
        for playbook, point, helpful, harmful in ranked
    ]
    if rows:
        update = "UPDATE key_points SET rank = rank + :more WHERE playbook_id = :playbook AND id = :point"
        connection.execute(sa.text(update), rows)


def _width(helpful: int, harmful: int) -> float:
    """Return the width of Wilson's interval for one standard deviation, with one vote added on each side."""
    votes = helpful + harmful + 2
    share = (helpful + 1) / votes
    spread: float = (share * (1 - share) / votes + 1 / (4 * votes * votes)) ** 0.5
    return 2 * spread / (1 + 1 / votes)


def _make_proposals() -> None:
    op.create_table(
        "proposals",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("id", COUNT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("operation", TEXT, nullable=False),
        sa.Column("evidence", TEXT, nullable=False),
        sa.Column("trust", TEXT, nullable=False),
        sa.Column("session_id", TEXT),
        sa.Column("sessions", COUNT, nullable=False, server_default=sa.text("1")),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False, server_default=sa.text("'waiting'")),
        sa.Column("decided_at", TEXT),
        sa.Column("decided_by", TEXT),
        sa.Column("revision", COUNT),
        sa.PrimaryKeyConstraint("playbook_id", "id", name="pk_proposals"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_proposals_playbook"),
        sa.ForeignKeyConstraint(
            ["playbook_id", "revision"], ["revisions.playbook_id", "revisions.number"], name="fk_proposals_revision"
        ),
        sa.CheckConstraint("kind IN ('ADD', 'UPDATE', 'MERGE', 'DELETE', 'VOTE')", name="ck_proposals_kind"),
        sa.CheckConstraint("trust IN ('user', 'tests', 'files', 'fetched')", name="ck_proposals_trust"),
        sa.CheckConstraint("state IN ('waiting', 'accepted', 'rejected')", name="ck_proposals_state"),
        sa.CheckConstraint("(state = 'waiting') = (decided_at IS NULL)", name="ck_proposals_decided"),
        sa.CheckConstraint("sessions >= 1", name="ck_proposals_sessions"),
        sqlite_strict=True,
    )
    waiting = sa.text("state = 'waiting'")
    op.create_index(
        "ix_proposals_waiting", "proposals", ["playbook_id", "id"], sqlite_where=waiting, postgresql_where=waiting
    )


def _make_kept_apart() -> None:
    op.create_table(
        "kept_apart",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("first_id", COUNT, nullable=False),
        sa.Column("second_id", COUNT, nullable=False),
        sa.Column("revision", COUNT, nullable=False),
        sa.Column("time", TEXT, nullable=False),
        sa.Column("actor", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "first_id", "second_id", name="pk_kept_apart"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_kept_apart_playbook"),
        *(
            sa.ForeignKeyConstraint(
                ["playbook_id", column], ["key_points.playbook_id", "key_points.id"], name=f"fk_kept_apart_{column}"
            )
            for column in ("first_id", "second_id")
        ),
        sa.CheckConstraint("first_id < second_id", name="ck_kept_apart_order"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _make_session_outcomes() -> None:
    counts = ("tool_calls", "failed_calls", "corrections", "turns", "tokens")
    op.create_table(
        "session_outcomes",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        *(sa.Column(name, COUNT, nullable=False, server_default=sa.text("0")) for name in counts),
        sa.Column("updated_at", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "session_id", name="pk_session_outcomes"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_session_outcomes_playbook"),
        *(sa.CheckConstraint(f"{name} >= 0", name=f"ck_session_outcomes_{name}") for name in counts),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
