"""Rename the classes of trust to user, seen and outside, and count every harmful vote in the ranks.

Proposals that wait keep waiting: tests and files become seen, fetched becomes outside. Quotes in the history keep their
earlier names.
"""

import math

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_OLD, _NEW = "'user', 'tests', 'files', 'fetched'", "'user', 'seen', 'outside'"
_RENAMED = "CASE trust WHEN 'user' THEN 'user' WHEN 'fetched' THEN 'outside' ELSE 'seen' END"
# The points that have a harmful vote which didn't lower their rank.
_SHARES = """
SELECT k.playbook_id, k.id, k.helpful + k.harmful + 2.0 AS votes,
    (k.helpful + 1) / (k.helpful + k.harmful + 2.0) AS share, (
        SELECT max(c.revision) FROM changes AS c WHERE c.playbook_id = k.playbook_id AND c.point_id = k.id
    ) AS changed_in
FROM key_points AS k WHERE EXISTS (
    SELECT 1 FROM votes AS v WHERE v.playbook_id = k.playbook_id AND v.point_id = k.id
        AND v.evidence LIKE '%"weak": true%')
"""
_RANK = f"""
UPDATE key_points SET rank = (share + 0.28125 / votes + 0.75 * sqrt(share * (1 - share) / votes
                              + 0.140625 / (votes * votes))) / (1 + 0.5625 / votes) + changed_in / 2000.0
FROM ({_SHARES}) AS s WHERE key_points.playbook_id = s.playbook_id AND key_points.id = s.id
"""


def upgrade() -> None:
    if op.get_context().dialect.name == "sqlite":
        op.get_bind().connection.create_function("sqrt", 1, math.sqrt)  # which SQLite may not have
        _rebuild()
    else:
        op.drop_constraint("ck_proposals_trust", "proposals")
        op.execute(f"UPDATE proposals SET trust = {_RENAMED}")
        op.create_check_constraint("ck_proposals_trust", "proposals", f"trust IN ({_NEW})")
    op.execute(sa.text(_RANK))


def _rebuild() -> None:
    """Rebuild the table of proposals and its indexes, as SQLite can't change a constraint."""
    made = sa.text("SELECT type, sql FROM sqlite_master WHERE tbl_name = 'proposals' AND sql IS NOT NULL")
    statements = dict[str, list[str]]()
    for kind, statement in op.get_bind().execute(made):
        statements.setdefault(kind, []).append(statement)
    # So SQLite doesn't check the user's views and triggers, which may name the table that is missing meanwhile.
    op.execute("PRAGMA legacy_alter_table = ON")
    op.execute("ALTER TABLE proposals RENAME TO renamed_proposals")
    (create,) = statements["table"]
    op.execute(create.replace(_OLD, _NEW))
    columns = [column["name"] for column in sa.inspect(op.get_bind()).get_columns("renamed_proposals")]
    values = ", ".join(_RENAMED if column == "trust" else column for column in columns)
    op.execute(f"INSERT INTO proposals ({', '.join(columns)}) SELECT {values} FROM renamed_proposals")
    op.execute("DROP TABLE renamed_proposals")
    for statement in statements.get("index", []):
        op.execute(statement)
    op.execute("PRAGMA legacy_alter_table = OFF")


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
