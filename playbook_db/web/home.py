"""The first page: what the last session taught, what waits for the user, and what learning cost."""

from starlette.responses import Response

from playbook_db.services.project import LastKnownProject
from playbook_db.services.reading import history, status
from playbook_db.store.queries.revision_log import LoggedChange
from playbook_db.web import sessions
from playbook_db.web.page_request import PageRequest, Routes

_READ, _LESSONS = 20, 5  # sessions or changes that are read; changes that are shown, lessons before votes


def show(request: PageRequest) -> Response:
    """Show the state of the playbook on one page."""
    project, own = request.project, request.project.own
    folder = None if project.is_users else own.folder or own.key
    has_history = not isinstance(project, LastKnownProject)
    newest = history.session_page(project, most=_READ)[0] if has_history else []
    last = next((each for each in newest if any(each[1].values())), newest[0] if newest else None)
    lessons: list[LoggedChange] = []
    if last is not None:
        query = history.LogQuery(session=last[0].session_id, limit=_LESSONS)
        revisions = history.log(project, query, most_changes=_READ)
        changes = [each for revision in revisions for each in revision.changes]
        lessons = sorted(changes, key=lambda each: each.kind == "vote")[:_LESSONS]
    return request.page(
        "home.html",
        title="Home",
        status_now=status.read(own.store.url.render_as_string(hide_password=False), folder),
        last=last,
        is_newest=last is None or last == newest[0],
        lessons=lessons,
        titles=sessions.titles([last[0].session_id] if last else ()),
        newest=request.newest_revision if has_history else 0,
    )


ROUTES: Routes = {("GET", "/"): show}
