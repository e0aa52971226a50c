"""All tables, for SQLAlchemy: columns, named constraints, indexes.

`migrations/` creates the tables; a test compares both. Every table except `playbooks` and `sections` has a
`playbook_id`, with which its unique keys begin, so that Citus can shard by playbook. Times are texts in UTC, ISO 8601.
docs/sql.md explains each column. The order of texts, partial indexes and some checks differ by database.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import text as sql
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from playbook_db.domain.merging.undo import SOURCES
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.domain.trust import outcomes

COUNT = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # STRICT tables allow only INTEGER
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")  # compared by code points, as in SQLite
REAL_NUMBER: TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
EVENTS = tuple(outcomes.EVENTS)
_WHITE_SPACE = (
    9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288,
)  # fmt: skip
_FIRST_HEADER = """'{"version": "1.0", "last_updated": null, "sections": null}'"""

metadata = sa.MetaData()


def not_blank(table: str, column: str) -> list[sa.CheckConstraint]:
    """Return a constraint for each kind of database: a text of *column* needs more than white space."""
    codes, characters = ", ".join(map(str, _WHITE_SPACE)), "".join(f"\\u{code:04x}" for code in _WHITE_SPACE)
    words = {"sqlite": f"char({codes})", "postgresql": f"E'{characters}'"}
    name = f"ck_{table}_{column}_not_blank"
    return [
        sa.CheckConstraint(f"trim({column}, {white}) <> ''", name=name).ddl_if(dialect=dialect)
        for dialect, white in words.items()
    ]


def one_of(table: str, column: str, *values: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=f"ck_{table}_{column}")


def at_least(least: int, table: str, *columns: str) -> list[sa.CheckConstraint]:
    return [sa.CheckConstraint(f"{column} >= {least}", name=f"ck_{table}_{column}") for column in columns]


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


def in_playbook(table: str, *key: str) -> tuple[SchemaItem, ...]:
    """Return the column `playbook_id` of *table*, and the primary key, which consists of `playbook_id` and *key*."""
    return (
        sa.Column("playbook_id", sa.Integer, nullable=False),
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


def checked(table: str, name: str, kind: TypeEngine[Any], condition: str, default: str) -> sa.Column[Any]:
    """Return a column that a later migration added. The column contains its check: SQLite's ADD COLUMN needs that."""
    check = sa.CheckConstraint(f"{name} {condition}", name=f"ck_{table}_{name}")
    return sa.Column(name, kind, check, nullable=False, server_default=sql(default))


def yes_or_no(table: str, column: str) -> sa.Column[int]:
    return checked(table, column, sa.Integer(), "IN (0, 1)", "0")


def event(table: str) -> sa.Column[str]:
    """Return the column for the event at which a session was shown points."""
    return checked(table, "event", TEXT, f"IN {EVENTS}", "'SessionStart'")


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
    sa.Column("ignored", sa.Integer, nullable=False, server_default=sql("0")),
    sa.UniqueConstraint("key", name="uq_playbooks_key"),
    *not_blank("playbooks", "key"),
    one_of("playbooks", "kind", "project", "user"),
    one_of("playbooks", "mirror", "undecided", "on", "found", "off"),
    sa.CheckConstraint("ignored IN (0, 1)", name="ck_playbooks_ignored"),
)

# The columns that every commit changes, in a row that a server's writers lock. They aren't in `playbooks`, since each
# server of a distributed database has a copy of that table.
heads = table(
    "heads",
    *in_playbook("heads"),
    sa.Column("header", TEXT, nullable=False, server_default=sql(_FIRST_HEADER)),
    sa.Column("final_newline", sa.Integer, nullable=False, server_default=sql("1")),
    sa.Column("live_points", COUNT, nullable=False, server_default=sql("0")),
    sa.CheckConstraint("final_newline IN (0, 1)", name="ck_heads_final_newline"),
    *at_least(0, "heads", "live_points"),
)

sections = table(
    "sections",
    sa.Column("slug", TEXT, primary_key=True),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.UniqueConstraint("name", name="uq_sections_name"),
    sa.UniqueConstraint("position", name="uq_sections_position"),
    one_of("sections", "slug", *SLUG_SECTIONS),
)

revisions = table(
    "revisions",
    *in_playbook("revisions", "number"),
    sa.Column("number", COUNT, nullable=False),
    *required(TEXT, "time", "source", "actor"),
    *optional(TEXT, "session_id", "message", "header"),
    sa.Column("final_newline", sa.Integer),
    *optional(COUNT, "undoes_from", "undoes_to"),
    sa.Column("role", TEXT),
    *at_least(1, "revisions", "number"),
    one_of("revisions", "source", *SOURCES),
    *not_blank("revisions", "actor"),
    sa.CheckConstraint("(header IS NULL) = (final_newline IS NULL)", name="ck_revisions_header"),
    sa.CheckConstraint(
        "(undoes_from IS NULL) = (undoes_to IS NULL) AND undoes_from >= 1"
        " AND undoes_from <= undoes_to AND undoes_to < number",
        name="ck_revisions_undoes",
    ),
    with_rowid=False,
)
index("ix_revisions_session", revisions, "session_id", where=revisions.c.session_id.is_not(None))
index("ix_revisions_undo", revisions, "number", where=revisions.c.undoes_from.is_not(None))

# The revisions that are undone by an undo in force, as ranges that don't overlap.
undone_ranges = table(
    "undone_ranges",
    *in_playbook("undone_ranges", "first"),
    *required(COUNT, "first", "last", "undo"),
    of_revision("undone_ranges", "undo"),
    sa.CheckConstraint("first >= 1 AND first <= last AND last < undo", name="ck_undone_ranges_order"),
    with_rowid=False,
)

key_points = table(
    "key_points",
    sa.UniqueConstraint("playbook_id", "name", name="uq_key_points_name"),
    *in_playbook("key_points", "id"),
    sa.Column("id", COUNT, nullable=False),
    *required(TEXT, "name", "section"),
    sa.Column("position", COUNT, nullable=False),
    sa.Column("text", TEXT, nullable=False),
    *counted(COUNT, "helpful", "harmful"),
    sa.Column("created_in", COUNT, nullable=False),
    sa.Column("retired_in", COUNT),
    sa.Column("retired_reason", TEXT),
    sa.Column("rank", REAL_NUMBER, nullable=False, server_default=sql("0")),
    sa.Column("forgotten", sa.Integer, nullable=False, server_default=sql("0")),
    yes_or_no("key_points", "pinned"),
    yes_or_no("key_points", "resting"),
    sa.Column("confirmed_at", TEXT),
    sa.ForeignKeyConstraint(["section"], ["sections.slug"], name="fk_key_points_section"),
    of_revision("key_points", "created_in"),
    of_revision("key_points", "retired_in"),
    # A check in addition to the foreign key: a plain `sqlite3` shell ignores foreign keys.
    one_of("key_points", "section", *SLUG_SECTIONS),
    *not_blank("key_points", "name"),
    *not_blank("key_points", "text"),
    *at_least(0, "key_points", "helpful", "harmful"),
    sa.CheckConstraint("retired_reason IS NULL OR retired_in IS NOT NULL", name="ck_key_points_retired"),
    sa.CheckConstraint("forgotten = 0 OR (forgotten = 1 AND retired_in IS NOT NULL)", name="ck_key_points_forgotten"),
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
    *in_playbook("extra_fields", "point_id"),
    sa.Column("point_id", COUNT, nullable=False),
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
    sa.Column("evidence", TEXT),
    of_point("changes"),
    of_point("changes", "successor_id"),
    one_of("changes", "kind", "add", "vote", "edit", "move", "retire", "restore"),
    one_of("changes", "section", *SLUG_SECTIONS),
    *at_least(0, "changes", "helpful", "harmful"),
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
    yes_or_no("votes", "ignored"),
    sa.Column("evidence", TEXT),
    of_point("votes"),
    one_of("votes", "tag", "helpful", "harmful", "neutral"),
    sa.CheckConstraint("(point_id IS NULL) <> (name IS NULL)", name="ck_votes_point_or_name"),
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
    *in_playbook("proposals", "id"),
    sa.Column("id", COUNT, nullable=False),
    *required(TEXT, "kind", "operation", "evidence", "trust"),
    sa.Column("session_id", TEXT),
    sa.Column("sessions", COUNT, nullable=False, server_default=sql("1")),
    sa.Column("created_at", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False, server_default=sql("'waiting'")),
    *optional(TEXT, "decided_at", "decided_by"),
    sa.Column("revision", COUNT),
    of_revision("proposals"),
    one_of("proposals", "kind", "ADD", "UPDATE", "MERGE", "DELETE", "VOTE"),
    one_of("proposals", "trust", "user", "tests", "files", "fetched"),
    one_of("proposals", "state", "waiting", "accepted", "rejected"),
    sa.CheckConstraint("(state = 'waiting') = (decided_at IS NULL)", name="ck_proposals_decided"),
    *at_least(1, "proposals", "sessions"),
)
index("ix_proposals_waiting", proposals, "id", where=proposals.c.state == "waiting")

# Pairs of similar points that stay separate: somebody decided this at the revision.
distinct_points = table(
    "distinct_points",
    *in_playbook("distinct_points", "first_id", "second_id"),
    *required(COUNT, "first_id", "second_id", "revision"),
    *required(TEXT, "time", "actor"),
    of_point("distinct_points", "first_id"),
    of_point("distinct_points", "second_id"),
    sa.CheckConstraint("first_id < second_id", name="ck_distinct_points_order"),
    with_rowid=False,
)

mirrors = table(
    "mirrors",
    *in_playbook("mirrors", "path"),
    sa.Column("path", TEXT, nullable=False),
    sa.Column("revision", COUNT),
    sa.Column("sha256", TEXT, nullable=False),
    *optional(COUNT, "size_bytes", "mtime_ns"),
    of_revision("mirrors"),
    *not_blank("mirrors", "path"),
)

# The playbooks whose projects have joined a team: the team's database, without a password, and their names in it.
memberships = table(
    "memberships",
    *in_playbook("memberships"),
    *required(TEXT, "url", "name", "joined_at"),
    sa.CheckConstraint("url <> '' AND name <> ''", name="ck_memberships_named"),
    with_rowid=False,
)

erasures = table(
    "erasures",
    *in_playbook("erasures", "id"),
    *required(COUNT, "id", "revision"),
    *required(TEXT, "selected_by", "points"),
    sa.Column("fields", COUNT, nullable=False, server_default=sql("0")),
    sa.Column("time", TEXT, nullable=False),
    *optional(TEXT, "finished_at", "purged_at"),
    of_revision("erasures"),
    one_of("erasures", "selected_by", "name", "match"),
    *at_least(0, "erasures", "fields"),
)


# Sessions: their transcripts, the lessons from them and their cost, and the points that they were shown or cited.

transcripts = table(
    "transcripts",
    *in_playbook("transcripts", "path"),
    *required(TEXT, "path", "session_id"),
    sa.Column("learned_offset", COUNT, nullable=False, server_default=sql("0")),
    sa.Column("last_uuid", TEXT),
    sa.Column("updated_at", TEXT, nullable=False),
    sa.Column("first_uuid", TEXT),
    *not_blank("transcripts", "path"),
    *at_least(0, "transcripts", "learned_offset"),
)
index("ix_transcripts_first", transcripts, "first_uuid")

reflections = table(
    "reflections",
    *in_playbook("reflections", "id"),
    sa.Column("id", COUNT, nullable=False),
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
    *at_least(0, "reflections", "input_tokens", "output_tokens", "cached_tokens"),
    sa.CheckConstraint("from_offset <= to_offset", name="ck_reflections_offsets"),
)
index("ix_reflections_revision", reflections, "revision")
index("ix_reflections_session", reflections, "session_id")
index("ix_reflections_unfinished", reflections, "transcript_path", where=reflections.c.finished_at.is_(None))

model_calls = table(
    "model_calls",
    *in_playbook("model_calls", "id"),
    sa.Column("id", COUNT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    *optional(TEXT, "session_id", "model"),
    *required(COUNT, "input_tokens", "output_tokens", "cached_tokens"),
    sa.Column("cost_usd", REAL_NUMBER),
    sa.Column("duration_ms", COUNT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
    yes_or_no("model_calls", "agreed"),
    one_of("model_calls", "kind", "reflect", "curate"),
    *at_least(0, "model_calls", "input_tokens", "output_tokens", "cached_tokens"),
)
index("ix_model_calls_time", model_calls, "time")

jobs = table(
    "jobs",
    *in_playbook("jobs", "id"),
    sa.Column("id", COUNT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    *optional(TEXT, "session_id", "transcript_path", "reason"),
    sa.Column("state", TEXT, nullable=False, server_default=sql("'queued'")),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sql("0")),
    *optional(TEXT, "not_before", "lease_until", "error"),
    sa.Column("created_at", TEXT, nullable=False),
    *optional(TEXT, "finished_at", "parent_path", "agent_id"),
    *not_blank("jobs", "kind"),
    one_of("jobs", "state", "queued", "running", "done", "failed"),
    *at_least(0, "jobs", "attempts"),
)
index("ix_jobs_state", jobs, "state", "id")
# A transcript waits only once, even if several hooks have queued it.
index("uq_jobs_waiting", jobs, "kind", "transcript_path", where=jobs.c.state == "queued", unique=True)

injections = table(
    "injections",
    *in_playbook("injections", "session_id", "seq"),
    sa.Column("session_id", TEXT, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("source", TEXT, nullable=False),
    sa.Column("revision", COUNT, nullable=False),
    sa.Column("points", TEXT, nullable=False),
    sa.Column("left_out", COUNT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
    event("injections"),
    sa.Column("held_back", TEXT),
    *at_least(0, "injections", "left_out"),
    with_rowid=False,  # so a session's start writes one page instead of three
)

# Showings of a team's points, until the team's database has stored them and the session has ended. `points` and
# `revision` are numbers of the team's playbook.
unsent_injections = table(
    "unsent_injections",
    *in_playbook("unsent_injections", "session_id", "time"),
    *required(TEXT, "session_id", "time", "source"),
    sa.Column("revision", COUNT, nullable=False),
    sa.Column("points", TEXT, nullable=False),
    sa.Column("left_out", COUNT, nullable=False),
    event("unsent_injections"),
    *optional(TEXT, "sent_at", "held_back"),
    *at_least(0, "unsent_injections", "left_out"),
    with_rowid=False,
)

# Counts for each point. A trigger updates them, so that queries needn't read all of `injections`. `sessions` counts all
# sessions. Those that first saw the point at another event than their start are also counted by event.
showings = table(
    "showings",
    *in_playbook("showings", "point_id"),
    *required(COUNT, "point_id", "sessions"),
    sa.Column("last_at", TEXT, nullable=False),
    *(
        checked("showings", name, COUNT, ">= 0", "0")
        for name in ("sessions_at_last_use", "by_prompt", "at_error", "to_subagent")
    ),
    of_point("showings"),
    *at_least(1, "showings", "sessions"),
    with_rowid=False,
)

citations = table(
    "citations",
    *in_playbook("citations", "session_id", "point_id"),
    sa.Column("session_id", TEXT, nullable=False),
    *required(COUNT, "point_id", "chunks"),
    sa.Column("time", TEXT, nullable=False),
    of_point("citations"),
    *at_least(1, "citations", "chunks"),
    with_rowid=False,
)
index("ix_citations_point", citations, "point_id")

# The sessions that followed a point, or in which something that the point names went wrong.
trials = table(
    "trials",
    *in_playbook("trials", "session_id", "point_id"),
    sa.Column("session_id", TEXT, nullable=False),
    sa.Column("point_id", COUNT, nullable=False),
    *counted(COUNT, "held_back", "followed", "ignored", "failed_calls"),
    sa.Column("time", TEXT, nullable=False),
    of_point("trials"),
    sa.CheckConstraint("held_back IN (0, 1)", name="ck_trials_held_back"),
    sa.CheckConstraint("followed IN (0, 1)", name="ck_trials_followed"),
    *at_least(0, "trials", "ignored"),
    sa.CheckConstraint("failed_calls >= 0 AND failed_calls <= ignored", name="ck_trials_failed_calls"),
    with_rowid=False,
)
index("ix_trials_point", trials, "point_id")

# The results of sessions, counted from their transcripts.
session_outcomes = table(
    "session_outcomes",
    *in_playbook("session_outcomes", "session_id"),
    sa.Column("session_id", TEXT, nullable=False),
    *counted(COUNT, "tool_calls", "failed_calls", "corrections", "turns", "tokens"),
    sa.Column("updated_at", TEXT, nullable=False),
    *at_least(0, "session_outcomes", "tool_calls", "failed_calls", "corrections", "turns", "tokens"),
    with_rowid=False,
)
