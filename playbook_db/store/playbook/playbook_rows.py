"""The base class for all queries on one playbook."""

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable, Row, Table, func, select
from sqlalchemy import text as sql
from sqlalchemy.exc import DatabaseError as SqlError

from playbook_db import settings
from playbook_db.domain.playbook import KeyPoint, exact_phrases
from playbook_db.domain.search_words import Term
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
_FEW_POINTS = 200  # live points; of such a playbook all points are read
_MOST_COMPARED = 200  # points that contain one phrase
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

    def ids_like(self, text: str, live: int) -> list[int] | None:
        """Return the numbers of all live points with the `normalised` text of *text*, and perhaps of others. Return
        None if the full-text index can't tell, or if the playbook has few *live* points."""
        phrases = [phrase for phrase in exact_phrases(text) if phrase]
        if live <= _FEW_POINTS or not phrases:
            return None
        terms = [Term(phrase, is_whole=True) for phrase in phrases]
        dialect = dialect_of(self.connection)
        with suppress(SqlError), dialect.beside_writes(self.connection) as other:
            if dialect.has_search(other) and not dialect.is_search_behind(other):
                matching, beside = dialect.matching(other, terms), PlaybookRows(other, self.playbook_id)
                matches = (matching(beside, term, _MOST_COMPARED + 1) for term in terms)
                return next(([*map(int, ids)] for ids in matches if len(ids) <= _MOST_COMPARED), None)
        return None

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
