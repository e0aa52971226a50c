"""The queue of what there is to learn from: jobs that hooks left in the spool are taken in, and jobs are listed."""

from collections.abc import Mapping
from datetime import UTC, datetime

from playbook_db.services.revising import timestamp
from playbook_db.store import jobs, playbooks
from playbook_db.store.engine import Store
from playbook_db.store.jobs import Job
from playbook_db.store.past import Past


def take_in(store: Store, key: str, job: Mapping[str, str | None]) -> bool:
    """Queue *job* for the project *key*, which is made where need be; False where the project is kept out."""
    now = timestamp(datetime.now(UTC))
    with store.transaction() as connection:
        past = Past.open_to_write(connection, key, now=now)
        if past.playbook_id is None or playbooks.is_ignored(connection, past.playbook_id):
            return False
        jobs.add(connection, past.playbook_id, job, now=job.get("queued_at") or now)
    return True


def list_jobs(store: Store, key: str | None = None) -> list[Job]:
    """The jobs of the project *key*, or of all; the oldest first."""
    with store.snapshot() as connection:
        return jobs.read_all(connection, key)
