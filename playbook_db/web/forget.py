"""Forgetting a point: what would go is shown first, and goes when the person says so."""

from hashlib import sha256

from starlette.responses import Response

from playbook_db import settings
from playbook_db.errors import PlaybookError
from playbook_db.services.playbook import forget as service
from playbook_db.services.playbook import forget_lines
from playbook_db.web.look import Look, Routes
from playbook_db.web.point import of_name

_IN_A_SESSION = (
    "This can't be taken back, so it isn't done within a session of Claude Code. Nothing was done; run it in a "
    "terminal of your own."
)
_CHANGED = "What would go has changed since it was shown. Nothing was erased; look at it once more."
_NOT_SURE = "Nothing was erased: tick the box if you mean it."


def ask(look: Look) -> Response:
    """What would go with a point; nothing is erased."""
    look = of_name(look)
    return _preview(look, service.preview(look.project, service.Request(look.path["name"])))


def forget(look: Look) -> Response:
    """Erase a point for good, if that is what was shown and the person says so."""
    look, name = of_name(look), look.path["name"]
    if settings.session():
        raise PlaybookError(_IN_A_SESSION)
    request = service.Request(name)
    planned = service.preview(look.project, request)
    if not look.form.get("sure"):
        return _preview(look, planned, problem=_NOT_SURE)
    if look.form.get("seen") != _digest(planned):
        return _preview(look, planned, problem=_CHANGED)
    done = service.forget(look.project, request)
    number = next((each.revision for each in done.erasures.values()), None)
    look.say_all([f"{name} is forgotten (revision {number}). {forget_lines.NOT_OURS}.", *forget_lines.notes(done)])
    if not done.is_rewritten:
        look.say_all([forget_lines.TRACES.format(look.project.store.where)])
    return look.back("points")


def _preview(look: Look, planned: service.Forgotten, problem: str | None = None) -> Response:
    return look.page(
        "forget.html",
        title=f"Forget {look.path['name']}?",
        status=409 if problem else 200,
        name=look.path["name"],
        lines=list(forget_lines.lines(planned, shows_texts=True)),
        notes=[*forget_lines.notes(planned), forget_lines.NOT_OURS],
        seen=_digest(planned),
        problem=problem,
        is_in_session=bool(settings.session()),
    )


def _digest(planned: service.Forgotten) -> str:
    """What tells whether two plans are the same."""
    return sha256("\n".join(forget_lines.lines(planned, shows_texts=True)).encode()).hexdigest()


ROUTES: Routes = {("GET", "/forget/{name:path}"): ask, ("POST", "/forget/{name:path}"): forget}
