"""How far transcripts have been learned from, what they cited, what the reflector said of each chunk, and the model's
cost."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update
from sqlalchemy import text as sql

from playbook_db.store.playbook_rows import PlaybookRows
from playbook_db.store.tables import key_points, model_calls, reflections, revisions, transcripts

_NAMES_AT_ONCE = 500  # a database takes only so many values in one statement
_CITE = sql("""
INSERT INTO citations (playbook_id, session_id, point_id, stretches, time)
VALUES (:playbook_id, :session_id, :point_id, 1, :now)
ON CONFLICT (playbook_id, session_id, point_id)
DO UPDATE SET stretches = citations.stretches + 1, time = excluded.time
""")
_TOKENS = model_calls.c.input_tokens + model_calls.c.cached_tokens + model_calls.c.output_tokens
_COUNTED = ("input_tokens", "output_tokens", "cached_tokens", "cost_usd", "duration_ms")


@dataclass(frozen=True, slots=True)
class ChunkKey:
    """A chunk of a transcript: from one byte to before another."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StoredReflection:
    """What the reflector said of a chunk whose votes aren't counted yet."""

    id: int
    analysis: str
    bullet_tags: list[Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model: `kind` is reflect or curate; tokens, US dollars where a price is known, milliseconds."""

    kind: str
    model: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None
    duration_ms: int


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What a session taught and what learning from it took."""

    session_id: str
    first_at: str
    revisions: int
    calls: int
    tokens: int
    cost_usd: float | None


def _totals(calls: Sequence[Call]) -> dict[str, Any]:
    """What *calls* took together, as the columns of a reflection."""
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
    """What was learned from, what was cited and what it cost, in one playbook."""

    def learned_to(self, path: str) -> int:
        """Up to which byte the transcript at *path* has been learned from; 0 where nothing of it has."""
        return self.cursor(path)[0]

    def cursor(self, path: str) -> tuple[int, str | None]:
        """Up to which byte the transcript at *path* has been learned from, and its first entry then, where known."""
        row = self.connection.execute(
            select(transcripts.c.learnt_to, transcripts.c.first_uuid).where(
                transcripts.c.playbook_id == self.playbook_id, transcripts.c.path == path
            )
        ).first()
        return (row.learnt_to, row.first_uuid) if row else (0, None)

    def cursors(self) -> dict[str, int]:
        """Up to which byte each transcript of the playbook has been learned from, by path."""
        rows = self.connection.execute(
            select(transcripts.c.path, transcripts.c.learnt_to).where(transcripts.c.playbook_id == self.playbook_id)
        )
        return dict(rows.all())

    def transcripts_beginning_with(self, first_uuid: str) -> dict[str, int]:
        """Up to which byte each transcript that begins with the entry *first_uuid* has been learned from, by path."""
        rows = self.connection.execute(
            select(transcripts.c.path, transcripts.c.learnt_to).where(
                transcripts.c.playbook_id == self.playbook_id, transcripts.c.first_uuid == first_uuid
            )
        )
        return dict(rows.all())

    def move_cursor(
        self,
        path: str,
        offset: int,
        *,
        session_id: str,
        last_uuid: str | None,
        now: str,
        first_uuid: str | None = None,
    ) -> None:
        """Keep that the transcript at *path* has been learned from up to the byte *offset*."""
        columns = {"session_id": session_id, "learnt_to": offset, "updated_at": now}
        columns |= {
            name: uuid for name, uuid in (("last_uuid", last_uuid), ("first_uuid", first_uuid)) if uuid is not None
        }
        changed = self.connection.execute(
            update(transcripts)
            .where(transcripts.c.playbook_id == self.playbook_id, transcripts.c.path == path)
            .values(columns)
        )
        if not changed.rowcount:
            self.connection.execute(insert(transcripts).values(playbook_id=self.playbook_id, path=path, **columns))

    def add_citations(self, names: Sequence[str], *, session_id: str, revision: int, now: str) -> None:
        """Keep that a chunk of the session cited the points *names*, live or retired; what was no point of the playbook
        at *revision* is left out."""
        for start in range(0, len(names), _NAMES_AT_ONCE):
            some = names[start : start + _NAMES_AT_ONCE]
            cited = self.connection.scalars(
                select(key_points.c.id).where(
                    key_points.c.playbook_id == self.playbook_id,
                    key_points.c.name.in_(some),
                    key_points.c.created_in <= revision,
                )
            ).all()
            if cited:
                one = {"playbook_id": self.playbook_id, "session_id": session_id, "now": now}
                self.connection.execute(_CITE, [{**one, "point_id": point_id} for point_id in cited])

    def waiting_reflection(self, chunk: ChunkKey) -> StoredReflection | None:
        """What the reflector said of *chunk* in an earlier try, where that isn't taken in yet."""
        row = self.connection.execute(
            select(reflections.c.id, reflections.c.analysis, reflections.c.bullet_tags)
            .where(
                reflections.c.playbook_id == self.playbook_id,
                reflections.c.transcript_path == chunk.path,
                reflections.c.finished_at.is_(None),
                reflections.c.from_offset == chunk.start,
                reflections.c.to_offset == chunk.end,
            )
            .order_by(reflections.c.id.desc())
            .limit(1)
        ).first()
        return StoredReflection(row.id, row.analysis or "", json.loads(row.bullet_tags or "[]")) if row else None

    def add_reflection(
        self,
        chunk: ChunkKey,
        *,
        session_id: str,
        analysis: str,
        bullet_tags: Sequence[object],
        calls: Sequence[Call],
        now: str,
    ) -> int:
        """Keep what the reflector said of *chunk*, until it is taken in, and what the *calls* cost; its number."""
        number = self._next_id(reflections)
        self.connection.execute(
            insert(reflections).values(
                playbook_id=self.playbook_id,
                id=number,
                session_id=session_id,
                transcript_path=chunk.path,
                from_offset=chunk.start,
                to_offset=chunk.end,
                analysis=analysis,
                bullet_tags=json.dumps(list(bullet_tags), default=str),
                created_at=now,
                **_totals(calls),
            )
        )
        return number

    def finish_reflection(
        self,
        number: int,
        *,
        revision: int | None,
        curator_reasoning: str | None,
        calls: Sequence[Call],
        now: str,
    ) -> None:
        """Keep that the reflection's votes and the curator's operations have been taken in, as *revision* if any, and
        what the *calls* cost."""
        more = _totals(calls)
        self.connection.execute(
            update(reflections)
            .where(reflections.c.playbook_id == self.playbook_id, reflections.c.id == number)
            .values(
                revision=revision,
                curator_reasoning=curator_reasoning,
                finished_at=now,
                **{name: func.coalesce(reflections.c[name], 0) + more[name] for name in _COUNTED if more[name]},
            )
        )

    def add_call(self, call: Call, *, session_id: str | None, now: str) -> None:
        """Keep what *call* took."""
        self.connection.execute(
            insert(model_calls).values(
                playbook_id=self.playbook_id,
                id=self._next_id(model_calls),
                session_id=session_id,
                time=now,
                **asdict(call),
            )
        )

    def sessions(self) -> list[SessionSummary]:
        """Each session that was learned from, the newest first."""
        summaries: dict[str, list[Any]] = {}
        for session_id, first, count in self.connection.execute(
            select(revisions.c.session_id, func.min(revisions.c.time), func.count())
            .where(revisions.c.playbook_id == self.playbook_id, revisions.c.session_id.is_not(None))
            .group_by(revisions.c.session_id)
        ):
            summaries[session_id] = [first, count, 0, 0, None]
        for session_id, first, calls, tokens, cost in self.connection.execute(
            select(
                model_calls.c.session_id,
                func.min(model_calls.c.time),
                func.count(),
                func.sum(_TOKENS),
                func.sum(model_calls.c.cost_usd),
            )
            .where(model_calls.c.playbook_id == self.playbook_id, model_calls.c.session_id.is_not(None))
            .group_by(model_calls.c.session_id)
        ):
            summaries.setdefault(session_id, [first, 0, 0, 0, None])[2:] = [calls, tokens, cost]
        sessions = [SessionSummary(session_id, *rest) for session_id, rest in summaries.items()]
        return sorted(sessions, key=lambda session: session.first_at, reverse=True)

    def _next_id(self, table: Table) -> int:
        return (
            self.connection.scalar(select(func.max(table.c.id)).where(table.c.playbook_id == self.playbook_id)) or 0
        ) + 1


def tokens_since(connection: Connection, time: str) -> int:
    """The tokens sent, cached ones included, and received since *time*, for all playbooks together."""
    spent = select(func.sum(_TOKENS)).where(model_calls.c.time >= time)
    return connection.scalar(spent) or 0
