"""Reading the append-only history: the playbook at any revision, and which revision a time or a file belongs to."""

import json
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, TextClause, bindparam, func, select
from sqlalchemy import text as sql

from playbook_db.domain import prompt_text
from playbook_db.domain.playbook import MAX_COUNTER, Header, KeyPoint, Playbook, PointState
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.domain.undo import RevisionRange, Undo
from playbook_db.store import hook_queries
from playbook_db.store.playbooks import header_of
from playbook_db.store.sqlite import dialect
from playbook_db.store.tables import key_points, revisions

# The last change of each point up to a revision, and the last that told its text. Each subquery is one step down an
# index, so that the time hangs on the number of points, not on the length of the history; what is materialized, and
# the index that is named, hold SQLite's planner to that.
_POINTS_AT = """
WITH touched AS MATERIALIZED (
    SELECT k.id, k.name, (
        SELECT r.revision FROM changes AS r
        WHERE r.playbook_id = :playbook_id AND r.point_id = k.id AND r.revision <= :revision
        ORDER BY r.revision DESC LIMIT 1
    ) AS revision, (
        SELECT r.revision FROM changes AS r {by_text}
        WHERE r.playbook_id = :playbook_id AND r.point_id = k.id AND r.revision <= :revision AND r.text IS NOT NULL
        ORDER BY r.revision DESC LIMIT 1
    ) AS told_in
    FROM key_points AS k WHERE k.playbook_id = :playbook_id {which}
), last AS MATERIALIZED (
    SELECT id, name, revision, told_in, (
        SELECT max(q.seq) FROM changes AS q
        WHERE q.playbook_id = :playbook_id AND q.point_id = id AND q.revision = touched.revision
    ) AS seq, (
        SELECT max(q.seq) FROM changes AS q {by_text}
        WHERE q.playbook_id = :playbook_id AND q.point_id = id AND q.revision = told_in AND q.text IS NOT NULL
    ) AS told_seq
    FROM touched WHERE revision IS NOT NULL
)
SELECT last.name, t.text, c.section, c.helpful, c.harmful, c.position, c.kind <> 'retire' AS is_live, last.id,
       last.revision
FROM last
JOIN changes AS c ON c.playbook_id = :playbook_id AND c.revision = last.revision AND c.seq = last.seq
JOIN changes AS t ON t.playbook_id = :playbook_id AND t.revision = last.told_in AND t.seq = last.told_seq
JOIN sections AS s ON s.slug = c.section
{live}
ORDER BY s.position, c.position
"""
_TOUCHED = """
AND k.id IN (SELECT c.point_id FROM changes AS c
             WHERE c.playbook_id = :playbook_id AND c.revision BETWEEN :first AND :last)
"""


def _for_each_dialect(**parts: str) -> dict[bool, TextClause]:
    """The statement with *parts* in it, under whether it is for SQLite."""
    by_text = {True: dialect.by_index("ix_changes_text"), False: ""}
    return {on_sqlite: sql(_POINTS_AT.format(by_text=by_text[on_sqlite], **parts)) for on_sqlite in by_text}


_LIVE_AT = _for_each_dialect(which="", live="WHERE c.kind <> 'retire'")
_STATES_AT = _for_each_dialect(which=_TOUCHED, live="")
_OF_PLAYBOOK = revisions.c.playbook_id == bindparam("of_playbook")
_HIGHEST_ID = select(func.max(key_points.c.id)).where(
    key_points.c.playbook_id == bindparam("of_playbook"), key_points.c.created_in <= bindparam("at_revision")
)
_LAST_BEFORE = select(func.max(revisions.c.number)).where(_OF_PLAYBOOK, revisions.c.time <= bindparam("at_time"))


def read_at(connection: Connection, playbook_id: int, revision: int) -> Playbook:
    """The playbook as it was after *revision*; the empty one for 0. `spent` isn't filled: the past is not added to."""
    statement = _LIVE_AT[connection.dialect.name == "sqlite"]
    rows = connection.execute(statement, {"playbook_id": playbook_id, "revision": revision})
    return Playbook(tuple(map(_point, rows)), header=header_at(connection, playbook_id, revision))


def candidates_at(
    connection: Connection, playbook_id: int, revision: int
) -> tuple[list[KeyPoint], list[KeyPoint], int]:
    """What `playbooks.read_candidates` would have given after *revision*: the points that were live, best first, the
    newest without votes, and how many were live."""
    statement = _LIVE_AT[connection.dialect.name == "sqlite"]
    rows = connection.execute(statement, {"playbook_id": playbook_id, "revision": revision}).all()
    ranked = sorted(rows, key=lambda row: (-prompt_text.rank(row.helpful, row.harmful, row.revision), row.id))
    highest = connection.scalar(_HIGHEST_ID, {"of_playbook": playbook_id, "at_revision": revision}) or 0
    newest = sorted((row for row in rows if row.id > highest - hook_queries.NEWEST), key=lambda row: -row.id)
    unjudged = [_point(row) for row in newest if not (row.helpful or row.harmful)]
    return list(map(_point, ranked)), unjudged, len(rows)


def states_at(
    connection: Connection, playbook_id: int, revision: int, *, first: int, last: int
) -> dict[str, PointState]:
    """How the points that the revisions *first* to *last* changed were after *revision*, live or retired, by name;
    those that weren't there yet are missing."""
    statement = _STATES_AT[connection.dialect.name == "sqlite"]
    wanted = {"playbook_id": playbook_id, "revision": revision, "first": first, "last": last}
    return {row.name: PointState(_point(row), bool(row.is_live)) for row in connection.execute(statement, wanted)}


def revision_at(connection: Connection, playbook_id: int, time: str) -> int:
    """The last revision that was made at *time* (UTC, as the history has it) or before; 0 where there was none yet."""
    found = connection.scalar(_LAST_BEFORE, {"of_playbook": playbook_id, "at_time": time})
    return found or 0


def find_by_last_updated(connection: Connection, playbook_id: int, last_updated: str) -> int | None:
    """The revision whose playbook carries *last_updated*, None where there is none: it names a revision."""
    of_playbook = revisions.c.playbook_id == playbook_id
    by_time = connection.scalars(
        select(revisions.c.number).where(of_playbook, revisions.c.time == last_updated, revisions.c.header.is_(None))
    )
    told = connection.execute(
        select(revisions.c.number, revisions.c.header).where(of_playbook, revisions.c.header.is_not(None))
    )
    by_header = (row.number for row in told if json.loads(row.header).get("last_updated") == last_updated)
    return max((*by_time, *by_header), default=None)


def header_at(connection: Connection, playbook_id: int, revision: int) -> Header:
    """The playbook's header as it was after *revision*; the one of an empty playbook for 0."""
    told = connection.execute(
        select(revisions.c.number, revisions.c.header, revisions.c.final_newline)
        .where(
            revisions.c.playbook_id == playbook_id,
            revisions.c.number <= revision,
            revisions.c.header.is_not(None),
        )
        .order_by(revisions.c.number.desc())
        .limit(1)
    ).first()
    header = header_of(told.header, told.final_newline) if told else Header()
    if revision == 0 or (told and told.number == revision):
        return header
    time = time_of(connection, playbook_id, revision)
    return header.stamped(time) if time else header


def time_of(connection: Connection, playbook_id: int, revision: int) -> str | None:
    """When *revision* was made; None where there is no such revision."""
    return connection.scalar(
        select(revisions.c.time).where(revisions.c.playbook_id == playbook_id, revisions.c.number == revision)
    )


def _point(row: "Row[Any]") -> KeyPoint:
    return KeyPoint(row.name, row.text, SLUG_SECTIONS[row.section], row.helpful, row.harmful, row.position)


# What taking revisions back asks of the history: what a revision said of itself, and which were taken back.


_UNDOS_OF_PLAYBOOK: BindParameter[int] = bindparam("of_playbook")
_OF_REVISION: BindParameter[int] = bindparam("of_revision")
_SAID = select(revisions.c.source, revisions.c.message).where(
    revisions.c.playbook_id == _UNDOS_OF_PLAYBOOK, revisions.c.number == _OF_REVISION
)
_UNDOS_AFTER = (
    select(revisions.c.number, revisions.c.took_back_from, revisions.c.took_back_to)
    .where(
        revisions.c.playbook_id == _UNDOS_OF_PLAYBOOK,
        revisions.c.number > _OF_REVISION,
        revisions.c.number <= bindparam("up_to"),
        revisions.c.took_back_from.is_not(None),
    )
    .order_by(revisions.c.number.desc())
)


def said_by(connection: Connection, playbook_id: int, revision: int) -> tuple[str, str | None]:
    """The source and the message of *revision*, which is there."""
    source, message = connection.execute(_SAID, {"of_playbook": playbook_id, "of_revision": revision}).one()
    return source, message


def undos_after(connection: Connection, playbook_id: int, revision: int, *, up_to: int = MAX_COUNTER) -> list[Undo]:
    """The undos that came after *revision*, no later than *up_to*, newest first."""
    rows = connection.execute(_UNDOS_AFTER, {"of_playbook": playbook_id, "of_revision": revision, "up_to": up_to})
    return [Undo(number, RevisionRange(first, last)) for number, first, last in rows]
