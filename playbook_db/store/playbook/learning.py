"""Store what was learned from transcripts: cursors, citations, reflections and costs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy import text as sql

from playbook_db.domain import operations
from playbook_db.domain.trust.following import Trial
from playbook_db.projects import as_path, as_text
from playbook_db.store.playbook.playbook_rows import IN_FORCE, PlaybookRows
from playbook_db.store.queries import list_queries
from playbook_db.store.queries.list_queries import SessionSummary
from playbook_db.store.tables import model_calls, playbooks, reflections, transcripts

_MOVE_CURSOR = sql("""
INSERT INTO transcripts (playbook_id, path, session_id, learned_offset, last_uuid, first_uuid, updated_at)
VALUES (:playbook_id, :path, :session_id, :offset, :last_uuid, :first_uuid, :now)
ON CONFLICT (playbook_id, path) DO UPDATE
SET session_id = excluded.session_id, learned_offset = excluded.learned_offset, updated_at = excluded.updated_at,
    last_uuid = coalesce(excluded.last_uuid, transcripts.last_uuid),
    first_uuid = coalesce(excluded.first_uuid, transcripts.first_uuid)
""")
_CITE = sql("""
INSERT INTO citations (playbook_id, session_id, point_id, chunks, time)
SELECT :playbook_id, :session_id, id, 1, :now FROM key_points
WHERE playbook_id = :playbook_id AND name IN (SELECT value FROM json_each(:names)) AND created_in <= :revision
ON CONFLICT (playbook_id, session_id, point_id)
DO UPDATE SET chunks = citations.chunks + 1, time = excluded.time
""")
_TRY = sql("""
INSERT INTO trials (playbook_id, session_id, point_id, followed, ignored, failed_calls, time)
VALUES (:playbook_id, :session_id, :point_id, :followed, :ignored, :failed_calls, :now)
ON CONFLICT (playbook_id, session_id, point_id) DO UPDATE SET
    followed = trials.followed | excluded.followed, ignored = trials.ignored + excluded.ignored,
    failed_calls = trials.failed_calls + excluded.failed_calls, time = excluded.time
""")
_SHOWN_TO = sql("""
SELECT time, points FROM showings WHERE playbook_id = :playbook_id AND session_id = :session_id
""")
_SHOWN_POINTS = sql("""
SELECT id, name, text FROM key_points
WHERE playbook_id = :playbook_id AND id IN (SELECT CAST(value AS BIGINT) FROM json_each(:numbers))
""")
_NOTE_USE = sql("""
UPDATE showing_counts SET sessions_at_last_use = sessions WHERE playbook_id = :playbook_id AND point_id IN (
    SELECT id FROM key_points WHERE playbook_id = :playbook_id AND name IN (SELECT value FROM json_each(:names)))
""")
# The votes that a session cast itself, without undone ones.
_VOTED_ON = sql(f"""
SELECT k.name, v.tag FROM revisions AS r
JOIN votes AS v ON v.playbook_id = :playbook_id AND v.revision = r.number
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = v.point_id
WHERE r.playbook_id = :playbook_id AND r.session_id = :session_id AND r.source = 'edit' AND {IN_FORCE}
""")
# The points that a session added, or said again.
_TAUGHT_BY = sql(f"""
SELECT k.name FROM revisions AS r JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.created_in = r.number
WHERE r.playbook_id = :playbook_id AND r.session_id = :session_id
UNION
SELECT k.name FROM revisions AS r
JOIN votes AS a ON a.playbook_id = :playbook_id AND a.revision = r.number AND {list_queries.IS_AGAIN}
JOIN key_points AS k ON k.playbook_id = :playbook_id AND k.id = a.point_id
WHERE r.playbook_id = :playbook_id AND r.session_id = :session_id
""")
_WAKE = sql("""
UPDATE key_points SET resting = 0
WHERE playbook_id = :playbook_id AND name IN (SELECT value FROM json_each(:names)) AND resting = 1
""")
# Points whose last votes since their last rewording were all harmful, and that got a harmful vote after a revision.
_REST_HARMFUL = sql(f"""
UPDATE key_points SET resting = 1
WHERE playbook_id = :playbook_id AND retired_in IS NULL AND pinned = 0 AND resting = 0 AND id IN (
    SELECT n.point_id FROM votes AS n
    WHERE n.playbook_id = :playbook_id AND n.revision > :since AND n.tag = 'harmful'
      AND (SELECT count(*) FROM (
              SELECT v.tag FROM votes AS v
              WHERE v.playbook_id = :playbook_id AND v.point_id = n.point_id AND v.tag <> 'neutral'
               AND v.revision > coalesce((
                    SELECT max(c.revision) FROM changes AS c WHERE c.playbook_id = :playbook_id
                        AND c.point_id = n.point_id AND c.text IS NOT NULL AND c.kind NOT IN ('add', 'restore')), 0)
                AND {IN_FORCE}
              ORDER BY v.revision DESC, v.seq DESC LIMIT :harmful) AS last
           WHERE last.tag = 'harmful') = :harmful)
""")
_WAITING = sql("""
SELECT id, analysis, bullet_tags, lessons FROM reflections
WHERE playbook_id = :playbook_id AND transcript_path = :path AND from_offset = :start AND to_offset = :end
    AND finished_at IS NULL
ORDER BY id DESC LIMIT 1
""")
# A session's time is the time of its first revision, else of its first model call.
_ONE_SESSION = sql(list_queries.SESSIONS.replace("session_id IS NOT NULL", "session_id = :session_id"))
_TAUGHT = sql("""
SELECT r.session_id, c.kind, count(*)
FROM revisions AS r JOIN changes AS c ON c.playbook_id = :playbook_id AND c.revision = r.number
WHERE r.playbook_id = :playbook_id AND r.session_id IN :sessions AND c.kind <> 'vote' GROUP BY r.session_id, c.kind
UNION ALL
SELECT r.session_id, v.tag, count(*)
FROM revisions AS r JOIN votes AS v ON v.playbook_id = :playbook_id AND v.revision = r.number
WHERE r.playbook_id = :playbook_id AND r.session_id IN :sessions GROUP BY r.session_id, v.tag
""").bindparams(bindparam("sessions", expanding=True))
# Each subquery needs only a few lookups in an index.
_POINT_USE = sql(f"""
SELECT k.name, substr(b.time, 1, 10) AS since, substr(k.confirmed_at, 1, 10) AS confirmed,
    v.tag || ' ' || substr((SELECT r.time FROM revisions AS r
                            WHERE r.playbook_id = :playbook_id AND r.number = v.revision), 1, 10) AS last_vote,
    substr(w.last_at, 1, 10) AS last_shown,
    substr((SELECT max(c.time) FROM citations AS c
            WHERE c.playbook_id = :playbook_id AND c.point_id = k.id), 1, 10) AS last_cited,
    coalesce(w.sessions - w.sessions_at_last_use, 0) AS shown_in_vain, {list_queries.IGNORED_SINCE} AS ignored,
    k.resting AS is_resting, k.pinned AS is_pinned,
    {list_queries.TAUGHT_IN} AS taught_in,
    k.helpful - e.helpful AS helpful_since, k.harmful - e.harmful AS harmful_since
FROM key_points AS k
JOIN revisions AS b ON b.playbook_id = :playbook_id AND b.number = k.created_in
LEFT JOIN showing_counts AS w ON w.playbook_id = :playbook_id AND w.point_id = k.id {list_queries.LAST_REWORDING}
LEFT JOIN votes AS v ON v.playbook_id = :playbook_id AND v.point_id = k.id
    AND v.revision = (SELECT max(l.revision) FROM votes AS l
                      WHERE l.playbook_id = :playbook_id AND l.point_id = k.id)
    AND v.seq = (SELECT max(l.seq) FROM votes AS l
                 WHERE l.playbook_id = :playbook_id AND l.revision = v.revision AND l.point_id = k.id)
WHERE k.playbook_id = :playbook_id AND k.name IN (SELECT value FROM json_each(:names))
""")
_COUNTED = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd", "duration_ms")


@dataclass(frozen=True, slots=True)
class ChunkKey:
    """A chunk of a transcript: the bytes from `start` up to, but not including, `end`."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ShownPoint:
    """A point that a session was first shown at `time`. `text` is its present text."""

    id: int
    text: str
    time: str


@dataclass(frozen=True, slots=True)
class StoredReflection:
    """The reflector's answer for a chunk, before its votes are counted. If `id` is 0, the answer isn't stored. If it
    `is_empty`, nothing was learned."""

    id: int = 0
    analysis: str = ""
    bullet_tags: list[Any] = field(default_factory=list)
    lessons: list[Any] = field(default_factory=list)
    is_empty: bool = False

    def first_lessons(self, count: int) -> tuple[list[Any], list[Any]]:
        """Return the first *count* lessons, and the others."""
        return self.lessons[:count], self.lessons[count:]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model. `kind` is reflect or curate. `cost_usd` is None if the model's price is unknown."""

    kind: str
    model: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None
    duration_ms: int


def _totals(calls: Sequence[Call]) -> dict[str, Any]:
    """Sum up *calls* for the columns of a reflection."""
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    return {
        "model": next((call.model for call in calls if call.model), None),
        "input_tokens": sum(call.input_tokens for call in calls),
        "output_tokens": sum(call.output_tokens for call in calls),
        "cached_tokens": sum(call.cached_tokens for call in calls),
        "cost_usd": sum(costs) if costs else None,
        "duration_ms": sum(call.duration_ms for call in calls),
    }


class LearningRows(PlaybookRows):
    """One playbook's rows about learning."""

    now: str  # the transaction's time

    def learned_to(self, path: str) -> int:
        """Return the byte up to which the transcript at *path* has been learned from."""
        return self.cursor(path)[0]

    def cursor(self, path: str) -> tuple[int, str | None]:
        """Return the result of `learned_to`, and the uuid of the transcript's first entry, if known."""
        query = select(transcripts.c.learned_offset, transcripts.c.first_uuid)
        row = self.connection.execute(query.filter_by(playbook_id=self.playbook_id, path=as_text(path))).first()
        return (row.learned_offset, row.first_uuid) if row else (0, None)

    def cursors(self, *, first_uuid: str | None = None) -> dict[str, int]:
        """Return the byte up to which each transcript has been learned from, by path. With *first_uuid*, return only
        transcripts whose first entry has this uuid."""
        query = select(transcripts.c.path, transcripts.c.learned_offset).filter_by(playbook_id=self.playbook_id)
        query = query if first_uuid is None else query.filter_by(first_uuid=first_uuid)
        return {as_path(path): offset for path, offset in self.connection.execute(query)}

    def cursors_everywhere(self, session_id: str, first_uuid: str) -> dict[str, int]:
        """Return the byte up to which the session's transcript that begins with *first_uuid* has been learned from, by
        path, in any playbook."""
        query = select(transcripts.c.path, func.max(transcripts.c.learned_offset)).group_by(transcripts.c.path)
        same = query.filter_by(session_id=session_id, first_uuid=first_uuid)
        return {as_path(path): offset for path, offset in self.connection.execute(same)}

    def move_cursor(
        self, path: str, offset: int, *, session_id: str, last_uuid: str | None = None, first_uuid: str | None = None
    ) -> None:
        """Record that the transcript at *path* has been learned from up to the byte *offset*."""
        uuids = {"last_uuid": last_uuid, "first_uuid": first_uuid}
        self._execute(_MOVE_CURSOR, path=as_text(path), offset=offset, session_id=session_id, now=self.now, **uuids)

    def add_citations(self, names: Sequence[str], *, session_id: str) -> None:
        """Record that a chunk of the session cited the live or retired points *names*. A citation ends a point's rest.
        Skip points that this transaction added."""
        listed = json.dumps(list(names))
        self._execute(_CITE, names=listed, session_id=session_id, revision=self.revision, now=self.now)
        self.note_use(names)

    def note_use(self, names: Sequence[str]) -> None:
        """Record a use of the points *names*. A use ends a point's rest, and resets its count of unused showings."""
        for statement in (_NOTE_USE, _WAKE):
            self._execute(statement, names=json.dumps(list(names)))

    def rest_points(self) -> None:
        """Mark live points as resting if their last votes were harmful, and this transaction added a harmful vote. A
        resting point isn't shown when a session starts; nothing else changes. Pinned points never rest."""
        self._execute(_REST_HARMFUL, harmful=operations.REST_HARMFUL, since=self.revision)

    def shown_to(self, session_id: str, more: Sequence[tuple[str, str]] = ()) -> dict[str, ShownPoint]:
        """Return the live and retired points that the session was shown, by name. Also use *more*, the showings that
        aren't recorded yet: the time, and the points as JSON."""
        showings = [*self._execute(_SHOWN_TO, session_id=session_id), *more]
        first: dict[int, str] = {}
        for time, shown in sorted(showings, key=lambda each: each[0], reverse=True):
            first |= dict.fromkeys(json.loads(shown), time)
        rows = self._execute(_SHOWN_POINTS, numbers=json.dumps(sorted(first)))
        return {row.name: ShownPoint(row.id, row.text, first[row.id]) for row in rows}

    def add_trial(self, point: int, trial: Trial, *, session_id: str) -> None:
        """Add the result of one chunk of the session for the point with the number *point*."""
        known = {"session_id": session_id, "point_id": point, "now": self.now}
        self._execute(_TRY, **known, **asdict(trial) | {"followed": int(trial.followed)})

    def voted_on(self, session_id: str) -> dict[str, str]:
        """Return the tags of the votes that the session cast itself, by point. Votes learned from it don't count."""
        return {row.name: row.tag for row in self._execute(_VOTED_ON, session_id=session_id)}

    def taught_by(self, session_id: str) -> set[str]:
        """Return the names of the points that the session added, or that it said again."""
        return set(self._execute(_TAUGHT_BY, session_id=session_id).scalars())

    def point_signals(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return facts about the use of each of the points *names*, by name. They are named as in
        `llm.marks.PointMarks`. A date of None means never; flags are 1 or 0."""
        rows = self._execute(_POINT_USE, names=json.dumps(list(names))).mappings()
        return {row["name"]: {key: value for key, value in row.items() if key != "name"} for row in rows}

    def waiting_reflection(self, chunk: ChunkKey) -> StoredReflection | None:
        """Return the reflector's answer for *chunk* if an earlier try stored one but didn't finish, else None."""
        row = self._execute(_WAITING, path=as_text(chunk.path), start=chunk.start, end=chunk.end).first()
        if row is None:
            return None
        tags, lessons = (json.loads(each or "[]") for each in (row.bullet_tags, row.lessons))
        return StoredReflection(row.id, row.analysis or "", tags, lessons)

    def add_reflection(
        self,
        chunk: ChunkKey,
        *,
        session_id: str,
        analysis: str,
        bullet_tags: Sequence[object],
        lessons: Sequence[object] = (),
        calls: Sequence[Call],
    ) -> int:
        """Store the reflector's answer for *chunk*, and the cost of its *calls*. Return the reflection's number."""
        number = self.next_id(reflections)
        self._execute(
            insert(reflections),
            id=number,
            session_id=session_id,
            transcript_path=as_text(chunk.path),
            from_offset=chunk.start,
            to_offset=chunk.end,
            analysis=analysis,
            bullet_tags=json.dumps(list(bullet_tags), default=str),
            lessons=json.dumps(list(lessons), default=str),
            created_at=self.now,
            **_totals(calls),
        )
        return number

    def finish_reflection(
        self, number: int, *, revision: int | None, curator_reasoning: str | None, calls: Sequence[Call]
    ) -> None:
        """Mark the reflection *number* as applied. *revision* contains its changes, or is None if it made none. Add the
        cost of the *calls*."""
        more = _totals(calls)
        self.connection.execute(
            update(reflections)
            .where(reflections.c.playbook_id == self.playbook_id, reflections.c.id == number)
            .values(
                revision=revision,
                curator_reasoning=curator_reasoning,
                finished_at=self.now,
                **{name: func.coalesce(reflections.c[name], 0) + more[name] for name in _COUNTED if more[name]},
            )
        )

    def add_call(self, call: Call, *, session_id: str | None, agreed: bool = False) -> None:
        """Store the cost of *call*. *agreed* means that the user agreed to the cost beforehand."""
        known = {"id": self.next_id(model_calls), "session_id": session_id, "time": self.now, "agreed": int(agreed)}
        self._execute(insert(model_calls), **known, **asdict(call))

    def session(self, session_id: str) -> SessionSummary | None:
        """Return the session *session_id*, or None if nothing was learned from it."""
        row = self._execute(_ONE_SESSION, session_id=session_id).first()
        return SessionSummary(*row) if row else None

    def taught(self, sessions: Sequence[str]) -> dict[str, dict[str, int]]:
        """Count the changes that each session made, by kind, and its votes, by tag. Changes by votes aren't counted."""
        taught: dict[str, dict[str, int]] = {session: {} for session in sessions}
        for session, what, count in self._execute(_TAUGHT, sessions=sessions) if sessions else ():
            taught[session][what] = count
        return taught


def tokens_since(connection: Connection, time: str, key: str | None = None, *, agreed: bool = False) -> int:
    """Return the number of tokens used since *time*, including cached ones, by the project *key* or by all projects. If
    *agreed*, count only tokens that the user agreed to beforehand, else only the others."""
    tokens = model_calls.c.input_tokens + model_calls.c.cached_tokens + model_calls.c.output_tokens
    query = select(func.sum(tokens)).where(model_calls.c.time >= time, model_calls.c.agreed == int(agreed))
    if key is not None:
        query = query.join(playbooks, playbooks.c.id == model_calls.c.playbook_id).where(playbooks.c.key == key)
    return connection.scalar(query) or 0
