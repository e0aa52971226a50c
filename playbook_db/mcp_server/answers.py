"""Formatting the tools' answers as text. Points' texts are data, so they are neutralized and cut."""

from typing import TYPE_CHECKING

from playbook_db.domain import prompt_text, search_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.store.queries.list_queries import StoredMarks
    from playbook_db.store.queries.log_queries import Life

MAX_POINTS = 50  # of one answer
MAX_TEXT = 1_000  # characters of one text in a list
MAX_ANSWER = 24_000  # characters; clients warn of longer ones
MAX_QUESTION = 2_000
MAX_NAME = 80
EMPTY = "The playbook has no key points yet."
_CUT = "… (cut)"


def point_line(point: "PromptPoint", *, with_section: bool = True) -> str:
    """Return a point as a line with its name, votes and text, and with its section at the end."""
    text = point.text if len(point.text) <= MAX_TEXT else point.text[:MAX_TEXT] + _CUT
    line = prompt_text.render_point(point.name, point.helpful, point.harmful, text)
    return f"{line} ({point.section})" if with_section else line


def shortened(text: str) -> str:
    """Return *text* on one line, cut to MAX_TEXT."""
    return prompt_text.one_line(text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + _CUT)


def answer_of(lines: "Sequence[str]", notes: "Sequence[str]" = ()) -> str:
    """Join *lines* and *notes* into one answer. Lines beyond MAX_ANSWER characters are left out."""
    fitting: list[str] = []
    remaining = MAX_ANSWER
    for place, line in enumerate(lines):
        remaining -= len(line) + 1
        if remaining < 0:
            fitting.append(f"({len(lines) - place} more lines aren't shown)")
            break
        fitting.append(line)
    return "\n".join([*fitting, *(f"Note: {prompt_text.one_line(note)}" for note in notes)])


def hits_answer(question: str, hits: "Sequence[PromptPoint]", notes: "Sequence[str]" = ()) -> str:
    """Return the answer to *question*: a line for each hit, or a sentence that explains why there are none."""
    if hits:
        return answer_of([point_line(point) for point in hits], notes)
    if not search_words.terms(question):
        return answer_of(["These words are too common to search for; name a file, a tool or an error."], notes)
    return answer_of(["No key point matches; try other words, or the tool list."], notes)


def life_answer(point: "PromptPoint", retired_in: int | None, life: "Life", notes: "Sequence[str]" = ()) -> str:
    """Return a point and its history as text."""
    from playbook_db.domain.times import local
    from playbook_db.domain.trust.evidence import OUTSIDE

    lines = [point_line(point) + (f" (retired in revision {retired_in})" if retired_in else "")]
    lines += life.recurrence
    lines += [life.totals.in_words] if life.totals.in_words else []
    lines += [f"merged from {', '.join(map(prompt_text.one_line, life.merged))}"] if life.merged else []
    for event in life.events[-MAX_POINTS:]:
        by = f"session {event.session_id}" if event.session_id else event.actor
        what = f"{event.kind} into {event.successor}" if event.successor else event.kind
        detail = f": {shortened(event.text)}" if event.text else ""
        lines.append(f"r{event.revision}, {local(event.time)}, {prompt_text.one_line(by)}: {what}{detail}")
        known = [each for each in event.evidence if each.trust != OUTSIDE]  # no quotes of web pages
        lines += [f'    "{shortened(each.quote)}" ({each.trust})' for each in known]
    return answer_of(lines, notes)


def page_of(
    live: "Sequence[PromptPoint]", section: str | None, offset: int, limit: int
) -> "tuple[Sequence[PromptPoint], int]":
    """Return a page of at most *limit* points from *offset* on, and the number of points after the page."""
    matches = [point for point in live if section in (None, point.section)]
    page = matches[offset : offset + limit]
    return page, max(0, len(matches) - offset - len(page))


def page_answer(
    page: "Sequence[PromptPoint]",
    more: int,
    offset: int,
    marks: "Mapping[str, StoredMarks]",
    *,
    notes: "Sequence[str]" = (),
    is_empty: bool,
) -> str:
    """Return the points of *page* under their sections' names. If *more* points follow, the last line says so."""
    lines: list[str] = []
    for point in page:
        header = prompt_text.render_header(point.section)
        if header not in lines:
            lines.append(header)
        mark = marks[point.name].in_words
        lines.append(point_line(point, with_section=False) + (f" ({mark})" if mark else ""))
    if more:
        lines.append(f"({more} more: offset={offset + len(page)})")
    return answer_of(lines or [EMPTY if is_empty else "There are no more key points of that kind."], notes)
