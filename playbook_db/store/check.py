"""What the database itself says of its soundness, and whether what is kept beside the points is true of them.

Each look takes a connection and gives what is wrong, in words; nothing where all is well.
"""

import functools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy import text as sql

from playbook_db.domain import prompt_text
from playbook_db.store import migrate
from playbook_db.store.connect import make_engine
from playbook_db.store.engine import Store
from playbook_db.store.repository import PlaybookRepository, all_keys
from playbook_db.store.sqlite import dialect, files

_MISCOUNTED = sql("""
SELECT p.key FROM playbooks AS p WHERE p.live_points <> (
    SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NULL
)
""")
_REVISIONS = sql("""
SELECT p.key, count(*), min(r.number), max(r.number)
FROM revisions AS r LEFT JOIN playbooks AS p ON p.id = r.playbook_id GROUP BY r.playbook_id
""")
_RANKS = sql("""
SELECT p.key, k.name, k.rank, k.helpful, k.harmful, (
    SELECT c.revision FROM changes AS c WHERE c.playbook_id = k.playbook_id AND c.point_id = k.id
    ORDER BY c.revision DESC LIMIT 1
) AS changed_in
FROM key_points AS k JOIN playbooks AS p ON p.id = k.playbook_id
""")
Look = Callable[[Connection], list[str]]
_TOLERANCE = 1e-9  # of a rank; another machine may round the last bit another way


@contextmanager
def opened_to_check(path: str) -> Iterator[Store]:
    """The database file *path* as it is: nothing is made, migrated or written, whatever is in it."""
    engine: Engine = create_engine(f"sqlite:///{path}", creator=lambda: files.open_to_check(path), poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    with closing(files.open_to_read(path)), Store(engine) as store:
        yield store


def look(connection: Connection, stages: Sequence[Sequence[Look]]) -> list[str]:
    """What the looks of *stages* find, up to the first stage that finds anything: the next ones trust what it saw."""
    for looks in stages:
        found = [problem for each in looks for problem in _looked(each, connection)]
        if found:
            return found
    return []


def check_pages(connection: Connection) -> list[str]:
    """The file's pages and rows by themselves, in the time that it takes to read them once."""
    return dialect.check_quickly(connection) if connection.dialect.name == "sqlite" else []


def check_file(connection: Connection) -> list[str]:
    """The file, its indexes and its references."""
    return dialect.check(connection) if connection.dialect.name == "sqlite" else []


def check_structure(connection: Connection) -> list[str]:
    """Tables, indexes, views and triggers: all that a fresh database has. What people add is theirs, but for triggers,
    which could change what we write."""
    if connection.dialect.name != "sqlite":
        return []
    there, wanted = dialect.structure(connection), _fresh_structure()
    found = [f"the {name} is missing" for name in sorted(wanted.keys() - there.keys())]
    found += [
        f"the {name} is none of ours" for name in sorted(there.keys() - wanted.keys()) if name.startswith("trigger")
    ]
    changed = [name for name in sorted(wanted.keys() & there.keys()) if there[name] != wanted[name]]
    return found + [f"the {name} isn't as it should be" for name in changed]


def check_revisions(connection: Connection) -> list[str]:
    """A playbook's revisions are counted from 1 without a gap."""
    return [
        f"the revisions of {key} are not counted from 1 to {count}: they go from {first} to {last}"
        for key, count, first, last in connection.execute(_REVISIONS)
        if (first, last) != (1, count)
    ]


def check_counts(connection: Connection) -> list[str]:
    """How many points are live is kept beside them."""
    return [f"the count of live points of {key} is wrong" for (key,) in connection.execute(_MISCOUNTED)]


def check_ranks(connection: Connection) -> list[str]:
    """A point's rank is what its votes and its last change give."""
    return [
        f"the rank of {name} in {key} isn't what its votes and its last change give"
        for key, name, rank, helpful, harmful, changed_in in connection.execute(_RANKS)
        if abs(rank - prompt_text.rank(helpful, harmful, changed_in or 0)) > _TOLERANCE
    ]


def check_histories(connection: Connection) -> list[str]:
    """Each playbook equals what its history says."""
    found = []
    for key in all_keys(connection):
        found += _looked(functools.partial(_check_history, key), connection)
    return found


QUICK: tuple[tuple[Look, ...], ...] = ((check_pages, check_structure), (check_revisions, check_counts))
THOROUGH = ((check_file, check_structure), (check_revisions, check_counts), (check_histories, check_ranks))


def _check_history(key: str, connection: Connection) -> list[str]:
    book = PlaybookRepository.open(connection, key)
    told, stands = book.at(book.revision), book.playbook()
    if told.points == stands.points and told.header == stands.header:
        return []
    return [f"the playbook of {key} is not what its history says (revision {book.revision})"]


def _looked(each: Look, connection: Connection) -> list[str]:
    """What a look finds; that it can't read what it looks at is a find as well."""
    try:
        return each(connection)
    except Exception as error:  # whatever damaged bytes make the code stumble over, it is the file that is wrong
        cause = getattr(error, "orig", None) or error
        return [f"what is stored can't be read: {type(cause).__name__}: {cause}"]


@functools.cache
def _fresh_structure() -> dict[str, str]:
    """The structure of a database that was just made."""
    with tempfile.TemporaryDirectory(prefix="playbook-") as folder:
        url = f"sqlite:///{os.path.join(folder, 'fresh.db')}"
        migrate.ensure_current(url)
        engine = make_engine(url)
        try:
            with engine.begin() as connection:
                return dialect.structure(connection)
        finally:
            engine.dispose()
