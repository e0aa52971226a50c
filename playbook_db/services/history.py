"""Looking into the past: which revision is meant, what revisions did, and the playbook as it was."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from playbook_db.domain import diff, merge, playbook_file, prompt_text, times, undo
from playbook_db.domain.diff import Comparison
from playbook_db.domain.playbook import MAX_COUNTER, Playbook, Vote
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.times import LOCAL, local, timestamp
from playbook_db.domain.undo import Undo
from playbook_db.errors import MomentError, RevisionNotFoundError, SessionNotFoundError
from playbook_db.services import edit, templates
from playbook_db.services.edit import Found
from playbook_db.services.projects import Project
from playbook_db.store import learning, log_queries, playbooks
from playbook_db.store.learning import SessionTold
from playbook_db.store.log_queries import (
    EVERY_CHANGE,
    KeptOperation,
    KeptReflection,
    Life,
    LoggedRevision,
    Span,
    Wanted,
)
from playbook_db.store.past import Past
from playbook_db.store.snapshots import undos_after

_BATCHES = (20, 500)  # revisions read at once: few at first, so that the first lines come at once, then more
_NUMBER = re.compile(r"r?(\d{1,100})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a log is to tell: only of the point `name`, of a session (its id or the beginning of it), of a source, of
    the revisions from `since` to `until` (a number or a time each), of the newest `limit`. None leaves it open."""

    name: str | None = None
    session: str | None = None
    since: str | None = None
    until: str | None = None
    source: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """The playbook as it was after `revision`, made at `time` (None for 0); a `note` where that may surprise."""

    playbook: Playbook
    revision: int
    time: str | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class FullRevision:
    """All that is kept of a revision."""

    revision: LoggedRevision
    votes: tuple[Vote, ...]
    skipped: tuple[KeptOperation, ...]
    reflections: tuple[KeptReflection, ...]


def find_revision(past: Past, text: str, *, now: datetime, end_of_day: bool = True) -> int:
    """The revision that *text* means: its number (`12`, `r12`; 0 is the empty playbook), or the last one up to a time.

    *now* is what the clock says, with its zone. A date means the evening of that day, or with *end_of_day* off its
    beginning. Raises RevisionNotFoundError for a number that is no revision's, MomentError for what is neither.
    """
    number = _number_in(text)
    if number is None:
        if _is_now(text):
            return past.revision  # whatever the clock says
        return past.revision_at(timestamp(_moment(text, now=now, end=end_of_day)))
    if number > past.revision:
        raise RevisionNotFoundError(text.strip(), past.revision)
    return number


def is_when(text: str) -> bool:
    """Whether *text* can name a revision, by number or by time."""
    return _number_in(text) is not None or times.parse_time(text, now=datetime.now(UTC), zone=LOCAL) is not None


def at(project: Project, when: str) -> Seen:
    """The playbook as it was at *when*, as `find_revision` reads it."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        revision = find_revision(past, when, now=datetime.now(UTC))
        note = None
        if revision == 0 and _number_in(when) is None:
            first = past.time_of(1)
            told = f"this playbook began {local(first)}" if first else "this playbook has no history yet"
            note = f"{told}; {when} it was empty" if first else told
        return Seen(past.at(revision), revision, past.time_of(revision), note)


def told_at(project: Project, when: str) -> str:
    """What a session that began at *when* would have been told, with the template of today; `""` where nothing."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        candidates = past.candidates_at(find_revision(past, when, now=datetime.now(UTC)))
    return prompt_text.compose(templates.playbook_template(), *candidates)[0]


def log(project: Project, asked: Asked, *, most_changes: int = EVERY_CHANGE) -> Iterator[LoggedRevision]:
    """The revisions that are *asked* for, newest first, each with at most *most_changes* changes told.

    They are read as they are taken, some at a time: who pauses keeps no transaction open. Raises PointNotFoundError,
    SessionNotFoundError, RevisionNotFoundError and MomentError, before anything is read.
    """
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        wanted = _wanted(past, asked)
    if wanted is None:
        if asked.name is not None:
            edit.find(project, asked.name)  # says what is there instead
        return iter(())
    return _read(project, past.playbook_id or 0, wanted, asked.limit, most_changes)


def look_up(project: Project, text: str) -> Found | FullRevision:
    """What *text* names: a point, live or retired, else a revision by its number."""
    number = _number_in(text)
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        if number is not None and not (past.playbook_id and _point_id(past, text)):
            return _in_full(past, text.strip(), number)
    return edit.find(project, text)


def _number_in(text: str) -> int | None:
    told = _NUMBER.fullmatch(text.strip().casefold())
    return int(told[1]) if told else None


def _is_now(text: str) -> bool:
    return text.strip().casefold() == "now"


def _moment(text: str, *, now: datetime, end: bool) -> datetime:
    found = times.parse_time(text, now=now, zone=LOCAL, end=end)
    if found is None:
        raise MomentError(text, times.EXAMPLES)
    return found


def _wanted(past: Past, asked: Asked) -> Wanted | None:
    """What to look for in the history; None where there can't be anything."""
    now = datetime.now(UTC)
    last = past.revision if asked.until is None else find_revision(past, asked.until, now=now)
    first = 1 if asked.since is None else _first_since(past, asked.since, now)
    if past.playbook_id is None:
        return None
    point_id = None if asked.name is None else _point_id(past, asked.name)
    if asked.name is not None and point_id is None:
        return None
    session_id = None if asked.session is None else _session(past, asked.session)
    return Wanted(first, last, session_id, asked.source, point_id)


def _first_since(past: Past, text: str, now: datetime) -> int:
    if _number_in(text) is not None:
        return find_revision(past, text, now=now)
    before = _moment(text, now=now, end=False) - timedelta(microseconds=1)
    return past.revision_at(timestamp(before)) + 1


def _session(past: Past, beginning: str) -> str:
    found = log_queries.sessions_beginning(past.connection, past.playbook_id or 0, beginning)
    if len(found) != 1 and beginning not in found:
        raise SessionNotFoundError(beginning, tuple(found))
    return found[0]  # a whole id comes before those that begin with it


def _point_id(past: Past, name: str) -> int | None:
    return playbooks.point_id(past.connection, past.playbook_id or 0, name)


def _read(
    project: Project, playbook_id: int, wanted: Wanted, limit: int | None, most_changes: int
) -> Iterator[LoggedRevision]:
    left = MAX_COUNTER if limit is None else limit
    last = wanted.last
    few, many = _BATCHES
    batch = few if wanted.point_id is None else many
    undos: list[Undo] = []
    unseen = MAX_COUNTER
    while left > 0:
        count = min(left, batch)
        asked = replace(wanted, last=last)
        with project.store.snapshot() as connection:
            found = log_queries.read_log(connection, playbook_id, asked, limit=count, most_changes=most_changes)
            if found:
                undos += undos_after(connection, playbook_id, found[-1].number, up_to=unseen)
                unseen = found[-1].number
        in_force = undo.in_force(undos)
        yield from (_marked(made, in_force) for made in found)
        if len(found) < count:
            return
        left, last, batch = left - count, found[-1].number - 1, many


def _marked(revision: LoggedRevision, in_force: list[Undo]) -> LoggedRevision:
    by = undo.taken_back_in(revision.number, in_force)
    return revision if by is None else replace(revision, taken_back_in=by)


def _in_full(past: Past, asked: str, number: int) -> FullRevision:
    if not 1 <= number <= past.revision or past.playbook_id is None:
        raise RevisionNotFoundError(asked, past.revision)
    of = (past.connection, past.playbook_id)
    (revision,) = log_queries.read_log(*of, Wanted(number, number), limit=1, most_changes=EVERY_CHANGE)
    in_force = undo.in_force(past.undos_after(number))
    return FullRevision(
        _marked(revision, in_force),
        log_queries.read_votes(*of, number),
        log_queries.read_skipped(*of, number),
        log_queries.read_reflections(*of, number),
    )


# The two sides of a diff: the playbook as it was once, or as a file has it.


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """A playbook to compare, and where it comes from: a revision with its time (None for the empty 0), or a file."""

    reading: Reading
    revision: int | None = None
    time: str | None = None
    file: str | None = None
    note: str | None = None

    @property
    def told(self) -> str:
        """Which playbook it is, in words."""
        if self.file is not None:
            return self.file
        return f"revision {self.revision}" + (f" ({local(self.time)})" if self.time else "")


def side_at(project: Project, when: str) -> ComparedSide:
    """The playbook as it was at *when*, as `looking_back.find_revision` reads it."""
    seen = at(project, when)
    return ComparedSide(Reading(seen.playbook), seen.revision, seen.time, note=seen.note)


def side_of_file(data: bytes, name: str) -> ComparedSide:
    """The playbook in a file of any shape. Raises PlaybookFileError."""
    return ComparedSide(playbook_file.decode(data, source=name), file=name)


def difference(before: ComparedSide, after: ComparedSide) -> Comparison:
    """What differs between the two. A flat file knows no sections: its points stand where the other side has them."""
    old = merge.in_our_sections(before.reading, after.reading.playbook)
    new = merge.in_our_sections(after.reading, old)
    return diff.compare(old, new)


# Where the playbook comes from: the life of one point, and what each session taught.


T = TypeVar("T")


def life(project: Project, name: str) -> Life:
    """All that happened to the point *name*, live or retired. Raises PointNotFoundError."""
    return _of_point(project, name, lambda past, number: log_queries.life(past.connection, number, name))


def span(project: Project, name: str) -> Span:
    """When the point *name* came, and when it last changed. Raises PointNotFoundError."""
    return _of_point(project, name, lambda past, number: log_queries.read_span(past.connection, number, name))


def sessions(project: Project) -> list[SessionTold]:
    """Each session that was learnt from, the newest first."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        return learning.sessions(connection, past.playbook_id) if past.playbook_id else []


def _of_point(project: Project, name: str, read: Callable[[Past, int], T | None]) -> T:
    """What *read* finds about the point *name* in the playbook, whose number it is given."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        found = read(past, past.playbook_id) if past.playbook_id else None
    if found is None:
        edit.find(project, name)  # says what is there instead
        raise AssertionError(f"{name} was found, but not what is told of it")
    return found
