"""One point with its life, and what a person does to it."""

import json
from collections.abc import Callable
from dataclasses import replace

from starlette.responses import Response

from playbook_db.domain.playbook import MAX_COUNTER
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.domain.trust.outcomes import EVENTS
from playbook_db.errors import PlaybookError, PointChangedError, PointNotFoundError, PointRuleError
from playbook_db.services.playbook import edit, promotion
from playbook_db.services.project import Project, list_projects
from playbook_db.services.reading import history
from playbook_db.store.playbook.repository import RevisionResult
from playbook_db.web.look import PAGE_ROWS, Look, Routes, as_shown

_CITATIONS = 20  # of the last sessions that cited a point


def point(look: Look) -> Response:
    """One point and its life."""
    own = of_name(look)
    return _page(look) if own is look else own.back("points", look.path["name"])


def change(look: Look) -> Response:
    """What a person does to one point: what can't be done is told on its page, where nothing that was typed is lost."""
    name, done = look.path["name"], look.form.get("do", "")
    act = _ACTS.get(done)
    if act is None:
        raise PlaybookError(f"Nothing is called {done!r} here; nothing was changed.")
    look = look if act is _demote else of_name(look)
    try:
        return act(look, name) or look.back("points", name)
    except (PointRuleError, PointNotFoundError) as error:
        look = of_name(look)
        return _page(look, problem=error, draft=look.text("text") if done == "edit" else None)


def of_name(look: Look) -> Look:
    """The same for the playbook that has a point of this name: one such as `upat-001` is the user's own."""
    project = look.project.with_point(look.path["name"])
    return look if project is look.project else replace(look, project=project)


def _page(look: Look, *, problem: PlaybookError | None = None, draft: str | None = None) -> Response:
    name, project = look.path["name"], look.project
    last = look.number("to", MAX_COUNTER)
    try:
        full = history.point_in_full(project, name, last=last, limit=PAGE_ROWS, most_citations=_CITATIONS)
    except PointNotFoundError as error:
        return look.page("no_point.html", title="No such point", status=404, error=str(error), name=name)
    point, retired = full.details.point, full.details.retired
    events = full.life.events[::-1] if full.life else ()
    oldest = events[-1].revision if events else 0
    return look.page(
        "point.html",
        title=name,
        status=409 if problem else 200,
        full=full,
        point=point,
        retired=retired,
        lifespan=full.lifespan,
        extra=json.loads(full.details.extra),
        events=events,
        older=oldest - 1 if oldest > full.lifespan.created_in else None,
        is_newest=last == MAX_COUNTER,
        event_words=EVENTS,
        sections=SECTION_SLUGS,
        others=list_projects(project.own.store) if project.is_users and not retired else [],
        problem=problem,
        draft=point.text if draft is None else draft,
        is_reworded=isinstance(problem, PointChangedError) and draft is not None,
    )


# What can be done to a point. Each tells what it did, and gives the page to show next, if that isn't the point's.


def _edit(look: Look, name: str) -> None:
    text, was = look.text("text"), look.exact("was") or ""  # who doesn't say what it was overwrites nothing
    section, was_in = look.form.get("section"), look.form.get("was_in")
    is_same = as_shown(was).splitlines() == text.splitlines()
    result = edit.edit(
        look.project,
        name,
        text=None if is_same else text,
        was=was,
        **({} if section == was_in else {"section": section, "was_in": was_in}),
    )
    look.say(f"edited {name}", result)
    look.say_all(edit.notes_on_length(result.changes))


def _vote(look: Look, name: str) -> None:
    tag = look.form["do"]
    look.say(f"voted {name} {tag}", edit.vote(look.project, name, tag, was=look.exact("was")))


def _pin(look: Look, name: str) -> None:
    look.say_all([f"{name}: shown first in every session", *edit.pin(look.project, name)])


def _unpin(look: Look, name: str) -> None:
    edit.unpin(look.project, name)
    look.say_all([f"{name}: shown in turn, as others"])


def _retire(look: Look, name: str) -> None:
    reason = look.text("reason").strip() or None
    look.say(f"retired {name}", edit.retire(look.project, name, reason=reason, was=look.exact("was")))


def _restore(look: Look, name: str) -> None:
    look.say(f"restored {name}", edit.restore(look.project, name))


def _promote(look: Look, name: str) -> Response | None:
    move = promotion.promote(look.project, name, keeps=bool(look.form.get("keep")))
    _tell_move(look, move, look.project.playbooks()[-1], look.project)
    return None


def _demote(look: Look, name: str) -> Response | None:
    project = look.project
    if project.is_users:
        raise PointRuleError("Choose the project that it goes to. Nothing was changed.")
    if project.is_team and not look.form.get("sure"):
        question = f"{name} would be in the team's playbook {project.key}, for all members. Give it to the team?"
        return look.ask(question, "Give it to the team", "points", name)
    move = promotion.demote(project, name, keeps=bool(look.form.get("keep")))
    _tell_move(look, move, project, project.playbooks()[-1])
    return look.back("points", move.copy)


def _tell_move(look: Look, move: promotion.Move, target: Project, source: Project) -> None:
    done: list[tuple[str, RevisionResult | None, Project]] = [
        (f"{move.copy} is the copy of {move.name}", move.copied, target),
        (f"retired {move.name}", move.retired, source),
    ]
    for what, result, project in done:
        if result is not None and result.changes:
            look.say(what, result, project=project)
    if not any(result is not None and result.changes for _, result, _ in done):
        look.say_all([f"nothing to do: {move.name} has its copy, {move.copy}", *move.notes])


_ACTS: dict[str, Callable[[Look, str], Response | None]] = {
    "edit": _edit,
    "helpful": _vote,
    "harmful": _vote,
    "neutral": _vote,
    "pin": _pin,
    "unpin": _unpin,
    "retire": _retire,
    "restore": _restore,
    "promote": _promote,
    "demote": _demote,
}


ROUTES: Routes = {("GET", "/points/{name:path}"): point, ("POST", "/points/{name:path}"): change}
