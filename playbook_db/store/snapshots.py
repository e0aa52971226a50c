"""The playbook as it was: at any revision, and which revision a time, a file or an undo belongs to."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Row, TextClause, bindparam, func, select
from sqlalchemy import text as sql

from playbook_db.domain import prompt_text
from playbook_db.domain.playbook import MAX_COUNTER, Header, KeyPoint, Playbook, PointState
from playbook_db.domain.undo import RevisionRange, Undo
from playbook_db.store import hook_queries
from playbook_db.store.playbook_rows import PlaybookRows, point_of
from playbook_db.store.tables import key_points, revisions

# The last change of each point up to a revision, and the last that changed its text. Each subquery is one step down an
# index, so that the time hangs on the number of points, not on the length of the history; what is materialized, and
# the index that is named, hold SQLite's planner to that.
_POINTS_AT = """
WITH touched AS MATERIALIZED (
    SELECT k.id, k.name, (
        SELECT r.revision FROM changes AS r
        WHERE r.playbook_id = :playbook_id AND r.point_id = k.id AND r.revision <= :revision
        ORDER BY r.revision DESC LIMIT 1
    ) AS revision, (
        SELECT r.revision FROM changes AS r {text_index}
        WHERE r.playbook_id = :playbook_id AND r.point_id = k.id AND r.revision <= :revision AND r.text IS NOT NULL
        ORDER BY r.revision DESC LIMIT 1
    ) AS text_in
    FROM key_points AS k WHERE k.playbook_id = :playbook_id {which}
), last AS MATERIALIZED (
    SELECT id, name, revision, text_in, (
        SELECT max(q.seq) FROM changes AS q
        WHERE q.playbook_id = :playbook_id AND q.point_id = id AND q.revision = touched.revision
    ) AS seq, (
        SELECT max(q.seq) FROM changes AS q {text_index}
        WHERE q.playbook_id = :playbook_id AND q.point_id = id AND q.revision = text_in AND q.text IS NOT NULL
    ) AS text_seq
    FROM touched WHERE revision IS NOT NULL
)
SELECT last.name, t.text, c.section, c.helpful, c.harmful, c.position, c.kind <> 'retire' AS is_live, last.id,
       last.revision
FROM last
JOIN changes AS c ON c.playbook_id = :playbook_id AND c.revision = last.revision AND c.seq = last.seq
JOIN changes AS t ON t.playbook_id = :playbook_id AND t.revision = last.text_in AND t.seq = last.text_seq
JOIN sections AS s ON s.slug = c.section
{live}
ORDER BY s.position, c.position
"""
_TOUCHED = """
AND k.id IN (SELECT c.point_id FROM changes AS c
             WHERE c.playbook_id = :playbook_id AND c.revision BETWEEN :first AND :last)
"""

_OF_PLAYBOOK: BindParameter[int] = bindparam("of_playbook")
_OF_REVISION: BindParameter[int] = bindparam("of_revision")
_HIGHEST_ID = select(func.max(key_points.c.id)).where(
    key_points.c.playbook_id == _OF_PLAYBOOK, key_points.c.created_in <= _OF_REVISION
)
_LAST_BEFORE = select(func.max(revisions.c.number)).where(
    revisions.c.playbook_id == _OF_PLAYBOOK, revisions.c.time <= bindparam("at_time")
)
_SOURCE_AND_MESSAGE = select(revisions.c.source, revisions.c.message).where(
    revisions.c.playbook_id == _OF_PLAYBOOK, revisions.c.number == _OF_REVISION
)
_UNDOS_AFTER = (
    select(revisions.c.number, revisions.c.took_back_from, revisions.c.took_back_to)
    .where(
        revisions.c.playbook_id == _OF_PLAYBOOK,
        revisions.c.number > _OF_REVISION,
        revisions.c.number <= bindparam("up_to"),
        revisions.c.took_back_from.is_not(None),
    )
    .order_by(revisions.c.number.desc())
)


@cache
def _points_at(text_index: str, *, only_touched: bool) -> TextClause:
    which, live = (_TOUCHED, "") if only_touched else ("", "WHERE c.kind <> 'retire'")
    return sql(_POINTS_AT.format(text_index=text_index, which=which, live=live))


class Snapshots(PlaybookRows):
    """The states of one playbook."""

    def at(self, revision: int) -> Playbook:
        """The playbook as it was after *revision*; the empty one for 0. `spent` isn't filled."""
        rows = self._points_at(revision)
        return Playbook(tuple(map(point_of, rows)), header=self.header_at(revision))

    def candidates_at(self, revision: int) -> tuple[list[KeyPoint], list[KeyPoint], int]:
        """What `domain.prompt_text` chose from after *revision*: the points that were live, best first, the newest
        without votes, and how many were live."""
        rows = self._points_at(revision)
        ranked = sorted(rows, key=lambda row: (-prompt_text.rank(row.helpful, row.harmful, row.revision), row.id))
        highest = self.connection.scalar(_HIGHEST_ID, self._of(revision)) or 0
        newest = sorted((row for row in rows if row.id > highest - hook_queries.NEWEST), key=lambda row: -row.id)
        unjudged = [point_of(row) for row in newest if not (row.helpful or row.harmful)]
        return list(map(point_of, ranked)), unjudged, len(rows)

    def states_at(self, revision: int, *, changed_in: RevisionRange) -> dict[str, PointState]:
        """How the points that the revisions *changed_in* touched were after *revision*, live or retired, by name;
        those that weren't there yet are missing."""
        rows = self._points_at(revision, changed_in)
        return {row.name: PointState(point_of(row), bool(row.is_live)) for row in rows}

    def header_at(self, revision: int) -> Header:
        """The header as it was after *revision*; the one of an empty playbook for 0."""
        row = self.connection.execute(
            select(revisions.c.number, revisions.c.header, revisions.c.final_newline)
            .where(
                revisions.c.playbook_id == self.playbook_id,
                revisions.c.number <= revision,
                revisions.c.header.is_not(None),
            )
            .order_by(revisions.c.number.desc())
            .limit(1)
        ).first()
        header = header_of(row.header, row.final_newline) if row else Header()
        if revision == 0 or (row and row.number == revision):
            return header
        time = self.time_of(revision)
        return header.stamped(time) if time else header

    def revision_at(self, time: str) -> int:
        """The last revision that was made at *time* (UTC, as the history has it) or before; 0 where there was none."""
        number: int | None = self.connection.scalar(_LAST_BEFORE, {**self._of(0), "at_time": time})
        return number or 0

    def revision_of(self, header: Header) -> int | None:
        """The revision that a file or dict with *header* descends from, where its `last_updated` is one of ours."""
        if header.last_updated is None:
            return None
        of_playbook = revisions.c.playbook_id == self.playbook_id
        by_time = self.connection.scalars(
            select(revisions.c.number).where(
                of_playbook, revisions.c.time == header.last_updated, revisions.c.header.is_(None)
            )
        )
        with_header = self.connection.execute(
            select(revisions.c.number, revisions.c.header).where(of_playbook, revisions.c.header.is_not(None))
        )
        by_header = (r.number for r in with_header if json.loads(r.header).get("last_updated") == header.last_updated)
        return max((*by_time, *by_header), default=None)

    def time_of(self, revision: int) -> str | None:
        """When *revision* was made; None where there is no such revision."""
        return self.connection.scalar(
            select(revisions.c.time).where(revisions.c.playbook_id == self.playbook_id, revisions.c.number == revision)
        )

    def source_and_message(self, revision: int) -> tuple[str, str | None]:
        """The source and the message of *revision*, which is there."""
        source, message = self.connection.execute(_SOURCE_AND_MESSAGE, self._of(revision)).one()
        return source, message

    def undos_after(self, revision: int, *, up_to: int = MAX_COUNTER) -> list[Undo]:
        """The undos that came after *revision*, no later than *up_to*, newest first."""
        rows = self.connection.execute(_UNDOS_AFTER, {**self._of(revision), "up_to": up_to})
        return [Undo(number, RevisionRange(first, last)) for number, first, last in rows]

    def _points_at(self, revision: int, changed_in: RevisionRange | None = None) -> "Sequence[Row[Any]]":
        statement = _points_at(self.index_hint("ix_changes_text"), only_touched=changed_in is not None)
        values = {"playbook_id": self.playbook_id, "revision": revision}
        if changed_in is not None:
            values |= {"first": changed_in.first, "last": changed_in.last}
        return self.connection.execute(statement, values).all()

    def _of(self, revision: int) -> dict[str, object]:
        return {"of_playbook": self.playbook_id, "of_revision": revision}


def header_of(fields: str, final_newline: int) -> Header:
    """The header that the two columns `header` and `final_newline` hold."""
    return Header(tuple(json.loads(fields).items()), bool(final_newline))
