"""Maintenance of the database: backups, restores, checks."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from playbook_db import projects, settings
from playbook_db.errors import DamagedError, DatabaseError, Remedy
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from playbook_db.store import migrate, urls
from playbook_db.store.connect import dialect_for
from playbook_db.store.dialect import dialect_of
from playbook_db.store.engine import Store, open_store
from playbook_db.store.playbook import repository
from playbook_db.store.sqlite_open import SCHEMA
from playbook_db.store.team import memberships
from playbook_db.store.upkeep import check as store_check
from playbook_db.store.upkeep import database_file
from playbook_db.store.upkeep.database_file import Backup, Held, Replaced, State

if TYPE_CHECKING:
    from playbook_db.store.postgres.grants import Granted, Right

location = urls.described  # the database at a URL for messages
NOT_CHECKED_QUICKLY = ("indexes", "references", "whether each playbook equals its history", "ranks", "full text")
_REPAIR = Remedy("Repair it: {}", ("db", "repair"))
_RESTORE = Remedy("Restore each playbook from its history: {}", ("--db", "URL", "db", "repair"))
REBUILD_SEARCH = Remedy("Rebuild it: {}", ("db", "check", "--rebuild-search"))
_DAILY_AFTER = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Taken:
    """A new backup: its file, its size, and the playbooks in it."""

    path: str
    size_bytes: int
    holds: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A backup that can be restored. `holds` are the playbooks in it, and `here` those in the present database."""

    path: str
    prepared: str
    holds: tuple[Held, ...]
    state: State
    here: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check of the database `where`: its problems, and a remedy if there is one."""

    where: str
    problems: tuple[str, ...]
    remedy: Remedy | None = None


def upgrade(url: str) -> tuple[int, str | None]:
    """Migrate the database at *url*. Return its schema, and the path of the backup made first, if any."""
    return SCHEMA, migrate.ensure_current(url)


def distribute(url: str) -> tuple[int, int, bool]:
    """Distribute the playbooks in the database at *url* over the servers that Citus knows. Return the number of
    servers, the number of parts, and whether anything was distributed. Raises DatabaseError."""
    dialect = dialect_for(url)
    if not dialect.is_shared:
        raise DatabaseError(
            f"{dialect.where} is a file. Only a database on a PostgreSQL server with Citus can be distributed. Name "
            "such a database with --db. To copy this file into that database, run: playbook db transfer"
        )
    migrate.require_current(url)
    from playbook_db.store.postgres import distributed

    with closing(dialect):
        return distributed.distribute(dialect)


def transfer(source_url: str, target_url: str, key: str | None = None) -> dict[str, int]:
    """Copy the playbook of the project *key*, or all playbooks, to another database with their whole history. The copy
    is all or nothing. Return each playbook's number of revisions, by its key there. The personal playbook (USER_KEY)
    stays the personal one. Raises DatabaseError if a playbook exists there already, or if the copy differs."""
    from playbook_db.store.upkeep import transfer as rows

    with (
        open_store(source_url) as source,
        open_store(target_url) as target,
        source.snapshot() as there,
        target.transaction() as here,
    ):
        own = repository.users_key(there)
        keys = rows.keys_to_copy(there, own if key == projects.USER_KEY else key)
        key_there = {key: key for key in keys} | {own: repository.users_key(here)}
        copied = {key_there[each]: rows.copy_playbook(each, there, here, key_there=key_there[each]) for each in keys}
        problems = [problem for each in copied for problem in store_check.check_history(each, here)]
        if problems:
            raise DatabaseError(f"{problems[0]}. Nothing was copied.")
    return copied


def grant(url: str, role: str, right: "Right") -> "Granted":
    """Give the server's *role* the *right* of a reader, a member or an owner of the database. Raises DatabaseError."""
    if urls.sqlite_path(url):
        raise DatabaseError(
            f"{urls.described(url)} is a file: set its rights with chmod. This command is for roles of a server: "
            "name a database there with --db postgresql://..."
        )
    migrate.require_current(url)
    from playbook_db.store.postgres import grants

    with open_store(url) as store, store.transaction() as connection:
        return grants.grant(connection, role, right)


def take(url: str, file: str | None = None) -> Taken:
    """Back up the database at *url* to *file*, or to its backup folder. Raises DatabaseError."""
    path = _existing(url)
    if file is None:
        file = database_file.take(path, database_file.BY_HAND, now=datetime.now(UTC)).path
    else:
        database_file.take_to(path, file)
    return Taken(file, os.path.getsize(file), tuple(database_file.held_in(file)))


def take_daily(url: str) -> Backup | None:
    """Make the daily backup of the database at *url*, and remove the oldest. Return None if no backup is due. One is
    due if the last one is a day old and the database was written to since. On a server, none is ever due."""
    if not urls.sqlite_path(url):
        return None
    path, now = _existing(url), datetime.now(UTC)
    daily = (each for each in database_file.list_backups(url) if each.kind == database_file.DAILY)
    last = next((each for each in daily if each.time <= now), None)  # a clock that was wrong must not stop them
    if last and (now - last.time < _DAILY_AFTER or database_file.changed_at(path) <= last.time):
        return None
    taken = database_file.take(path, database_file.DAILY, now=now)
    database_file.rotate(path)
    return taken


@contextmanager
def candidate(url: str, file: str) -> Iterator[Candidate]:
    """Check the backup *file*, and yield it as a candidate for `put_back`. Nothing in the database at *url* is changed.
    Raises SchemaError, DatabaseError."""
    path = database_file.path_of(url)
    with database_file.prepared(path, file) as prepared:
        state = database_file.state_of(path)
        here = database_file.held_in(path, "read") if state == "sound" else []
        yield Candidate(path, prepared, tuple(database_file.held_in(prepared)), state, tuple(here))


def put_back(chosen: Candidate) -> Replaced:
    """Replace the database with the backup, and keep the old database. Raises DatabaseBusyError, DatabaseError. Mirrors
    that matched the database are rewritten, so that they don't undo this. Team memberships stay as they are."""
    from filelock import FileLock, Timeout

    url, in_step = f"sqlite:///{chosen.path}", dict[str, str]()
    os.makedirs(settings.data_dir(), mode=0o700, exist_ok=True)
    lock = FileLock(settings.worker_lock(), timeout=0, mode=0o600)
    with suppress(Timeout):
        lock.acquire()
    try:
        if chosen.state == "sound" and dialect_for(url).schema_version() == SCHEMA:
            with open_store(url) as store:
                in_step = mirror.unchanged(store)
                with store.snapshot() as connection:
                    joined = memberships.read_all(connection)
            with open_store(f"sqlite:///{chosen.prepared}") as store:  # before the swap, in case of a kill
                with store.transaction() as connection:
                    memberships.put_back(connection, joined)
                mirror.expect(store, in_step)
        replaced = database_file.put_in_place(chosen.prepared, chosen.path, now=datetime.now(UTC))
        with open_store(url) as store:
            for path in in_step:
                mirror.sync(Project.in_folder(store, projects.folder_of_mirror(path)))
        return replace(replaced, worker_was_at_work=not lock.is_locked)
    finally:
        lock.release()


def check(store: Store, *, quick: bool = False) -> list[str]:
    """Return sentences about the problems of the database. A *quick* check skips NOT_CHECKED_QUICKLY."""
    with store.snapshot() as connection:
        return store_check.run(connection, store_check.QUICK if quick else store_check.THOROUGH)


def check_database(url: str, *, quick: bool = False) -> Report:
    """Report all problems of the database at *url*, even if it can't be opened. Nothing in it is changed."""
    where = urls.described(url)
    try:
        migrate.require_current(url)
        with store_check.opened_to_check(url) as store:
            problems = check(store, quick=quick)
    except DamagedError as error:
        return Report(where, (f"it is damaged or not an SQLite database: {error.cause}",), error.remedy)
    except DatabaseError as error:
        return Report(where, (error.text,), error.remedy)
    remedy = _REPAIR if urls.sqlite_path(url) else _RESTORE
    if problems == [store_check.SEARCH_IS_WRONG]:
        remedy = REBUILD_SEARCH
    return Report(where, tuple(problems), remedy if problems else None)


def rebuild_search(url: str) -> None:
    """Rebuild the full-text index of the database at *url*. Raises DamagedError if that needs a repair."""
    migrate.require_current(url)
    with open_store(url) as store:
        with store.transaction() as connection:
            dialect_of(connection).rebuild_search(connection)
        store.tidy()


def _existing(url: str) -> str:
    """Return the path of the database at *url*. Raises DatabaseError if there is no database."""
    path = database_file.path_of(url)
    schema = dialect_for(url).schema_version()
    if not schema:
        migrate.refuse_lost(url)
        raise DatabaseError(f"There is no database at {path}.", Remedy("Run: {}", ("init",)))
    migrate.refuse_newer(path, schema)
    return path
