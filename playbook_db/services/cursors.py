"""How far each transcript has been learnt from, and which there are: what is known of them between two lessons."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from playbook_db.services.project import Project
from playbook_db.services.revising import timestamp
from playbook_db.store import jobs, learnt, playbooks
from playbook_db.store.engine import Store
from playbook_db.store.past import Past


def learnt_to(project: Project, path: str) -> int:
    """Up to which byte the transcript at *path* has been learnt from."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        return learnt.learnt_to(connection, past.playbook_id, path) if past.playbook_id else 0


def beginning_with(project: Project, first_uuid: str) -> dict[str, int]:
    """Up to which byte each transcript that begins with the entry *first_uuid* has been learnt from, by path."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        return learnt.beginning_with(connection, past.playbook_id, first_uuid) if past.playbook_id else {}


def begin_anew_if_another(project: Project, path: str, first_uuid: str) -> None:
    """Forget how far the transcript at *path* was learnt from, where it began with another entry: it is another one."""

    def look(past: Past) -> None:
        known = learnt.first_uuid(past.connection, past.playbook_id or 0, path)
        if known is not None and known != first_uuid:
            learnt.move_cursor(
                past.connection,
                past.playbook_id or 0,
                path,
                0,
                session_id="",
                last_uuid=None,
                now=timestamp(datetime.now(UTC)),
                first_uuid=first_uuid,
            )

    keep(project, look)


def skip_to(project: Project, path: str, reached: int, *, session_id: str, first_uuid: str) -> None:
    """Count the transcript at *path* as learnt from up to the byte *reached*: a copy of what is known."""

    def move(past: Past) -> None:
        if not learnt.learnt_to(past.connection, past.playbook_id or 0, path):
            learnt.move_cursor(
                past.connection,
                past.playbook_id or 0,
                path,
                reached,
                session_id=session_id,
                last_uuid=None,
                now=timestamp(datetime.now(UTC)),
                first_uuid=first_uuid,
            )

    keep(project, move)


def keep(project: Project, what: Callable[[Past], None]) -> None:
    """Do *what* in a transaction of its own."""
    with project.store.transaction() as connection:
        what(Past.open_to_write(connection, project.key, now=timestamp(datetime.now(UTC))))


@dataclass(frozen=True, slots=True)
class KnownTranscripts:
    """What is known of a project's transcripts: how far each was learnt from, and for which there are jobs, failed ones
    included."""

    key: str
    created_at: str
    cursors: Mapping[str, int]
    with_jobs: frozenset[str]


def known_transcripts(store: Store) -> list[KnownTranscripts]:
    """For each project that isn't kept out, what is known of its transcripts."""
    found = []
    with store.snapshot() as connection:
        for number, key, created_at in playbooks.all_learning(connection):
            cursors = learnt.cursors(connection, number)
            found.append(KnownTranscripts(key, created_at, cursors, jobs.known_paths(connection, key)))
    return found
