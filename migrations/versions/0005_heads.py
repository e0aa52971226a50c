"""Move the columns of `playbooks` that every commit changes into a table `heads`, and add two tables for teams.

In a database that locks rows, writers lock a playbook's row in `heads`. So each server of a distributed database can
have a copy of `playbooks`. The tables for teams are empty at first.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_FIRST_HEADER = """'{"version": "1.0", "last_updated": null, "sections": null}'"""
_WHITE_SPACE = (
    9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288,
)  # fmt: skip
_KEPT = "id, key, kind, mirror, created_at, ignored"


def upgrade() -> None:
    _make_tables_of_members()
    _make_heads()
    connection = op.get_bind()
    connection.execute(sa.text("INSERT INTO heads SELECT id, header, final_newline, live_points FROM playbooks"))
    if connection.dialect.name == "sqlite":
        _make_playbooks_anew(connection)
    else:
        for column in ("header", "final_newline", "live_points"):
            op.drop_column("playbooks", column)


def _make_tables_of_members() -> None:
    """Create the tables for projects in teams, and for showings that the team's database hasn't stored yet."""
    op.create_table(
        "memberships",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("joined_at", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", name="pk_memberships"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_memberships_playbook"),
        sa.CheckConstraint("url <> '' AND name <> ''", name="ck_memberships_named"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "unsent_injections",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("time", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("revision", COUNT, nullable=False),
        sa.Column("points", TEXT, nullable=False),
        sa.Column("left_out", COUNT, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "session_id", "time", name="pk_unsent_injections"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_unsent_injections_playbook"),
        sa.CheckConstraint("left_out >= 0", name="ck_unsent_injections_left_out"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _make_heads() -> None:
    op.create_table(
        "heads",
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("header", TEXT, nullable=False, server_default=sa.text(_FIRST_HEADER)),
        sa.Column("final_newline", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("live_points", COUNT, nullable=False, server_default=sa.text("0")),
        sa.PrimaryKeyConstraint("playbook_id", name="pk_heads"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name="fk_heads_playbook"),
        sa.CheckConstraint("final_newline IN (0, 1)", name="ck_heads_final_newline"),
        sa.CheckConstraint("live_points >= 0", name="ck_heads_live_points"),
        sqlite_strict=True,
    )


def _make_playbooks_anew(connection: sa.Connection) -> None:
    """Rebuild `playbooks` without three columns: SQLite can't drop a column with a check. References stay unchanged."""
    rows = connection.execute(sa.text(f"SELECT {_KEPT} FROM playbooks")).mappings().all()
    op.drop_table("playbooks")
    white_space = ", ".join(map(str, _WHITE_SPACE))
    made = op.create_table(
        "playbooks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False, server_default=sa.text("'project'")),
        sa.Column("mirror", TEXT, nullable=False, server_default=sa.text("'undecided'")),
        sa.Column("created_at", TEXT, nullable=False),
        sa.Column("ignored", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.UniqueConstraint("key", name="uq_playbooks_key"),
        sa.CheckConstraint(f"trim(key, char({white_space})) <> ''", name="ck_playbooks_key_not_blank"),
        sa.CheckConstraint("kind IN ('project', 'user')", name="ck_playbooks_kind"),
        sa.CheckConstraint("mirror IN ('undecided', 'on', 'found', 'off')", name="ck_playbooks_mirror"),
        sa.CheckConstraint("ignored IN (0, 1)", name="ck_playbooks_ignored"),
        sqlite_strict=True,
    )
    if rows:
        connection.execute(sa.insert(made), [dict(row) for row in rows])


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
