"""The projects that have a playbook, and the user's own: how many points each has, when it changed, whose it is."""

from starlette.responses import Response

from playbook_db.projects import has_folder
from playbook_db.services import projects, team
from playbook_db.web.look import Look, Routes


def listed(look: Look) -> Response:
    """All projects in the database."""
    own = look.project.own
    return look.page(
        "projects.html",
        title="Projects",
        users=projects.read_users(own.store),
        listed=projects.list_projects(own.store),
        teams=team.joined(own.store),
        has_folder=has_folder,
        here=own.key,
    )


ROUTES: Routes = {("GET", "/projects"): listed}
