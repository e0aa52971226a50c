"""Which live points answer a question: by the index for full text, else by parts of words.

There is an answer, too, where there is no index, as with an SQLite that has no FTS5, or a damaged one.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text as sql
from sqlalchemy.exc import DatabaseError

from playbook_db.domain import search_words
from playbook_db.store import hook_queries
from playbook_db.store.connect import dialect_of
from playbook_db.store.hook_queries import StoredPoint
from playbook_db.store.repository import PlaybookRepository


@dataclass(frozen=True, slots=True)
class Searched:
    """The points that were found, each with how well it answers, the best first; and whether there should be an index
    that was asked, but it is damaged or behind."""

    points: tuple[tuple[StoredPoint, float], ...]
    is_damaged: bool = False


def search(book: PlaybookRepository, question: str) -> Searched:
    """The live points of *book* that answer *question*."""
    dialect = dialect_of(book.connection)
    live = book.stored().live_points

    def execute(statement: str, values: Mapping[str, Any]) -> Any:
        return book.connection.execute(sql(statement), values)

    should_ask = dialect.has_search(book.connection)
    if should_ask:
        with suppress(DatabaseError), dialect.apart(book.connection):
            if not dialect.is_search_behind(book.connection):
                matching = dialect.matching(book.connection, search_words.terms(question))
                found = hook_queries.search(execute, book.playbook_id, live, question, matching=matching)
                return Searched(tuple(found))
    rows = execute(hook_queries.LIVE_POINTS, {"playbook_id": book.playbook_id})
    return Searched(tuple(_by_parts([StoredPoint(row) for row in rows], question)), is_damaged=should_ask)


def _by_parts(points: Sequence[StoredPoint], question: str) -> list[tuple[StoredPoint, float]]:
    by_number = {point.id: point for point in points}
    texts = {point.id: f"{point.name}\n{point.text}".lower() for point in points}
    found = [
        (term, [number for number, text in texts.items() if search_words.has_parts(text, term)])
        for term in search_words.terms(question)
    ]
    return [(by_number[number], score) for number, score in search_words.ranked(found, len(points))]
