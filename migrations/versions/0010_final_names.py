"""Give two tables, some columns and their constraints their final names.

SQLite can't rename a constraint, so these tables are rebuilt there, with their rows.
"""

import re

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_TABLES = {"taken_back": "undone_ranges", "kept_apart": "distinct_points"}
_COLUMNS = {
    "revisions": {"took_back_from": "undoes_from", "took_back_to": "undoes_to"},
    "erasures": {"asked": "selected_by", "scrubbed_at": "purged_at"},
    "transcripts": {"learnt_to": "learned_offset"},
    "showings": {"used_at": "sessions_at_last_use"},
    "citations": {"stretches": "chunks"},
}
_CONSTRAINTS = {
    "revisions": {"ck_revisions_took_back": "ck_revisions_undoes"},
    "reflections": {"ck_reflections_stretch": "ck_reflections_offsets"},
    "taken_back": {
        "pk_taken_back": "pk_undone_ranges",
        "fk_taken_back_playbook": "fk_undone_ranges_playbook",
        "fk_taken_back_undo": "fk_undone_ranges_undo",
        "ck_taken_back_stretch": "ck_undone_ranges_order",
    },
    "kept_apart": {
        "pk_kept_apart": "pk_distinct_points",
        "fk_kept_apart_playbook": "fk_distinct_points_playbook",
        "fk_kept_apart_first_id": "fk_distinct_points_first_id",
        "fk_kept_apart_second_id": "fk_distinct_points_second_id",
        "ck_kept_apart_order": "ck_distinct_points_order",
    },
    "erasures": {"ck_erasures_asked": "ck_erasures_selected_by"},
    "transcripts": {"ck_transcripts_learnt_to": "ck_transcripts_learned_offset"},
    "showings": {"ck_showings_used_at": "ck_showings_sessions_at_last_use"},
    "citations": {"ck_citations_stretches": "ck_citations_chunks"},
}


def upgrade() -> None:
    rename = _rename if op.get_context().dialect.name == "postgresql" else _rebuild
    for table in _CONSTRAINTS:
        rename(table)


def _rename(table: str) -> None:
    for old, new in _CONSTRAINTS[table].items():
        op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {old} TO {new}")
    for old, new in _COLUMNS.get(table, {}).items():
        op.alter_column(table, old, new_column_name=new)
    if table in _TABLES:
        op.rename_table(table, _TABLES[table])


def _rebuild(table: str) -> None:
    """Rebuild *table* and its indexes with the new names. The order of columns stays."""
    connection = op.get_bind()
    names = _CONSTRAINTS[table] | _COLUMNS.get(table, {}) | _TABLES
    made = sa.text("SELECT type, sql FROM sqlite_master WHERE tbl_name = :table AND sql IS NOT NULL ORDER BY type DESC")
    (_, create), *indexes = connection.execute(made, {"table": table}).all()
    new = _TABLES.get(table, table)
    # So SQLite doesn't check the user's views and triggers, which may name the table that is missing meanwhile.
    op.execute("PRAGMA legacy_alter_table = ON")
    op.execute(f"ALTER TABLE {table} RENAME TO renamed_{table}")
    op.execute(_with(names, create))
    op.execute(f"INSERT INTO {new} SELECT * FROM renamed_{table}")
    op.execute(f"DROP TABLE renamed_{table}")
    for _, index in indexes:
        op.execute(_with(names, index))
    op.execute("PRAGMA legacy_alter_table = OFF")


def _with(names: dict[str, str], statement: str) -> str:
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), statement)


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
