"""The points: the list with its search, one point with its life, and what a person does to it."""

from starlette.responses import Response

from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import PlaybookError
from playbook_db.services import edit, history, records, search
from playbook_db.web.look import PAGE_ROWS, Look, Routes


def home(look: Look) -> Response:
    """The first page is the points."""
    return look.back("points")


def listed(look: Look) -> Response:
    """The live points, or those that words find."""
    words, section = look.query.get("q", ""), look.query.get("section", "")
    with look.project.store.read(look.project.key) as book:
        live = list(book.live_points())
    if words.strip():
        (found,), _ = search.search(look.project, words)
        place = {point.name: number for number, (point, _) in enumerate(found.points)}
        live = sorted((point for point in live if point.name in place), key=lambda point: place[point.name])
    wanted = [point for point in live if section in ("", SECTION_SLUGS[point.section])]
    page = max(1, look.number("page"))
    first = (page - 1) * PAGE_ROWS
    return look.page(
        "points.html",
        title="Points",
        points=[records.point_record(point) for point in wanted[first : first + PAGE_ROWS]],
        words=words,
        section=section,
        sections=SECTION_SLUGS,
        count=len(wanted),
        page=page,
        pages=-(-len(wanted) // PAGE_ROWS),
    )


def point(look: Look) -> Response:
    """One point and its life."""
    name = look.path["name"]
    details = edit.find(look.project, name)
    life = history.life(look.project, name)
    return look.page("point.html", title=name, point=details.point, retired=details.retired, life=life)


def change(look: Look) -> Response:
    """What a person does to one point."""
    name, done = look.path["name"], look.form.get("do", "")
    if done == "edit":
        edit.edit(look.project, name, text=look.form.get("text", ""), was=look.form.get("was"))
    elif done in ("helpful", "harmful"):
        edit.vote(look.project, name, done)
    elif done == "retire":
        edit.retire(look.project, name, reason=look.form.get("reason") or None)
    elif done == "restore":
        edit.restore(look.project, name)
    else:
        raise PlaybookError(f"Nothing is called {done!r} here; nothing was changed.")
    return look.back("points", name)


ROUTES: Routes = {
    ("GET", "/"): home,
    ("GET", "/points"): listed,
    ("GET", "/points/{name}"): point,
    ("POST", "/points/{name}"): change,
}
