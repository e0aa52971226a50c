"""How far transcripts have been learnt from, what they cited, what the reflector said of each stretch, and what asking
a model took."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy import text as sql

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
class StretchKey:
    """A stretch of a transcript: from one byte to before another."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StoredReflection:
    """What the reflector said of a stretch whose votes aren't counted yet."""

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


def learnt_to(connection: Connection, playbook_id: int, path: str) -> int:
    """Up to which byte the transcript at *path* has been learnt from; 0 where nothing of it has."""
    found = connection.scalar(
        select(transcripts.c.learnt_to).where(transcripts.c.playbook_id == playbook_id, transcripts.c.path == path)
    )
    return found or 0


def first_uuid(connection: Connection, playbook_id: int, path: str) -> str | None:
    """The first entry of the transcript at *path* when it was learnt from; None where that isn't known."""
    return connection.scalar(
        select(transcripts.c.first_uuid).where(transcripts.c.playbook_id == playbook_id, transcripts.c.path == path)
    )


def cursors(connection: Connection, playbook_id: int) -> dict[str, int]:
    """Up to which byte each transcript of the playbook has been learnt from, by path."""
    rows = connection.execute(
        select(transcripts.c.path, transcripts.c.learnt_to).where(transcripts.c.playbook_id == playbook_id)
    )
    return dict(rows.all())


def beginning_with(connection: Connection, playbook_id: int, first_uuid: str) -> dict[str, int]:
    """Up to which byte each transcript that begins with the entry *first_uuid* has been learnt from, by path."""
    rows = connection.execute(
        select(transcripts.c.path, transcripts.c.learnt_to).where(
            transcripts.c.playbook_id == playbook_id, transcripts.c.first_uuid == first_uuid
        )
    )
    return dict(rows.all())


def move_cursor(
    connection: Connection,
    playbook_id: int,
    path: str,
    reached: int,
    *,
    session_id: str,
    last_uuid: str | None,
    now: str,
    first_uuid: str | None = None,
) -> None:
    """Keep that the transcript at *path* has been learnt from up to the byte *reached*."""
    known = {"session_id": session_id, "learnt_to": reached, "updated_at": now}
    known |= {name: uuid for name, uuid in (("last_uuid", last_uuid), ("first_uuid", first_uuid)) if uuid is not None}
    changed = connection.execute(
        update(transcripts).where(transcripts.c.playbook_id == playbook_id, transcripts.c.path == path).values(known)
    )
    if not changed.rowcount:
        connection.execute(insert(transcripts).values(playbook_id=playbook_id, path=path, **known))


def add_citations(
    connection: Connection, playbook_id: int, names: Sequence[str], *, session_id: str, revision: int, now: str
) -> None:
    """Keep that a stretch of the session cited the points *names*, live or retired; what was no point of the playbook
    at *revision* is left out."""
    for start in range(0, len(names), _NAMES_AT_ONCE):
        some = names[start : start + _NAMES_AT_ONCE]
        cited = connection.scalars(
            select(key_points.c.id).where(
                key_points.c.playbook_id == playbook_id,
                key_points.c.name.in_(some),
                key_points.c.created_in <= revision,
            )
        ).all()
        if cited:
            one = {"playbook_id": playbook_id, "session_id": session_id, "now": now}
            connection.execute(_CITE, [{**one, "point_id": point_id} for point_id in cited])


def waiting_reflection(connection: Connection, playbook_id: int, stretch: StretchKey) -> StoredReflection | None:
    """What the reflector said of *stretch* in an earlier try, where that isn't taken in yet."""
    row = connection.execute(
        select(reflections.c.id, reflections.c.analysis, reflections.c.bullet_tags)
        .where(
            reflections.c.playbook_id == playbook_id,
            reflections.c.transcript_path == stretch.path,
            reflections.c.finished_at.is_(None),
            reflections.c.from_offset == stretch.start,
            reflections.c.to_offset == stretch.end,
        )
        .order_by(reflections.c.id.desc())
        .limit(1)
    ).first()
    return StoredReflection(row.id, row.analysis or "", json.loads(row.bullet_tags or "[]")) if row else None


def add_reflection(
    connection: Connection,
    playbook_id: int,
    stretch: StretchKey,
    *,
    session_id: str,
    analysis: str,
    bullet_tags: Sequence[object],
    calls: Sequence[Call],
    now: str,
) -> int:
    """Keep what the reflector said of *stretch*, until it is taken in, and what the *calls* for it took; its number."""
    number = _next_id(connection, reflections, playbook_id)
    connection.execute(
        insert(reflections).values(
            playbook_id=playbook_id,
            id=number,
            session_id=session_id,
            transcript_path=stretch.path,
            from_offset=stretch.start,
            to_offset=stretch.end,
            analysis=analysis,
            bullet_tags=json.dumps(list(bullet_tags), default=str),
            created_at=now,
            **_totals(calls),
        )
    )
    return number


def finish_reflection(
    connection: Connection,
    playbook_id: int,
    number: int,
    *,
    revision: int | None,
    curator_reasoning: str | None,
    calls: Sequence[Call],
    now: str,
) -> None:
    """Keep that the reflection's votes and the curator's operations have been taken in, as *revision* if any, and what
    the *calls* for it took."""
    more = _totals(calls)
    connection.execute(
        update(reflections)
        .where(reflections.c.playbook_id == playbook_id, reflections.c.id == number)
        .values(
            revision=revision,
            curator_reasoning=curator_reasoning,
            finished_at=now,
            **{name: func.coalesce(reflections.c[name], 0) + more[name] for name in _COUNTED if more[name]},
        )
    )


def add_call(connection: Connection, playbook_id: int, call: Call, *, session_id: str | None, now: str) -> None:
    """Keep what *call* took."""
    connection.execute(
        insert(model_calls).values(
            playbook_id=playbook_id,
            id=_next_id(connection, model_calls, playbook_id),
            session_id=session_id,
            time=now,
            **asdict(call),
        )
    )


def tokens_since(connection: Connection, time: str) -> int:
    """The tokens sent, cached ones included, and received since *time*, for all playbooks together."""
    spent = select(func.sum(_TOKENS)).where(model_calls.c.time >= time)
    return connection.scalar(spent) or 0


@dataclass(frozen=True, slots=True)
class SessionTold:
    """What a session taught and what learning from it took."""

    session_id: str
    first_at: str
    revisions: int
    calls: int
    tokens: int
    cost_usd: float | None


def sessions(connection: Connection, playbook_id: int) -> list[SessionTold]:
    """Each session that was learnt from, the newest first."""
    told: dict[str, list[Any]] = {}
    for session_id, first, count in connection.execute(
        select(revisions.c.session_id, func.min(revisions.c.time), func.count())
        .where(revisions.c.playbook_id == playbook_id, revisions.c.session_id.is_not(None))
        .group_by(revisions.c.session_id)
    ):
        told[session_id] = [first, count, 0, 0, None]
    for session_id, first, calls, tokens, cost in connection.execute(
        select(
            model_calls.c.session_id,
            func.min(model_calls.c.time),
            func.count(),
            func.sum(_TOKENS),
            func.sum(model_calls.c.cost_usd),
        )
        .where(model_calls.c.playbook_id == playbook_id, model_calls.c.session_id.is_not(None))
        .group_by(model_calls.c.session_id)
    ):
        known = told.setdefault(session_id, [first, 0, 0, 0, None])
        known[2:] = [calls, tokens, cost]
    found = [SessionTold(session_id, *rest) for session_id, rest in told.items()]
    return sorted(found, key=lambda session: session.first_at, reverse=True)


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


def _next_id(connection: Connection, table: Any, playbook_id: int) -> int:
    return (connection.scalar(select(func.max(table.c.id)).where(table.c.playbook_id == playbook_id)) or 0) + 1
