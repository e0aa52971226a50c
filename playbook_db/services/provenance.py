"""Where the playbook comes from: the life of one point, and what each session taught."""

from playbook_db.services import editing
from playbook_db.services.project import Project
from playbook_db.store import learnt, provenance
from playbook_db.store.learnt import SessionTold
from playbook_db.store.past import Past
from playbook_db.store.provenance import Life


def life(project: Project, name: str) -> Life:
    """All that happened to the point *name*, live or retired. Raises PointNotFoundError."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        found = provenance.life(connection, past.playbook_id, name) if past.playbook_id else None
    if found is None:
        editing.find(project, name)  # says what is there instead
        raise AssertionError(f"{name} was found, but not its life")
    return found


def sessions(project: Project) -> list[SessionTold]:
    """Each session that was learnt from, the newest first."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        return learnt.sessions(connection, past.playbook_id) if past.playbook_id else []
