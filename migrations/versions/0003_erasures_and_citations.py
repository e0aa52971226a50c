"""What looking back and taking back need: erasures and what they left, which revisions an undo took back, citations,
and a lighter index of the votes.

Nothing of what is there changes; no point is forgotten, nothing was taken back, and no citation is known yet.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # SQLAlchemy leaves a column's own check out of ADD COLUMN, hence as text.
    op.execute(
        "ALTER TABLE key_points ADD COLUMN forgotten INTEGER DEFAULT 0 NOT NULL CONSTRAINT ck_key_points_forgotten"
        " CHECK (forgotten = 0 OR (forgotten = 1 AND retired_in IS NOT NULL))"
    )
    count = COUNT.dialect_impl(op.get_bind().dialect).compile(op.get_bind().dialect)
    op.execute(f"ALTER TABLE revisions ADD COLUMN took_back_from {count}")
    op.execute(
        f"ALTER TABLE revisions ADD COLUMN took_back_to {count} CONSTRAINT ck_revisions_took_back CHECK"
        " ((took_back_from IS NULL) = (took_back_to IS NULL) AND took_back_from >= 1"
        " AND took_back_from <= took_back_to AND took_back_to < number)"
    )
    op.create_table(
        "erasures",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("id", COUNT, nullable=False),
        sa.Column("revision", COUNT, nullable=False),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("points", sa.Text, nullable=False),
        sa.Column("fields", COUNT, nullable=False, server_default=sa.text("0")),
        sa.Column("time", sa.Text, nullable=False),
        sa.Column("finished_at", sa.Text),
        sa.Column("scrubbed_at", sa.Text),
        sa.PrimaryKeyConstraint("playbook_id", "id", name="pk_erasures"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_erasures_playbook"),
        sa.ForeignKeyConstraint(
            ["playbook_id", "revision"], ["revisions.playbook_id", "revisions.number"], name="fk_erasures_revision"
        ),
        sa.CheckConstraint("asked IN ('name', 'match')", name="ck_erasures_asked"),
        sa.CheckConstraint("fields >= 0", name="ck_erasures_fields"),
        sqlite_strict=True,
    )
    op.create_table(
        "citations",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("point_id", COUNT, nullable=False),
        sa.Column("stretches", COUNT, nullable=False),
        sa.Column("time", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "session_id", "point_id", name="pk_citations"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_citations_playbook"),
        sa.ForeignKeyConstraint(
            ["playbook_id", "point_id"], ["key_points.playbook_id", "key_points.id"], name="fk_citations_point_id"
        ),
        sa.CheckConstraint("stretches >= 1", name="ck_citations_stretches"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("ix_citations_point", "citations", ["playbook_id", "point_id"])
    op.create_index("ix_reflections_revision", "reflections", ["playbook_id", "revision"])
    op.drop_index("ix_votes_point", "votes")
    neutral = sa.text("tag = 'neutral'")
    op.create_index(
        "ix_votes_neutral",
        "votes",
        ["playbook_id", "point_id"],
        sqlite_where=neutral,
        postgresql_where=neutral,
    )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't go back; restore the backup that stands beside the database")
