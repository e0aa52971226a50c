"""Looking after the database: backups taken, listed and put back; whether it is sound."""

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
from playbook_db.store.at_hand import SCHEMA
from playbook_db.store.connect import dialect_for
from playbook_db.store.dialect import dialect_of
from playbook_db.store.engine import Store, open_store
from playbook_db.store.playbook import repository
from playbook_db.store.team import memberships
from playbook_db.store.upkeep import check as store_check
from playbook_db.store.upkeep import database_file
from playbook_db.store.upkeep.database_file import Backup, Held, Replaced, State

if TYPE_CHECKING:
    from playbook_db.store.postgres.grants import Granted, Right

NOT_CHECKED_QUICKLY = ("indexes", "references", "whether each playbook equals its history", "ranks", "full text")
_REPAIR = Remedy("Salvage what can be read: {}", ("db", "repair"))
_PUT_RIGHT = Remedy("Put back what each playbook's history says: {}", ("--db", "URL", "db", "repair"))
REBUILD_SEARCH = Remedy("Make it anew: {}", ("db", "check", "--rebuild-search"))
_DAILY_AFTER = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Taken:
    """A backup that was just taken: its file, its size, and what it holds."""

    path: str
    size_bytes: int
    holds: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A backup that could be put back: what it holds, what is here now, and where both are."""

    path: str
    prepared: str
    holds: tuple[Held, ...]
    state: State
    here: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong with the database `where`, nothing where all is well; and what of ours helps, if anything."""

    where: str
    problems: tuple[str, ...]
    remedy: Remedy | None = None


def location(url: str) -> str:
    """Where the database at *url* is, in words: its file, or the URL without its password."""
    return urls.described(url)


def upgrade(url: str) -> tuple[int, str | None]:
    """Bring the database at *url* to our schema; its number, and the path of the backup made before, if any."""
    return SCHEMA, migrate.ensure_current(url)


def distribute(url: str) -> tuple[int, int, bool]:
    """Spread the database at *url*, on a server with Citus, by playbook over the servers that Citus knows.

    Returns over how many, in how many parts, and whether there was anything to spread. Raises DatabaseError, which says
    what is missing.
    """
    dialect = dialect_for(url)
    if dialect.is_shared:
        migrate.require_current(url)
    with closing(dialect):
        return dialect.distribute()


def transfer(source_url: str, target_url: str, key: str | None = None) -> dict[str, int]:
    """Copy the playbook of the project *key*, or all, from one database to another with its whole history, all of it or
    nothing; the number of revisions of each, by its key there. The user's own, which USER_KEY names, becomes their own
    there, whatever its key.

    Each row is compared afterwards, and each playbook with its history. Raises DatabaseError where a playbook is there
    already, or anything differs.
    """
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
    """Let *role* of the server read the database at *url*, write to it as a member, or own it. Raises DatabaseError."""
    if urls.sqlite_path(url):
        raise DatabaseError(
            f"{urls.described(url)} is a file, for whose rights the system has chmod. Only a server knows roles: "
            "name its database with --db postgresql://..."
        )
    migrate.require_current(url)
    from playbook_db.store.postgres import grants

    with open_store(url) as store, store.transaction() as connection:
        return grants.grant(connection, role, right)


def take(url: str, file: str | None = None) -> Taken:
    """Back the database at *url* up, to *file* or into the folder of its backups. Raises BackupError, DatabaseError."""
    path = _existing(url)
    if file is None:
        file = database_file.take(path, database_file.BY_HAND, now=_now()).path
    else:
        database_file.take_to(path, file)
    return Taken(file, os.path.getsize(file), tuple(database_file.held_in(file)))


def take_daily(url: str) -> Backup | None:
    """Take the daily backup of the database at *url*, if it is due, and let the oldest go; None where it isn't.

    It is due where the last daily one is a day old and something was written since; on a server never.
    """
    if not urls.sqlite_path(url):
        return None
    path, now = _existing(url), _now()
    daily = (each for each in database_file.list_backups(url) if each.kind == database_file.DAILY)
    last = next((each for each in daily if each.time <= now), None)  # a clock that was wrong must not stop them
    if last and (now - last.time < _DAILY_AFTER or database_file.changed_at(path) <= last.time):
        return None
    taken = database_file.take(path, database_file.DAILY, now=now)
    database_file.rotate(path)
    return taken


def unsaved_for(url: str) -> tuple[Backup | None, timedelta]:
    """The newest backup of the database at *url*, and for how long something has been waiting to be backed up."""
    path = _existing(url)
    last = next(iter(database_file.list_backups(url)), None)
    if last is None:
        return None, timedelta(0)
    return last, _now() - last.time if database_file.changed_at(path) > last.time else timedelta(0)


@contextmanager
def candidate(url: str, file: str) -> Iterator[Candidate]:
    """The backup *file*, checked, beside what is at *url* now, to be shown before `put_back`. Nothing is changed.

    Raises BackupError, SchemaTooNewError, DatabaseError.
    """
    path = database_file.path_of(url)
    with database_file.prepared(path, file) as prepared:
        state = database_file.state_of(path)
        here = database_file.held_in(path, "read") if state == "sound" else []
        yield Candidate(path, prepared, tuple(database_file.held_in(prepared)), state, tuple(here))


def put_back(chosen: Candidate) -> Replaced:
    """Put the backup in the place of the database, which is kept; mirrors that were in step with that follow, so that
    they don't bring back what goes. Which projects belong to a team stays as it is. Raises DatabaseBusyError,
    BackupError."""
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
            with open_store(f"sqlite:///{chosen.prepared}") as store:  # before the swap: a kill can't part the two
                with store.transaction() as connection:
                    memberships.put_back(connection, joined)
                mirror.expect(store, in_step)
        replaced = database_file.put_in_place(chosen.prepared, chosen.path, now=_now())
        with open_store(url) as store:
            for path in in_step:
                mirror.sync(Project.in_folder(store, projects.folder_of_mirror(path)))
        return replace(replaced, worker_was_at_work=not lock.is_locked)
    finally:
        lock.release()


def check(store: Store, *, quick: bool = False) -> list[str]:
    """What is wrong with the database, in words; nothing where all is well.

    A quick check leaves out what takes long: NOT_CHECKED_QUICKLY.
    """
    with store.snapshot() as connection:
        return store_check.run(connection, store_check.QUICK if quick else store_check.THOROUGH)


def check_database(url: str, *, quick: bool = False) -> Report:
    """What is wrong with the database at *url*, whatever stands there; not a byte of it is changed."""
    where = urls.described(url)
    try:
        migrate.require_current(url)
        with store_check.opened_to_check(url) as store:
            problems = check(store, quick=quick)
    except DamagedError as error:
        return Report(where, (f"it is damaged or no SQLite database: {error.cause}",), error.remedy)
    except DatabaseError as error:
        return Report(where, (error.text,), error.remedy)
    remedy = _REPAIR if urls.sqlite_path(url) else _PUT_RIGHT
    if problems == [store_check.SEARCH_IS_WRONG]:
        remedy = REBUILD_SEARCH
    return Report(where, tuple(problems), remedy if problems else None)


def rebuild_search(url: str) -> bool:
    """Make the index for full text of the database at *url* anew from its points; whether there can be one."""
    migrate.require_current(url)
    with open_store(url) as store:
        with store.transaction() as connection:
            has_index = dialect_of(connection).rebuild_search(connection)
        store.tidy()
        return has_index


def _now() -> datetime:
    return datetime.now(UTC)


def _existing(url: str) -> str:
    """The file of the database at *url*, which is there. Raises DatabaseError."""
    path = database_file.path_of(url)
    schema = dialect_for(url).schema_version()
    if not schema:
        migrate.refuse_lost(url)
        raise DatabaseError(f"There is no database at {path}.", Remedy("Run: {}", ("init",)))
    migrate.refuse_newer(path, schema)
    return path
