"""What the staging has of one playbook, put together: its revisions, what its changes say, its points and their names.

What is found to be damaged is taken out of the staging on the way, and counted.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from playbook_db.domain import playbook, salvaging
from playbook_db.domain.playbook import Header
from playbook_db.domain.salvaging import SalvagedPoint
from playbook_db.store.salvaging.salvage import Salvaged

POINT_COLUMNS = (
    "id, name, section, position, text, helpful, harmful, created_in, retired_in, retired_reason, rank, forgotten"
)
_HISTORY = ("changes", "votes", "skipped_operations")


@dataclass(slots=True)
class Account:
    """What stands in the rebuilt database, what was lost, and what another file gave.

    `patched` are the keys of playbooks that got a closing revision, `renamed` points (key and new name) whose own
    names are lost, `unnamed` the keys given to playbooks whose own are lost; `from_backup` are points and
    `playbooks_from_backup` keys, `history_from_backup` counts rows.
    """

    points: int = 0
    live_points: int = 0
    revisions: int = 0
    changes: int = 0
    votes: int = 0
    lost_revisions: int = 0
    lost_changes: int = 0
    lost_votes: int = 0
    lost_points: int = 0
    patched: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    from_backup: list[tuple[str, str]] = field(default_factory=list)
    playbooks_from_backup: list[str] = field(default_factory=list)
    history_from_backup: int = 0


@dataclass(slots=True)
class Gathering:
    """One playbook of the staging, the schema `s`; that of the backup is `b`. Filled step by step, in this order:
    the revisions, `past` (what the changes say of each point), `points` and `names`."""

    connection: sqlite3.Connection
    salvaged: Salvaged
    account: Account
    number: int
    key: str
    of_backup: int | None
    now: str
    past: dict[int, SalvagedPoint] = field(default_factory=dict)
    points: dict[int, SalvagedPoint] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    lost_here: int = 0

    def staged(self, statement: str, *more: object) -> list[Any]:
        return self.connection.execute(statement, (self.number, *more)).fetchall()

    def header(self) -> tuple[str, int]:
        ((fields, newline),) = self.staged("SELECT header, final_newline FROM s.playbooks WHERE id = ?")
        return (fields if is_object(fields) else json.dumps(dict(Header().fields))), newline

    def told_header(self, times: dict[int, str]) -> tuple[str, int] | None:
        """The header as the history tells it; None where that can't be read."""
        told = self.staged(
            "SELECT number, header, final_newline FROM s.revisions WHERE playbook_id = ? AND header IS NOT NULL "
            "ORDER BY number DESC LIMIT 1"
        )
        last = max(times, default=0)
        number, header, newline = told[0] if told else (0, json.dumps(dict(Header().fields)), 1)
        if not is_object(header):
            return None
        is_stamped = 0 < last != number
        return written((header, newline), **({"last_updated": times[last]} if is_stamped else {}))

    def last_revision(self, known: dict[int, str], header: tuple[str, int], most: int) -> int:
        """The number of the last revision: what the header was stamped with is the time of that one."""
        last = max(known, default=0)
        if last and json.loads(header[0]).get("last_updated") == known[last]:
            return last
        for table in _HISTORY:
            ((highest,),) = self.staged(
                f"SELECT max(revision) FROM s.{table} WHERE playbook_id = ? AND revision <= ?", most
            )
            last = max(last, highest or 0)
        return last

    def read_past(self, last: int) -> None:
        """What the changes say of each point, in `past`; changes that belong to no revision are lost."""
        self._drop("changes", "revision NOT BETWEEN 1 AND ?", last)
        for number, revision, kind, section, position, text, helpful, harmful, reason in self.staged(
            "SELECT point_id, revision, kind, section, position, text, helpful, harmful, reason FROM s.changes "
            "WHERE playbook_id = ? ORDER BY revision, seq"
        ):
            before = self.past.get(number)
            text = before.text if text is None and before is not None else text
            created_in = before.created_in if before is not None else revision
            is_live = kind != "retire"
            self.past[number] = SalvagedPoint(
                section, position, text, helpful, harmful, is_live, revision, created_in,
                None if is_live else revision, None if is_live else reason,
            )  # fmt: skip
        self._count_missing("changes")
        self._count_missing("votes")

    def _count_missing(self, table: str) -> None:
        """Count the rows that a revision lacks, as the places show that the others have in it."""
        ((missing,),) = self.staged(
            "SELECT coalesce(sum(lack), 0) FROM (SELECT max(seq) - count(*) AS lack "
            f"FROM s.{table} WHERE playbook_id = ? AND seq > 0 AND seq < 1000000 GROUP BY revision)"
        )
        if table == "changes":
            self.lost_here += missing
            self.account.lost_changes += missing
        else:
            self.account.lost_votes += missing

    def read_points(self, last: int) -> None:
        """Settle which points there are, from their rows, their past and the backup, with their names."""
        is_ranked = self.salvaged.schema != 1
        backed_up = self._in_backup()
        names: dict[int, str] = {}
        for number, name, point in self._rows("s", self.number):
            ranked = replace(point, revision=point.revision if is_ranked else None)
            settled = salvaging.settle(ranked, self.past.get(number), is_ranked=is_ranked)
            if settled is not None and number > 0:
                self.points[number] = _within(settled, last)
                names[number] = name
        texts = {point.text for point in self.points.values()}
        for number, past in self.past.items():
            if number in self.points or number <= 0:
                continue
            told = self.salvaged.names.get((self.number, number)) or backed_up.get(number, (None, None))[0]
            if past.text is None and number in backed_up:
                past = replace(past, text=backed_up[number][1].text)
            if past.text is not None and (told is not None or past.text not in texts):
                self.points[number] = _within(past, last)
                names[number] = told or ""
        self._drop_nobodys()
        self._name(names, backed_up)
        self._take_from_backup(backed_up)

    def _in_backup(self) -> dict[int, tuple[str, SalvagedPoint]]:
        if self.of_backup is None:
            return {}
        return {number: (name, point) for number, name, point in self._rows("b", self.of_backup)}

    def _rows(self, schema: str, playbook_id: int) -> Iterable[tuple[int, str, SalvagedPoint]]:
        for (
            number, name, section, position, text, helpful, harmful, created_in, retired_in, reason, rank, forgotten,
        ) in self.connection.execute(
            f"SELECT {POINT_COLUMNS} FROM {schema}.key_points WHERE playbook_id = ? ORDER BY id", (playbook_id,)
        ).fetchall():  # fmt: skip
            revision = salvaging.changed_in(helpful, harmful, rank)
            yield number, name, SalvagedPoint(
                section, position, text, helpful, harmful, retired_in is None, revision, created_in, retired_in,
                reason, bool(forgotten),
            )  # fmt: skip

    def _drop_nobodys(self) -> None:
        """Take out the changes of points of which too little is left."""
        self.connection.execute("DROP TABLE IF EXISTS temp.known")
        self.connection.execute("CREATE TEMP TABLE known (id INTEGER PRIMARY KEY)")
        self.connection.executemany("INSERT INTO known VALUES (?)", [(number,) for number in self.points])
        self._drop("changes", "point_id NOT IN (SELECT id FROM known)")
        self.past = {number: past for number, past in self.past.items() if number in self.points}

    def _drop(self, table: str, where: str, *values: object) -> None:
        done = self.connection.execute(
            f"DELETE FROM s.{table} WHERE playbook_id = ? AND {where}", (self.number, *values)
        )
        self.account.lost_changes += done.rowcount
        self.lost_here += done.rowcount

    def _name(self, names: dict[int, str], backed_up: dict[int, tuple[str, SalvagedPoint]]) -> None:
        """Give each point its name: its own, else what an index or the backup tells, else a new one."""
        used: set[str] = set()
        nameless = []
        for number, own in sorted(names.items()):
            told = (own, self.salvaged.names.get((self.number, number)), backed_up.get(number, (None, None))[0])
            found = next((name for name in told if name and _is_name(name) and name not in used), None)
            if found is None:
                nameless.append(number)
            else:
                self.names[number] = found
                used.add(found)
        used |= {name for name, _ in backed_up.values()}
        for number in nameless:
            self.names[number] = playbook.next_name(used, self.points[number].section)
            used.add(self.names[number])
            self.account.renamed.append((self.key, self.names[number]))

    def _take_from_backup(self, backed_up: dict[int, tuple[str, SalvagedPoint]]) -> None:
        """Take the points that only the backup has, under their own numbers where these are free."""
        known = set(self.names.values())
        for number, (name, point) in backed_up.items():
            if name not in known:
                here = number if number not in self.points else max((*self.points, *backed_up)) + 1
                self.points[here] = replace(point, created_in=0, retired_in=None)
                self.names[here] = name
                self.account.from_backup.append((self.key, name))
        if self.points:
            self.account.lost_points += max(0, self._highest() - len(self.points))

    def _highest(self) -> int:
        """The highest number that a point had; one far out of line is damaged."""
        numbers = sorted(self.points)
        return next((number for number in reversed(numbers) if number <= 2 * len(numbers) + 1000), 0)


def is_object(text: str) -> bool:
    """Whether *text* is a JSON object that can be written again."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def written(header: tuple[str, int], **fields: str | None) -> tuple[str, int]:
    """The two columns of a header as our encoder writes them, with other *fields* where some are given."""
    return json.dumps(json.loads(header[0]) | fields, ensure_ascii=False), header[1]


def _is_name(name: str) -> bool:
    return playbook.why_name_unusable(name) is None and "\ufffd" not in name


def _within(point: SalvagedPoint, last: int) -> SalvagedPoint:
    """The point without references to revisions that there are not."""
    created_in = point.created_in if 1 <= point.created_in <= last else 0
    retired_in = point.retired_in if point.retired_in is not None and 1 <= point.retired_in <= last else None
    return replace(point, created_in=created_in, retired_in=retired_in)
