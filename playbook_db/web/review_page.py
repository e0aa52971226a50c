"""The page of proposals. It shows a proposal with its evidence, and lets the user decide."""

from typing import Any

from starlette.responses import Response

from playbook_db import settings
from playbook_db.domain.proposals import ReviewItem
from playbook_db.errors import PlaybookError
from playbook_db.services import project as project_service
from playbook_db.services.learning import diagnostics
from playbook_db.services.playbook import review
from playbook_db.services.reading import history
from playbook_db.web.page_request import Notice, PageRequest, Routes

_CONFLICT = 409
_WAS = "was:"  # before a point's name: a field with the text that the person saw
_NOT_WAITING = "No proposal {!r} waits any more: somebody has decided it. Nothing was changed."


def waiting(request: PageRequest) -> Response:
    """Show one waiting proposal in full, and a list of all of them."""
    history.require_history(request.project)
    settings.require_person()
    items = review.all_waiting(request.project)
    chosen = request.query.get("proposal", "")
    item = next((each for each in items if each.name == chosen), None)
    if chosen and item is None:
        request.notices.append(Notice(_NOT_WAITING.format(chosen)))
    return _page(request, items, item or next(iter(items), None))


def decide(request: PageRequest) -> Response:
    """Accept, edit or reject a proposal, and redirect to the next one."""
    settings.require_person()
    name, action = request.form.get("proposal", ""), request.form.get("do", "")
    if action not in ("accept", "reject", "edit"):
        raise PlaybookError(f"There is no action {action!r}. Nothing was changed.")
    items = review.all_waiting(request.project)
    place = next((place for place, each in enumerate(items) if each.name == name), None)
    if place is None:
        return request.back("review", notice=_NOT_WAITING.format(name))
    item = items[place]
    text = request.text("text").strip() if action == "edit" else None
    if text == "":
        return _page(request, items, item, problem="A point needs a text; to have none, reject the proposal.", text="")
    was = {key.removeprefix(_WAS): request.exact(key) or "" for key in request.form if key.startswith(_WAS)}
    accepts = action != "reject"
    decision = review.Decision(item.proposal.id, accepts, text, item.is_users, was if accepts else {})
    (result,) = review.decide_all(request.project, [decision])
    diagnostics.pruning(request.project.folder, result.pruned)
    if reason := result.refused.get(item.proposal.id):
        items = review.all_waiting(request.project)
        still = next((each for each in items if each.name == name), None)
        if still is None:  # somebody else has just decided it
            return request.back("review", notice=_NOT_WAITING.format(name))
        return _page(request, items, still, problem=f"{name} still waits: {reason}", text=text, was=was)
    _say_result(request, item, result)
    return request.back("review", proposal=_next(items, item))


def _page(
    request: PageRequest, items: list[ReviewItem], item: ReviewItem | None, *, problem: str = "", **values: Any
) -> Response:
    now = {point.name: point.text for point in item.points} if item else {}
    was = values.get("was", {})
    has_own = any(each.is_users for each in items)
    return request.page(
        "review.html",
        title="Review",
        status=_CONFLICT if problem else 200,
        problem=problem,
        item=item,
        place=items.index(item) + 1 if item in items else 0,
        following=_next(items, item) if item else None,
        items=request.rows_of(items),
        count=len(items),
        edits=bool(request.query.get("edit")) or values.get("text") is not None,
        text=values.get("text"),
        changed=[(name, was[name], text) for name, text in now.items() if was.get(name, text) != text],
        elsewhere=project_service.waiting_elsewhere(request.project.own),
        own=request.project.playbooks()[-1].key if has_own else "",
    )


def _next(items: list[ReviewItem], item: ReviewItem | None) -> str | None:
    """Return the name of the proposal after *item*. The first follows the last. Return None if there is no other."""
    names = [each.name for each in items]
    place = names.index(item.name) if item and item.name in names else -1
    return next(iter((*names[place + 1 :], *names[: max(place, 0)])), None)


def _say_result(request: PageRequest, item: ReviewItem, result: review.ReviewResult) -> None:
    number = item.proposal.id
    if reason := result.needless.get(number):
        request.say_all([f"{item.name} accepted, but there was nothing to do: {reason}"])
    elif number in result.rejected:
        request.say_all([f"{item.name} rejected"])
    else:
        pruned = f"; this retired {', '.join(point.name for point in result.pruned)}" if result.pruned else ""
        own = request.project.playbooks()[-1] if item.is_users else None
        request.say(f"{item.name} accepted{pruned}", result.revision, project=own)


ROUTES: Routes = {("GET", "/review"): waiting, ("POST", "/review"): decide}
