"""The queue: what there is to learn from, until it is learnt."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select
from sqlalchemy import text as sql

from playbook_db.store import read
from playbook_db.store.tables import jobs, playbooks

_ADD_JOB = sql(read.ADD_JOB)


@dataclass(frozen=True, slots=True)
class Job:
    """A stretch of work for the project `key`. `transcript_path` is what to learn from; for a subagent, `parent_path`
    is its session's. `state` is queued, running, done or failed; times are UTC, ISO 8601."""

    key: str
    id: int
    kind: str
    session_id: str | None
    transcript_path: str | None
    parent_path: str | None
    agent_id: str | None
    reason: str | None
    state: str
    attempts: int
    error: str | None
    created_at: str
    finished_at: str | None


def add(connection: Connection, playbook_id: int, job: Mapping[str, str | None], *, now: str) -> None:
    """Queue *job*, as a hook does, unless its transcript waits already."""
    told = {name: job.get(name) for name in ("session_id", "transcript_path", "parent_path", "agent_id", "reason")}
    connection.execute(_ADD_JOB, {**told, "playbook_id": playbook_id, "now": now})


def read_all(connection: Connection, key: str | None = None) -> list[Job]:
    """The jobs of the project *key*, or of all; the oldest first."""
    columns = [playbooks.c.key, *(jobs.c[name] for name in Job.__slots__ if name != "key")]
    statement = select(*columns).join(playbooks, playbooks.c.id == jobs.c.playbook_id)
    if key is not None:
        statement = statement.where(playbooks.c.key == key)
    rows = connection.execute(statement.order_by(jobs.c.created_at, playbooks.c.key, jobs.c.id))
    return [Job(*row) for row in rows]
