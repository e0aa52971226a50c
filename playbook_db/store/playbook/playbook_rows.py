"""The base class for all queries on one playbook."""

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable, Row, Table, func, select
from sqlalchemy import text as sql

from playbook_db import settings
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.store.dialect import dialect_of
from playbook_db.store.queries import hook_queries, list_queries
from playbook_db.store.queries.hook_queries import StoredProject

# Whether a vote is in force.
IN_FORCE = """NOT EXISTS (SELECT 1 FROM undone_ranges AS t WHERE t.playbook_id = :playbook_id
                    AND t.first <= v.revision AND t.last >= v.revision)"""
_RECENT = sql(f"""
SELECT k.name, coalesce(e.helpful, 0), coalesce(e.harmful, 0), {list_queries.AGAIN_SINCE}
FROM key_points AS k {list_queries.LAST_REWORDING}
WHERE k.playbook_id = :playbook_id AND k.name IN (SELECT value FROM json_each(:names))
""")
_statement = functools.lru_cache(sql)  # building one takes longer than running it


class PlaybookRows:
    """One playbook inside a transaction. `playbook_id` is 0 if the playbook doesn't exist: no row has that number."""

    is_users = False  # whether this is the user's own playbook

    def __init__(self, connection: Connection, playbook_id: int) -> None:
        self.connection = connection
        self.playbook_id = playbook_id

    @functools.cached_property
    def _head(self) -> Any:
        return next(iter(hook_queries.rows(self, list_queries.HEAD)), None)

    @functools.cached_property
    def revision(self) -> int:
        """The number of the last revision, or 0 before the first revision. It is read only once."""
        return (self._head and self._head.number) or 0

    @functools.cached_property
    def project(self) -> StoredProject:
        """The playbook's state when it was first asked for, in the form that hooks use."""
        return next(map(StoredProject, hook_queries.rows(self, list_queries.STORED)), list_queries.NO_PLAYBOOK)

    def execute(self, statement: str, values: Mapping[str, Any]) -> Any:
        """Return the rows of *statement*."""
        return self.connection.execute(_statement(statement), values)

    def actor(self, name: str | None = None) -> str:
        """Return the actor of a revision: *name*, by default the user. In a shared database the actor is the member."""
        dialect = dialect_of(self.connection)
        if dialect.is_shared:
            return settings.member(dialect.role(self.connection))
        return (name or "").strip() or settings.actor()

    def bases(self, names: Iterable[str]) -> dict[str, tuple[int, int, int]]:
        """Return for each of the stored points *names* its counters at its last rewording (0 if it was never reworded),
        and how many sessions said the same again since."""
        rows = self._execute(_RECENT, names=json.dumps(list(names)))
        return {name: (helpful, harmful, again) for name, helpful, harmful, again in rows}

    def _execute(self, statement: Executable | str, **values: Any) -> "CursorResult[*tuple[Any, ...]]":
        """Run *statement* with *values*. `:playbook_id` is bound to the playbook's number."""
        statement = _statement(statement) if isinstance(statement, str) else statement
        return self.connection.execute(statement, {"playbook_id": self.playbook_id, **values})

    def next_id(self, table: Table) -> int:
        """Return the next free id in *table* for a row of the playbook."""
        last = select(func.max(table.c.id)).where(table.c.playbook_id == self.playbook_id)
        return (self.connection.scalar(last) or 0) + 1


def runner_of(connection: Connection) -> "Callable[[str, Mapping[str, Any]], CursorResult[*tuple[Any, ...]]]":
    """Return a function that runs statements of `hook_queries` and `list_queries` on *connection*."""
    return lambda statement, values: connection.execute(sql(statement), values)


def point_of(row: "Row[*tuple[Any, ...]]") -> KeyPoint:
    """Return the point in *row*. The row begins with number, name, text, section slug, counters and position."""
    _, name, text, slug, *numbers = row[:7]
    return KeyPoint(name, text, SLUG_SECTIONS[slug], *numbers)
