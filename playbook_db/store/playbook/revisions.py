"""Add a revision to the append-only history, and update the points."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, bindparam, insert
from sqlalchemy import text as sql

from playbook_db.domain import prompt_text
from playbook_db.domain.json_text import write_json
from playbook_db.domain.merging.undo_rules import Undo
from playbook_db.domain.operations import AGAIN
from playbook_db.domain.playbook import Change, Header, KeyPoint, Skipped, Vote
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.domain.trust import evidence
from playbook_db.store.dialect import dialect_of
from playbook_db.store.playbook.playbook_rows import PlaybookRows
from playbook_db.store.tables import changes, key_points, revisions, skipped_operations, undone_ranges, votes

_KEPT_OPERATION_LENGTH = 4000  # characters of a skipped operation; a hostile one must not fill the database
_UPDATE_POINT = sql("""
UPDATE key_points
SET section = :section, position = :position, text = :text, helpful = :helpful, harmful = :harmful,
    retired_in = :retired_in, retired_reason = :retired_reason, rank = :rank,
    confirmed_at = CASE WHEN :is_confirmed = 1 OR :helpful > helpful THEN :time ELSE confirmed_at END, resting = 0
WHERE playbook_id = :playbook_id AND id = :id
""")
_PASS_PIN_ON = sql("""
UPDATE key_points SET pinned = 1 WHERE playbook_id = :playbook_id AND id = :successor_id
    AND (SELECT s.pinned FROM key_points AS s WHERE s.playbook_id = :playbook_id AND s.id = :id) = 1
""")
_NOTE_USE = sql(
    "UPDATE showing_counts SET sessions_at_last_use = sessions WHERE playbook_id = :playbook_id AND point_id = :id"
)
_UPDATE_HEAD = sql("""
UPDATE heads SET header = :header, final_newline = :final_newline, live_points = live_points + :more_points
WHERE playbook_id = :playbook_id
""")
_NO_LONGER_UNDONE = sql("DELETE FROM undone_ranges WHERE playbook_id = :playbook_id AND undo IN :undos").bindparams(
    bindparam("undos", expanding=True)
)
_HIGHEST_ID = sql("SELECT coalesce(max(id), 0) FROM key_points WHERE playbook_id = :playbook_id")
_IDS = sql("""
SELECT name, id FROM key_points
WHERE playbook_id = :playbook_id AND name IN (SELECT value FROM json_each(:names))
""")


def _more_points(changed: Sequence[Change]) -> int:
    first = {change.point.name: change.kind for change in reversed(changed)}
    last = {change.point.name: change.kind for change in changed}
    added = sum(kind in ("add", "restore") for kind in first.values())
    retired = sum(kind == "retire" for kind in last.values())
    return added - retired


def _operation_text(operation: object) -> str:
    """Return *operation* as JSON. For a huge operation, return the beginning of the JSON as a string."""
    text = json.dumps(operation, default=str, ensure_ascii=False)
    if not text.isascii() and text.encode("utf-8", "replace").decode("utf-8") != text:
        text = json.dumps(operation, default=str)  # half a surrogate pair can be stored only as an escape
    return text if len(text) <= _KEPT_OPERATION_LENGTH else json.dumps(text[:_KEPT_OPERATION_LENGTH] + "…")


class RevisionWriter(PlaybookRows):
    """A writer of new revisions to one playbook."""

    def __init__(self, connection: Connection, playbook_id: int) -> None:
        super().__init__(connection, playbook_id)
        self._highest_id: int | None = None  # if known
        self._ids: dict[str, int] = {}  # numbers of the points that were read or written, by name
        self._bases: dict[
            str, tuple[int, int, int]
        ] = {}  # of the points that are being written, at their last rewording

    def append_revision(
        self,
        columns: Mapping[str, Any],
        header: Header,
        changed: Sequence[Change],
        cast: Sequence[Vote],
        skipped: Sequence[Skipped],
        *,
        keeps_header: bool,
    ) -> None:
        """Write the next revision with its *columns*, changes, votes and skipped operations. Update the points.
        *header* is the playbook's new header. If *keeps_header*, the revision stores it, too."""
        number = columns["number"]
        header_columns = {"header": write_json(dict(header.fields)), "final_newline": int(header.final_newline)}
        kept_header = header_columns if keeps_header else dict.fromkeys(header_columns)
        ids, new = self._numbers(changed, cast)
        self._bases = self._bases_after(changed, cast, new)
        with dialect_of(self.connection).pipeline(self.connection):
            self._execute(insert(revisions), **columns, **kept_header)
            again = {vote.name for vote in cast if vote.tag == AGAIN}
            self._write_points(number, columns["time"], changed, ids, new, again)
            change_rows = (
                {
                    "point_id": ids[change.point.name],
                    "kind": change.kind,
                    **_state(change.point),
                    "text": change.point.text if change.reworded else None,
                    "reason": change.reason,
                    "successor_id": ids.get(change.successor) if change.successor else None,
                    "evidence": evidence.as_json(change.evidence),
                    "cause": change.cause,
                }
                for change in changed
            )
            vote_rows = (
                {
                    "point_id": ids[vote.name] if vote.matched else None,
                    "name": None if vote.matched else vote.name,
                    "tag": "neutral" if vote.tag == AGAIN else vote.tag,
                    "rationale": vote.rationale,
                    "ignored": int(vote.ignored),
                    "evidence": evidence.as_json(vote.evidence, is_again=vote.tag == AGAIN),
                }
                for vote in cast
            )
            self._insert(changes, number, enumerate(change_rows, 1))
            self._insert(votes, number, enumerate(vote_rows, 1))
            operations = ({"operation": _operation_text(each.item), "reason": each.reason} for each in skipped)
            places = (each.index + 1 for each in skipped)
            self._insert(skipped_operations, number, zip(places, operations, strict=True))
            self._execute(_UPDATE_HEAD, **header_columns, more_points=_more_points(changed))

    def keep_in_force(self, now: Sequence[Undo], before: Sequence[Undo]) -> None:
        """Replace the stored undos in force *before* by those in force *now*."""
        if ended := [undo.number for undo in before if undo not in now]:
            self._execute(_NO_LONGER_UNDONE, undos=ended)
        rows = [
            {"playbook_id": self.playbook_id, "undo": undo.number, "first": undo.undone.first, "last": undo.undone.last}
            for undo in now
            if undo not in before
        ]
        if rows:
            self.connection.execute(insert(undone_ranges), rows)

    def _insert(self, table: Table, revision: int, rows: Iterable[tuple[int, dict[str, Any]]]) -> None:
        of_revision = {"playbook_id": self.playbook_id, "revision": revision}
        if values := [of_revision | {"seq": seq} | row for seq, row in rows]:
            self.connection.execute(insert(table), values)

    def _write_points(
        self,
        revision: int,
        time: str,
        changed: Sequence[Change],
        ids: Mapping[str, int],
        new: set[str],
        again: Collection[str],
    ) -> None:
        """Update the points in *changed*, and insert the points in *new*. *ids* has all numbers. A new, reworded or
        more helpful point counts as confirmed, and so does one that is in *again*. Any change ends a point's rest. A
        successor gets the pin."""
        confirmed = {*again, *(change.point.name for change in changed if change.reworded)}
        new_points, updates = [], []
        for name, change in {change.point.name: change for change in changed}.items():
            leaves = change.kind == "retire"
            row = {
                "playbook_id": self.playbook_id,
                "id": ids[name],
                **_state(change.point),
                "text": change.point.text,
                "retired_in": revision if leaves else None,
                "retired_reason": change.reason if leaves else None,
                "rank": self._rank(change.point, revision),
            }
            if name in new:
                new_points.append({**row, "name": name, "created_in": revision, "confirmed_at": time})
            else:
                updates.append({**row, "is_confirmed": int(name in confirmed), "time": time})
        if new_points:
            self.connection.execute(insert(key_points), new_points)
        if updates:
            self.connection.execute(_UPDATE_POINT, updates)
            self.connection.execute(_NOTE_USE, updates)
        successors = [change for change in changed if change.successor and change.successor in ids]
        for change in successors:
            self._execute(_PASS_PIN_ON, id=ids[change.point.name], successor_id=ids[str(change.successor)])

    def _bases_after(
        self, changed: Sequence[Change], cast: Iterable[Vote], new: set[str]
    ) -> dict[str, tuple[int, int, int]]:
        """Return the `bases` of the points in *changed* with the changes and the votes *cast* of this revision."""
        known = [name for name in {change.point.name for change in changed} if name not in new]
        bases = self.bases(known) if known else {}
        for vote in cast:
            if vote.tag == AGAIN and vote.name in bases:
                helpful, harmful, again = bases[vote.name]
                bases[vote.name] = helpful, harmful, again + 1
        for change in changed:
            if change.reworded and change.kind not in ("add", "restore"):
                bases[change.point.name] = change.point.helpful, change.point.harmful, 0
        return bases

    def _rank(self, point: KeyPoint, revision: int) -> float:
        helpful, harmful, again = self._bases.get(point.name, (0, 0, 0))
        return prompt_text.rank(max(0, point.helpful - helpful), max(0, point.harmful - harmful), revision, again)

    def _numbers(self, changed: Sequence[Change], cast: Sequence[Vote]) -> tuple[Mapping[str, int], set[str]]:
        """Return the number of each point in *changed* and *cast*, by name, and also the names of the new points."""
        names = dict.fromkeys(change.point.name for change in changed)
        names |= dict.fromkeys(change.successor for change in changed if change.successor)
        names |= dict.fromkeys(vote.name for vote in cast if vote.matched)
        new = {change.point.name for change in changed if change.kind == "add"}
        unknown = names.keys() - self._ids.keys() - new
        if unknown:
            self._ids.update(self._execute(_IDS, names=json.dumps(list(unknown))).all())
        if new:
            last = self._highest_id if self._highest_id is not None else self._execute(_HIGHEST_ID).scalar_one()
            self._ids |= {name: number for number, name in enumerate(filter(new.__contains__, names), last + 1)}
            self._highest_id = last + len(new)
        return self._ids, new


def _state(point: KeyPoint) -> dict[str, object]:
    """Return the columns, without the text, that `key_points` and `changes` have in common."""
    return {
        "section": SECTION_SLUGS[point.section],
        "position": point.position,
        "helpful": point.helpful,
        "harmful": point.harmful,
    }
