"""The history: what was done and by whom, what differs between two states, the playbook as it was, and the way back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from starlette.responses import Response

from playbook_db.domain.merging.undo import SOURCES, RevisionRange
from playbook_db.domain.times import EXAMPLES
from playbook_db.errors import (
    MomentError,
    PlaybookChangedError,
    PlaybookError,
    PointNotFoundError,
    RevisionNotFoundError,
    SessionNotFoundError,
    UndoCollisionError,
)
from playbook_db.services.playbook import undo
from playbook_db.services.reading import history
from playbook_db.web.look import PAGE_ROWS, Look, Routes, Said

if TYPE_CHECKING:
    from playbook_db.domain.merging.diff import Comparison
    from playbook_db.domain.merging.undo import Side
    from playbook_db.services.playbook.undo import UndoResult
    from playbook_db.services.reading.history import SourcedPlaybook

MOST_CHANGES = 10  # of one revision in the list
_FILTERS = ("name", "by", "source", "session", "since", "until")
_NOT_FOUND, _CONFLICT = 404, 409
_NONE_SUCH = (MomentError, PointNotFoundError, RevisionNotFoundError, SessionNotFoundError)  # what a form asked for


def listed(look: Look) -> Response:
    """The revisions, newest first."""
    look.require_history()
    given = {name: look.query.get(name, "").strip() for name in _FILTERS}
    asked = {name: value for name, value in given.items() if value and (name != "source" or value in SOURCES)}
    problem = ""
    try:
        query = history.LogQuery(**asked, limit=PAGE_ROWS + 1)
        found = list(history.log(look.project, query, most_changes=MOST_CHANGES))
    except _NONE_SUCH as error:
        found, problem = [], error.text
    revisions, last = found[:PAGE_ROWS], _last(look)
    return look.page(
        "history.html",
        title="History",
        status=_NOT_FOUND if problem else 200,
        problem=problem,
        revisions=revisions,
        most=MOST_CHANGES,
        given=given,
        sources=SOURCES,
        last=last,
        older=revisions[-1].number - 1 if len(found) > PAGE_ROWS else 0,
        newer=_newer(asked, revisions[0].number if revisions else last, last),
    )


def revision(look: Look) -> Response:
    """One revision: all that is kept of it, by pages."""
    look.require_history()
    page = max(1, look.number("page"))
    try:
        before = (page - 1) * PAGE_ROWS
        details = history.revision_page(look.project, look.path["revision"], before=before, most=PAGE_ROWS)
    except RevisionNotFoundError as error:
        return _no_such(look, error)
    return look.page(
        "revision.html",
        title=f"Revision {details.revision.number}",
        details=details,
        revision=details.revision,
        last=_last(look),
        page=page,
        pages=-(-details.items // PAGE_ROWS),
    )


def differs(look: Look) -> Response:
    """What differs between two states, by pages."""
    look.require_history()
    given = {name: look.query.get(name, "").strip() for name in ("from", "to")}
    values: dict[str, Any] = {"given": given, "examples": EXAMPLES, "problem": "", "sides": None}
    if not given["from"]:
        return look.page("diff.html", title="Differences", **values)
    try:
        before, after = (history.at(look.project, when) for when in (given["from"], given["to"] or "now"))
    except _NONE_SUCH as error:
        return look.page("diff.html", title="Differences", status=_NOT_FOUND, **values | {"problem": error.text})
    values["sides"] = [before, after]
    return look.page("diff.html", title="Differences", **values | _differences(look, before, after))


def as_it_was(look: Look) -> Response:
    """The playbook at a revision or a time, by pages."""
    look.require_history()
    when = look.path.get("revision", "") or look.query.get("at", "").strip() or "now"
    page = max(1, look.number("page"))
    values: dict[str, Any] = {"when": when, "examples": EXAMPLES, "problem": "", "then": None}
    try:
        then = history.page_at(look.project, when, before=(page - 1) * PAGE_ROWS, most=PAGE_ROWS)
    except _NONE_SUCH as error:
        return look.page("at.html", title="As it was", status=_NOT_FOUND, **values | {"problem": error.text})
    values |= {"then": then, "last": _last(look), "page": page, "pages": -(-then.live // PAGE_ROWS)}
    return look.page("at.html", title=f"The playbook at revision {then.revision}", **values)


def change(look: Look) -> Response:
    """Undo one revision, or all that the session taught which it came from."""
    name = look.path["revision"]
    try:
        found = history.revision_page(look.project, name, before=0, most=0).revision
    except RevisionNotFoundError as error:
        return _no_such(look, error)
    session = found.session_id if look.form.get("do") == "undo-session" else None
    if session is None and look.form.get("do") != "undo":
        raise PlaybookError(f"Nothing is called {look.form.get('do', '')!r} here; nothing was changed.")
    return _undo(look, found.number, session)


def asks(look: Look) -> Response:
    """What would change if all became as it was."""
    look.require_history()
    when = look.query.get("at", "").strip()
    try:
        now, then = history.at(look.project, "now"), history.at(look.project, when)
        rehearsed = undo.go_back(look.project, f"{then.revision}", dry_run=True, was=now.revision)
    except _NONE_SUCH as error:
        return _no_such(look, error)
    values: dict[str, Any] = {"then": then, "now": now, "notes": rehearsed.result.notes}
    title = f"Restore the playbook of revision {then.revision}?"
    return look.page("restore.html", title=title, **values, **_differences(look, now, then))


def restore(look: Look) -> Response:
    """Let the playbook become what it was."""
    when = look.form.get("at", "")
    try:
        return _done(look, [undo.go_back(look.project, when, was=_number(look.form.get("was", "")))])
    except PlaybookChangedError as error:
        return look.back("history", "restore", said=f"{error.text} Look again at what would change.", at=when)
    except _NONE_SUCH as error:
        return _no_such(look, error)


def _undo(look: Look, number: int, session: str | None) -> Response:
    chosen, was = look.form.get("prefer", ""), _number(look.form.get("was", ""))
    prefer = cast("Side", chosen) if chosen in ("ours", "theirs") else None
    last = _last(look)
    seen = last if prefer is None or was is None else was  # who chose has seen what collides
    try:
        if session is None:
            return _done(look, [undo.undo(look.project, RevisionRange(number, number), prefer=prefer, was=seen)])
        done = undo.undo_session(look.project, session, prefer=prefer, was=seen)
        return _done(look, done, nothing=f"Nothing of what session {session} taught is in force.")
    except UndoCollisionError as error:
        values = {"number": number, "session": session, "was": seen, "collisions": error.collisions}
        return look.page("collision.html", title=error.text.partition(":")[0], status=_CONFLICT, **values)
    except PlaybookChangedError as error:
        return look.back("history", f"{number}", said=f"{error.text} Nothing was taken back; look again.")


def _done(look: Look, several: "list[UndoResult]", nothing: str = "Nothing changed.") -> Response:
    """On to the revision that was made, or back to the one that had nothing to be undone."""
    for each in several:
        if each.result.revision is not None:
            look.say(each.message or "Done", each.result)
        else:
            look.later += map(Said, each.result.notes or [nothing])
    if not several:
        look.later.append(Said(nothing))
    made = [each.result.revision for each in several if each.result.revision is not None]
    return look.back("history", *([f"{made[-1]}"] if made else look.path.values()))


def _differences(look: Look, before: "SourcedPlaybook", after: "SourcedPlaybook") -> dict[str, Any]:
    """A page of what differs, each with what kind of difference it is."""
    entries = list(_entries(history.difference(before, after)))
    page = max(1, look.number("page"))
    shown = entries[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    return {"entries": shown, "count": len(entries), "page": page, "pages": -(-len(entries) // PAGE_ROWS)}


def _entries(comparison: "Comparison") -> Iterator[tuple[str, Any]]:
    """In the order in which the command prints them."""
    for kind in ("added", "retired", "reworded", "moved", "voted", "keys"):
        for each in getattr(comparison, kind):
            yield kind, each


def _no_such(look: Look, error: PlaybookError) -> Response:
    return look.page("no_revision.html", title="Not found", status=_NOT_FOUND, problem=error.text)


def _last(look: Look) -> int:
    with look.project.store.read(look.project.key) as book:
        return book.revision


def _newer(asked: dict[str, str], first: int, last: int) -> int | None:
    """The newest revision of the page before this one, where it can be told; 0 for the newest of all."""
    if first >= last or "until" not in asked:
        return None
    return first + PAGE_ROWS if len(asked) == 1 and first + PAGE_ROWS < last else 0


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


ROUTES: Routes = {
    ("GET", "/history"): listed,
    ("GET", "/history/diff"): differs,
    ("GET", "/history/at"): as_it_was,
    ("GET", "/history/at/{revision}"): as_it_was,
    ("GET", "/history/restore"): asks,
    ("POST", "/history/restore"): restore,
    ("GET", "/history/{revision}"): revision,
    ("POST", "/history/{revision}"): change,
}
