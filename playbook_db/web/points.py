"""The pages of the points (list, search, add) and of the projects."""

from starlette.responses import Response

from playbook_db import projects
from playbook_db.domain.sections import SECTION_SLUGS, SLUG_SECTIONS
from playbook_db.errors import PointRuleError
from playbook_db.services import project as project_service
from playbook_db.services.playbook import edit
from playbook_db.services.reading import listing
from playbook_db.services.sharing import team
from playbook_db.web.look import PAGE_ROWS, Look, Routes

_STATES = {
    "live": "live",
    "pinned": "pinned",
    "resting": "resting",
    "retired": "retired",
    "proposed": "proposed, to be decided",
}
_ORDERS = {
    "rank": "what sessions are shown first",
    "votes": "the best votes",
    "age": "the newest",
    "used": "the most cited and shown",
}


def home(look: Look) -> Response:
    """The first page is the points."""
    return look.back("points")


def listed(look: Look) -> Response:
    """The points that words, a section and a state leave."""
    if look.query.get("state") == "proposed":
        return look.back("review")
    return _page(look)


def add(look: Look) -> Response:
    """Add a point; what can't be added stays in the form."""
    project, text, section = look.project, look.text("text"), look.form.get("section", "")
    looks_like_one = project.is_users or projects.is_project(project.folder or project.key)
    if not (looks_like_one or look.form.get("sure") or project_service.is_known(project)):
        question = f"{project.folder} looks like no project: there is no .git in it or above it, and no .claude but "
        return look.ask(f"{question}your home's. Keep a playbook for it?", "Keep a playbook here", "points")
    try:
        result = edit.add(project, text, section=section or None)
    except PointRuleError as error:
        return _page(look, status=409, draft=text, draft_section=section, problem=str(error))
    name = result.changes[0].point.name
    look.say(f"added {name}", result)
    look.say_all(edit.notes_on_length(result.changes))
    return look.back("points", name)


def list_projects(look: Look) -> Response:
    """All projects in the database."""
    own = look.project.own
    return look.page(
        "projects.html",
        title="Projects",
        users=project_service.read_users(own.store),
        listed=project_service.list_projects(own.store),
        teams=team.joined(own.store),
        has_folder=projects.has_folder,
        here=own.key,
    )


def _page(
    look: Look, *, status: int = 200, draft: str = "", draft_section: str = "oth", problem: str | None = None
) -> Response:
    words, section = look.query.get("q", ""), look.query.get("section", "")
    state, order = look.query.get("state", ""), look.query.get("sort", "")
    listed = listing.read(
        look.project,
        words,
        state=state if state in listing.STATES else "live",
        section=section if section in SLUG_SECTIONS else None,
        order=order if order in listing.ORDERS else None,
        page=look.number("page"),
        page_rows=PAGE_ROWS,
    )
    return look.page(
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
        is_ignored=not look.project.is_users and project_service.is_ignored(look.project.own),
        damaged=str(listing.DAMAGED) if listed.is_damaged else None,
        draft=draft,
        draft_section=draft_section,
        problem=problem,
    )


ROUTES: Routes = {
    ("GET", "/"): home,
    ("GET", "/points"): listed,
    ("POST", "/points"): add,
    ("GET", "/projects"): list_projects,
}
