"""Which points a prompt or a file brings to a new session, and why others stay out. The hooks' own code decides."""

import os
import re
from typing import NamedTuple

from playbook_db import settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import hook_runner, remind, showing, touched
from playbook_db.domain import search_words
from playbook_db.errors import ArgumentError, DatabaseError
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries

_WAIT_S = 2.0  # for a database that somebody holds
_AT_START = "shown at the session's start, whatever the prompt"
_MOST_SHARED = 5  # words that are listed
_Key = tuple[showing.Source, int]


class PointReason(NamedTuple):
    """A point that shares words with the `prompt` or the `file` (the moment), why it is or isn't shown then, and up to
    five of the words that it `shares`."""

    moment: str
    point: hook_queries.StoredPoint
    is_shown: bool
    reason: str
    shares: tuple[str, ...] = ()


def explain(url: str, folder: str, prompt: str, file: str | None = None) -> tuple[str, list[PointReason]]:
    """Return the text for the start of a session in *folder*, and the candidates of *prompt*, then those of *file*.
    Candidates that the start shows come last, then the rest of the start's points. Raises DatabaseError if the hooks
    can't read the database at *url*, and ArgumentError if there is no such *file* or playbook."""
    path_in_project = touched.in_project(os.path.join(folder, file), folder) if file else None
    if file and not (path_in_project and os.path.isfile(os.path.join(folder, path_in_project))):
        raise ArgumentError(f"There is no file {file} in {folder}. Name a file of the project.")
    path, sources = settings.sqlite_file(url), list[showing.Source]()
    try:
        if path is None or not os.path.exists(path):
            raise sqlite_open.UnusableError("There is no database file for the hooks. Run: playbook init")
        sources = remind.sources(sqlite_open.connect(path, wait_s=_WAIT_S), path, folder)
        if not sources:
            raise ArgumentError(f"{folder} has no playbook, or is ignored, so a session there is shown no key point.")
        text, chosen = showing.compose(sources)
        shown = {(source, point.id): _AT_START for source, points in chosen for point in points}
        candidates = _candidates(remind.PROMPT, {"prompt": prompt}, folder, sources, shown)
        if file:
            call = {"file_path": os.path.join(folder, file)}
            candidates += _candidates(remind.FILE, {"tool_input": call}, folder, sources, shown)
        rest = [PointReason("start", point, True, _AT_START) for _, points in chosen for point in points]
        at_start = {each.point.name: each for each in [*rest, *candidates[::-1]] if each.moment == "start"}
        return text, [*(each for each in candidates if each.moment != "start"), *at_start.values()]
    except (sqlite_open.UnusableError, sqlite_open.driver().Error) as error:
        raise DatabaseError(str(error)) from None
    finally:
        for each in sources:
            each.book.connection.close()


def reasons(url: str, folder: str, name: str, prompt: str, file: str) -> list[str]:
    """Return sentences that say whether and why *prompt* or *file* brings the point *name* to a new session."""
    _, candidates = explain(url, folder, prompt, file)
    sentences = [f"{each.moment}: {each.reason}" for each in candidates if each.point.name == name]
    return sentences or ["it shares no word that counts with this prompt or file"]


def _candidates(
    name: str, fields: dict[str, object], folder: str, sources: list[showing.Source], shown: dict[_Key, str]
) -> list[PointReason]:
    """Return the candidates of the event *name* with *fields*. Add those that are shown with it to *shown*."""
    event, moment = hook_runner.Event({"hook_event_name": name, **fields}), "file" if name == remind.FILE else "prompt"
    candidates: dict[_Key, tuple[hook_queries.StoredPoint, str]] = {}
    text, terms = question = remind.question_of(event, folder)
    switch = registration.MOMENTS[name]
    is_on = registration.is_on(switch, folder)
    known = {each: ({number for source, number in shown if source is each}, 0) for each in sources}
    matches = remind.matches(event, folder, question, sources) if terms and is_on else []
    scores = {(source, point.id): score for score, source, point in reversed(matches)}
    if name == remind.FILE and terms:
        text = " ".join([text, *touched.defined_in(os.path.join(folder, text))])
    for source, point, reason in remind.choose(name, matches, known)[1]:
        if not reason:
            score = scores[source, point.id]
            how = f": score {score:.2f}" if score else ": a name in code"
            shown.setdefault((source, point.id), f"shown with the {moment}{how if name == remind.PROMPT else ''}")
        candidates.setdefault((source, point.id), (point, reason))
    for source, book in [(each, each.book) for each in sources if terms]:
        resting = {number for (number,) in hook_queries.rows(book, hook_queries.RESTING)}
        for point, score in hook_queries.search(book, text):
            needed = search_words.stretched(search_words.least_fitting(terms), point.text)
            why = "names neither it nor its code" if name == remind.FILE else f"score {score:.2f}, needs {needed:.2f}"
            reason = "rests" if point.id in resting else f"doesn't fit enough: {why}"
            candidates.setdefault((source, point.id), (point, reason if is_on else f"{switch} is off"))
    words = re.compile(search_words.marked(text), re.IGNORECASE)
    listed = [
        PointReason(
            "start" if shown.get(key) == _AT_START else moment,
            point,
            key in shown,
            shown.get(key, why),
            tuple(dict.fromkeys(words.findall(point.text)))[:_MOST_SHARED],
        )
        for key, (point, why) in candidates.items()
    ]
    return sorted(listed, key=lambda each: not each.is_shown)
