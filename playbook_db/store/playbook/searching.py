"""Search for live points with the full-text index. If no index works, search for parts of words."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import text as sql
from sqlalchemy.exc import DatabaseError

from playbook_db.domain import search_words
from playbook_db.domain.trust.evidence import read_json
from playbook_db.store.dialect import dialect_of
from playbook_db.store.playbook.playbook_rows import PlaybookRows
from playbook_db.store.playbook.proposal_rows import ProposalRows
from playbook_db.store.queries import hook_queries, list_queries
from playbook_db.store.queries.hook_queries import Searched, StoredPoint

Kind = Literal["retired", "proposed", "old text", "reason", "vote", "evidence"]

# All texts, except the present texts of live points: kind, point's name, revision, text.
_HISTORY = """
SELECT 'retired', k.name, k.retired_in, k.text FROM key_points AS k
WHERE k.playbook_id = :playbook_id AND k.retired_in IS NOT NULL AND k.forgotten = 0
UNION ALL
SELECT 'old text', k.name, c.revision, c.text FROM changes AS c
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.text IS NOT NULL AND c.text <> k.text AND k.forgotten = 0
UNION ALL
SELECT 'reason', k.name, c.revision, c.reason FROM changes AS c
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.reason IS NOT NULL
UNION ALL
SELECT 'evidence', k.name, c.revision, c.evidence FROM changes AS c
JOIN key_points AS k ON k.playbook_id = c.playbook_id AND k.id = c.point_id
WHERE c.playbook_id = :playbook_id AND c.evidence IS NOT NULL
UNION ALL
SELECT 'vote', coalesce(k.name, v.name), v.revision, v.rationale FROM votes AS v
LEFT JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id
WHERE v.playbook_id = :playbook_id AND v.rationale IS NOT NULL
UNION ALL
SELECT 'evidence', coalesce(k.name, v.name), v.revision, v.evidence FROM votes AS v
LEFT JOIN key_points AS k ON k.playbook_id = v.playbook_id AND k.id = v.point_id
WHERE v.playbook_id = :playbook_id AND v.evidence IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class HistoryHit:
    """A match in the history. `name` is its point's name, or a proposal such as `p3`. `revision` wrote the text."""

    kind: Kind
    name: str
    revision: int | None
    text: str


def search(book: PlaybookRows, question: str) -> Searched:
    """Search for the live points of *book* that match *question*."""
    dialect = dialect_of(book.connection)
    with suppress(DatabaseError), dialect.savepoint(book.connection):
        if not dialect.is_search_behind(book.connection):
            matching = dialect.matching(book.connection, search_words.terms(question))
            answers = hook_queries.search(book, question, matching=matching)
            return Searched(tuple(answers))
    points = [StoredPoint(row) for row in hook_queries.rows(book, list_queries.LIVE_POINTS)]
    ranked = _ranked_by_parts([f"{point.name}\n{point.text}" for point in points], question)
    return Searched(tuple((points[place], score) for place, score in ranked), is_damaged=True)


def search_history(book: ProposalRows, question: str, *, proposed: bool) -> tuple[tuple[HistoryHit, float], ...]:
    """Search for parts of words in retired points, old texts, reasons, votes and evidence. If *proposed*, search
    waiting proposals, too."""
    rows = book.connection.execute(sql(_HISTORY), {"playbook_id": book.playbook_id})
    hits = [
        HistoryHit(kind, name, revision, part)
        for kind, name, revision, text in rows
        for part in ([each.quote for each in read_json(text)] if kind == "evidence" else [text])
    ]
    for proposal in book.waiting_proposals() if proposed else ():
        texts = proposal.text, proposal.operation.get("reason"), proposal.operation.get("rationale")
        quotes = (each.quote for each in proposal.evidence)
        hits += [HistoryHit("proposed", f"p{proposal.id}", None, str(text)) for text in (*texts, *quotes) if text]
    hits = [*dict.fromkeys(hits)]
    ranked = _ranked_by_parts([each.text for each in hits], question)
    return tuple((hits[place], score) for place, score in ranked)


def _ranked_by_parts(texts: Sequence[str], question: str) -> list[tuple[int, float]]:
    small = [text.lower() for text in texts]
    matches = [
        (term, [place for place, text in enumerate(small) if search_words.has_parts(text, term)])
        for term in search_words.terms(question)
    ]
    return search_words.ranked(matches, len(texts))
