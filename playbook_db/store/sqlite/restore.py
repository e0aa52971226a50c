"""Restore a backup. It is checked first. Either it replaces the whole database, or nothing changes.

Nothing is lost: a sound database is backed up under the same lock, and a damaged one is renamed.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError, OtherProgramError, Remedy
from playbook_db.store import migrate
from playbook_db.store.sqlite import backups, sqlite_files
from playbook_db.store.sqlite.sqlite_dialect import SqliteDialect, refuse_foreign
from playbook_db.store.sqlite_open import SCHEMA

State = Literal["missing", "damaged", "sound"]

_LIST = ("backup", "--list")


@dataclass(frozen=True, slots=True)
class Replaced:
    """The former database: the path of its `backup`, or the new paths of its damaged files (`aside`). A missing
    database has neither. `worker_was_at_work` means that a worker may have written meanwhile."""

    backup: str | None = None
    aside: tuple[str, ...] = ()
    worker_was_at_work: bool = False


@contextmanager
def prepared(path: str, file: str) -> Iterator[str]:
    """Make a checked and migrated copy of the backup *file*. `put_in_place` can then replace the database *path* with
    the copy. Raises DatabaseError if *file* isn't fit for that."""
    if not os.path.isfile(file):
        raise DatabaseError(f"There is no backup {file}.", Remedy("See the backups with: {}", _LIST))
    if os.path.exists(path) and os.path.samefile(path, file):
        raise DatabaseError(f"{file} is the database itself, not a backup.", Remedy("Name one of: {}", _LIST))
    with ExitStack() as stack:
        try:
            schema = SqliteDialect(file, "at rest").schema_version()
            if not schema:
                raise OtherProgramError(file)
            migrate.refuse_newer(file, schema)
            partial = stack.enter_context(backups.copied(file, backups.make_folder(path), at_rest=True))
        except OtherProgramError as error:
            raise _unfit(file, "is not a playbook database") from error
        except DamagedError as error:
            raise _unfit(file, f"is damaged or not an SQLite database ({error.cause})") from error
        if schema < SCHEMA:
            migrate.migrate(f"sqlite:///{partial}")
        with closing(sqlite_files.open_file(partial, "read")) as connection:
            refuse_foreign(connection, file)
        yield partial


def state_of(path: str) -> State:
    """Return the state of the database *path*. Raises DatabaseError if the database must not be replaced."""
    if not os.path.lexists(path):
        return "missing"
    try:
        dialect = SqliteDialect(path, "read")
        schema = dialect.schema_version()
        if not schema:
            return "damaged"
        migrate.refuse_newer(path, schema)
        engine = dialect.make_engine()
        with dialect.explained(), engine.begin() as connection:
            return "damaged" if dialect.check(connection, quick=True) else "sound"
    except DamagedError:
        return "damaged"


def put_in_place(partial: str, path: str, *, now: datetime) -> Replaced:
    """Replace the database *path* with the file from `prepared`. If the process is killed, *path* is either the old or
    the new database, and complete. If nothing was replaced, raises DatabaseBusyError or DatabaseError."""
    dialect = SqliteDialect(path)
    refused = sqlite_files.explained(path, "can't be replaced", end="It was not changed.", of_files=True)
    with dialect.exclusive(), refused:
        if state_of(path) == "sound":
            paths: list[str] = []
            sqlite_files.put_over(
                partial, path, before=lambda: paths.append(backups.take(path, backups.BEFORE_RESTORE, now=now).path)
            )
            dialect.move_log()
            return Replaced(backup=paths[0])
        if not os.path.lexists(path):
            moved = sqlite_files.move_leftovers(path, now=now)
            backups.place(partial, [path])
            return Replaced(aside=moved)
        aside = sqlite_files.swap(partial, path, now=now, copied=sqlite_files.state_of(path))
        if aside is None:
            raise DatabaseBusyError(path, 0)
        return Replaced(aside=sqlite_files.with_log(aside))


def _unfit(file: str, why: str) -> DatabaseError:
    return DatabaseError(f"{file} {why}. Nothing was changed.", Remedy("See the other backups with: {}", _LIST))
