"""The page that forgets a point. It shows the texts that would be erased, and erases them if the user confirms."""

from hashlib import sha256

from starlette.responses import Response

from playbook_db import settings
from playbook_db.errors import PlaybookError, Remedy
from playbook_db.services.playbook import forget as service
from playbook_db.services.playbook import forget_lines
from playbook_db.web.page_request import PageRequest, Routes
from playbook_db.web.point import of_name

_IN_A_SESSION = "Forgetting can't be undone, so a session of Claude Code can't do it. Nothing was erased."
_CHANGED = "The texts to erase have changed since they were shown. Nothing was erased; look at them again."
_NOT_SURE = "Nothing was erased. To erase the texts, tick the box."


def ask(request: PageRequest) -> Response:
    """Show the texts that would be erased if the point were forgotten."""
    request = of_name(request)
    return _preview(request, service.preview(request.project, service.Request(request.path["name"])))


def forget(request: PageRequest) -> Response:
    """Forget a point, if the user confirms exactly the plan that was shown."""
    request, name = of_name(request), request.path["name"]
    if settings.session():
        raise PlaybookError(_IN_A_SESSION, Remedy("Run it in your own terminal: {}", ("forget", name)))
    target = service.Request(name)
    planned = service.preview(request.project, target)
    if not request.form.get("sure"):
        return _preview(request, planned, problem=_NOT_SURE)
    if request.form.get("seen") != _digest(planned):
        return _preview(request, planned, problem=_CHANGED)
    done = service.forget(request.project, target)
    number = next((each.revision for each in done.erasures.values()), None)
    request.say_all([f"{name} is forgotten (revision {number}). {forget_lines.NOT_OURS}.", *forget_lines.notes(done)])
    if not done.is_rewritten:
        request.say_all([forget_lines.TRACES.format(request.project.store.where)])
    return request.back("points")


def _preview(request: PageRequest, planned: service.Forgotten, problem: str | None = None) -> Response:
    return request.page(
        "forget.html",
        title=f"Forget {request.path['name']}?",
        status=409 if problem else 200,
        name=request.path["name"],
        lines=list(forget_lines.lines(planned, shows_texts=True)),
        notes=[*forget_lines.notes(planned), forget_lines.NOT_OURS],
        seen=_digest(planned),
        problem=problem,
        is_in_session=bool(settings.session()),
    )


def _digest(planned: service.Forgotten) -> str:
    """Return a digest of the plan. Equal plans have equal digests."""
    return sha256("\n".join(forget_lines.lines(planned, shows_texts=True)).encode()).hexdigest()


ROUTES: Routes = {("GET", "/forget/{name:path}"): ask, ("POST", "/forget/{name:path}"): forget}
