"""Create the first schema: playbooks, key points, their history, sessions and the work queue.

Fill `sections`. After each run of the migrations, the store creates the triggers and views from its SQL files.
"""

from typing import Any

from alembic import op
from sqlalchemy import (
    REAL,
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy import text as sql
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SECTIONS = (
    ("pat", "PATTERNS & APPROACHES", 1),
    ("mis", "MISTAKES TO AVOID", 2),
    ("pref", "USER PREFERENCES", 3),
    ("ctx", "PROJECT CONTEXT", 4),
    ("oth", "OTHERS", 5),
)

COUNT = BigInteger().with_variant(Integer(), "sqlite")
TEXT = Text().with_variant(Text(collation="C"), "postgresql")  # compared by code points, as in SQLite
REAL_NUMBER: TypeEngine[float] = Double().with_variant(REAL(), "sqlite")
_WHITE_SPACE = (
    9,
    10,
    11,
    12,
    13,
    28,
    29,
    30,
    31,
    32,
    133,
    160,
    5760,
    *range(8192, 8203),
    8232,
    8233,
    8239,
    8287,
    12288,
)

metadata = MetaData()


def not_blank(table: str, column: str) -> list[CheckConstraint]:
    """Return a constraint for each kind of database: a text of *column* needs more than white space."""
    codes, characters = ", ".join(map(str, _WHITE_SPACE)), "".join(f"\\u{code:04x}" for code in _WHITE_SPACE)
    words = {"sqlite": f"char({codes})", "postgresql": f"E'{characters}'"}
    name = f"ck_{table}_{column}_not_blank"
    return [
        CheckConstraint(f"trim({column}, {white}) <> ''", name=name).ddl_if(dialect=dialect)
        for dialect, white in words.items()
    ]


def one_of(table: str, column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"ck_{table}_{column}")


def at_least(table: str, column: str, least: int) -> CheckConstraint:
    return CheckConstraint(f"{column} >= {least}", name=f"ck_{table}_{column}")


def partial_index(name: str, *columns: Any, where: ColumnElement[bool], unique: bool = False) -> Index:
    """Return an index of the rows that match *where*."""
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


def table(name: str, *items: SchemaItem, with_rowid: bool = True) -> Table:
    return Table(name, metadata, *items, sqlite_strict=True, sqlite_with_rowid=with_rowid)


def of_playbook(table: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name=f"fk_{table}_playbook")


def of_revision(table: str, column: str = "revision") -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["playbook_id", column], ["revisions.playbook_id", "revisions.number"], name=f"fk_{table}_{column}"
    )


def of_point(table: str, column: str = "point_id") -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["playbook_id", column], ["key_points.playbook_id", "key_points.id"], name=f"fk_{table}_{column}"
    )


playbooks = table(
    "playbooks",
    Column("id", Integer, primary_key=True),
    Column("key", TEXT, nullable=False),
    Column("kind", TEXT, nullable=False, server_default=sql("'project'")),
    Column(
        "header",
        TEXT,
        nullable=False,
        server_default=sql("""'{"version": "1.0", "last_updated": null, "sections": null}'"""),
    ),
    Column("final_newline", Integer, nullable=False, server_default=sql("1")),
    Column("mirror", TEXT, nullable=False, server_default=sql("'undecided'")),
    Column("created_at", TEXT, nullable=False),
    Column("ignored", Integer, nullable=False, server_default=sql("0")),
    Column("live_points", COUNT, nullable=False, server_default=sql("0")),
    UniqueConstraint("key", name="uq_playbooks_key"),
    *not_blank("playbooks", "key"),
    one_of("playbooks", "kind", "project", "user"),
    CheckConstraint("final_newline IN (0, 1)", name="ck_playbooks_final_newline"),
    one_of("playbooks", "mirror", "undecided", "on", "found", "off"),
    CheckConstraint("ignored IN (0, 1)", name="ck_playbooks_ignored"),
    at_least("playbooks", "live_points", 0),
)

sections = table(
    "sections",
    Column("slug", TEXT, primary_key=True),
    Column("name", TEXT, nullable=False),
    Column("position", Integer, nullable=False),
    UniqueConstraint("name", name="uq_sections_name"),
    UniqueConstraint("position", name="uq_sections_position"),
    one_of("sections", "slug", *(slug for slug, _, _ in SECTIONS)),
)

revisions = table(
    "revisions",
    Column("playbook_id", Integer, nullable=False),
    Column("number", COUNT, nullable=False),
    Column("time", TEXT, nullable=False),
    Column("source", TEXT, nullable=False),
    Column("actor", TEXT, nullable=False),
    Column("session_id", TEXT),
    Column("message", TEXT),
    Column("header", TEXT),
    Column("final_newline", Integer),
    Column("took_back_from", COUNT),
    Column("took_back_to", COUNT),
    PrimaryKeyConstraint("playbook_id", "number", name="pk_revisions"),
    of_playbook("revisions"),
    at_least("revisions", "number", 1),
    one_of("revisions", "source", "learn", "import", "edit", "undo", "prune", "dedup", "sync"),
    *not_blank("revisions", "actor"),
    CheckConstraint("(header IS NULL) = (final_newline IS NULL)", name="ck_revisions_header"),
    CheckConstraint(
        "(took_back_from IS NULL) = (took_back_to IS NULL) AND took_back_from >= 1"
        " AND took_back_from <= took_back_to AND took_back_to < number",
        name="ck_revisions_took_back",
    ),
    with_rowid=False,
)

key_points = table(
    "key_points",
    Column("playbook_id", Integer, nullable=False),
    Column("id", COUNT, nullable=False),
    Column("name", TEXT, nullable=False),
    Column("section", TEXT, nullable=False),
    Column("position", COUNT, nullable=False),
    Column("text", TEXT, nullable=False),
    Column("helpful", COUNT, nullable=False, server_default=sql("0")),
    Column("harmful", COUNT, nullable=False, server_default=sql("0")),
    Column("created_in", COUNT, nullable=False),
    Column("retired_in", COUNT),
    Column("retired_reason", TEXT),
    Column("rank", REAL_NUMBER, nullable=False, server_default=sql("0")),
    Column("forgotten", Integer, nullable=False, server_default=sql("0")),
    PrimaryKeyConstraint("playbook_id", "id", name="pk_key_points"),
    UniqueConstraint("playbook_id", "name", name="uq_key_points_name"),
    of_playbook("key_points"),
    ForeignKeyConstraint(["section"], ["sections.slug"], name="fk_key_points_section"),
    of_revision("key_points", "created_in"),
    of_revision("key_points", "retired_in"),
    one_of("key_points", "section", *(slug for slug, _, _ in SECTIONS)),
    *not_blank("key_points", "name"),
    *not_blank("key_points", "text"),
    at_least("key_points", "helpful", 0),
    at_least("key_points", "harmful", 0),
    CheckConstraint("retired_reason IS NULL OR retired_in IS NOT NULL", name="ck_key_points_retired"),
    CheckConstraint("forgotten = 0 OR (forgotten = 1 AND retired_in IS NOT NULL)", name="ck_key_points_forgotten"),
)
partial_index(
    "ix_key_points_live",
    key_points.c.playbook_id,
    key_points.c.section,
    key_points.c.position,
    where=key_points.c.retired_in.is_(None),
)
partial_index(
    "ix_key_points_rank",
    key_points.c.playbook_id,
    key_points.c.rank.desc(),
    key_points.c.id,
    where=key_points.c.retired_in.is_(None),
)
Index("ix_key_points_position", key_points.c.playbook_id, key_points.c.position)  # to find the last position

changes = table(
    "changes",
    Column("playbook_id", Integer, nullable=False),
    Column("revision", COUNT, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("point_id", COUNT, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("section", TEXT, nullable=False),
    Column("position", COUNT, nullable=False),
    Column("helpful", COUNT, nullable=False),
    Column("harmful", COUNT, nullable=False),
    Column("text", TEXT),
    Column("reason", TEXT),
    Column("successor_id", COUNT),
    PrimaryKeyConstraint("playbook_id", "revision", "seq", name="pk_changes"),
    of_revision("changes"),
    of_point("changes"),
    of_point("changes", "successor_id"),
    one_of("changes", "kind", "add", "vote", "edit", "move", "retire", "restore"),
    one_of("changes", "section", *(slug for slug, _, _ in SECTIONS)),
    at_least("changes", "helpful", 0),
    at_least("changes", "harmful", 0),
    with_rowid=False,
)
Index("ix_changes_point", changes.c.playbook_id, changes.c.point_id, changes.c.revision, changes.c.seq)
partial_index(
    "ix_changes_text",
    changes.c.playbook_id,
    changes.c.point_id,
    changes.c.revision,
    changes.c.seq,
    where=changes.c.text.is_not(None),
)

votes = table(
    "votes",
    Column("playbook_id", Integer, nullable=False),
    Column("revision", COUNT, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("point_id", COUNT),
    Column("name", TEXT),
    Column("tag", TEXT, nullable=False),
    Column("rationale", TEXT),
    PrimaryKeyConstraint("playbook_id", "revision", "seq", name="pk_votes"),
    of_revision("votes"),
    of_point("votes"),
    one_of("votes", "tag", "helpful", "harmful", "neutral"),
    CheckConstraint("(point_id IS NULL) <> (name IS NULL)", name="ck_votes_point_or_name"),
    with_rowid=False,
)
partial_index(
    "ix_votes_neutral",
    votes.c.playbook_id,
    votes.c.point_id,
    where=votes.c.tag == "neutral",
)

skipped_operations = table(
    "skipped_operations",
    Column("playbook_id", Integer, nullable=False),
    Column("revision", COUNT, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("operation", TEXT, nullable=False),
    Column("reason", TEXT, nullable=False),
    PrimaryKeyConstraint("playbook_id", "revision", "seq", name="pk_skipped_operations"),
    of_revision("skipped_operations"),
    with_rowid=False,
)

mirrors = table(
    "mirrors",
    Column("playbook_id", Integer, nullable=False),
    Column("path", TEXT, nullable=False),
    Column("revision", COUNT),
    Column("sha256", TEXT, nullable=False),
    Column("size_bytes", COUNT),
    Column("mtime_ns", COUNT),
    PrimaryKeyConstraint("playbook_id", "path", name="pk_mirrors"),
    of_playbook("mirrors"),
    of_revision("mirrors"),
    *not_blank("mirrors", "path"),
)

erasures = table(
    "erasures",
    Column("playbook_id", Integer, nullable=False),
    Column("id", COUNT, nullable=False),
    Column("revision", COUNT, nullable=False),
    Column("asked", TEXT, nullable=False),
    Column("points", TEXT, nullable=False),
    Column("fields", COUNT, nullable=False, server_default=sql("0")),
    Column("time", TEXT, nullable=False),
    Column("finished_at", TEXT),
    Column("scrubbed_at", TEXT),
    PrimaryKeyConstraint("playbook_id", "id", name="pk_erasures"),
    of_playbook("erasures"),
    of_revision("erasures"),
    one_of("erasures", "asked", "name", "match"),
    at_least("erasures", "fields", 0),
)


transcripts = table(
    "transcripts",
    Column("playbook_id", Integer, nullable=False),
    Column("path", TEXT, nullable=False),
    Column("session_id", TEXT, nullable=False),
    Column("learnt_to", COUNT, nullable=False, server_default=sql("0")),
    Column("last_uuid", TEXT),
    Column("updated_at", TEXT, nullable=False),
    Column("first_uuid", TEXT),
    PrimaryKeyConstraint("playbook_id", "path", name="pk_transcripts"),
    of_playbook("transcripts"),
    *not_blank("transcripts", "path"),
    at_least("transcripts", "learnt_to", 0),
)
Index("ix_transcripts_first", transcripts.c.playbook_id, transcripts.c.first_uuid)

reflections = table(
    "reflections",
    Column("playbook_id", Integer, nullable=False),
    Column("id", COUNT, nullable=False),
    Column("revision", COUNT),
    Column("session_id", TEXT, nullable=False),
    Column("transcript_path", TEXT),
    Column("from_offset", COUNT),
    Column("to_offset", COUNT),
    Column("analysis", TEXT),
    Column("curator_reasoning", TEXT),
    Column("model", TEXT),
    Column("input_tokens", COUNT, nullable=False, server_default=sql("0")),
    Column("output_tokens", COUNT, nullable=False, server_default=sql("0")),
    Column("cached_tokens", COUNT, nullable=False, server_default=sql("0")),
    Column("cost_usd", REAL_NUMBER),
    Column("duration_ms", COUNT),
    Column("created_at", TEXT, nullable=False),
    Column("bullet_tags", TEXT),
    Column("finished_at", TEXT),
    PrimaryKeyConstraint("playbook_id", "id", name="pk_reflections"),
    of_playbook("reflections"),
    of_revision("reflections"),
    at_least("reflections", "input_tokens", 0),
    at_least("reflections", "output_tokens", 0),
    at_least("reflections", "cached_tokens", 0),
    CheckConstraint("from_offset <= to_offset", name="ck_reflections_stretch"),
)
Index("ix_reflections_revision", reflections.c.playbook_id, reflections.c.revision)
Index("ix_reflections_session", reflections.c.playbook_id, reflections.c.session_id)
partial_index(
    "ix_reflections_unfinished",
    reflections.c.playbook_id,
    reflections.c.transcript_path,
    where=reflections.c.finished_at.is_(None),
)

model_calls = table(
    "model_calls",
    Column("playbook_id", Integer, nullable=False),
    Column("id", COUNT, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("session_id", TEXT),
    Column("model", TEXT),
    Column("input_tokens", COUNT, nullable=False),
    Column("output_tokens", COUNT, nullable=False),
    Column("cached_tokens", COUNT, nullable=False),
    Column("cost_usd", REAL_NUMBER),
    Column("duration_ms", COUNT, nullable=False),
    Column("time", TEXT, nullable=False),
    PrimaryKeyConstraint("playbook_id", "id", name="pk_model_calls"),
    of_playbook("model_calls"),
    one_of("model_calls", "kind", "reflect", "curate"),
    at_least("model_calls", "input_tokens", 0),
    at_least("model_calls", "output_tokens", 0),
    at_least("model_calls", "cached_tokens", 0),
)
Index("ix_model_calls_time", model_calls.c.playbook_id, model_calls.c.time)

jobs = table(
    "jobs",
    Column("playbook_id", Integer, nullable=False),
    Column("id", COUNT, nullable=False),
    Column("kind", TEXT, nullable=False),
    Column("session_id", TEXT),
    Column("transcript_path", TEXT),
    Column("reason", TEXT),
    Column("state", TEXT, nullable=False, server_default=sql("'queued'")),
    Column("attempts", Integer, nullable=False, server_default=sql("0")),
    Column("not_before", TEXT),
    Column("lease_until", TEXT),
    Column("error", TEXT),
    Column("created_at", TEXT, nullable=False),
    Column("finished_at", TEXT),
    Column("parent_path", TEXT),
    Column("agent_id", TEXT),
    PrimaryKeyConstraint("playbook_id", "id", name="pk_jobs"),
    of_playbook("jobs"),
    *not_blank("jobs", "kind"),
    one_of("jobs", "state", "queued", "running", "done", "failed"),
    at_least("jobs", "attempts", 0),
)
Index("ix_jobs_state", jobs.c.playbook_id, jobs.c.state, jobs.c.id)
partial_index(
    "uq_jobs_waiting",
    jobs.c.playbook_id,
    jobs.c.kind,
    jobs.c.transcript_path,
    where=jobs.c.state == "queued",
    unique=True,
)

injections = table(
    "injections",
    Column("playbook_id", Integer, nullable=False),
    Column("session_id", TEXT, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("source", TEXT, nullable=False),
    Column("revision", COUNT, nullable=False),
    Column("points", TEXT, nullable=False),
    Column("left_out", COUNT, nullable=False),
    Column("time", TEXT, nullable=False),
    PrimaryKeyConstraint("playbook_id", "session_id", "seq", name="pk_injections"),
    of_playbook("injections"),
    at_least("injections", "left_out", 0),
    with_rowid=False,
)

citations = table(
    "citations",
    Column("playbook_id", Integer, nullable=False),
    Column("session_id", TEXT, nullable=False),
    Column("point_id", COUNT, nullable=False),
    Column("stretches", COUNT, nullable=False),
    Column("time", TEXT, nullable=False),
    PrimaryKeyConstraint("playbook_id", "session_id", "point_id", name="pk_citations"),
    of_playbook("citations"),
    of_point("citations"),
    at_least("citations", "stretches", 1),
    with_rowid=False,
)
Index("ix_citations_point", citations.c.playbook_id, citations.c.point_id)


def upgrade() -> None:
    metadata.create_all(op.get_bind(), checkfirst=False)
    op.bulk_insert(sections, [{"slug": slug, "name": name, "position": position} for slug, name, position in SECTIONS])


def downgrade() -> None:
    raise NotImplementedError("playbook-db doesn't migrate down")
