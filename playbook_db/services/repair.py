"""Salvaging a damaged database: what can be read of it, and what the newest good backup and the mirrors have more.

The new database is built and checked beside the damaged one, under another name, and takes its place at the end. What
was damaged is moved aside as it is.
"""

import contextlib
import functools
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from playbook_db import projects, settings
from playbook_db.domain import playbook_file
from playbook_db.domain.times import timestamp
from playbook_db.errors import (
    DatabaseBusyError,
    DatabaseError,
    MirrorError,
    PlaybookError,
    PlaybookFileError,
    RepairError,
    SchemaTooNewError,
)
from playbook_db.services import import_export, maintenance, mirror
from playbook_db.services.projects import Project
from playbook_db.store import connect, migrate
from playbook_db.store.engine import Store, open_store
from playbook_db.store.hook_queries import SCHEMA
from playbook_db.store.past import Past
from playbook_db.store.salvaging import rebuilding, salvage, staging
from playbook_db.store.salvaging.gathering import Account
from playbook_db.store.sqlite import backups, dialect, files, restore
from playbook_db.store.sqlite.backups import Backup

_ROUNDS = 3  # of salvaging, where somebody writes into the damaged file meanwhile


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair did, or would do.

    `account` says what was kept and lost, None where all is well and nothing was done; `unreadable` how many pages and
    rows of each table can't be read in their place; `aside` where the damaged file is now; `backup` is the one that
    was at hand, `mirrors` tells what mirrors gave.
    """

    where: str
    account: Account | None = None
    unreadable: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    aside: str | None = None
    backup: Backup | None = None
    mirrors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Built:
    """A new database, ready to take the damaged one's place, and how that looked when it was copied."""

    file: str
    account: Account
    unreadable: Mapping[str, tuple[int, int]]
    backup: Backup | None
    copied: files.State
    mirrors: tuple[str, ...]


def repair(url: str, *, folder: str, dry_run: bool = False, now: datetime | None = None) -> Repaired:
    """Salvage the database at *url* where it is damaged; *folder* is the project whose mirror is the last resort.

    Raises RepairError where there is nothing to salvage, DatabaseBusyError where another process is at it.
    """
    path = connect.sqlite_path(url)
    where = connect.described(url)
    if not path:
        raise RepairError(f"{where} is no SQLite file; repair it with its own tools.")
    if not os.path.isfile(path) and not files.has_log(path):
        raise RepairError(f"There is no database file at {path}. Run: playbook init")
    moment = now or datetime.now(UTC)
    with dialect.disk_refusals(functools.partial(_refused, path)), _alone(path), _workshop(path) as workshop:
        files.take_back(path)
        for _ in range(_ROUNDS):
            built = _build(path, workshop, folder, moment)
            if built is None:
                return Repaired(where)
            if dry_run:
                return Repaired(where, built.account, built.unreadable, None, built.backup, built.mirrors)
            aside = files.swap(built.file, path, now=moment, copied=built.copied)
            if aside is not None:
                break
        else:
            raise DatabaseBusyError(path, settings.LOCK_WAIT_S)
    with open_store(url) as store:
        told = (*built.mirrors, *_take_mirrors_in(store))
    return Repaired(where, built.account, built.unreadable, aside, built.backup, told)


def _refused(path: str, why: str) -> RepairError:
    return RepairError(f"{path} can't be repaired: {why}. It is as it was.")


def _build(path: str, workshop: str, folder: str, now: datetime) -> _Built | None:
    """Build the new database in *workshop*; None where the one in *path* is sound."""
    copy, salvaged_rows, new = (os.path.join(workshop, name) for name in ("copy.db", "staging.db", "new.db"))
    for file in (salvaged_rows, new):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
    copied = files.copy_to(path, copy)
    opened = salvage.open_file(copy)
    if not opened.passed_over and _is_sound(copy, workshop):
        return None
    salvaged = salvage.salvage_file(copy, opened, salvaged_rows)
    if salvaged.foreign:
        raise RepairError(f"{path} is the database of another program. Name another file with --db.")
    if salvaged.newer is not None:
        raise SchemaTooNewError(path, salvaged.newer, SCHEMA)
    size_bytes = sum(os.path.getsize(path + suffix) for suffix in ("", "-wal") if os.path.exists(path + suffix))
    migrate.migrate(f"sqlite:///{new}")
    with _newest_good_backup(path, workshop) as (backup, of_backup):
        size_bytes += backup.size_bytes if backup else 0
        account = rebuilding.rebuild(
            new, salvaged_rows, salvaged, size_bytes=size_bytes, backup=of_backup, now=timestamp(now)
        )
    mirrors: tuple[str, ...] = ()
    if not account.revisions:
        mirrors = _start_from_mirror(path, new, folder)
    with Store(connect.make_engine(f"sqlite:///{new}")) as store:
        problems = maintenance.check(store)
        store.tidy()
    if problems:
        raise RepairError(
            f"What was salvaged from {path} doesn't hold together ({problems[0]}). Nothing was changed; please report "
            "this, and put a backup back with: playbook restore-backup"
        )
    return _Built(new, account, salvaged.unreadable, backup, copied, mirrors)


def _is_sound(copy: str, workshop: str) -> bool:
    """Whether the check finds nothing in a copy of *copy*, brought to our schema where it is older."""
    checked = os.path.join(workshop, "checked.db")
    files.copy_to(copy, checked)
    return salvage.can_be_migrated(checked) and not maintenance.check_database(f"sqlite:///{checked}").problems


@contextmanager
def _newest_good_backup(path: str, workshop: str) -> Iterator[tuple[Backup | None, str | None]]:
    """The newest backup in which the check finds nothing, and a staging of it; None for both where there is none."""
    of_backup = os.path.join(workshop, "backup.db")
    for backup in backups.list_backups(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(of_backup)
        try:
            with restore.prepared(path, backup.path) as prepared:
                if maintenance.check_database(f"sqlite:///{prepared}").problems:
                    continue
                staging.stage_sound(prepared, of_backup)
        except DatabaseError:
            continue
        yield backup, of_backup
        return
    yield None, None


def _start_from_mirror(path: str, new: str, folder: str) -> tuple[str, ...]:
    """Take the mirror of the project in *folder* into the new database, which is empty. Raises RepairError."""
    file = projects.mirror_path(folder)
    try:
        data = mirror.read(file, folder)
        reading = playbook_file.decode(data, source=file) if data is not None else None
    except (MirrorError, PlaybookFileError) as error:
        raise RepairError(f"Nothing could be read from {path}, and there is no good backup. {error}") from error
    if reading is None or not reading.playbook.points:
        raise RepairError(
            f"Nothing could be read from {path}, and there is neither a good backup nor a mirror with key points in "
            f"{folder}. It was left as it is. Move it away and run: playbook init"
        )
    with Store(connect.make_engine(f"sqlite:///{new}")) as store:
        project = Project(store, folder)
        revised = import_export.import_playbook(project, reading, source=file)
        with store.transaction() as connection:
            Past.open(connection, project.key).set_mirror_state("found")
    return (f"{file} gave {import_export.told(revised)}", *revised.notes)


def _take_mirrors_in(store: Store) -> tuple[str, ...]:
    """Bring the mirrors in step that are kept: what they have more comes in."""
    told: list[str] = []
    try:
        for synced in mirror.sync_changed(store):
            told += synced.notes
            if synced.revised is not None:
                told.append(f"a mirror gave {import_export.told(synced.revised)} (revision {synced.revised.revision})")
    except PlaybookError as error:  # the database stands; the next command tries again
        told.append(str(error))
    return tuple(told)


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """Hold off migrations, restores, other repairs and the worker."""
    from filelock import FileLock, Timeout

    os.makedirs(settings.data_dir(), mode=0o700, exist_ok=True)
    waited = settings.LOCK_WAIT_S
    try:
        with (
            FileLock(migrate.lock_path(path), timeout=waited, mode=0o600),
            FileLock(settings.worker_lock(), timeout=waited, mode=0o600),
        ):
            yield
    except Timeout as error:
        who = "The worker is at work" if error.lock_file == settings.worker_lock() else "Another process is"
        raise RepairError(
            f"{who} on {path} for longer than {waited:g} s. Nothing was changed; run the command again later."
        ) from error


@contextmanager
def _workshop(path: str) -> Iterator[str]:
    """A folder beside the database for what is on its way; one that a kill left is cleared away first."""
    folder = f"{path}.repairing"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        os.mkdir(folder, mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
