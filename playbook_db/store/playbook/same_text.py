"""Live points that may have a given text, by the full-text index: reading all of a large playbook takes long."""

from contextlib import suppress

from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError as SqlError

from playbook_db.domain.playbook import exact_phrases
from playbook_db.domain.search_words import Term
from playbook_db.store.dialect import dialect_of
from playbook_db.store.playbook.playbook_rows import runner_of

_FEW_POINTS = 200  # live ones; such a playbook is read whole
_MOST_COMPARED = 200  # points that have a word


def ids_like(connection: Connection, playbook_id: int, live: int, text: str) -> list[int] | None:
    """The numbers of all live points with the same `normalised` text as *text*, and maybe of others.

    None if the index can't tell, or the playbook has few *live* points.
    """
    phrases = [phrase for phrase in exact_phrases(text) if phrase]
    if live <= _FEW_POINTS or not phrases:
        return None
    terms = [Term(phrase, is_whole=True) for phrase in phrases]
    dialect = dialect_of(connection)
    with suppress(SqlError), dialect.beside_writes(connection) as other:
        if dialect.has_search(other) and not dialect.is_search_behind(other):
            matching = dialect.matching(other, terms)
            matches = (matching(runner_of(other), playbook_id, term, _MOST_COMPARED + 1) for term in terms)
            return next(([*ids] for ids in matches if len(ids) <= _MOST_COMPARED), None)
    return None
