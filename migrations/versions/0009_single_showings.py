"""Drop the tables that counted the showings from more than a year ago, and their counts. Showings stay single rows.

From this version on, triggers refuse blank texts and changes of sections.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_COUNTED = """
SELECT coalesce(sum(f.sessions), 0) FROM folded_showings AS f
WHERE f.playbook_id = showings.playbook_id AND f.point_id = showings.point_id
"""
_EVENTS = {"by_prompt": "UserPromptSubmit", "at_error": "PostToolUseFailure", "to_subagent": "SubagentStart"}


def upgrade() -> None:
    op.execute(sa.text(f"DELETE FROM showings WHERE sessions <= ({_COUNTED})"))
    by_event = (f"{column} = {column} - ({_COUNTED} AND f.event = '{event}')" for column, event in _EVENTS.items())
    used_at = f"used_at = CASE WHEN used_at > ({_COUNTED}) THEN used_at - ({_COUNTED}) ELSE 0 END"
    op.execute(sa.text(f"UPDATE showings SET sessions = sessions - ({_COUNTED}), {used_at}, {', '.join(by_event)}"))
    op.drop_table("folded_showings")
    op.drop_table("folded_sessions")


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
