"""All tables, for SQLAlchemy: columns, keys, indexes.

`migrations/` creates the tables; a test compares both. Only the migrations have the checks (CHECK). Every table except
`playbooks` and `sections` has a `playbook_id`, with which its unique keys begin, so that Citus can shard by playbook.
Times are texts in UTC, ISO 8601. docs/sql.md explains each column. The order of texts and partial indexes differ by
database.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import text as sql
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from playbook_db.domain.trust import use

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # STRICT tables allow only INTEGER
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")  # compared by code points, as in SQLite
REAL_NUMBER: TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
EVENTS = tuple(use.EVENTS)
_FIRST_HEADER = """'{"version": "1.0", "last_updated": null, "sections": null}'"""

metadata = sa.MetaData()


def index(
    name: str,
    table: sa.Table,
    *columns: str | sa.ColumnElement[Any],
    where: sa.ColumnElement[bool] | None = None,
    unique: bool = False,
) -> None:
    """Add an index on *columns* to *table*. `playbook_id` comes first. With *where*, only matching rows are indexed."""
    of_table = (table.c[column] if isinstance(column, str) else column for column in ("playbook_id", *columns))
    info = {} if where is None else {"where": where}  # for PostgreSQL; SQLAlchemy's part for it isn't imported here
    sa.Index(name, *of_table, unique=unique, sqlite_where=where, info=info)


def table(name: str, *items: SchemaItem, with_rowid: bool = True) -> sa.Table:
    columns_first = sorted(items, key=lambda item: not isinstance(item, sa.Column))
    return sa.Table(name, metadata, *columns_first, sqlite_strict=True, sqlite_with_rowid=with_rowid)


def in_playbook(table: str, **key: TypeEngine[Any]) -> tuple[SchemaItem, ...]:
    """Return the primary key of *table* with its columns: `playbook_id`, and those of *key* with their types."""
    return (
        sa.Column("playbook_id", sa.Integer, nullable=False),
        *(sa.Column(name, kind, nullable=False) for name, kind in key.items()),
        sa.PrimaryKeyConstraint("playbook_id", *key, name=f"pk_{table}"),
        sa.ForeignKeyConstraint(["playbook_id"], ["playbooks.id"], name=f"fk_{table}_playbook"),
    )


def in_revision(table: str) -> tuple[SchemaItem, ...]:
    """Return the columns of *table* for a row's revision and its position in the revision, and the primary key."""
    return (
        sa.Column("playbook_id", sa.Integer, nullable=False),
        sa.Column("revision", COUNT, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("playbook_id", "revision", "seq", name=f"pk_{table}"),
        of_revision(table),
    )


def required(kind: TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def optional(kind: TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


def counted(kind: TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False, server_default=sql("0")) for name in names]


def refers(table: str, column: str, parent: str) -> sa.ForeignKeyConstraint:
    """Return a foreign key of *column* to *parent* (such as `revisions.number`) in the same playbook."""
    parent_key = [f"{parent.partition('.')[0]}.playbook_id", parent]
    return sa.ForeignKeyConstraint(["playbook_id", column], parent_key, name=f"fk_{table}_{column}")


def of_revision(table: str, column: str = "revision") -> sa.ForeignKeyConstraint:
    return refers(table, column, "revisions.number")


def of_point(table: str, column: str = "point_id") -> sa.ForeignKeyConstraint:
    return refers(table, column, "key_points.id")


playbooks = table(
    "playbooks",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False, server_default=sql("'project'")),
    sa.Column("mirror", TEXT, nullable=False, server_default=sql("'undecided'")),
    sa.Column("created_at", TEXT, nullable=False),
    *counted(sa.Integer(), "ignored", "initialized"),
    *optional(TEXT, "root_commit", "origin"),  # of the repository in the folder, as last seen
    sa.UniqueConstraint("key", name="uq_playbooks_key"),
)

# The columns that every commit changes, in a row that a server's writers lock. They aren't in `playbooks`, since each
# server of a distributed database has a copy of that table.
heads = table(
    "heads",
    *in_playbook("heads"),
    sa.Column("header", TEXT, nullable=False, server_default=sql(_FIRST_HEADER)),
    sa.Column("final_newline", sa.Integer, nullable=False, server_default=sql("1")),
    sa.Column("live_points", COUNT, nullable=False, server_default=sql("0")),
)

sections = table(
    "sections",
    sa.Column("slug", TEXT, primary_key=True),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.UniqueConstraint("name", name="uq_sections_name"),
    sa.UniqueConstraint("position", name="uq_sections_position"),
)

revisions = table(
    "revisions",
    *in_playbook("revisions", number=COUNT),
    *required(TEXT, "time", "source", "actor"),
    *optional(TEXT, "session_id", "message", "header"),
    sa.Column("final_newline", sa.Integer),
    *optional(COUNT, "undoes_from", "undoes_to"),
    sa.Column("role", TEXT),
    with_rowid=False,
)
index("ix_revisions_session", revisions, "session_id", where=revisions.c.session_id.is_not(None))
index("ix_revisions_undo", revisions, "number", where=revisions.c.undoes_from.is_not(None))

# The revisions that are undone by an undo in force, as ranges that don't overlap.
undone_ranges = table(
    "undone_ranges",
    *in_playbook("undone_ranges", first=COUNT),
    *required(COUNT, "last", "undo"),
    of_revision("undone_ranges", "undo"),
    with_rowid=False,
)

key_points = table(
    "key_points",
    sa.UniqueConstraint("playbook_id", "name", name="uq_key_points_name"),
    *in_playbook("key_points", id=COUNT),
    *required(TEXT, "name", "section"),
    sa.Column("position", COUNT, nullable=False),
    sa.Column("text", TEXT, nullable=False),
    *counted(COUNT, "helpful", "harmful"),
    sa.Column("created_in", COUNT, nullable=False),
    sa.Column("retired_in", COUNT),
    sa.Column("retired_reason", TEXT),
    sa.Column("rank", REAL_NUMBER, nullable=False, server_default=sql("0")),
    sa.Column("forgotten", sa.Integer, nullable=False, server_default=sql("0")),
    *counted(sa.Integer(), "pinned", "resting"),
    sa.Column("confirmed_at", TEXT),
    sa.ForeignKeyConstraint(["section"], ["sections.slug"], name="fk_key_points_section"),
    of_revision("key_points", "created_in"),
    of_revision("key_points", "retired_in"),
)
index("ix_key_points_live", key_points, "section", "position", where=key_points.c.retired_in.is_(None))
index(
    "ix_key_points_rank",
    key_points,
    key_points.c.pinned.desc(),
    key_points.c.rank.desc(),
    "id",
    where=sa.and_(key_points.c.retired_in.is_(None), key_points.c.resting == 0),
)
index("ix_key_points_position", key_points, "position")  # to find the last position

# Additional fields of points in playbook files: a JSON object for each point that has such fields.
extra_fields = table(
    "extra_fields",
    *in_playbook("extra_fields", point_id=COUNT),
    sa.Column("fields", TEXT, nullable=False),
    of_point("extra_fields"),
)

changes = table(
    "changes",
    *in_revision("changes"),
    sa.Column("point_id", COUNT, nullable=False),
    *required(TEXT, "kind", "section"),
    *required(COUNT, "position", "helpful", "harmful"),
    *optional(TEXT, "text", "reason"),
    sa.Column("successor_id", COUNT),
    *optional(TEXT, "evidence", "cause"),
    of_point("changes"),
    of_point("changes", "successor_id"),
    with_rowid=False,
)
index("ix_changes_point", changes, "point_id", "revision", "seq")
index("ix_changes_text", changes, "point_id", "revision", "seq", where=changes.c.text.is_not(None))
index("ix_changes_successor", changes, "successor_id", where=changes.c.successor_id.is_not(None))

votes = table(
    "votes",
    *in_revision("votes"),
    sa.Column("point_id", COUNT),
    sa.Column("name", TEXT),
    sa.Column("tag", TEXT, nullable=False),
    sa.Column("rationale", TEXT),
    *counted(sa.Integer(), "ignored"),
    sa.Column("evidence", TEXT),
    of_point("votes"),
    with_rowid=False,
)
index("ix_votes_point", votes, "point_id", where=votes.c.point_id.is_not(None))
index("ix_votes_unmatched", votes, "name", where=votes.c.name.is_not(None))

skipped_operations = table(
    "skipped_operations",
    *in_revision("skipped_operations"),
    *required(TEXT, "operation", "reason"),
    with_rowid=False,
)

# Changes from learning that a person must decide first: operations of the curator, or harmful votes.
proposals = table(
    "proposals",
    *in_playbook("proposals", id=COUNT),
    *required(TEXT, "kind", "operation", "evidence", "trust"),
    sa.Column("session_id", TEXT),
    sa.Column("sessions", COUNT, nullable=False, server_default=sql("1")),
    sa.Column("created_at", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False, server_default=sql("'waiting'")),
    *optional(TEXT, "decided_at", "decided_by"),
    sa.Column("revision", COUNT),
    of_revision("proposals"),
)
index("ix_proposals_waiting", proposals, "id", where=proposals.c.state == "waiting")

# Pairs of similar points that stay separate: somebody decided this at the revision.
distinct_points = table(
    "distinct_points",
    *in_playbook("distinct_points", first_id=COUNT, second_id=COUNT),
    sa.Column("revision", COUNT, nullable=False),
    *required(TEXT, "time", "actor"),
    of_point("distinct_points", "first_id"),
    of_point("distinct_points", "second_id"),
    with_rowid=False,
)

mirrors = table(
    "mirrors",
    *in_playbook("mirrors", path=TEXT),
    sa.Column("revision", COUNT),
    sa.Column("sha256", TEXT, nullable=False),
    *optional(COUNT, "size_bytes", "mtime_ns"),
    of_revision("mirrors"),
)

# The playbooks whose projects have joined a team: the team's database, without a password, and their names in it.
memberships = table(
    "memberships",
    *in_playbook("memberships"),
    *required(TEXT, "url", "name", "joined_at"),
    with_rowid=False,
)

erasures = table(
    "erasures",
    *in_playbook("erasures", id=COUNT),
    sa.Column("revision", COUNT, nullable=False),
    *required(TEXT, "selected_by", "points"),
    sa.Column("fields", COUNT, nullable=False, server_default=sql("0")),
    sa.Column("time", TEXT, nullable=False),
    *optional(TEXT, "finished_at", "purged_at"),
    of_revision("erasures"),
)


# Sessions: their transcripts, the lessons from them and their cost, and the points that they were shown or cited.

transcripts = table(
    "transcripts",
    *in_playbook("transcripts", path=TEXT),
    sa.Column("session_id", TEXT, nullable=False),
    sa.Column("learned_offset", COUNT, nullable=False, server_default=sql("0")),
    sa.Column("last_uuid", TEXT),
    sa.Column("updated_at", TEXT, nullable=False),
    sa.Column("first_uuid", TEXT),
)
index("ix_transcripts_first", transcripts, "first_uuid")

reflections = table(
    "reflections",
    *in_playbook("reflections", id=COUNT),
    sa.Column("revision", COUNT),
    sa.Column("session_id", TEXT, nullable=False),
    sa.Column("transcript_path", TEXT),
    *optional(COUNT, "from_offset", "to_offset"),
    *optional(TEXT, "analysis", "curator_reasoning", "model"),
    *counted(COUNT, "input_tokens", "output_tokens", "cached_tokens"),
    sa.Column("cost_usd", REAL_NUMBER),
    sa.Column("duration_ms", COUNT),
    sa.Column("created_at", TEXT, nullable=False),
    *optional(TEXT, "bullet_tags", "finished_at", "lessons"),
    of_revision("reflections"),
)
index("ix_reflections_revision", reflections, "revision")
index("ix_reflections_session", reflections, "session_id")
index("ix_reflections_unfinished", reflections, "transcript_path", where=reflections.c.finished_at.is_(None))

model_calls = table(
    "model_calls",
    *in_playbook("model_calls", id=COUNT),
    sa.Column("kind", TEXT, nullable=False),
    *optional(TEXT, "session_id", "model"),
    *required(COUNT, "input_tokens", "output_tokens", "cached_tokens"),
    sa.Column("cost_usd", REAL_NUMBER),
    sa.Column("duration_ms", COUNT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
    *counted(sa.Integer(), "agreed"),
)
index("ix_model_calls_time", model_calls, "time")

jobs = table(
    "jobs",
    *in_playbook("jobs", id=COUNT),
    sa.Column("kind", TEXT, nullable=False),
    *optional(TEXT, "session_id", "transcript_path", "reason"),
    sa.Column("state", TEXT, nullable=False, server_default=sql("'queued'")),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sql("0")),
    *optional(TEXT, "not_before", "lease_until", "error"),
    sa.Column("created_at", TEXT, nullable=False),
    *optional(TEXT, "finished_at", "parent_path", "agent_id", "folder"),
)
index("ix_jobs_state", jobs, "state", "id")
# A transcript waits only once, even if several hooks have queued it.
index("uq_jobs_waiting", jobs, "kind", "transcript_path", where=jobs.c.state == "queued", unique=True)

showings = table(
    "showings",
    *in_playbook("showings", session_id=TEXT, seq=sa.Integer()),
    sa.Column("source", TEXT, nullable=False),
    sa.Column("revision", COUNT, nullable=False),
    sa.Column("points", TEXT, nullable=False),
    sa.Column("left_out", COUNT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
    sa.Column("event", TEXT, nullable=False, server_default=sql("'SessionStart'")),
    sa.Column("held_back", TEXT),  # from an earlier version; nothing reads it
    with_rowid=False,  # so a session's start writes one page instead of three
)

# Showings of a team's points, until the team's database has stored them and the session has ended. `points` and
# `revision` are numbers of the team's playbook.
unsent_showings = table(
    "unsent_showings",
    *in_playbook("unsent_showings", session_id=TEXT, time=TEXT),
    sa.Column("source", TEXT, nullable=False),
    sa.Column("revision", COUNT, nullable=False),
    sa.Column("points", TEXT, nullable=False),
    sa.Column("left_out", COUNT, nullable=False),
    sa.Column("event", TEXT, nullable=False, server_default=sql("'SessionStart'")),
    *optional(TEXT, "sent_at", "held_back"),  # `held_back`: as in `showings`
    with_rowid=False,
)

# Counts for each point. A trigger updates them, so that queries needn't read all of `showings`. `sessions` counts all
# sessions. Those that first saw the point at another event than their start are also counted by event.
showing_counts = table(
    "showing_counts",
    *in_playbook("showing_counts", point_id=COUNT),
    sa.Column("sessions", COUNT, nullable=False),
    sa.Column("last_at", TEXT, nullable=False),
    *counted(COUNT, "sessions_at_last_use", "by_prompt", "at_error", "to_subagent"),
    of_point("showing_counts"),
    with_rowid=False,
)

citations = table(
    "citations",
    *in_playbook("citations", session_id=TEXT, point_id=COUNT),
    sa.Column("chunks", COUNT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
    of_point("citations"),
    with_rowid=False,
)
index("ix_citations_point", citations, "point_id")

# The sessions that followed a point, or in which something that the point names went wrong. `held_back` is from an
# earlier version, and always 0.
trials = table(
    "trials",
    *in_playbook("trials", session_id=TEXT, point_id=COUNT),
    *counted(COUNT, "held_back", "followed", "ignored", "failed_calls"),
    sa.Column("time", TEXT, nullable=False),
    of_point("trials"),
    with_rowid=False,
)
index("ix_trials_point", trials, "point_id")
