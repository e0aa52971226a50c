"""What a session is told of a playbook: the same text that the hook prints."""

from playbook_db.rules import selection
from playbook_db.rules.rendering import render_points
from playbook_db.services import revising, templates
from playbook_db.services.project import Project
from playbook_db.store import playbooks
from playbook_db.store.past import Past


def tell(project: Project) -> str:
    """The text that goes into a session of *project*: the best points that fit under Claude Code's limit; `""` for
    an empty playbook. Raises TemplateError."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        if past.playbook_id is None:
            return ""
        ranked, unjudged, live_points = playbooks.read_candidates(connection, past.playbook_id)
        if not live_points:
            return ""
        return selection.tell(templates.playbook_template(), ranked, unjudged, live_points)[0]


def tell_all(project: Project) -> str:
    """The text with every live point in it, however long it gets. Raises TemplateError."""
    return templates.fill_points(render_points(revising.read(project).points))
