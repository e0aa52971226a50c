"""Check a database: its pages, its structure, and whether each playbook matches its history.

Each check takes a connection and returns messages about the problems that it found.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from sqlalchemy import Connection
from sqlalchemy import text as sql

from playbook_db.domain import prompt_text
from playbook_db.domain.merging.undo_rules import effective_undos
from playbook_db.errors import DiskError
from playbook_db.store import migrate
from playbook_db.store.connect import dialect_for
from playbook_db.store.dialect import dialect_of
from playbook_db.store.engine import Store
from playbook_db.store.playbook.repository import PlaybookRepository, all_keys
from playbook_db.store.queries.list_queries import AGAIN_SINCE, LAST_REWORDING
from playbook_db.store.sqlite.sqlite_dialect import SqliteDialect, fresh_structure
from playbook_db.store.sqlite.sqlite_files import open_file
from playbook_db.store.urls import sqlite_path

_MISCOUNTED = sql("""
SELECT p.key FROM playbooks AS p JOIN heads AS h ON h.playbook_id = p.id WHERE h.live_points <> (
    SELECT count(*) FROM key_points AS k WHERE k.playbook_id = h.playbook_id AND k.retired_in IS NULL
)
UNION
SELECT p.key FROM playbooks AS p JOIN revisions AS r ON r.playbook_id = p.id AND r.number = 1
LEFT JOIN heads AS h ON h.playbook_id = r.playbook_id WHERE h.playbook_id IS NULL
""")
_REVISIONS = sql("""
SELECT p.key, count(*), min(r.number), max(r.number)
FROM revisions AS r LEFT JOIN playbooks AS p ON p.id = r.playbook_id GROUP BY r.playbook_id, p.key
""")
_RANKS = sql(f"""
SELECT p.key, k.name, k.rank, k.helpful, k.harmful, (
    SELECT c.revision FROM changes AS c WHERE c.playbook_id = k.playbook_id AND c.point_id = k.id
    ORDER BY c.revision DESC LIMIT 1
),
coalesce(e.helpful, 0), coalesce(e.harmful, 0), {AGAIN_SINCE}
FROM key_points AS k JOIN playbooks AS p ON p.id = k.playbook_id {LAST_REWORDING}
""")
SEARCH_IS_WRONG = "the full-text index doesn't match the points"
Check = Callable[[Connection], list[str]]
_TOLERANCE = 1e-9  # for comparing ranks: machines may round the last bit differently


@contextmanager
def opened_to_check(url: str) -> Iterator[Store]:
    """Open the database at *url*. Don't create, migrate or change it."""
    path = sqlite_path(url)
    if path is None:
        with Store(dialect_for(url).make_engine()) as store:
            yield store
        return
    with closing(open_file(path, "read")), Store(SqliteDialect(path, "check").make_engine()) as store:
        yield store


def run(connection: Connection, stages: Sequence[Sequence[Check]]) -> list[str]:
    """Run the checks stage by stage. Return the problems of the first stage that has any; later stages rely on it."""
    for checks in stages:
        problems = [problem for each in checks for problem in _problems(each, connection)]
        if problems:
            return problems
    return []


def check_pages(connection: Connection) -> list[str]:
    """Check the file's pages and rows, but not its indexes and references."""
    return dialect_of(connection).check(connection, quick=True)


def check_file(connection: Connection) -> list[str]:
    """Check the file, its indexes and its references."""
    return dialect_of(connection).check(connection)


def check_structure(connection: Connection) -> list[str]:
    """Check that tables, indexes, views and triggers match those of a new database. Further tables, indexes and views
    are allowed. Don't check a database on a server, which only its owner can change."""
    dialect = dialect_of(connection)
    if not isinstance(dialect, SqliteDialect):
        return []
    there, fresh = dialect.structure(connection), fresh_structure(migrate.run_migrations)
    problems = [f"the {name} is missing" for name in sorted(fresh.keys() - there.keys())]
    foreign = sorted(name for name in there.keys() - fresh.keys() if name.startswith("trigger"))
    changed = [name for name in sorted(fresh.keys() & there.keys()) if there[name] != fresh[name]]
    problems += [f"the {name} is not from playbook-db" for name in foreign]
    return problems + [f"the {name} was changed" for name in changed]


def check_revisions(connection: Connection) -> list[str]:
    """Check that the revisions of each playbook are numbered from 1 without a gap."""
    return [
        f"the {count} revisions of {key} don't go from 1 to {count}, but from {first} to {last}"
        for key, count, first, last in connection.execute(_REVISIONS)
        if (first, last) != (1, count)
    ]


def check_counts(connection: Connection) -> list[str]:
    """Check each playbook's stored count of live points."""
    return [f"the count of live points of {key} is wrong" for (key,) in connection.execute(_MISCOUNTED)]


def check_ranks(connection: Connection) -> list[str]:
    """Check that the rank of each point matches its votes and its last change."""
    return [f"the rank of {name} in {key} doesn't match its votes" for key, name in wrong_ranks(connection)]


def wrong_ranks(connection: Connection) -> list[tuple[str, str]]:
    """Return the points with a wrong rank, as pairs of the playbook's key and the point's name. An earlier version
    ranked a reworded point by all its votes. Such a rank is right until the point changes."""
    return [(key, name) for key, name, rank, *known in connection.execute(_RANKS) if not _is_possible(rank, *known)]


def _is_possible(rank: float, helpful: int, harmful: int, changed_in: int | None, *base: int) -> bool:
    helpful_before, harmful_before, again = base
    ranks = [
        prompt_text.rank(max(0, helpful - good), max(0, harmful - bad), changed_in or 0, again)
        for good, bad in ((0, 0), (helpful_before, harmful_before))
    ]
    return min(ranks) - _TOLERANCE <= rank <= max(ranks) + _TOLERANCE


def check_search(connection: Connection) -> list[str]:
    """Check that the full-text index matches the points."""
    return [] if dialect_of(connection).search_is_true(connection) else [SEARCH_IS_WRONG]


def check_histories(connection: Connection) -> list[str]:
    """Check that each playbook matches its history."""
    checks = (functools.partial(check_history, key) for key in all_keys(connection).values())
    return [problem for check in checks for problem in _problems(check, connection)]


QUICK: tuple[tuple[Check, ...], ...] = ((check_pages, check_structure), (check_revisions, check_counts))
THOROUGH = (
    (check_file, check_structure),
    (check_revisions, check_counts),
    (check_histories, check_ranks),
    (check_search,),
)


def check_history(key: str, connection: Connection) -> list[str]:
    """Check that the playbook of the project *key* matches its history."""
    book = PlaybookRepository(connection, key)
    by_history, now = book.at(book.revision), book.playbook()
    problems = []
    if by_history.points != now.points or by_history.header != now.header:
        problems.append(f"the playbook of {key} doesn't match its history (revision {book.revision})")
    if book.undos_in_force() != effective_undos(book.undos()):
        problems.append(f"the undone revisions of {key} don't match its undos")
    return problems


def _problems(check: Check, connection: Connection) -> list[str]:
    """Return the problems that *check* finds. If it can't read the rows, return that as a problem."""
    try:
        with dialect_of(connection).savepoint(connection):
            return check(connection)
    except DiskError:
        raise
    except Exception as error:  # damaged bytes can break any code
        cause = getattr(error, "orig", None) or error
        return [f"stored rows can't be read: {type(cause).__name__}: {cause}"]
