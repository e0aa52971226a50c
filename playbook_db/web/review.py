"""What waits for a person: the proposals, one after the other, each with what it rests on, and what is decided."""

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from playbook_db.errors import PlaybookError
from playbook_db.services.learning import diagnostics
from playbook_db.services.playbook import review
from playbook_db.web.look import PAGE_ROWS, Look, Routes, Said

if TYPE_CHECKING:
    from playbook_db.services.playbook.review import ReviewItem

_CONFLICT = 409
_WAS = "was:"  # before a point's name: the field with the text that the person has seen


def waiting(look: Look) -> Response:
    """The proposals that wait, one of them to be decided now."""
    look.require_history()
    review.require_person()
    items = review.all_waiting(look.project)
    chosen = look.query.get("proposal", "")
    item = next((each for each in items if each.name == chosen), None)
    if chosen and item is None:
        look.said.append(Said(_what_became_of(look, chosen)))
    return _page(look, items, item or next(iter(items), None))


def decide(look: Look) -> Response:
    """Carry out what the person says to one proposal, and go on to the next."""
    review.require_person()
    name, done = look.form.get("proposal", ""), look.form.get("do", "")
    if done not in ("accept", "reject", "edit"):
        raise PlaybookError(f"Nothing is called {done!r} here; nothing was decided.")
    items = review.all_waiting(look.project)
    place = next((place for place, each in enumerate(items) if each.name == name), None)
    if place is None:
        return look.back("review", said=_what_became_of(look, name))
    item = items[place]
    text = look.text("text").strip() if done == "edit" else None
    if text == "":
        return _page(look, items, item, problem="A point needs a text; to have none, reject the proposal.", text=text)
    was = {key.removeprefix(_WAS): look.exact(key) or "" for key in look.form if key.startswith(_WAS)}
    decision = review.Decision(item.proposal.id, done != "reject", text, item.is_users, was if done != "reject" else {})
    (result,) = review.decide_all(look.project, [decision])
    diagnostics.pruning(look.project.folder, result.pruned)
    if reason := result.refused.get(item.proposal.id):
        items = review.all_waiting(look.project)
        still = next((each for each in items if each.name == name), None)
        if still is None:  # somebody was quicker, just now
            return look.back("review", said=_what_became_of(look, name))
        return _page(look, items, still, problem=f"{name} still waits: {reason}", text=text, was=was)
    _tell(look, item, result)
    return look.back("review", proposal=_next(items, item))


def _page(
    look: Look, items: "list[ReviewItem]", item: "ReviewItem | None", *, problem: str = "", **values: Any
) -> Response:
    """*item* in full, and a page of the others; *was* are the texts of its points that the person had seen."""
    page = max(1, look.number("page"))
    now = {point.name: point.text for point in item.points} if item else {}
    was = values.get("was", {})
    has_own = any(each.is_users for each in items)
    return look.page(
        "review.html",
        title="Review",
        status=_CONFLICT if problem else 200,
        problem=problem,
        item=item,
        place=items.index(item) + 1 if item in items else 0,
        following=_next(items, item) if item else None,
        items=items[(page - 1) * PAGE_ROWS : page * PAGE_ROWS],
        count=len(items),
        edits=bool(look.query.get("edit")) or values.get("text") is not None,
        text=values.get("text"),
        changed=[(name, was[name], text) for name, text in now.items() if was.get(name, text) != text],
        own=look.project.playbooks()[-1].key if has_own else "",
        page=page,
        pages=-(-len(items) // PAGE_ROWS),
    )


def _next(items: "list[ReviewItem]", item: "ReviewItem | None") -> str | None:
    """The proposal that comes after *item*, behind the last one the first; None where there is no other."""
    names = [each.name for each in items]
    place = names.index(item.name) if item and item.name in names else -1
    return next(iter((*names[place + 1 :], *names[: max(place, 0)])), None)


def _tell(look: Look, item: "ReviewItem", result: review.ReviewResult) -> None:
    number = item.proposal.id
    if reason := result.needless.get(number):
        look.later.append(Said(f"{item.name} accepted, but there was nothing to do: {reason}"))
    elif number in result.rejected:
        look.later.append(Said(f"{item.name} rejected"))
    else:
        pruned = f"; {', '.join(point.name for point in result.pruned)} left by it" if result.pruned else ""
        own = look.project.playbooks()[-1] if item.is_users else None
        look.say(f"{item.name} accepted{pruned}", result.revision, project=own)


def _what_became_of(look: Look, name: str) -> str:
    """Why the proposal *name* doesn't wait."""
    proposal = review.decided(look.project, name)
    if proposal is None:
        return f"No proposal {name!r} waits. Nothing was decided."
    made = f", in revision {proposal.revision}" if proposal.revision else ""
    return f"{name} doesn't wait any more: it was {proposal.state} by {proposal.decided_by}{made}. Nothing was changed."


ROUTES: Routes = {("GET", "/review"): waiting, ("POST", "/review"): decide}
