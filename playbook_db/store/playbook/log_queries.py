"""What the append-only history tells: its log (`revision_log`), all that is kept of one revision, the life of one
point."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text as sql

from playbook_db.domain.merging.undo import RevisionRange
from playbook_db.domain.playbook import MAX_COUNTER, Vote
from playbook_db.domain.trust.evidence import Evidence, read_json
from playbook_db.store import quick_sql
from playbook_db.store.playbook.playbook_rows import IS_WEAK, PlaybookRows
from playbook_db.store.quick_sql import PointLifespan
from playbook_db.store.revision_log import (
    EVERY_CHANGE,
    LogFilter,
    LoggedChange,
    LoggedRevision,
    RevisionLog,
)

_CHANGED_BECAUSE = sql("""
SELECT k.name, c.revision FROM changes AS c
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.reason = :reason ORDER BY c.revision DESC, c.seq DESC
""")
_REASONS = sql("""
SELECT k.name, c.reason FROM changes AS c
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.revision BETWEEN :first AND :last
  AND substr(c.reason, 1, length(:beginning)) = :beginning
ORDER BY c.revision DESC, c.seq DESC
""")
_POINT_ID = sql("SELECT id FROM key_points WHERE playbook_id = :playbook_id AND name = :name")
_OF_SESSION = sql("""
SELECT number FROM revisions WHERE playbook_id = :playbook_id AND session_id = :session_id ORDER BY number DESC
""")
_SESSIONS = sql("""
SELECT DISTINCT session_id FROM revisions
WHERE playbook_id = :playbook_id AND substr(session_id, 1, length(:beginning)) = :beginning ORDER BY session_id
""")
_VOTES = sql(f"""
SELECT coalesce(k.name, v.name), v.tag, v.rationale, v.point_id IS NOT NULL, v.ignored, v.evidence, {IS_WEAK}
FROM votes AS v LEFT JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id
WHERE v.playbook_id = :playbook_id AND v.revision = :revision ORDER BY v.seq LIMIT :most OFFSET :before
""")
_VOTES_COUNT = sql("SELECT count(*) FROM votes WHERE playbook_id = :playbook_id AND revision = :revision")
_SKIPPED = sql("""
SELECT seq, operation, reason FROM skipped_operations
WHERE playbook_id = :playbook_id AND revision = :revision ORDER BY seq LIMIT :most OFFSET :before
""")
_REFLECTIONS = sql("""
SELECT session_id, analysis, curator_reasoning, model, input_tokens, output_tokens, cached_tokens, cost_usd, duration_ms
FROM reflections WHERE playbook_id = :playbook_id AND revision = :revision ORDER BY id
""")
_LIFESPAN = sql(quick_sql.LIFESPAN)


@dataclass(frozen=True, slots=True)
class SkippedOperation:
    """An operation that was not carried out: its place in the batch (from 1), its JSON as it was kept, and why."""

    place: int
    operation: str
    reason: str


@dataclass(frozen=True, slots=True)
class RevisionReflection:
    """What stood behind a revision: what the reflector and the curator said, and what asking them took."""

    session_id: str
    analysis: str | None
    curator_reasoning: str | None
    model: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None
    duration_ms: int | None


_POINT_VOTES = """
SELECT revision, tag, rationale, ignored, evidence FROM votes {by_point}
WHERE playbook_id = :playbook_id AND point_id = :point_id AND revision BETWEEN :oldest AND :newest
ORDER BY revision, seq
"""
_MERGED = sql("""
SELECT DISTINCT k.name FROM changes AS c
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.successor_id = :point_id
  AND coalesce((SELECT t.last FROM undone_ranges AS t
                WHERE t.playbook_id = :playbook_id AND t.first <= c.revision
                ORDER BY t.first DESC LIMIT 1), 0) < c.revision
ORDER BY k.name
""")


@dataclass(frozen=True, slots=True)
class LifeEvent:
    """One thing that happened to a point: `kind` is that of a change (add, edit, move, retire, restore; vote where
    counters changed without one, as by an undo) or a vote's tag (helpful, harmful, neutral). `text` is the text it got,
    what else was set and the reason, or the vote's rationale; `successor` the point that it went into; `ignored` says
    that the session had the point, didn't follow it and paid for that, `evidence` is what it showed; `before` is the
    text in whose place a rewording put another."""

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
    """All that happened to a point, the oldest first, and the points that were merged into it, but for merges that were
    undone."""

    events: tuple[LifeEvent, ...]
    merged: tuple[str, ...]


def _change_text(change: LoggedChange, was_voted: bool) -> str | None:
    """What *change* did in words, but for its kind: the text that it gave, else what else it set, and why."""
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


class LogQueries(PlaybookRows):
    """What the history of one playbook tells."""

    def read_log(
        self, log_filter: LogFilter, *, limit: int, most_changes: int, first_change: int = 1
    ) -> list[LoggedRevision]:
        """The newest *limit* revisions that pass *log_filter*, as `RevisionLog.read` has them."""
        log = RevisionLog(self.execute, self.index_hint, self.playbook_id)
        return log.read(log_filter, limit=limit, most_changes=most_changes, first_change=first_change)

    def revisions_of_session(self, session_id: str) -> list[int]:
        """The numbers of the revisions that came from a session, the newest first."""
        return list(self._execute(_OF_SESSION, session_id=session_id).scalars())

    def sessions_beginning(self, beginning: str) -> list[str]:
        """The sessions that revisions came from and whose id begins so."""
        return list(self._execute(_SESSIONS, beginning=beginning).scalars())

    def read_votes(self, revision: int, *, before: int = 0, most: int = EVERY_CHANGE) -> tuple[Vote, ...]:
        """The votes of *revision*, in order: *most* of them, without the *before* first ones."""
        rows = self._execute(_VOTES, revision=revision, before=before, most=most)
        return tuple(
            Vote(name, tag, rationale, bool(matched), bool(ignored), read_json(evidence), bool(is_weak))
            for name, tag, rationale, matched, ignored, evidence, is_weak in rows
        )

    def count_votes(self, revision: int) -> int:
        """How many votes *revision* has."""
        return int(self._execute(_VOTES_COUNT, revision=revision).scalar_one())

    def read_skipped(self, revision: int, *, before: int = 0, most: int = EVERY_CHANGE) -> tuple[SkippedOperation, ...]:
        """The operations that *revision* was asked for and didn't carry out, in order, as `read_votes` has them."""
        rows = self._execute(_SKIPPED, revision=revision, before=before, most=most)
        return tuple(SkippedOperation(*row) for row in rows)

    def read_reflections(self, revision: int) -> tuple[RevisionReflection, ...]:
        """What stood behind *revision*, where a model did."""
        return tuple(RevisionReflection(*row) for row in self._execute(_REFLECTIONS, revision=revision))

    def lifespan(self, name: str) -> PointLifespan | None:
        """When the point *name* came and last changed; None where there never was one."""
        row = self._execute(_LIFESPAN, name=name).first()
        return PointLifespan(*row) if row else None

    def life(self, name: str, *, last: int = MAX_COUNTER, limit: int = MAX_COUNTER) -> Life | None:
        """The life of the point *name*, live or retired, in the *limit* revisions that touched it up to the *last*;
        None where there never was one."""
        point_id = self.point_id(name)
        if point_id is None:
            return None
        touching = LogFilter(1, last, point_id=point_id)
        revisions = self.read_log(touching, limit=limit, most_changes=EVERY_CHANGE)
        votes: dict[int, list[Any]] = defaultdict(list)
        if revisions:
            statement = sql(_POINT_VOTES.format(by_point=self.index_hint("ix_votes_point")))
            values = {"point_id": point_id, "oldest": revisions[-1].number, "newest": revisions[0].number}
            for number, *vote in self._execute(statement, **values):
                votes[number].append(vote)
        events: list[LifeEvent] = []
        for entry in reversed(revisions):
            origin = (entry.number, entry.time, entry.source, entry.actor, entry.session_id, entry.message)
            was_voted = any(tag != "neutral" for tag, *_ in votes[entry.number])
            events += [
                LifeEvent(
                    *origin,
                    change.kind,
                    _change_text(change, was_voted),
                    change.successor,
                    False,
                    change.evidence,
                    change.before.text if change.before and change.is_reworded else None,
                )
                for change in entry.changes
                if change.kind != "vote" or not was_voted  # else the votes themselves say it
            ]
            events += [
                LifeEvent(*origin, tag, rationale, None, bool(ignored), read_json(evidence))
                for tag, rationale, ignored, evidence in votes[entry.number]
            ]
        return Life(tuple(events), tuple(self._execute(_MERGED, point_id=point_id).scalars()))

    def changed_because(self, reason: str) -> list[tuple[str, int]]:
        """Which points were changed for this *reason*, by name, and by which revisions, the newest first."""
        return [(name, number) for name, number in self._execute(_CHANGED_BECAUSE, reason=reason)]

    def reasons_in(self, revisions: RevisionRange, beginning: str) -> list[tuple[str, str]]:
        """Why *revisions* changed points, by name, where the reason has this *beginning*; the newest first."""
        values = {"first": revisions.first, "last": revisions.last, "beginning": beginning}
        return [(name, reason) for name, reason in self._execute(_REASONS, **values)]

    def point_id(self, name: str) -> int | None:
        """The number of the point *name*, live or retired; None where there never was one."""
        number: int | None = self._execute(_POINT_ID, name=name).scalar()
        return number
