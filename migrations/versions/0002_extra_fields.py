"""Add a table for the additional fields of points in playbook files. Existing rows don't change."""

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, Integer, PrimaryKeyConstraint, Text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "extra_fields",
        Column("playbook_id", Integer, nullable=False),
        Column("point_id", BigInteger().with_variant(Integer(), "sqlite"), nullable=False),
        Column("fields", Text().with_variant(Text(collation="C"), "postgresql"), nullable=False),
        PrimaryKeyConstraint("playbook_id", "point_id", name="pk_extra_fields"),
        ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_extra_fields_playbook"),
        ForeignKeyConstraint(
            ["playbook_id", "point_id"],
            ["key_points.playbook_id", "key_points.id"],
            name="fk_extra_fields_point_id",
        ),
        sqlite_strict=True,
    )


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
