"""What hooks and learning need: points ranked and counted, what sessions were shown, whose jobs are, model calls.

The points that are there get the rank that their votes and their last change give them, and are counted; no project
is ignored, and mirrors are looked at once more, since nothing is known yet of their files' size and time.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL_NUMBER = sa.Double().with_variant(sa.REAL(), "sqlite")
_CHUNK = 10_000


def upgrade() -> None:
    # SQLAlchemy leaves a column's own check out of ADD COLUMN, hence as text.
    op.execute(
        "ALTER TABLE playbooks ADD COLUMN ignored INTEGER DEFAULT 0 NOT NULL"
        " CONSTRAINT ck_playbooks_ignored CHECK (ignored IN (0, 1))"
    )
    count = COUNT.dialect_impl(op.get_bind().dialect).compile(op.get_bind().dialect)
    op.execute(
        f"ALTER TABLE playbooks ADD COLUMN live_points {count} DEFAULT 0 NOT NULL"
        " CONSTRAINT ck_playbooks_live_points CHECK (live_points >= 0)"
    )
    op.execute(
        "UPDATE playbooks SET live_points = (SELECT count(*) FROM key_points AS k"
        " WHERE k.playbook_id = playbooks.id AND k.retired_in IS NULL)"
    )
    op.add_column("key_points", sa.Column("rank", REAL_NUMBER, nullable=False, server_default=sa.text("0")))
    op.add_column("mirrors", sa.Column("size_bytes", COUNT))
    op.add_column("mirrors", sa.Column("mtime_ns", COUNT))
    op.add_column("jobs", sa.Column("parent_path", sa.Text))
    op.add_column("jobs", sa.Column("agent_id", sa.Text))
    op.add_column("transcripts", sa.Column("first_uuid", sa.Text))
    op.create_index("ix_transcripts_first", "transcripts", ["playbook_id", "first_uuid"])
    op.add_column("reflections", sa.Column("bullet_tags", sa.Text))
    op.add_column("reflections", sa.Column("finished_at", sa.Text))
    _rank_points()
    live = sa.text("retired_in IS NULL")
    op.create_index(
        "ix_key_points_rank",
        "key_points",
        ["playbook_id", sa.text("rank DESC"), "id"],
        sqlite_where=live,
        postgresql_where=live,
    )
    waiting = sa.text("state = 'queued'")
    op.create_index(
        "uq_jobs_waiting",
        "jobs",
        ["playbook_id", "kind", "transcript_path"],
        unique=True,
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    unfinished = sa.text("finished_at IS NULL")
    op.create_index(
        "ix_reflections_unfinished",
        "reflections",
        ["playbook_id", "transcript_path"],
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )
    op.create_table(
        "model_calls",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("id", COUNT, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text),
        sa.Column("model", sa.Text),
        sa.Column("input_tokens", COUNT, nullable=False),
        sa.Column("output_tokens", COUNT, nullable=False),
        sa.Column("cached_tokens", COUNT, nullable=False),
        sa.Column("cost_usd", REAL_NUMBER),
        sa.Column("duration_ms", COUNT, nullable=False),
        sa.Column("time", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "id", name="pk_model_calls"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_model_calls_playbook"),
        sa.CheckConstraint("kind IN ('reflect', 'curate')", name="ck_model_calls_kind"),
        sa.CheckConstraint("input_tokens >= 0", name="ck_model_calls_input_tokens"),
        sa.CheckConstraint("output_tokens >= 0", name="ck_model_calls_output_tokens"),
        sa.CheckConstraint("cached_tokens >= 0", name="ck_model_calls_cached_tokens"),
        sqlite_strict=True,
    )
    op.create_index("ix_model_calls_time", "model_calls", ["playbook_id", "time"])
    op.create_table(
        "injections",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("revision", COUNT, nullable=False),
        sa.Column("points", sa.Text, nullable=False),
        sa.Column("left_out", COUNT, nullable=False),
        sa.Column("time", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "session_id", "seq", name="pk_injections"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_injections_playbook"),
        sa.CheckConstraint("left_out >= 0", name="ck_injections_left_out"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't go back; restore the backup that stands beside the database")


def _rank_points() -> None:
    """Give each point its rank: the formula of playbook_db.domain.prompt_text as it was with this migration."""
    connection = op.get_bind()
    points = connection.execute(
        sa.text("""
            SELECT k.playbook_id, k.id, k.helpful, k.harmful, (
                SELECT c.revision FROM changes AS c WHERE c.playbook_id = k.playbook_id AND c.point_id = k.id
                ORDER BY c.revision DESC LIMIT 1
            ) AS changed_in
            FROM key_points AS k
        """)
    ).all()
    update = sa.text("UPDATE key_points SET rank = :rank WHERE playbook_id = :playbook_id AND id = :id")
    for start in range(0, len(points), _CHUNK):
        connection.execute(
            update,
            [
                {
                    "playbook_id": point.playbook_id,
                    "id": point.id,
                    "rank": _rank(point.helpful, point.harmful, point.changed_in or 0),
                }
                for point in points[start : start + _CHUNK]
            ],
        )


def _rank(helpful: int, harmful: int, changed_in: int) -> float:
    votes = helpful + harmful + 2
    share = (helpful + 1) / votes
    spread = (share * (1 - share) / votes + 1 / (4 * votes * votes)) ** 0.5
    return (share + 1 / (2 * votes) - spread) / (1 + 1 / votes) + changed_in / 2000
