"""Ways to search a playbook: the product's own, and what it has to beat. All without a model.

A method takes the points and makes a search of them: a query and a limit in, names of points out, best first.
"""

import random
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks import sandbox
from benchmarks.quality.retrieval_corpus import Point
from playbook_db.domain import search_words
from playbook_db.domain.playbook import Header, KeyPoint, playbook_of
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.prompt_text import rank
from playbook_db.services.playbook import import_export
from playbook_db.services.project import Project
from playbook_db.store.queries import hook_queries

Search = Callable[[str, int], Sequence[str]]
Method = Callable[[Sequence[Point]], Search]

PORTER, PLAIN = "porter unicode61", "unicode61"
MAX_WORDS = 12  # of a query
_WORD = re.compile(r"\w+")
_STOP_WORDS = """
    a about after all also am an and any are as at be because been before but by can could did do does doing don for
    from get had has have he her here him his how i if in into is isn it its just let like ll made make may me might
    more most my need no not now of off on one only or our out over please re s she should so some still t than that
    the their them then there these they this those to too up us ve very want was way we were what when where which
    while who why will with would yes you your
"""


class _InMemory(sqlite3.Connection):
    """A database in memory that ends with who searches it, without a warning that it was left open."""

    def __del__(self) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Stored:
    """A playbook in a database of the product's."""

    book: hook_queries.Book

    def search(self, query: str, limit: int) -> Sequence[str]:
        """What the product's search finds."""
        found = hook_queries.search(self.book, query)
        return [point.name for point, _ in found[:limit]]

    def show(self, query: str, limit: int, *, strongly: bool = False) -> Sequence[str]:
        """What of that fits well enough to be shown unasked."""
        terms = search_words.terms(query)
        found = hook_queries.fitting(self.book, terms, strongly=strongly)
        return [point.name for point, _ in found[:limit]]


def product(points: Sequence[Point]) -> Search:
    """The product's own search, in a database of its own: all points in, retired ones too; only live ones may come out.
    Whatever shares a word with the query is found, as `playbook search` finds it."""
    return stored([points])[0].search


def shown(points: Sequence[Point]) -> Search:
    """The same, and of it what is shown at a prompt: nothing where nothing fits well enough."""
    return stored([points])[0].show


def stored(playbooks: Sequence[Sequence[Point]]) -> list[Stored]:
    """These *playbooks*, all in one database."""
    connection = sqlite3.connect(":memory:", factory=_InMemory, check_same_thread=False)
    keys = [f"/playbook-{number}" for number in range(len(playbooks))]
    with tempfile.TemporaryDirectory(prefix="playbook-bench-") as folder, sandbox.opened(Path(folder)) as (_, project):
        for key, points in zip(keys, playbooks, strict=True):
            live = [point for point in points if point.live]
            for kept in (points, live) if len(live) < len(points) else (live,):
                playbook = playbook_of([KeyPoint(each.name, each.text, each.section) for each in kept], header=Header())
                reading = Reading(playbook)
                import_export.import_playbook(Project(project.store, key), reading, source="the corpus", replace=True)
        with closing(sqlite3.connect(sandbox.database_path(Path(folder)))) as written:
            written.backup(connection)
    found = [hook_queries.find_project(connection.execute, key) for key in keys]
    return [Stored(hook_queries.Book(connection, each)) for each in found if each is not None]


def few_words(points: Sequence[Point]) -> Search:
    """The first MAX_WORDS words of the query that are no stop words, any of which may match."""
    return _full_text(points, PORTER, _words_that_count)


def any_word(tokenizer: str) -> Method:
    """All words of the query, any of which may match, by that *tokenizer* of FTS5."""
    return lambda points: _full_text(points, tokenizer, _WORD.findall)


def newest_first(points: Sequence[Point]) -> Search:
    """The newest points, whatever is asked."""
    return _always(sorted(points, key=lambda point: point.age))


def by_rank(points: Sequence[Point]) -> Search:
    """The points that a session's start shows first, whatever is asked."""
    return _always(sorted(points, key=lambda point: (-rank(point.helpful, point.harmful, 0), point.age)))


def at_random(points: Sequence[Point]) -> Search:
    """Any points, the same ones for the same query."""
    names = [point.name for point in points]
    return lambda query, limit: random.Random(query).sample(names, min(limit, len(names)))


def _always(points: Iterable[Point]) -> Search:
    names = [point.name for point in points]
    return lambda query, limit: names[:limit]


def _words_that_count(query: str) -> list[str]:
    words = dict.fromkeys(_WORD.findall(query.casefold()))
    return [word for word in words if word not in _STOP_WORDS.split()][:MAX_WORDS]


def _full_text(points: Sequence[Point], tokenizer: str, words_of: Callable[[str], list[str]]) -> Search:
    """FTS5 in memory, best by its bm25 first."""
    connection = sqlite3.connect(":memory:", factory=_InMemory, check_same_thread=False)
    connection.execute(f"CREATE VIRTUAL TABLE found USING fts5(text, name UNINDEXED, tokenize='{tokenizer}')")
    connection.executemany("INSERT INTO found VALUES (?, ?)", [(point.text, point.name) for point in points])

    def search(query: str, limit: int) -> Sequence[str]:
        terms = " OR ".join(f'"{word}"' for word in words_of(query))
        if not terms:
            return []
        rows = connection.execute(
            "SELECT name FROM found WHERE found MATCH ? ORDER BY rank, rowid LIMIT ?", (terms, limit)
        )
        return [name for (name,) in rows]

    return search
