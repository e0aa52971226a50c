"""Rename the tables of showings, with their rows, and add a column for the cause of a retirement.

`injections` becomes `showings`, the former `showings` becomes `showing_counts`, and `unsent_injections` becomes
`unsent_showings`. SQLite can't rename a constraint, so each table is copied there. Existing retirements get the cause
that their source, reason or message tells, else NULL.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# In this order, so that the name `showings` is free when it is given again.
_TABLES = {"showings": "showing_counts", "injections": "showings", "unsent_injections": "unsent_showings"}
_CREATED = sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name")
_CONSTRAINTS = sa.text(
    "SELECT conname FROM pg_constraint WHERE conrelid = CAST(:name AS regclass) AND contype IN ('p', 'f', 'c')"
)
_CAUSES = (
    "'user', 'curator', 'merged', 'duplicate', 'harmful', 'moved', 'import', 'other_side', 'undo', 'forgotten', "
    "'repair'"
)
_CAUSE = """
UPDATE changes SET cause = (
    SELECT CASE
        WHEN successor_id IS NOT NULL AND reason LIKE 'merged into %' THEN 'merged'
        WHEN successor_id IS NOT NULL AND reason LIKE 'duplicate of %' THEN 'duplicate'
        WHEN reason LIKE 'pruned: % harmful, % helpful' AND r.source IN ('prune', 'learn') THEN 'harmful'
        WHEN reason = 'not in the imported playbook' AND r.source = 'import' THEN 'import'
        WHEN reason = 'removed on the other side' AND r.source IN ('import', 'sync') THEN 'other_side'
        WHEN reason = 'restored from the history' AND r.message LIKE 'corrected: %' THEN 'repair'
        WHEN reason LIKE '% undone' AND r.source = 'undo' THEN 'undo'
        WHEN r.source = 'learn' OR (r.source = 'edit' AND r.message LIKE 'applied a batch from %') THEN 'curator'
        WHEN r.source <> 'edit' THEN NULL
        WHEN r.message LIKE 'retired %' AND r.session_id IS NULL THEN 'user'
        WHEN substr(r.message, length(r.message) - length(reason) - 1) = ': ' || reason
            AND (reason LIKE 'promoted to %' OR reason LIKE 'demoted to %') THEN 'moved'
        WHEN reason = 'forgotten' AND EXISTS (SELECT 1 FROM erasures AS e WHERE e.playbook_id = changes.playbook_id
                                              AND e.revision = changes.revision) THEN 'forgotten'
    END FROM revisions AS r WHERE r.playbook_id = changes.playbook_id AND r.number = changes.revision)
WHERE kind = 'retire'
"""


def upgrade() -> None:
    rename = _rename if op.get_context().dialect.name == "postgresql" else _copy
    for old, new in _TABLES.items():
        rename(old, new)
    fixed = sa.CheckConstraint(f"cause IS NULL OR (kind = 'retire' AND cause IN ({_CAUSES}))", name="ck_changes_cause")
    text = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("changes", sa.Column("cause", text, fixed))
    op.execute(_CAUSE)


def _rename(old: str, new: str) -> None:
    for name in op.get_bind().scalars(_CONSTRAINTS, {"name": old}).all():
        op.execute(f"ALTER TABLE {old} RENAME CONSTRAINT {name} TO {name.replace(old, new)}")
    op.rename_table(old, new)


def _copy(old: str, new: str) -> None:
    created = op.get_bind().scalars(_CREATED, {"name": old}).one()
    op.execute(created.replace(old, new))
    op.execute(f"INSERT INTO {new} SELECT * FROM {old}")
    op.drop_table(old)


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
