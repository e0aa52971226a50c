"""${message}: what changes, in words; then what happens to the rows that are there."""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}
# The oldest program that may still write to the database after this, by the migration that it was written for: first
# expand, and contract two releases later. A file's views and triggers of ours must be as such a program has them.
oldest_program = ${repr(up_revision)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
