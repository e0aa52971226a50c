"""Formatting the tools' answers as text. Points' texts are data, so they are neutralized and cut."""

from typing import TYPE_CHECKING

from playbook_db import settings
from playbook_db.domain import prompt_text, search_words
from playbook_db.domain.prompt_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.services.playbook.suggestions import SuggestionResult
    from playbook_db.store.playbook.repository import RevisionResult
    from playbook_db.store.queries.list_queries import PointRecord, StoredMarks
    from playbook_db.store.queries.log_queries import Life
    from playbook_db.store.queries.revision_log import LoggedRevision

MAX_POINTS = 50  # of one answer
MAX_TEXT = 1_000  # characters of one text in a list
MAX_ANSWER = 24_000  # characters; clients warn of longer ones
EMPTY = "The playbook has no key points yet."


def point_line(point: "PromptPoint", end: str | None = None) -> str:
    """Return a point as a line with its name, votes and text, and with *end*, or else its section."""
    line = prompt_text.render_point(point.name, point.helpful, point.harmful, _cut(point.text))
    return line + (f" ({point.section})" if end is None else end)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… (cut)"


def answer_of(lines: "Sequence[str]") -> str:
    """Join *lines* into one answer. Lines beyond MAX_ANSWER characters are left out."""
    remaining = MAX_ANSWER
    for place, line in enumerate(lines):
        remaining -= len(line) + 1
        if remaining < 0:
            return "\n".join([*lines[:place], f"({len(lines) - place} more lines aren't shown)"])
    return "\n".join(lines)


def hits_answer(question: str, hits: "Sequence[PromptPoint]") -> str:
    """Return the answer to *question*: a line for each hit, or a sentence that explains why there are none."""
    if not hits and not search_words.terms(question):
        return "These words are too common to search for; name a file, a tool or an error."
    return answer_of([*map(point_line, hits)] or ["No key point matches; try other words, or the tool list."])


def life_answer(record: "PointRecord", life: "Life") -> str:
    """Return a point and its history as text."""
    from playbook_db.domain.times import local
    from playbook_db.domain.trust.evidence import OUTSIDE

    retired = f" (retired in revision {record.retired.revision})" if record.retired else ""
    lines = [point_line(record.point) + retired, *life.recurrence]
    lines += [life.totals.in_words] if life.totals.in_words else []
    lines += [f"merged from {', '.join(map(one_line, life.merged))}"] if life.merged else []
    for event in life.events[-MAX_POINTS:]:
        by = f"session {event.session_id}" if event.session_id else event.actor
        what = f"{event.kind} into {event.successor}" if event.successor else event.kind
        detail = f": {one_line(_cut(event.text))}" if event.text else ""
        lines.append(f"r{event.revision}, {local(event.time)}, {one_line(by)}: {what}{detail}")
        known = [each for each in event.evidence if each.trust != OUTSIDE]  # no quotes of web pages
        lines += [f'    "{one_line(_cut(each.quote))}" ({each.trust})' for each in known]
    return answer_of(lines)


def log_answer(revisions: "Iterable[LoggedRevision]") -> str:
    """Return *revisions* and their changes as text."""
    from playbook_db.domain.times import local

    lines: list[str] = []
    for revision in revisions:
        by = f"session {revision.session_id}" if revision.session_id else revision.actor
        undone = f" (undone in revision {revision.undone_in})" if revision.undone_in else ""
        head = f"revision {revision.number}, {local(revision.time)}, {revision.source}, {one_line(by)}"
        lines.append(f"{head}: {one_line(_cut(revision.message or ''))}{undone}")
        lines += [f"    {change.kind} {one_line(change.point.name)}" for change in revision.changes]
        more = sum(revision.counts.values()) - len(revision.changes)
        lines += [f"    and {more} more"] * (more > 0)
    return answer_of(lines or ["This playbook has no revisions yet."])


def outcome_answer(result: "SuggestionResult", what: str) -> str:
    """Describe the *result* of a proposal or a vote; *what* was done if it counts at once."""
    if done := result.revision:
        return changed_answer(f"{what}, in revision {done.revision}; the tool undo undoes it", done)
    again = f", now by {result.sessions} sessions" if result.sessions > 1 else ""
    return f"proposed as {result.name}{again}; nothing has changed yet. The user decides: {settings.review_command()}"


def changed_answer(what: str, result: "RevisionResult") -> str:
    """Return *what* was done, the points that it changed, and notes."""
    notes = (f"Note: {one_line(note)}" for note in result.notes)
    return answer_of([what, *(point_line(each.point) for each in result.changes), *notes])


def page_answer(page: "Sequence[PromptPoint]", marks: "Mapping[str, StoredMarks]", more: int, offset: int) -> str:
    """Return the points of *page* under their sections' names. If *more* points follow, the last line says so."""
    lines: list[str] = []
    for point in page:
        header = prompt_text.render_header(point.section)
        lines += [header] if header not in lines else []
        mark = marks[point.name].in_words
        lines.append(point_line(point, f" ({mark})" if mark else ""))
    lines += [f"({more} more: offset={offset + len(page)})"] if more > 0 else []
    return answer_of(lines or ["There are no more key points of that kind."])
