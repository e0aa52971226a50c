"""Putting a backup in the place of the database: looked at first, then whole or not at all.

What is there is never lost: a sound database is backed up under the same lock under which it is replaced, a damaged
one is moved aside.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from playbook_db.errors import BackupError, DamagedError, DatabaseBusyError
from playbook_db.store import migrate
from playbook_db.store.hook_queries import SCHEMA
from playbook_db.store.sqlite import backups, dialect, files

State = Literal["missing", "damaged", "sound"]


@dataclass(frozen=True, slots=True)
class Replaced:
    """Where what was there is now: a backup of it, or the damaged files moved aside; both empty where nothing was."""

    backup: str | None = None
    aside: tuple[str, ...] = ()


@contextmanager
def prepared(path: str, file: str) -> Iterator[str]:
    """A copy of the backup *file*, checked and at our schema, ready to take the place of the database *path*.

    Raises BackupError and SchemaTooNewError where *file* isn't one that can. Neither of the two is touched.
    """
    found = _schema_of(path, file)
    try:
        with backups.copied(file, backups.make_folder(path), in_use=False) as partial:
            if found < SCHEMA:
                migrate.migrate(f"sqlite:///{partial}")
            yield partial
    except DamagedError as error:
        raise _unfit(file, f"is damaged ({error.cause})") from error


def state_of(path: str) -> State:
    """What is at *path* now. Raises DatabaseError where it is something that must not be replaced."""
    if not os.path.lexists(path):
        return "missing"
    try:
        schema = dialect.schema_version(path)
        if not schema:
            return "damaged"
        migrate.refuse_newer(path, schema)
        with closing(files.open_to_read(path)) as connection, dialect.explained(path):
            is_sound = connection.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
    except DamagedError:
        return "damaged"
    return "sound" if is_sound else "damaged"


def put_in_place(partial: str, path: str, *, now: datetime) -> Replaced:
    """Put what `prepared` gave in the place of the database *path*. A kill leaves the one or the other, whole.

    Raises DatabaseBusyError, BackupError; nothing was replaced then.
    """
    from filelock import FileLock

    with FileLock(migrate.lock_path(path), mode=0o600):
        if state_of(path) == "sound":
            kept: list[str] = []
            try:
                files.put_over(
                    partial, path, before=lambda: kept.append(backups.take(path, backups.BEFORE_RESTORE, now=now).path)
                )
            except files.DRIVER_ERRORS as error:
                raise BackupError(f"{path} can't be replaced: {error}. It is as it was.") from error
            dialect.checkpoint(path, least_bytes=1)
            return Replaced(backup=kept[0])
        try:
            return Replaced(aside=_take_place(partial, path, now))
        except OSError as error:
            raise BackupError(f"{path} can't be replaced: {error.strerror}.") from error


def _schema_of(path: str, file: str) -> int:
    """The schema of the backup *file*, where it can be put in the place of *path*."""
    if not os.path.isfile(file):
        raise BackupError(f"There is no backup {file}. See those there are with: playbook backup --list")
    if os.path.exists(path) and os.path.samefile(path, file):
        raise BackupError(f"{file} is the database itself. Name one of: playbook backup --list")
    try:
        with closing(files.open_untouched(file)) as connection, dialect.explained(file):
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            (application,) = connection.execute("PRAGMA application_id").fetchone()
    except DamagedError as error:
        raise _unfit(file, f"is damaged or no SQLite database ({error.cause})") from error
    if application != dialect.APPLICATION_ID or schema < 1:
        raise _unfit(file, "is no database of playbooks")
    migrate.refuse_newer(file, schema)
    return int(schema)


def _unfit(file: str, why: str) -> BackupError:
    return BackupError(f"{file} {why}. Nothing was changed; see the others with: playbook backup --list")


def _take_place(partial: str, path: str, now: datetime) -> tuple[str, ...]:
    """Move what is at *path* aside and put *partial* there; where the files are now."""
    if not os.path.lexists(path):
        moved = files.move_leftovers(path, now=now)
        backups.place(partial, [path])
        return moved
    aside = files.swap(partial, path, now=now, copied=files.state_of(path))
    if aside is None:
        raise DatabaseBusyError(path, 0)
    return files.with_log(aside)
