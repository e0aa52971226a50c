"""Which points a prompt or a file brings to a new session, and why others stay out. The hooks' own code decides."""

import os
from typing import NamedTuple

from playbook_db import settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import hook_runner, remind, showing, touched
from playbook_db.domain import search_words
from playbook_db.errors import DatabaseError
from playbook_db.store import at_hand, hook_sql

_WAIT_S = 2.0  # for a database that somebody holds
_Key = tuple[showing.Source, int]


class PointReason(NamedTuple):
    """A point that shares a word with the `prompt` or the `file` (the moment), and why it is or isn't shown then."""

    moment: str
    point: hook_sql.StoredPoint
    is_shown: bool
    reason: str


def explain(url: str, folder: str, prompt: str, file: str | None = None) -> tuple[str, list[PointReason]]:
    """Return the text for the start of a session in *folder*, and the candidates of *prompt*, then those of *file*.
    Raises DatabaseError if the hooks can't read the database at *url*."""
    path, sources = settings.sqlite_file(url), list[showing.Source]()
    try:
        if path is None or not os.path.exists(path):
            raise at_hand.UnusableError("The hooks only read a database file, and there is none. Run: playbook init")
        sources = remind.sources(at_hand.connect(path, wait_s=_WAIT_S), path, folder)
        text, chosen = showing.compose(sources)
        shown = {(source, point.id): "shown at the session's start" for source, points in chosen for point in points}
        candidates = _candidates(remind.PROMPT, {"prompt": prompt}, folder, sources, shown)
        if file:
            call = {"file_path": os.path.join(folder, file)}
            candidates += _candidates(remind.FILE, {"tool_input": call}, folder, sources, shown)
        return text, candidates
    except (at_hand.UnusableError, at_hand.driver().Error) as error:
        raise DatabaseError(str(error)) from None
    finally:
        for each in sources:
            each.book.connection.close()


def reasons(url: str, folder: str, name: str, prompt: str, file: str) -> list[str]:
    """Return sentences that say whether and why *prompt* or *file* brings the point *name* to a new session."""
    _, candidates = explain(url, folder, prompt, file)
    sentences = [f"with the {each.moment}: {each.reason}" for each in candidates if each.point.name == name]
    return sentences or ["it shares no word that counts with this prompt or file"]


def _candidates(
    name: str, fields: dict[str, object], folder: str, sources: list[showing.Source], shown: dict[_Key, str]
) -> list[PointReason]:
    """Return the candidates of the event *name* with *fields*. Add those that are shown with it to *shown*."""
    event, moment = hook_runner.Event({"hook_event_name": name, **fields}), "file" if name == remind.FILE else "prompt"
    candidates: dict[_Key, tuple[hook_sql.StoredPoint, str]] = {}
    text, terms = question = remind.question_of(event, folder)
    switch = registration.MOMENTS[name]
    is_on = registration.is_on(switch, folder)
    known = {each: ({number for source, number in shown if source is each}, 0) for each in sources}
    matches = remind.matches(event, folder, question, sources) if terms and is_on else []
    if name == remind.FILE and terms:
        text = " ".join([text, *touched.defined_in(os.path.join(folder, text))])
    for source, point, reason in remind.choose(name, matches, known)[1]:
        if not reason:
            shown.setdefault((source, point.id), f"shown with the {moment}")
        candidates.setdefault((source, point.id), (point, reason))
    for source, book in [(each, each.book) for each in sources if terms]:
        resting = {number for (number,) in book.execute(hook_sql.RESTING, {"playbook_id": book.project.id})}
        for point, score in hook_sql.search(book.execute, book.project.id, book.project.live_points, text):
            needed = search_words.stretched(search_words.least_fitting(terms), point.text)
            why = "names neither it nor its code" if name == remind.FILE else f"{score:.2f} of {needed:.2f}"
            reason = "rests" if point.id in resting else f"doesn't fit enough: {why}"
            candidates.setdefault((source, point.id), (point, reason if is_on else f"{switch} is off"))
    listed = [PointReason(moment, point, key in shown, shown.get(key, why)) for key, (point, why) in candidates.items()]
    return sorted(listed, key=lambda each: not each.is_shown)
