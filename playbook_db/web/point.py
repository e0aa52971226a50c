"""The page of one point, with its history and the actions on it, and the page that forgets it."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from starlette.responses import Response

from playbook_db import errors, projects, settings
from playbook_db.claude_code.setup import guards
from playbook_db.domain.playbook import MAX_COUNTER
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.domain.trust.use import EVENTS
from playbook_db.services.playbook import edit, forget_lines, promotion
from playbook_db.services.playbook import forget as forget_service
from playbook_db.services.reading import history
from playbook_db.web.page_request import PAGE_ROWS, PageRequest, Routes, as_number, as_shown


def point(request: PageRequest) -> Response:
    """Show one point and its history."""
    own = _of_name(request)
    return _page(request) if own is request else own.back("points", request.path["name"])


def change(request: PageRequest) -> Response:
    """Carry out an action on a point. If the action fails, the page says why, and the form keeps the typed text."""
    name, action = request.path["name"], request.form.get("do", "")
    act = _ACTS.get(action)
    if act is None:
        raise errors.PlaybookError(f"There is no action {action!r}. Nothing was changed.")
    request = _of_name(request)
    try:
        act(request, name)
    except (errors.PointRuleError, errors.NotFoundError, errors.SettingError, errors.InstallError) as error:
        return _page(request, problem=error, draft=request.text("text") if action == "edit" else None)
    return request.back("points", name)


def _of_name(request: PageRequest) -> PageRequest:
    """Return the same request for the playbook of the point. A name such as `upat-001` is in the personal playbook."""
    project = request.project.with_point(request.path["name"])
    return request if project is request.project else replace(request, project=project)


def _page(request: PageRequest, *, problem: errors.PlaybookError | None = None, draft: str | None = None) -> Response:
    name, project = request.path["name"], request.project
    last = as_number(request.query.get("to", ""))
    last = MAX_COUNTER if last is None else last
    full = history.point_in_full(project, name, last=last, limit=PAGE_ROWS)
    point, retired = full.details.point, full.details.retired
    events = full.life.events[::-1] if full.life else ()
    oldest = events[-1].revision if events else 0
    folder = "" if retired else _guarded_folder(request)
    return request.page(
        "point.html",
        title=name,
        status=409 if problem else 200,
        full=full,
        point=point,
        retired=retired,
        lifespan=full.details.lifespan,
        events=events,
        older=oldest - 1 if oldest > full.details.lifespan.created_in else None,
        is_newest=last == MAX_COUNTER,
        event_words=EVENTS,
        sections=SECTION_SLUGS,
        can_be_guarded=bool(folder),
        guarded=[each for each in guards.counted(folder) if each.name == name] if folder else [],
        problem=problem,
        draft=point.text if draft is None else draft,
        is_reworded=isinstance(problem, errors.ChangedError) and draft is not None,
    )


# The actions on a point. Each says what it did on the next page.


def _edit(request: PageRequest, name: str) -> None:
    text, was = request.text("text"), request.exact("was") or ""  # without `was` nothing is overwritten
    section, was_in = request.form.get("section"), request.form.get("was_in")
    is_same = as_shown(was).splitlines() == text.splitlines()
    result = edit.edit(
        request.project,
        name,
        text=None if is_same else text,
        was=was,
        **({} if section == was_in else {"section": section, "was_in": was_in}),
    )
    request.say(f"edited {name}", result)


def _vote(request: PageRequest, name: str) -> None:
    tag = request.form["do"]
    request.say(f"voted {name} {tag}", edit.vote(request.project, name, tag, was=request.exact("was")))


def _pin(request: PageRequest, name: str) -> None:
    request.say_all([f"{name}: shown first in every session", *edit.pin(request.project, name)])


def _unpin(request: PageRequest, name: str) -> None:
    edit.unpin(request.project, name)
    request.say_all([f"{name}: no longer shown first"])


def _retire(request: PageRequest, name: str) -> None:
    reason = request.text("reason").strip() or None
    request.say(f"retired {name}", edit.retire(request.project, name, reason=reason, was=request.exact("was")))


def _restore(request: PageRequest, name: str) -> None:
    request.say(f"restored {name}", edit.restore(request.project, name))


def _promote(request: PageRequest, name: str) -> None:
    move = promotion.promote(request.project, name, keeps=bool(request.form.get("keep")))
    request.say(f"{move.copy} is the copy of {name}", move.copied, project=request.project.playbooks()[-1])
    request.say(f"retired {name}", move.retired)
    if move.copied is None:
        request.say_all(move.notes)


def _guard(request: PageRequest, name: str) -> None:
    folder = _guarded_folder(request)
    if not folder:
        raise errors.PointRuleError("Guards need a project's folder, which isn't on this machine. Nothing was changed.")
    if request.form["do"] == "unguard":
        guards.require_person()
        guards.remove(folder, [name])
        request.say_all([f"{name}: no longer a guard"])
        return
    mode = "deny" if request.form.get("mode") == "deny" else "ask"
    guard = guards.PointGuard(edit.find_live(request.project, name).name, request.text("pattern").strip(), mode)
    request.say_all([f"{guard}, from now on ({guards.add(folder, guard)})"])


def _guarded_folder(request: PageRequest) -> str:
    folder = "" if request.project.is_users else request.project.own.folder or ""
    return folder if projects.has_folder(folder) else ""


_ACTS: dict[str, Callable[[PageRequest, str], None]] = {
    "edit": _edit,
    "helpful": _vote,
    "harmful": _vote,
    "neutral": _vote,
    "pin": _pin,
    "unpin": _unpin,
    "retire": _retire,
    "restore": _restore,
    "promote": _promote,
    "guard": _guard,
    "unguard": _guard,
}


# Forgetting. The page shows the texts that would be erased, and erases them if the user confirms.

_IN_A_SESSION = "Forgetting can't be undone, so a session of Claude Code can't do it. Nothing was erased."
_CHANGED = "The texts to erase have changed since they were shown. Nothing was erased; look at them again."
_NOT_SURE = "Nothing was erased. To erase the texts, tick the box."


def ask_forget(request: PageRequest) -> Response:
    """Show the texts that would be erased if the point were forgotten."""
    request = _of_name(request)
    return _preview(request, forget_service.preview(request.project, forget_service.Request(request.path["name"])))


def forget(request: PageRequest) -> Response:
    """Forget a point, if the user confirms exactly the plan that was shown."""
    request, name = _of_name(request), request.path["name"]
    if settings.session():
        raise errors.PlaybookError(_IN_A_SESSION, errors.Remedy("Run it in your own terminal: {}", ("forget", name)))
    target = forget_service.Request(name)
    planned = forget_service.preview(request.project, target)
    if not request.form.get("sure"):
        return _preview(request, planned, problem=_NOT_SURE)
    if request.form.get("seen") != _digest(planned):
        return _preview(request, planned, problem=_CHANGED)
    done = forget_service.forget(request.project, target)
    number = next((each.revision for each in done.erasures.values()), None)
    request.say_all([f"{name} is forgotten (revision {number}). {forget_lines.NOT_OURS}.", *forget_lines.notes(done)])
    if not done.is_rewritten:
        request.say_all([forget_lines.TRACES.format(request.project.store.where)])
    return request.back("points")


def _preview(request: PageRequest, planned: forget_service.Forgotten, problem: str | None = None) -> Response:
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


def _digest(planned: forget_service.Forgotten) -> str:
    return sha256("\n".join(forget_lines.lines(planned, shows_texts=True)).encode()).hexdigest()


ROUTES: Routes = {
    ("GET", "/points/{name:path}"): point,
    ("POST", "/points/{name:path}"): change,
    ("GET", "/forget/{name:path}"): ask_forget,
    ("POST", "/forget/{name:path}"): forget,
}
