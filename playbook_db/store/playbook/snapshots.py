"""Read the playbook at any revision. Find the revisions of a given time, file or undo."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row
from sqlalchemy import text as sql

from playbook_db.domain.merging.undo_rules import RevisionRange, Undo
from playbook_db.domain.playbook import MAX_COUNTER, Header, Playbook, PointState
from playbook_db.store.playbook.playbook_rows import PlaybookRows, point_of
from playbook_db.store.queries import list_queries
from playbook_db.store.queries.revision_log import header_of

# For each point: its last change up to a revision, and the last change of its text. One number combines a change's
# revision and its position there. Each subquery is one lookup in an index, so the time depends on the number of points,
# not on the length of the history. MATERIALIZED makes SQLite's planner follow this plan.
_POINTS_AT = """
WITH last AS MATERIALIZED (
    SELECT k.id, k.name, (
        SELECT r.revision * 4294967296 + r.seq FROM changes AS r
        WHERE r.playbook_id = :playbook_id AND r.point_id = k.id AND r.revision <= :revision
        ORDER BY r.revision DESC, r.seq DESC LIMIT 1
    ) AS changed_at, (
        SELECT r.revision * 4294967296 + r.seq FROM changes AS r
        WHERE r.playbook_id = :playbook_id AND r.point_id = k.id AND r.revision <= :revision AND r.text IS NOT NULL
        ORDER BY r.revision DESC, r.seq DESC LIMIT 1
    ) AS worded_at
    FROM key_points AS k WHERE k.playbook_id = :playbook_id {which}
)
SELECT last.id, last.name, t.text, c.section, c.helpful, c.harmful, c.position, c.kind <> 'retire' AS is_live
FROM last
JOIN changes AS c
  ON c.playbook_id = :playbook_id AND c.revision = changed_at / 4294967296 AND c.seq = changed_at % 4294967296
JOIN changes AS t
  ON t.playbook_id = :playbook_id AND t.revision = worded_at / 4294967296 AND t.seq = worded_at % 4294967296
JOIN sections AS s ON s.slug = c.section
{live}
ORDER BY s.position, c.position
"""
_TOUCHED = """
AND k.id IN (SELECT c.point_id FROM changes AS c
             WHERE c.playbook_id = :playbook_id AND c.revision BETWEEN :first AND :last)
"""
_HEADER_AT = sql("""
SELECT number, header, final_newline FROM revisions
WHERE playbook_id = :playbook_id AND number <= :revision AND header IS NOT NULL ORDER BY number DESC LIMIT 1
""")
_REVISION_AT = sql("""
SELECT number FROM revisions WHERE playbook_id = :playbook_id AND time <= :time ORDER BY number DESC LIMIT 1
""")  # times have no index, but increase with the numbers
_REVISION = sql("SELECT time, source, message FROM revisions WHERE playbook_id = :playbook_id AND number = :revision")
_UNDOS = sql("""
SELECT number, undoes_from, undoes_to FROM revisions
WHERE playbook_id = :playbook_id AND undoes_from IS NOT NULL ORDER BY number DESC
""")
_IN_FORCE = sql("""
SELECT undo, first, last FROM undone_ranges
WHERE playbook_id = :playbook_id AND first <= :last AND last >= :first ORDER BY undo DESC
""")

_MOST_ALIKE = 20  # revisions with the same time that a file is compared with

ALL_REVISIONS = RevisionRange(0, MAX_COUNTER)


class Snapshots(PlaybookRows):
    """One playbook as it was after any of its revisions."""

    def at(self, revision: int) -> Playbook:
        """Return the playbook after *revision*, but with an empty `spent`. After revision 0 the playbook is empty."""
        rows = self._points_at(revision)
        return Playbook(tuple(map(point_of, rows)), header=self.header_at(revision))

    def states_at(self, revision: int, *, changed_in: RevisionRange) -> dict[str, PointState]:
        """Return the states after *revision* of the points that the revisions *changed_in* changed, by name. Leave out
        points added later."""
        rows = self._points_at(revision, changed_in)
        return {row.name: PointState(point_of(row), bool(row.is_live)) for row in rows}

    def header_at(self, revision: int) -> Header:
        """Return the header after *revision*. For revision 0, return an empty header."""
        row = self._execute(_HEADER_AT, revision=revision).first()
        header = header_of(row.header, row.final_newline) if row else Header()
        if revision == 0 or (row and row.number == revision):
            return header
        time = self.time_of(revision)
        return header.stamped(time) if time else header

    def revision_at(self, time: str) -> int:
        """Return the last revision up to *time* (UTC, in the history's format), or 0 if there is no such revision."""
        return self._execute(_REVISION_AT, time=time).scalar() or 0

    def base_of(self, theirs: Playbook) -> int | None:
        """Return the revision from which the file or dict *theirs* was made, or None if no revision has its
        `last_updated`.

        If several revisions have that time, return the one that is most similar to *theirs*. A file edited by hand
        keeps its time.
        """
        numbers = self.named_by(theirs.header)[:_MOST_ALIKE]
        if len(numbers) < 2:
            return next(iter(numbers), None)
        fields = _fields_of(theirs)
        return min(numbers, key=lambda number: len(fields ^ _fields_of(self.at(number))))

    def named_by(self, header: Header) -> list[int]:
        """Return the revisions whose files have the `last_updated` of *header*, newest first."""
        return [number for _, number in reversed(list_queries.revisions_named(self, {header.last_updated or ""}))]

    def time_of(self, revision: int) -> str | None:
        """Return the time of *revision*, or None if the revision doesn't exist."""
        row = self._execute(_REVISION, revision=revision).first()
        return row.time if row else None

    def source_and_message(self, revision: int) -> tuple[str, str | None]:
        """Return the source and the message of an existing *revision*."""
        row = self._execute(_REVISION, revision=revision).one()
        return row.source, row.message

    def undos(self) -> list[Undo]:
        """Return all undos, newest first, including those that are no longer in force."""
        return [Undo(number, RevisionRange(first, last)) for number, first, last in self._execute(_UNDOS)]

    def undos_in_force(self, of: RevisionRange = ALL_REVISIONS) -> list[Undo]:
        """Return the undos in force that undid a revision in the range *of*, newest first."""
        rows = self._execute(_IN_FORCE, first=of.first, last=of.last)
        return [Undo(number, RevisionRange(first, last)) for number, first, last in rows]

    def _points_at(self, revision: int, changed_in: RevisionRange | None = None) -> "Sequence[Row[Any]]":
        which, live = (_TOUCHED, "") if changed_in else ("", "WHERE c.kind <> 'retire'")
        statement = sql(_POINTS_AT.format(which=which, live=live))
        values = {"first": changed_in.first, "last": changed_in.last} if changed_in else {}
        return self._execute(statement, revision=revision, **values).all()


def _fields_of(playbook: Playbook) -> set[tuple[str, int, object]]:
    return {(point[0], place, value) for point in playbook.content for place, value in enumerate(point)}
