"""The pages of the points (list, search, add) and of the projects."""

from starlette.responses import Response

from playbook_db import projects
from playbook_db.claude_code import as_prompt
from playbook_db.domain.sections import SECTION_SLUGS, SLUG_SECTIONS
from playbook_db.errors import ArgumentError, PointRuleError, ProjectError, Remedy
from playbook_db.services import project as project_service
from playbook_db.services.playbook import edit
from playbook_db.services.reading import listing
from playbook_db.services.sharing import team
from playbook_db.web.page_request import PAGE_ROWS, Notice, PageRequest, Routes

_STATES = {
    "live": "live",
    "pinned": "pinned",
    "resting": "resting, not shown at a session's start",
    "retired": "retired",
    "proposed": "proposed, to be decided",
}
_ORDERS = {
    "rank": "what sessions get first",
    "votes": "best votes",
    "age": "newest",
    "used": "most cited and shown",
    "ignored": "most ignored",
}


def list_points(request: PageRequest) -> Response:
    """Show the points, filtered by words, section and state."""
    if request.query.get("state") == "proposed":
        return request.back("review")
    return _page(request)


def add(request: PageRequest) -> Response:
    """Add a point. If the text can't be a point, show it in the form again."""
    project, text, section = request.project, request.text("text"), request.form.get("section", "")
    is_like_a_project = project.is_users or projects.is_project(project.folder or project.key)
    try:
        if not (is_like_a_project or project_service.is_known(project)):
            problem = f"{project.folder} doesn't look like a project, so it has no playbook yet. Nothing was added."
            raise ProjectError(problem, Remedy("To create a playbook there: {}", ("init",)))
        result = edit.add(project, text, section=section or None)
    except (PointRuleError, ProjectError) as error:
        return _page(request, status=409, draft=text, draft_section=section, problem=str(error))
    name = result.changes[0].point.name
    request.say(f"added {name}", result)
    return request.back("points", name)


def explain(request: PageRequest) -> Response:
    """Show the text for a session's start, and why a prompt or a file brings a point or doesn't."""
    own, query = request.project.own, {name: request.query.get(name, "") for name in ("q", "file")}
    url = own.store.url.render_as_string(hide_password=False)
    folder = own.folder or own.key
    try:
        start, candidates = as_prompt.explain(url, folder, query["q"], query["file"])
    except ArgumentError as error:  # mostly the file
        start, candidates = as_prompt.explain(url, folder, query["q"])
        request.notices.append(Notice(str(error)))
    return request.page("shown.html", title="What a session is shown", start=start, candidates=candidates, query=query)


def list_projects(request: PageRequest) -> Response:
    """Show all projects in the database."""
    own = request.project.own
    return request.page(
        "projects.html",
        title="Projects",
        users=project_service.read_users(own.store),
        listed=project_service.list_projects(own.store),
        teams=team.joined(own.store),
        has_folder=projects.has_folder,
        here=own.key,
    )


def _page(
    request: PageRequest, *, status: int = 200, draft: str = "", draft_section: str = "oth", problem: str | None = None
) -> Response:
    words, section = request.query.get("q", ""), request.query.get("section", "")
    state, order = request.query.get("state", ""), request.query.get("sort", "")
    listed = listing.read(
        request.project,
        words,
        state=state if state in listing.STATES else "live",
        section=section if section in SLUG_SECTIONS else None,
        order=order if order in listing.ORDERS else None,
        page=request.page_number,
        page_rows=PAGE_ROWS,
    )
    return request.page(
        "points.html",
        title="Points",
        status=status,
        listed=listed,
        query={"q": words, "section": section, "state": state, "sort": order},
        is_all=not (words.strip() or section or state in listing.STATES[1:]),
        sections=SECTION_SLUGS,
        states=_STATES,
        orders=_ORDERS,
        weeks=listing.TREND.days // 7,
        is_ignored=not request.project.is_users and project_service.is_ignored(request.project.own),
        damaged=str(listing.DAMAGED) if listed.is_damaged else None,
        draft=draft,
        draft_section=draft_section,
        problem=problem,
    )


ROUTES: Routes = {
    ("GET", "/points"): list_points,
    ("POST", "/points"): add,
    ("GET", "/shown"): explain,
    ("GET", "/projects"): list_projects,
}
