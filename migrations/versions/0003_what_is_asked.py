"""What questions about one point, one session or an undo touch: indexes, which revisions are taken back now, and in how
many sessions each point was shown.

Both are filled from the revisions and the sessions that are there; nothing else changes.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "taken_back",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("first", COUNT, nullable=False),
        sa.Column("last", COUNT, nullable=False),
        sa.Column("undo", COUNT, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "first", name="pk_taken_back"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_taken_back_playbook"),
        sa.ForeignKeyConstraint(
            ["playbook_id", "undo"], ["revisions.playbook_id", "revisions.number"], name="fk_taken_back_undo"
        ),
        sa.CheckConstraint("first >= 1 AND first <= last AND last < undo", name="ck_taken_back_stretch"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "showings",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("point_id", COUNT, nullable=False),
        sa.Column("sessions", COUNT, nullable=False),
        sa.Column("last_at", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "point_id", name="pk_showings"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_showings_playbook"),
        sa.ForeignKeyConstraint(
            ["playbook_id", "point_id"], ["key_points.playbook_id", "key_points.id"], name="fk_showings_point_id"
        ),
        sa.CheckConstraint("sessions >= 1", name="ck_showings_sessions"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.drop_index("ix_votes_neutral", "votes")
    for name, table, column, where in (
        ("ix_revisions_session", "revisions", "session_id", "session_id IS NOT NULL"),
        ("ix_revisions_undo", "revisions", "number", "took_back_from IS NOT NULL"),
        ("ix_changes_successor", "changes", "successor_id", "successor_id IS NOT NULL"),
        ("ix_votes_point", "votes", "point_id", "point_id IS NOT NULL"),
        ("ix_votes_unmatched", "votes", "name", "name IS NOT NULL"),
    ):
        condition = sa.text(where)
        op.create_index(name, table, ["playbook_id", column], sqlite_where=condition, postgresql_where=condition)
    _fill_taken_back(op.get_bind())
    if op.get_bind().scalar(sa.text("SELECT 1 FROM injections LIMIT 1")) is None:
        return
    op.execute(  # in SQLite's words: no other database is as old as that
        "INSERT INTO showings (playbook_id, point_id, sessions, last_at)"
        " SELECT i.playbook_id, k.id, count(DISTINCT i.session_id), max(i.time)"
        " FROM injections AS i CROSS JOIN json_each(i.points) AS shown"
        " CROSS JOIN key_points AS k ON k.playbook_id = i.playbook_id AND k.id = shown.value"
        " GROUP BY i.playbook_id, k.id"
    )


def _fill_taken_back(connection: sa.Connection) -> None:
    """Keep the stretch of each undo that no later one, itself in force, took back."""
    undos = connection.execute(
        sa.text(
            "SELECT playbook_id, took_back_from, took_back_to, number FROM revisions"
            " WHERE took_back_from IS NOT NULL ORDER BY playbook_id, number DESC"
        )
    ).all()
    in_force: list[tuple[int, int, int, int]] = []
    for playbook, first, last, number in undos:
        if not any(by == playbook and begin <= number <= end for by, begin, end, _ in in_force):
            in_force.append((playbook, first, last, number))
            connection.execute(
                sa.text("INSERT INTO taken_back VALUES (:playbook, :first, :last, :number)"),
                {"playbook": playbook, "first": first, "last": last, "number": number},
            )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
