"""The tables of sessions: their transcripts, what was learnt from them and what that took, what they were shown and
cited."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Text,
)
from sqlalchemy import text as sql

from playbook_db.store.columns import (
    COUNT,
    REAL_NUMBER,
    at_least,
    not_blank,
    of_playbook,
    of_point,
    of_revision,
    one_of,
    table,
)

transcripts = table(
    "transcripts",
    Column("playbook_id", Integer, nullable=False),
    Column("path", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("learnt_to", COUNT, nullable=False, server_default=sql("0")),
    Column("last_uuid", Text),
    Column("updated_at", Text, nullable=False),
    Column("first_uuid", Text),
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
    Column("session_id", Text, nullable=False),
    Column("transcript_path", Text),
    Column("from_offset", COUNT),
    Column("to_offset", COUNT),
    Column("analysis", Text),
    Column("curator_reasoning", Text),
    Column("model", Text),
    Column("input_tokens", COUNT, nullable=False, server_default=sql("0")),
    Column("output_tokens", COUNT, nullable=False, server_default=sql("0")),
    Column("cached_tokens", COUNT, nullable=False, server_default=sql("0")),
    Column("cost_usd", REAL_NUMBER),
    Column("duration_ms", COUNT),
    Column("created_at", Text, nullable=False),
    Column("bullet_tags", Text),
    Column("finished_at", Text),
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

Index(
    "ix_reflections_unfinished",
    reflections.c.playbook_id,
    reflections.c.transcript_path,
    sqlite_where=reflections.c.finished_at.is_(None),
    postgresql_where=reflections.c.finished_at.is_(None),
)

model_calls = table(
    "model_calls",
    Column("playbook_id", Integer, nullable=False),
    Column("id", COUNT, nullable=False),
    Column("kind", Text, nullable=False),
    Column("session_id", Text),
    Column("model", Text),
    Column("input_tokens", COUNT, nullable=False),
    Column("output_tokens", COUNT, nullable=False),
    Column("cached_tokens", COUNT, nullable=False),
    Column("cost_usd", REAL_NUMBER),
    Column("duration_ms", COUNT, nullable=False),
    Column("time", Text, nullable=False),
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
    Column("kind", Text, nullable=False),
    Column("session_id", Text),
    Column("transcript_path", Text),
    Column("reason", Text),
    Column("state", Text, nullable=False, server_default=sql("'queued'")),
    Column("attempts", Integer, nullable=False, server_default=sql("0")),
    Column("not_before", Text),
    Column("lease_until", Text),
    Column("error", Text),
    Column("created_at", Text, nullable=False),
    Column("finished_at", Text),
    Column("parent_path", Text),
    Column("agent_id", Text),
    PrimaryKeyConstraint("playbook_id", "id", name="pk_jobs"),
    of_playbook("jobs"),
    *not_blank("jobs", "kind"),
    one_of("jobs", "state", "queued", "running", "done", "failed"),
    at_least("jobs", "attempts", 0),
)
Index("ix_jobs_state", jobs.c.playbook_id, jobs.c.state, jobs.c.id)
# A transcript that waits to be learnt from waits once, however many hooks have seen it.
Index(
    "uq_jobs_waiting",
    jobs.c.playbook_id,
    jobs.c.kind,
    jobs.c.transcript_path,
    unique=True,
    sqlite_where=jobs.c.state == "queued",
    postgresql_where=jobs.c.state == "queued",
)

injections = table(
    "injections",
    Column("playbook_id", Integer, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("revision", COUNT, nullable=False),
    Column("points", Text, nullable=False),
    Column("left_out", COUNT, nullable=False),
    Column("time", Text, nullable=False),
    PrimaryKeyConstraint("playbook_id", "session_id", "seq", name="pk_injections"),
    of_playbook("injections"),
    at_least("injections", "left_out", 0),
    with_rowid=False,  # one page to write at a session's start, not three
)

citations = table(
    "citations",
    Column("playbook_id", Integer, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("point_id", COUNT, nullable=False),
    Column("stretches", COUNT, nullable=False),
    Column("time", Text, nullable=False),
    PrimaryKeyConstraint("playbook_id", "session_id", "point_id", name="pk_citations"),
    of_playbook("citations"),
    of_point("citations"),
    at_least("citations", "stretches", 1),
    with_rowid=False,
)
Index("ix_citations_point", citations.c.playbook_id, citations.c.point_id)
