"""Where the playbook comes from: the life of one point, and what each session taught."""

from collections.abc import Callable
from typing import TypeVar

from playbook_db.services import editing
from playbook_db.services.project import Project
from playbook_db.store import learnt, provenance, revision_details
from playbook_db.store.learnt import SessionTold
from playbook_db.store.past import Past
from playbook_db.store.provenance import Life
from playbook_db.store.revision_details import Span

T = TypeVar("T")


def life(project: Project, name: str) -> Life:
    """All that happened to the point *name*, live or retired. Raises PointNotFoundError."""
    return _of_point(project, name, lambda past, number: provenance.life(past.connection, number, name))


def span(project: Project, name: str) -> Span:
    """When the point *name* came, and when it last changed. Raises PointNotFoundError."""
    return _of_point(project, name, lambda past, number: revision_details.read_span(past.connection, number, name))


def sessions(project: Project) -> list[SessionTold]:
    """Each session that was learnt from, the newest first."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        return learnt.sessions(connection, past.playbook_id) if past.playbook_id else []


def _of_point(project: Project, name: str, read: Callable[[Past, int], T | None]) -> T:
    """What *read* finds about the point *name* in the playbook, whose number it is given."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        found = read(past, past.playbook_id) if past.playbook_id else None
    if found is None:
        editing.find(project, name)  # says what is there instead
        raise AssertionError(f"{name} was found, but not what is told of it")
    return found
