"""Queries on the history: a revision with all its details, the life of a point, and more. Needs no SQLAlchemy."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import MAX_COUNTER, Vote
from playbook_db.domain.times import revision_number
from playbook_db.domain.trust.evidence import Evidence, read_json
from playbook_db.domain.trust.use import EVENTS, FEWEST_SESSIONS, Totals
from playbook_db.errors import unknown_revision
from playbook_db.store.queries import list_queries
from playbook_db.store.queries.hook_queries import rows
from playbook_db.store.queries.list_queries import LAST_REVISION
from playbook_db.store.queries.revision_log import EVERY_CHANGE, LogFilter, LoggedChange, LoggedRevision, read_log

if TYPE_CHECKING:
    from playbook_db.store.queries.hook_queries import Reader

_CHANGED_BECAUSE = """
SELECT k.name, c.revision FROM changes AS c
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.reason = :reason ORDER BY c.revision DESC, c.seq DESC
"""
_REASONS = """
SELECT k.name, c.reason FROM changes AS c
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.revision BETWEEN :first AND :last
  AND substr(c.reason, 1, length(:beginning)) = :beginning
ORDER BY c.revision DESC, c.seq DESC
"""
_OF_SESSION = """
SELECT number FROM revisions WHERE playbook_id = :playbook_id AND session_id = :session_id ORDER BY number DESC
"""
_LAST_CHANGE = """
SELECT number FROM revisions AS r WHERE playbook_id = :playbook_id AND number <= :until AND (header IS NOT NULL
    OR EXISTS (SELECT 1 FROM changes AS c WHERE c.playbook_id = r.playbook_id AND c.revision = r.number)
    OR EXISTS (SELECT 1 FROM erasures AS e WHERE e.playbook_id = r.playbook_id AND e.revision = r.number))
ORDER BY number DESC LIMIT 1
"""
_SESSIONS = """
SELECT DISTINCT session_id FROM revisions
WHERE playbook_id = :playbook_id AND substr(session_id, 1, length(:beginning)) = :beginning ORDER BY session_id
"""
_TAG = f"CASE WHEN {list_queries.IS_AGAIN.replace('a.', 'v.')} THEN 'again' ELSE v.tag END"
_VOTES = f"""
SELECT coalesce(k.name, v.name), {_TAG}, v.rationale, v.point_id IS NOT NULL, v.ignored, v.evidence
FROM votes AS v LEFT JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id
WHERE v.playbook_id = :playbook_id AND v.revision = :revision ORDER BY v.seq LIMIT :most OFFSET :before
"""
_VOTES_COUNT = "SELECT count(*) FROM votes WHERE playbook_id = :playbook_id AND revision = :revision"
_SKIPPED = """
SELECT seq, operation, reason FROM skipped_operations
WHERE playbook_id = :playbook_id AND revision = :revision ORDER BY seq LIMIT :most OFFSET :before
"""
_REFLECTIONS = """
SELECT session_id, analysis, curator_reasoning, model, input_tokens, output_tokens, cached_tokens, cost_usd, duration_ms
FROM reflections WHERE playbook_id = :playbook_id AND revision = :revision ORDER BY id
"""
USE_BY_EVENT = """
SELECT event, sum(shown), sum(cited),
       count(DISTINCT CASE WHEN helpful + harmful > 0 THEN session_id || ' ' || name END), sum(helpful), sum(harmful)
FROM use_by_event
WHERE playbook = (SELECT key FROM playbooks WHERE id = :playbook_id) GROUP BY event HAVING sum(shown) > 0
"""
USE_OF_POINT = USE_BY_EVENT.replace("GROUP BY", "AND name = :name GROUP BY")
_POINT_VOTES = f"""
SELECT v.revision, {_TAG}, v.rationale, v.ignored, v.evidence FROM votes AS v
WHERE v.playbook_id = :playbook_id AND v.point_id = :point_id AND v.revision BETWEEN :oldest AND :newest
ORDER BY v.revision, v.seq
"""
_TRIALS = """
SELECT coalesce(max((SELECT w.sessions FROM showing_counts AS w
                     WHERE w.playbook_id = :playbook_id AND w.point_id = :point_id)), 0),
       coalesce(sum(t.followed), 0), count(CASE WHEN t.ignored > 0 THEN 1 END), coalesce(sum(t.failed_calls), 0)
FROM trials AS t WHERE t.playbook_id = :playbook_id AND t.point_id = :point_id
"""
_RECENT = f"""
SELECT {list_queries.TAUGHT_IN}, k.helpful - e.helpful, k.harmful - e.harmful, e.revision
FROM key_points AS k {list_queries.LAST_REWORDING}
WHERE k.playbook_id = :playbook_id AND k.id = :point_id
"""
_MERGED = """
SELECT DISTINCT k.name FROM changes AS c
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.successor_id = :point_id
  AND coalesce((SELECT t.last FROM undone_ranges AS t
                WHERE t.playbook_id = :playbook_id AND t.first <= c.revision
                ORDER BY t.first DESC LIMIT 1), 0) < c.revision
ORDER BY k.name
"""


@dataclass(frozen=True, slots=True)
class SkippedOperation:
    """An operation that was not applied, and the reason. `place` is its position in the batch, from 1."""

    place: int
    operation: str
    reason: str


@dataclass(frozen=True, slots=True)
class RevisionReflection:
    """The reflector's and the curator's answers that led to a revision, and the cost of both calls."""

    session_id: str
    analysis: str | None
    curator_reasoning: str | None
    model: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """An event in the life of a point: a change or a vote. `kind` is add, edit, move, retire or restore for a change,
    and helpful, harmful, neutral or again for a vote. `kind` is vote if counters changed without a vote, as by an undo.
    `text` is the new text, a summary of the change, or a vote's reason. `before` is the text before an edit. `ignored`
    means that the session had the point but didn't follow it."""

    revision: int
    time: str
    source: str
    actor: str
    session_id: str | None
    message: str | None
    kind: str
    text: str | None
    successor: str | None = None
    ignored: bool = False
    evidence: tuple[Evidence, ...] = ()
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """The events of a point, oldest first. `merged` names the points that were merged into it, without undone merges.
    `totals` count sessions by whether they followed the point. `taught_in` counts the sessions that taught the point.
    `reworded_in` is the revision of its last rewording, or None; `helpful_since` and `harmful_since` count the votes
    after that."""

    events: tuple[LifeEvent, ...]
    merged: tuple[str, ...]
    totals: Totals = field(default_factory=Totals)
    taught_in: int = 0
    helpful_since: int | None = None
    harmful_since: int | None = None
    reworded_in: int | None = None

    @property
    def recurrence(self) -> list[str]:
        """Sentences about the sessions that taught the point, and about its votes since its last rewording."""
        taught = [f"Seen in {self.taught_in} sessions."] if self.taught_in > 1 else []
        if self.reworded_in is None:
            return taught
        votes = f"{self.helpful_since} helpful and {self.harmful_since} harmful"
        return [*taught, f"Votes since its last rewording, in r{self.reworded_in}: {votes}."]


@dataclass(frozen=True, slots=True)
class EventUse:
    """How sessions used the points that they first saw at one `event`. `shown`, `cited` and `voted` count pairs of a
    session and a point. `helpful` and `harmful` count the sessions' votes."""

    event: str
    shown: int
    cited: int
    voted: int
    helpful: int
    harmful: int

    def share(self, count: int) -> float | None:
        """Return *count* divided by `shown`, or None if `shown` is too small."""
        return count / self.shown if self.shown >= FEWEST_SESSIONS else None


@dataclass(frozen=True, slots=True)
class RevisionDetails:
    """A revision with all its details, or one page of them. `items` is the length of its longest list."""

    revision: LoggedRevision
    votes: tuple[Vote, ...]
    skipped: tuple[SkippedOperation, ...]
    reflections: tuple[RevisionReflection, ...]
    items: int


def read_revision(book: "Reader", text: str, *, before: int = 0, most: int = EVERY_CHANGE) -> RevisionDetails:
    """Return the revision that *text* names, such as `r12`. Each list has at most *most* entries, after skipping
    *before* entries. Raises NotFoundError."""
    number = min(revision_number(text) or 0, MAX_COUNTER)
    log_filter = LogFilter(number, number)
    page = {"revision": number, "before": before, "most": most}
    revisions = read_log(book, log_filter, limit=1, most_changes=most, first_change=before + 1) if number else []
    if not revisions:
        ((last,),) = rows(book, LAST_REVISION)
        raise unknown_revision(text.strip(), last)
    revision = revisions[0]
    ((votes,),) = rows(book, _VOTES_COUNT, revision=number)
    return RevisionDetails(
        revision,
        read_votes(book, **page),
        read_skipped(book, **page),
        tuple(RevisionReflection(*row) for row in rows(book, _REFLECTIONS, revision=number)),
        items=max(sum(revision.counts.values()), revision.skipped, votes),
    )


def revisions_of_session(book: "Reader", session_id: str) -> list[int]:
    """Return the numbers of the revisions that the session made, newest first."""
    return [number for (number,) in rows(book, _OF_SESSION, session_id=session_id)]


def last_change(book: "Reader", until: int) -> int:
    """Return the last revision up to *until* that changed a point, forgot a text or changed a key of the file, or 0."""
    return next((number for (number,) in rows(book, _LAST_CHANGE, until=until)), 0)


def sessions_beginning(book: "Reader", beginning: str) -> list[str]:
    """Find the sessions whose ids begin with *beginning*. Only sessions with revisions count."""
    return [session for (session,) in rows(book, _SESSIONS, beginning=beginning)]


def read_votes(book: "Reader", revision: int, *, before: int = 0, most: int = EVERY_CHANGE) -> tuple[Vote, ...]:
    """Return at most *most* votes of *revision*, in their order, after skipping *before* votes."""
    matches = rows(book, _VOTES, revision=revision, before=before, most=most)
    return tuple(
        Vote(name, tag, rationale, bool(matched), bool(ignored), read_json(evidence))
        for name, tag, rationale, matched, ignored, evidence in matches
    )


def read_skipped(
    book: "Reader", revision: int, *, before: int = 0, most: int = EVERY_CHANGE
) -> tuple[SkippedOperation, ...]:
    """Return at most *most* of the operations that *revision* skipped, in order, starting after the first *before*."""
    matches = rows(book, _SKIPPED, revision=revision, before=before, most=most)
    return tuple(SkippedOperation(*row) for row in matches)


def life(book: "Reader", point_id: int, *, last: int = MAX_COUNTER, limit: int = MAX_COUNTER) -> Life:
    """Return the life of the live or retired point with the number *point_id*: its newest *limit* revisions up to the
    revision *last*."""
    of_point = LogFilter(1, last, point_id=point_id)
    revisions = read_log(book, of_point, limit=limit, most_changes=EVERY_CHANGE)
    votes: dict[int, list[Any]] = defaultdict(list)
    if revisions:
        span = {"oldest": revisions[-1].number, "newest": revisions[0].number}
        for number, *vote in rows(book, _POINT_VOTES, point_id=point_id, **span):
            votes[number].append(vote)
    events: list[LifeEvent] = []
    for entry in reversed(revisions):
        origin = (entry.number, entry.time, entry.source, entry.actor, entry.session_id, entry.message)
        was_voted = any(tag != "neutral" for tag, *_ in votes[entry.number])
        for change in entry.changes:
            if change.kind == "vote" and was_voted:  # the votes follow
                continue
            text, before = _change_text(change, was_voted), change.before
            text_before = before.text if before and change.is_reworded else None
            events.append(LifeEvent(*origin, change.kind, text, change.successor, False, change.evidence, text_before))
        events += [
            LifeEvent(*origin, tag, rationale, None, bool(ignored), read_json(evidence))
            for tag, rationale, ignored, evidence in votes[entry.number]
        ]
    [totals] = rows(book, _TRIALS, point_id=point_id)
    merged = tuple(name for (name,) in rows(book, _MERGED, point_id=point_id))
    [recurrence] = rows(book, _RECENT, point_id=point_id)
    return Life(tuple(events), merged, Totals(*map(int, totals)), *recurrence)


def _change_text(change: LoggedChange, was_voted: bool) -> str | None:
    """Return the new text if *change* set one, else a summary of the change and its reason."""
    point, before = change.point, change.before
    if before is None or change.kind in ("add", "restore") or change.is_reworded:
        return point.text
    parts = []
    if point.section != before.section:
        parts.append(f"from {before.section} to {point.section}")
    if not was_voted and (point.helpful, point.harmful) != (before.helpful, before.harmful):
        counted = (f"{each.helpful} helpful, {each.harmful} harmful" for each in (point, before))
        parts.append("; before: ".join(counted))
    return "; ".join([*parts, *([change.reason] if change.reason else [])]) or None


def use_by_event(book: "Reader", name: str | None = None) -> tuple[EventUse, ...]:
    """Return how sessions used all points, or the point *name*, by event. Leave out events that showed no point."""
    return event_uses(rows(book, USE_OF_POINT if name else USE_BY_EVENT, name=name))


def event_uses(matches: Iterable[Any]) -> tuple[EventUse, ...]:
    """Convert the rows of USE_BY_EVENT, and sort them as in `use.EVENTS`."""
    uses = (EventUse(event, *map(int, counts)) for event, *counts in matches)
    return tuple(sorted(uses, key=lambda use: [*EVENTS].index(use.event)))


def changed_because(book: "Reader", reason: str) -> list[tuple[str, int]]:
    """Return the names of the points that were changed for *reason*, each with the revision, newest first."""
    return list(map(tuple, rows(book, _CHANGED_BECAUSE, reason=reason)))


def reasons_in(book: "Reader", revisions: RevisionRange, beginning: str) -> list[tuple[str, str]]:
    """Return the name and reason of each change in *revisions* whose reason starts with *beginning*, newest first."""
    values = {"first": revisions.first, "last": revisions.last, "beginning": beginning}
    return list(map(tuple, rows(book, _REASONS, **values)))
