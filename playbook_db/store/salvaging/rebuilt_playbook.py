"""One playbook on its way from the staging into the new database: as it was, or with its gaps filled and told."""

import json
from dataclasses import dataclass

from playbook_db import settings
from playbook_db.domain import prompt_text, salvaging
from playbook_db.domain.playbook import Header
from playbook_db.domain.salvaging import ClosingChange
from playbook_db.store.salvaging.gathering import POINT_COLUMNS, Gathering, is_object, written
from playbook_db.store.salvaging.staging import TABLES
from playbook_db.store.tables import playbooks

_SOURCE = "edit"
# What else hangs on a playbook, with its references made good. `:last` is the last revision.
_OTHERS = {
    "votes": "revision <= :last AND (point_id IS NULL OR point_id IN (SELECT id FROM known))",
    "skipped_operations": "revision <= :last",
    "mirrors": "1",
    "transcripts": "1",
    "reflections": "1",
    "model_calls": "1",
    "jobs": "1",
    "injections": "json_valid(points) AND json_type(points) = 'array'",
    "citations": "point_id IN (SELECT id FROM known)",
    "erasures": "json_valid(points) AND json_type(points) = 'array'",
}
_MADE_GOOD = {
    ("mirrors", "revision"): "CASE WHEN revision <= :last AND NOT :patched THEN revision END",
    ("mirrors", "sha256"): "CASE WHEN :patched THEN '' ELSE sha256 END",
    ("mirrors", "size_bytes"): "CASE WHEN NOT :patched THEN size_bytes END",
    ("reflections", "revision"): "CASE WHEN revision BETWEEN 1 AND :last THEN revision END",
    ("reflections", "bullet_tags"): "CASE WHEN json_valid(bullet_tags) THEN bullet_tags END",
    ("erasures", "revision"): "max(1, min(revision, :last))",
    ("erasures", "finished_at"): "coalesce(finished_at, time)",  # an open one would let anybody write the history
}


@dataclass(slots=True)
class RebuiltPlaybook(Gathering):
    """A playbook that is gathered from the staging and written into the new database."""

    def carry_out(self, most: int) -> None:
        """Take the playbook over; there were *most* revisions at most."""
        known = salvaging.believable(self.staged("SELECT number, time FROM s.revisions WHERE playbook_id = ?"))
        known = {number: time for number, time in known.items() if number <= most}
        header = self.header()
        last = self.last_revision(known, header, most)
        times = salvaging.fill_gaps(known, last, now=self.now)
        self.read_past(last)
        self.read_points(last)
        self.points = salvaging.place_apart(self.points)
        changes = {
            number: change
            for number, point in sorted(self.points.items())
            if (change := salvaging.closing_change(point, self.past.get(number))) is not None
        }
        is_header_told = written(header) == self.told_header(times)
        patched = bool(changes) or len(known) < last or bool(self.lost_here) or not is_header_told
        self.account.lost_revisions += last - len(known)
        self._write(times, known, header, changes, patched=patched)

    def _write(
        self,
        times: dict[int, str],
        known: dict[int, str],
        header: tuple[str, int],
        changes: dict[int, ClosingChange],
        *,
        patched: bool,
    ) -> None:
        last = max(times, default=0)
        closing_number = last + 1 if patched else None
        if patched:
            self.account.patched.append(self.key)
            time = salvaging.time_after(times.get(last), self.now)
            header = written(header, last_updated=time)
        self._write_playbook(header)
        self._write_revisions(times, known, is_sure=not patched)
        if closing_number is not None:
            message = f"repaired: {self._told_losses(last - len(known))}"
            self.connection.execute(
                "INSERT INTO main.revisions (playbook_id, number, time, source, actor, message, header, final_newline) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self.number, closing_number, time, _SOURCE, settings.actor(), message, *header),
            )
        self._write_points(changes, closing_number)
        self._copy("changes", "1", last, patched=patched)
        if closing_number is not None:
            self._write_changes(changes, closing_number)
        for table, where in _OTHERS.items():
            self._copy(table, where, last, patched=patched)

    def _told_losses(self, revisions: int) -> str:
        told = [(revisions, "revisions"), (self.lost_here, "changes")]
        return ", ".join(f"{count} {what} lost" for count, what in told if count) or "what the history lacked"

    def _write_playbook(self, header: tuple[str, int]) -> None:
        live = sum(point.is_live for point in self.points.values())
        rest = [c.name for c in playbooks.columns if c.name not in ("header", "final_newline", "live_points")]
        columns = ", ".join(f'"{name}"' for name in rest)
        self.connection.execute(
            f"INSERT INTO main.playbooks ({columns}, header, final_newline, live_points) "
            f"SELECT {columns}, ?, ?, ? FROM s.playbooks WHERE id = ?",
            (*header, live, self.number),
        )

    def _write_revisions(self, times: dict[int, str], known: dict[int, str], *, is_sure: bool) -> None:
        """Keep the revisions, and in the place of each lost one another. One whose playbook isn't known for sure
        carries a header that no file has."""
        lost = [(number, time) for number, time in times.items() if number not in known]
        self.connection.executemany(
            "INSERT OR REPLACE INTO s.revisions (playbook_id, number, time, source, actor, message)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [(self.number, number, time, _SOURCE, settings.actor(), salvaging.LOST) for number, time in lost],
        )
        header: tuple[str, int] = json.dumps(dict(Header().fields)), 1
        changed: list[tuple[object, ...]] = []
        for number, text, final_newline in self.staged(
            "SELECT number, header, final_newline FROM s.revisions WHERE playbook_id = ? ORDER BY number"
        ):
            if text is not None and is_object(text):
                header = text, final_newline
            if not is_sure:
                changed.append((*written(header, last_updated=None), self.number, number))
            elif text is not None and not is_object(text):
                changed.append((None, None, self.number, number))
        self.connection.executemany(
            "UPDATE s.revisions SET header = ?, final_newline = ? WHERE playbook_id = ? AND number = ?", changed
        )
        self._copy("revisions", "number BETWEEN 1 AND :last", max(times, default=0), patched=not is_sure)
        self.connection.executemany(
            "UPDATE main.revisions SET time = ? WHERE playbook_id = ? AND number = ?",
            [(time, self.number, number) for number, time in times.items()],
        )

    def _write_points(self, changes: dict[int, ClosingChange], closing_number: int | None) -> None:
        rows = []
        for number, point in sorted(self.points.items()):
            past = self.past.get(number)
            changed = closing_number if number in changes or past is None else past.revision
            retired_in = None
            if not point.is_live:
                is_said = number not in changes and past is not None
                retired_in = (point.retired_in or (past and past.retired_in)) if is_said else closing_number
            created_in = point.created_in or (past.created_in if past else closing_number)
            rank = prompt_text.rank(point.helpful, point.harmful, changed or 0)
            rows.append(
                (
                    number, self.names[number], point.section, point.position, point.text, point.helpful,
                    point.harmful, created_in, retired_in, point.reason if retired_in else None, rank,
                    int(point.is_forgotten and retired_in is not None),
                )
            )  # fmt: skip
        self.connection.executemany(
            f"INSERT INTO main.key_points (playbook_id, {POINT_COLUMNS}) "
            f"VALUES ({self.number}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )

    def _write_changes(self, changes: dict[int, ClosingChange], closing_number: int) -> None:
        self.connection.executemany(
            "INSERT INTO main.changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful,"
            f" text, reason) VALUES ({self.number}, {closing_number}, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    seq, number, change.kind, change.point.section, change.point.position, change.point.helpful,
                    change.point.harmful, change.text, change.point.reason if change.kind == "retire" else "repaired",
                )
                for seq, (number, change) in enumerate(changes.items(), 1)
            ],
        )  # fmt: skip

    def _copy(self, table: str, where: str, last: int, *, patched: bool) -> None:
        names = [column.name for column in TABLES[table].columns]
        made_good = dict(_MADE_GOOD)
        made_good["changes", "successor_id"] = "CASE WHEN successor_id IN (SELECT id FROM known) THEN successor_id END"
        told = ", ".join(made_good.get((table, name), f'"{name}"') for name in names)
        columns = ", ".join(f'"{name}"' for name in names)
        self.connection.execute(
            f"INSERT OR IGNORE INTO main.{table} ({columns}) SELECT {told} FROM s.{table} "
            f"WHERE playbook_id = :of_playbook AND {where}",
            {"of_playbook": self.number, "last": last, "patched": int(patched)},
        )
