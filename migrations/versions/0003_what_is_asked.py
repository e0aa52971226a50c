"""Add indexes for queries, a table of undone revisions, and a table that counts the sessions that saw each point.

Both tables are filled from the existing revisions and sessions. Existing rows don't change.
"""

import json
from collections import Counter, defaultdict
from itertools import groupby
from operator import itemgetter

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
    if not op.get_context().as_sql:  # `--sql` starts with an empty database, or at a later revision
        _fill_taken_back(op.get_bind())
        _fill_showings(op.get_bind())


def _fill_taken_back(connection: sa.Connection) -> None:
    """Store the range of each undo that is in force: no later undo in force undid it, or a part of it."""
    undos = connection.execute(
        sa.text(
            "SELECT playbook_id, took_back_from, took_back_to, number FROM revisions"
            " WHERE took_back_from IS NOT NULL ORDER BY playbook_id, number DESC"
        )
    ).all()
    in_force: list[tuple[int, int, int, int]] = []
    for playbook, first, last, number in undos:
        if not any(
            by == playbook and (begin <= number <= end or (begin <= last and first <= end))
            for by, begin, end, _ in in_force
        ):
            in_force.append((playbook, first, last, number))
            connection.execute(
                sa.text("INSERT INTO taken_back VALUES (:playbook, :first, :last, :number)"),
                {"playbook": playbook, "first": first, "last": last, "number": number},
            )


def _fill_showings(connection: sa.Connection) -> None:
    """Count the sessions that were shown each point. Hooks and commands wait meanwhile, and grouping the numbers of all
    lists in SQL would take three times as long."""
    sessions: defaultdict[int, Counter[int]] = defaultdict(Counter)
    last_at: defaultdict[int, dict[int, str]] = defaultdict(dict)
    by_session = "SELECT playbook_id, session_id, points FROM injections ORDER BY playbook_id, session_id"
    for (playbook, _), times in groupby(connection.execute(sa.text(by_session)), key=itemgetter(0, 1)):
        sessions[playbook].update({point for _, _, points in times for point in json.loads(points)})
    for playbook, points, time in connection.execute(
        sa.text("SELECT playbook_id, points, time FROM injections ORDER BY time")
    ):
        last_at[playbook].update(dict.fromkeys(json.loads(points), time))
    for playbook, point in connection.execute(sa.text("SELECT playbook_id, id FROM key_points")).all():
        if point in sessions[playbook]:
            connection.execute(
                sa.text("INSERT INTO showings VALUES (:playbook, :point, :sessions, :last_at)"),
                {
                    "playbook": playbook,
                    "point": point,
                    "sessions": sessions[playbook][point],
                    "last_at": last_at[playbook][point],
                },
            )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
