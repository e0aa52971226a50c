"""Change the ranks to a lower bound: .75 instead of 1 standard deviation above the share of helpful votes.

Points that rest because sessions saw but didn't use them are shown again. Points whose last three votes were harmful
still rest. Votes and history don't change.
"""

import math

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_VOTES = """
FROM votes AS v WHERE v.playbook_id = key_points.playbook_id AND v.point_id = key_points.id AND NOT EXISTS (
    SELECT 1 FROM undone_ranges AS t
    WHERE t.playbook_id = v.playbook_id AND t.first <= v.revision AND t.last >= v.revision)
"""
_IS_WEAK = """coalesce(v.evidence, '') LIKE '%"weak": true%'"""
_COUNTED = f"""
SELECT playbook_id, id, helpful, harmful, (
    SELECT max(c.revision) FROM changes AS c WHERE c.playbook_id = key_points.playbook_id AND c.point_id = key_points.id
) AS changed_in, (SELECT count(*) {_VOTES} AND {_IS_WEAK}) AS weak
FROM key_points
"""
# One vote is added on each side; weak votes don't count.
_SHARES = f"""
SELECT playbook_id, id, changed_in, helpful + strong + 2.0 AS votes, (helpful + 1) / (helpful + strong + 2.0) AS share
FROM (SELECT c.*, CASE WHEN harmful > weak THEN harmful - weak ELSE 0 END AS strong FROM ({_COUNTED}) AS c) AS counted
"""
_RANK = f"""
UPDATE key_points SET rank = (share + 0.28125 / votes + 0.75 * sqrt(share * (1 - share) / votes
                              + 0.140625 / (votes * votes))) / (1 + 0.5625 / votes) + changed_in / 2000.0
FROM ({_SHARES}) AS s WHERE key_points.playbook_id = s.playbook_id AND key_points.id = s.id
"""
_WAKE = f"""
UPDATE key_points SET resting = 0 WHERE resting = 1 AND 3 > (
    SELECT count(*) FROM (SELECT v.tag {_VOTES} AND v.tag <> 'neutral' AND NOT {_IS_WEAK}
                          ORDER BY v.revision DESC, v.seq DESC LIMIT 3) AS last
    WHERE last.tag = 'harmful')
"""


def upgrade() -> None:
    if op.get_context().dialect.name == "sqlite":  # which may have no sqrt()
        op.get_bind().connection.create_function("sqrt", 1, math.sqrt)
    op.execute(sa.text(_RANK))
    op.execute(sa.text(_WAKE))


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
