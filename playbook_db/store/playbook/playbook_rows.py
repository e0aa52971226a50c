"""What all queries on one playbook share: the transaction's connection, and the playbook's number."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable, Row, Table, func, select
from sqlalchemy import text as sql

from playbook_db import settings
from playbook_db.domain.playbook import KeyPoint, Vote
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.store.dialect import dialect_of
from playbook_db.store.quick_sql import IS_WEAK

# Whether a vote is in force.
IN_FORCE = """NOT EXISTS (SELECT 1 FROM undone_ranges AS t WHERE t.playbook_id = :playbook_id
                    AND t.first <= v.revision AND t.last >= v.revision)"""
_WEAK_VOTES = sql(f"""
SELECT k.name FROM key_points AS k JOIN votes AS v ON v.playbook_id = :playbook_id AND v.point_id = k.id
WHERE k.playbook_id = :playbook_id AND k.name IN (SELECT value FROM json_each(:names)) AND {IS_WEAK} AND {IN_FORCE}
""")


class PlaybookRows:
    """One playbook inside a transaction. `playbook_id` is 0 where it isn't there yet: no row has that number."""

    def __init__(self, connection: Connection, playbook_id: int) -> None:
        self.connection = connection
        self.playbook_id = playbook_id

    def execute(self, statement: str, values: Mapping[str, Any]) -> Any:
        """Run a statement of `hook_sql` or `quick_sql`. A replica lacks some rows: it has the server's answers."""
        answers = self.connection.get_execution_options().get("answers", {})
        return answers[statement] if statement in answers else self.connection.execute(sql(statement), values)

    def index_hint(self, name: str) -> str:
        """What holds the planner to the index *name*, to stand behind a table's name; "" where it needs no help."""
        return dialect_of(self.connection).index_hint(name)

    def actor(self, name: str | None = None) -> str:
        """Who does something here: *name*, by default the user; in a database that others have, too, the member."""
        dialect = dialect_of(self.connection)
        if dialect.is_shared:
            return settings.member(dialect.role(self.connection))
        return (name or "").strip() or settings.actor()

    def strong_votes(self, points: Iterable[KeyPoint], cast: Iterable[Vote] = ()) -> dict[str, int]:
        """The harmful votes of each of *points*, by name, without the weak ones; *cast* are votes to be kept."""
        harmful = {point.name: point.harmful for point in points}
        weak = Counter(vote.name for vote in cast if vote.is_weak)
        if names := [name for name, votes in harmful.items() if votes]:
            weak.update(self._execute(_WEAK_VOTES, names=json.dumps(names)).scalars())
        return {name: max(0, votes - weak[name]) for name, votes in harmful.items()}

    def _execute(self, statement: Executable, **values: Any) -> "CursorResult[*tuple[Any, ...]]":
        """Execute *statement* with *values* and the playbook's number as `playbook_id`."""
        return self.connection.execute(statement, {"playbook_id": self.playbook_id, **values})

    def _next_id(self, table: Table) -> int:
        """The number after the highest one that rows of the playbook have in *table*."""
        last = select(func.max(table.c.id)).where(table.c.playbook_id == self.playbook_id)
        return (self.connection.scalar(last) or 0) + 1


def runner_of(connection: Connection) -> "Callable[[str, Mapping[str, Any]], CursorResult[*tuple[Any, ...]]]":
    """What runs a statement of `hook_sql` or `quick_sql` on *connection*, of whatever database."""
    return lambda statement, values: connection.execute(sql(statement), values)


def point_of(row: "Row[*tuple[Any, ...]]") -> KeyPoint:
    """The key point in a row with `name`, `text`, `section` (its slug), `helpful`, `harmful` and `position`."""
    return KeyPoint(row.name, row.text, SLUG_SECTIONS[row.section], row.helpful, row.harmful, row.position)
