"""The pages of the history: revisions, differences between two states, the playbook at an earlier time, and undo."""

from typing import Any, cast

from starlette.responses import Response

from playbook_db.domain.merging.undo_rules import RevisionRange, Side
from playbook_db.domain.times import EXAMPLES
from playbook_db.errors import ChangedError, PlaybookError, Remedy, UndoCollisionError
from playbook_db.services.playbook import undo
from playbook_db.services.reading import history
from playbook_db.store.queries.list_queries import SOURCES
from playbook_db.web.page_request import PAGE_ROWS, PageRequest, Routes, as_number

_FILTERS = ("name", "by", "source", "session", "since", "until")
_CONFLICT = 409
_MOST = 8  # changes that are read of each revision; the page shows two of them


def list_revisions(request: PageRequest) -> Response:
    """Show the revisions, newest first."""
    history.require_history(request.project)
    fields = {name: request.query.get(name, "").strip() for name in _FILTERS}
    filters = {name: value for name, value in fields.items() if value and (name != "source" or value in SOURCES)}
    rows = list(history.log(request.project, history.LogQuery(**filters, limit=PAGE_ROWS + 1), most_changes=_MOST))
    revisions = rows[:PAGE_ROWS]
    return request.page(
        "history.html",
        title="History",
        revisions=revisions,
        fields=fields,
        sources=SOURCES,
        last=request.newest_revision,
        older=revisions[-1].number - 1 if len(rows) > PAGE_ROWS else 0,
    )


def revision(request: PageRequest) -> Response:
    """Show one revision with its changes, votes and reflections, page by page."""
    history.require_history(request.project)
    before = (request.page_number - 1) * PAGE_ROWS
    details = history.revision_page(request.project, request.path["revision"], before=before, most=PAGE_ROWS)
    return request.page(
        "revision.html",
        title=f"Revision {details.revision.number}",
        details=details,
        revision=details.revision,
        last=request.newest_revision,
    )


def compare(request: PageRequest) -> Response:
    """Show the differences between two states, page by page."""
    history.require_history(request.project)
    states = {name: request.query.get(name, "").strip() for name in ("from", "to")}
    values: dict[str, Any] = {"states": states, "examples": EXAMPLES, "sides": None}
    if states["from"]:
        before, after = (history.at(request.project, when) for when in (states["from"], states["to"] or "now"))
        comparison = history.difference(before, after)
        kinds = ("added", "retired", "reworded", "moved", "voted", "keys")  # in the order of `playbook diff`
        entries = [(kind, each) for kind in kinds for each in getattr(comparison, kind)]
        values |= {"sides": [before, after], "entries": request.rows_of(entries), "count": len(entries)}
    return request.page("diff.html", title="Differences", **values)


def playbook_at(request: PageRequest) -> Response:
    """Show the playbook at a revision or a time, page by page."""
    history.require_history(request.project)
    when = request.path.get("revision", "") or request.query.get("at", "").strip() or "now"
    then = history.at(request.project, when)
    points = then.playbook.points
    of = ("--user",) if request.project.is_users else ("--project", request.project.own.key)
    return request.page(
        "at.html",
        title=f"The playbook at revision {then.revision}",
        when=when,
        examples=EXAMPLES,
        then=then,
        command=Remedy("{}", (*of, "restore", "--at", f"{then.revision}")),
        last=request.newest_revision,
        points=request.rows_of(points),
        live=len(points),
    )


def change(request: PageRequest) -> Response:
    """Undo one revision, or all revisions of its session."""
    target = history.revision_page(request.project, request.path["revision"], before=0, most=0).revision
    session = target.session_id if request.form.get("do") == "undo-session" else None
    if session is None and request.form.get("do") != "undo":
        raise PlaybookError(f"There is no action {request.form.get('do', '')!r}. Nothing was changed.")
    return _undo(request, target.number, session)


def _undo(request: PageRequest, number: int, session: str | None) -> Response:
    chosen, was = request.form.get("prefer", ""), as_number(request.form.get("was", ""))
    prefer = cast(Side, chosen) if chosen in ("ours", "theirs") else None
    last = request.newest_revision
    base = last if prefer is None or was is None else was  # if the person chose a side, they saw the collisions
    try:
        if session is None:
            return _done(request, [undo.undo(request.project, RevisionRange(number, number), prefer=prefer, was=base)])
        results = undo.undo_session(request.project, session, prefer=prefer, was=base)
        return _done(request, results, nothing=f"Nothing that was learned from session {session} is still in force.")
    except UndoCollisionError as error:
        values = {"number": number, "session": session, "was": base, "collisions": error.collisions}
        return request.page("collision.html", title=error.text.partition(":")[0], status=_CONFLICT, **values)
    except ChangedError as error:
        return request.back("history", f"{number}", notice=f"{error.text} Nothing was undone; look again.")


def _done(request: PageRequest, results: list[undo.UndoResult], nothing: str = "Nothing changed.") -> Response:
    for each in results:
        if each.result.revision is not None:
            request.say(each.message or "Done", each.result)
        else:
            request.say_all(each.result.notes or [nothing])
    if not results:
        request.say_all([nothing])
    revisions = [each.result.revision for each in results if each.result.revision is not None]
    return request.back("history", *([f"{revisions[-1]}"] if revisions else request.path.values()))


ROUTES: Routes = {
    ("GET", "/history"): list_revisions,
    ("GET", "/history/diff"): compare,
    ("GET", "/history/at"): playbook_at,
    ("GET", "/history/at/{revision}"): playbook_at,
    ("GET", "/history/{revision}"): revision,
    ("POST", "/history/{revision}"): change,
}
