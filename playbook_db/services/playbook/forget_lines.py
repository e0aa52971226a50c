"""The lines that describe an erasure by `forget`, for the command and the page."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from playbook_db.projects import is_users

if TYPE_CHECKING:
    from playbook_db.services.playbook.forget import Erasure, Forgotten
    from playbook_db.store.playbook.erased_rows import Field

_SHOWN_CHARS = 160  # of an erased text
_SHOWN_TEXTS = 10  # earlier wordings, or what a pattern matched
_SHOWN_REVISIONS = 20
# The words for one and for several fields. The fields of a point are shown with it.
_WORDS = {
    "changes.text": ("wording", "wordings"),
    "changes.reason": ("reason", "reasons"),
    "votes.rationale": ("vote's reason", "votes' reasons"),
    "votes.name": ("vote for no point", "votes for no point"),
    "revisions.message": ("message", "messages"),
    "revisions.header": ("file header", "file headers"),
    "skipped_operations": ("skipped operation", "skipped operations"),
    "heads.header": ("header of the playbook's file", "headers"),
    "proposals": ("proposal", "proposals"),
    "reflections": ("reflection", "reflections"),
    "jobs.error": ("failed job's message", "failed jobs' messages"),
}
NOT_OURS = (
    "git's history of a committed .claude/playbook.json, Claude Code's own transcripts, and copies that you made "
    "elsewhere may still hold it"
)
_OLDER_STATES = "these backups' older states of the database are deleted with them; the database keeps every revision"
TRACES = (
    "it is erased, but another process still reads an older state of {}, so traces stay in its -wal file; after that "
    "process ends, the worker or the next playbook forget removes them"
)


def notes(forgotten: "Forgotten") -> list[str]:
    """Return the notes of *forgotten*, and a note about deleted backups if there are any."""
    return [*forgotten.notes, *([_OLDER_STATES] if forgotten.backups else [])]


def lines(forgotten: "Forgotten", *, shows_texts: bool) -> Iterator[str]:
    """Yield a line for each point, text, place and file. A line's first word says what happens to a text or a file."""
    for key, erasure in forgotten.erasures.items():
        if len(forgotten.erasures) > 1:
            yield _playbook_of(key)
        for point in erasure.forgotten:
            yield f"forget    {point.name}" + (f": {_shown(point.text)}" if shows_texts else "")
        for point in erasure.shortened:
            yield f"blank     {point.name}, which stays" + (f": {_shown(point.text)}" if shows_texts else "")
        if shows_texts:
            yield from _earlier(erasure)
        yield from _places(erasure)
        if erasure.revision is not None:
            yield f"revision {erasure.revision} of {_playbook_of(key)}"
    for path in forgotten.files:
        yield f"file      {path}"
    for path in forgotten.backups:
        yield f"backup    {path}, replaced by {forgotten.new_backup or 'a new one'}"


def _earlier(erasure: "Erasure") -> Iterator[str]:
    """Yield lines for the other erased texts: earlier wordings of points, and matches of a pattern."""
    shown = {point.text for point in (*erasure.forgotten, *erasure.shortened)}
    others = sorted((erasure.texts | erasure.matches) - shown)
    yield from (f"erase     {_shown(text)}" for text in others[:_SHOWN_TEXTS])
    if len(others) > _SHOWN_TEXTS:
        yield f"erase     and {len(others) - _SHOWN_TEXTS} more"


def _places(erasure: "Erasure") -> Iterator[str]:
    """Yield lines that count the other places with an erased text, in the history and elsewhere."""
    history = [field for field in erasure.fields if field.is_history]
    if history:
        named = ", ".join(map(str, erasure.revisions[:_SHOWN_REVISIONS]))
        more = len(erasure.revisions) - _SHOWN_REVISIONS
        named += f" and {more} more" if more > 0 else ""
        yield f"in the history: {_counted(history)} (revision{'s' * (len(erasure.revisions) > 1)} {named})"
    elsewhere = _counted(field for field in erasure.fields if not field.is_history)
    if elsewhere:
        yield f"elsewhere: {elsewhere}"


def _counted(fields: "Iterable[Field]") -> str:
    """Return the counts of *fields* by kind, such as `2 wordings, 1 reason`. A reflection's fields count as one."""
    rows = {(kind, field.key) for field in fields for kind in (field.name, field.table) if kind in _WORDS}
    counts = Counter(kind for kind, _ in rows)
    return ", ".join(f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in _WORDS.items() if counts[kind])


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def _playbook_of(key: str) -> str:
    return "your personal playbook" if is_users(key) else key
