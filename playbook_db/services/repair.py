"""Repairing a damaged database.

If SQLite can read the file, but stored values don't match the history, they are computed from the history again.
Otherwise the damaged file is renamed and kept. If only its full-text index is damaged, a copy with a new index replaces
it, else the newest sound backup. The new database is built and checked beside the damaged one, and replaces it at the
end.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db import errors, projects, settings
from playbook_db.domain import draft, playbook_file
from playbook_db.domain.playbook import Change
from playbook_db.services import maintenance
from playbook_db.services.playbook import forget
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from playbook_db.store import migrate, urls
from playbook_db.store.connect import dialect_for
from playbook_db.store.engine import Store, open_store, retry_on_conflict
from playbook_db.store.playbook.repository import FileFields, all_keys
from playbook_db.store.sqlite_open import SCHEMA
from playbook_db.store.upkeep import check as store_check
from playbook_db.store.upkeep import database_file
from playbook_db.store.upkeep.database_file import Backup, Held

_ROUNDS = 3  # of building, if another process writes into the damaged file meanwhile


@dataclass(frozen=True, slots=True)
class Corrected:
    """A playbook that was made equal to its history: its `key`, the new `revision`, and a `summary` of the changes."""

    key: str
    revision: int
    summary: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair, or its plan.

    If the file is sound, `is_damaged` is False. `has_wrong_search` says that only the full-text index was wrong or
    damaged; it was rebuilt.
    `corrected` are playbooks that were made equal to their history; then the file stays. Otherwise the database starts
    from the `backup`, or empty if there is none. `holds` are the playbooks in the new database. `mirrors` are notes on
    changes from mirrors. `aside` is the new path of the damaged file.
    """

    where: str
    is_damaged: bool = True
    has_wrong_search: bool = False
    corrected: tuple[Corrected, ...] = ()
    holds: tuple[Held, ...] = ()
    backup: Backup | None = None
    mirrors: tuple[str, ...] = ()
    aside: str | None = None


def repair(url: str, *, folder: str, dry_run: bool = False) -> Repaired:
    """Repair the database at *url* if it is damaged. The last resort is the mirror in *folder*, for the user to import.
    Raises DatabaseError if there is nothing to start from, DatabaseBusyError if another process uses the database."""
    path = urls.sqlite_path(url)
    if not path:
        return _from_history(url, dry_run=dry_run)
    if not database_file.is_there(path):
        migrate.refuse_lost(url)
        raise errors.DatabaseError(f"There is no database file at {path}.", errors.Remedy("Run: {}", ("init",)))
    with database_file.refusing_repair(path), _alone(path), _workshop(path) as workshop:
        database_file.undo_swap(path)
        for turn in range(_ROUNDS):
            copy, new = (os.path.join(workshop, f"{name}-{turn}.db") for name in ("copy", "new"))
            copied = database_file.copy_to(path, copy)
            if _is_sound(copy, path):
                return Repaired(path, False, has_wrong_search=_has_wrong_search(url, rebuild=not dry_run))
            if corrected := _corrected(copy):
                return replace(corrected if dry_run else _from_history(url, dry_run=False), where=path)
            repaired = _with_new_search(path, copy) or _build(path, new, folder)
            if dry_run:
                return repaired
            better = copy if repaired.has_wrong_search else new
            aside = database_file.swap(better, path, now=datetime.now(UTC), copied=copied)
            if aside is not None:
                break
        else:
            raise errors.DatabaseBusyError(path, settings.LOCK_WAIT_S)
    with open_store(url) as store:
        return replace(repaired, mirrors=(*repaired.mirrors, *_merge_mirrors(store)), aside=aside)


def _from_history(url: str, *, dry_run: bool) -> Repaired:
    """Make each playbook of the database at *url* equal to its history. Raises DatabaseError if that isn't enough."""
    with open_store(url) as store:
        with store.snapshot() as connection:
            keys, ranks = all_keys(connection).values(), store_check.wrong_ranks(connection)
        done = tuple(filter(None, (_restore(store, key, ranks, dry_run=dry_run) for key in keys)))
        problem = None if dry_run and done else next(iter(maintenance.check(store)), None)
        if problem:
            raise errors.DatabaseError(f"{store.where}: {problem}. No history can repair that; restore a backup.")
        return Repaired(store.where, is_damaged=bool(done), corrected=done)


@retry_on_conflict
def _restore(store: Store, key: str, ranks: list[tuple[str, str]], *, dry_run: bool) -> Corrected | None:
    """Restore the playbook of *key* from its history in one revision. Return None if it matches its history already.
    *ranks* names points with a wrong rank. A point without any change in the history is retired."""
    with store.write(key, dry_run=dry_run) as book:
        history, live = book.at(book.revision).by_name, book.playbook().by_name
        others = [name for name in {**live, **history} if history.get(name) != live.get(name) or (key, name) in ranks]
        is_counted = book.project.live_points == len(live)
        if not others and is_counted and not store_check.check_history(key, book.connection):
            return None
        for name in others:
            kind, point = "edit" if name in live else "restore", history.get(name)
            change = Change(kind, point) if point else Change("retire", live[name], cause="repair")
            book.draft.changes.append(replace(change, reason="restored from the history", reworded=True))
        message = f"corrected: {', '.join(others) or 'stored counts'}"
        file = FileFields(book.header_at(book.revision))
        if book.commit("import", message, file=file, even_if_unchanged=True).revision:
            book.count_anew()
    return Corrected(key, book.revision + 1, message)


def _is_sound(copy: str, path: str) -> bool:
    """Return whether the check finds no problem in *copy*, the copy of *path*. An older copy is migrated first. Raises
    OtherProgramError, SchemaError."""
    url = f"sqlite:///{copy}"
    try:
        schema = dialect_for(url).schema_version() or 0
        migrate.refuse_newer(path, schema)
        if 0 < schema < SCHEMA:
            migrate.migrate(url)
        _has_wrong_search(url, rebuild=True)
    except errors.OtherProgramError as error:
        raise errors.DatabaseError(
            f"{path} is the database of another program. Name another file with --db."
        ) from error
    except errors.SchemaError:
        raise
    except Exception:  # damaged bytes can break a migration in any way, or have changed a view
        return False
    return not maintenance.check_database(url).problems


def _has_wrong_search(url: str, *, rebuild: bool) -> bool:
    """Return whether only the full-text index is wrong. With *rebuild* it is rebuilt."""
    is_wrong = maintenance.check_database(url).remedy == maintenance.REBUILD_SEARCH
    if is_wrong and rebuild:
        maintenance.rebuild_search(url)
    return is_wrong


def _corrected(copy: str) -> Repaired | None:
    """Make the playbooks in *copy* equal to their histories. Return None if other problems remain."""
    url = f"sqlite:///{copy}"
    try:
        return _from_history(url, dry_run=False) if dialect_for(url).schema_version() else None
    except Exception:  # damaged bytes can break any statement
        return None


def _with_new_search(path: str, copy: str) -> Repaired | None:
    """Copy *path* to *copy*, with a new full-text index. Return None if there are other problems."""
    try:
        database_file.copy_to(path, copy)
        database_file.rebuild_search(copy)
        if maintenance.check_database(f"sqlite:///{copy}").problems:
            return None
    except Exception:  # damaged bytes can break any statement
        return None
    return Repaired(path, has_wrong_search=True)


def _build(path: str, new: str, folder: str) -> Repaired:
    """Build the database *new*: a copy of the newest sound backup of *path*, or an empty database."""
    backup = _put_newest_backup(path, new)
    if backup is None:
        migrate.migrate(f"sqlite:///{new}")
    with Store(dialect_for(f"sqlite:///{new}").make_engine()) as store:
        is_empty = not any(held.revision for held in database_file.held_in(new, "read"))
        mirrors = _note_on_mirror(store, path, folder) if is_empty else ()
        forget.finish_waiting(store)
        store.tidy()
    return Repaired(path, holds=tuple(database_file.held_in(new)), backup=backup, mirrors=mirrors)


def _put_newest_backup(path: str, new: str) -> Backup | None:
    for backup in database_file.list_backups(f"sqlite:///{path}"):
        with suppress(errors.DatabaseError), database_file.prepared(path, backup.path) as prepared:
            if not maintenance.check_database(f"sqlite:///{prepared}").problems:
                shutil.copyfile(prepared, new)
                return backup
    return None


def _note_on_mirror(store: Store, path: str, folder: str) -> tuple[str, ...]:
    """Return a note if the mirror in *folder* needs the user's consent. It is the last source of points. Raises
    DatabaseError if the mirror has no key points either."""
    file = projects.mirror_path(folder)
    try:
        data = mirror.read(file, folder)
        reading = playbook_file.decode(data, source=file) if data is not None else None
    except (errors.MirrorError, errors.PlaybookFileError) as error:
        raise errors.DatabaseError(f"{path} is damaged, and there is no sound backup. {error}") from error
    if reading is None or not reading.playbook.points:
        raise errors.DatabaseError(
            f"{path} is damaged, and there is neither a sound backup nor a mirror with key points in {folder}. The "
            f"database was left as it is. To see what can be read from it: sqlite3 {path} .recover",
            errors.Remedy("To begin again, move it away and run: {}", ("init",)),
        )
    if not mirror.is_waiting(Project.in_folder(store, folder)):
        return ()
    count = len(reading.playbook.points)
    return (f"{file} holds {count} key points, which need your consent; review and import them with: playbook init",)


def _merge_mirrors(store: Store) -> tuple[str, ...]:
    notes: list[str] = []
    try:
        for synced in mirror.sync_changed(store):
            notes += synced.notes
            if synced.result is not None:
                summary = draft.summary(synced.result.changes)
                notes.append(f"a mirror added {summary} (revision {synced.result.revision})")
    except errors.PlaybookError as error:  # the database is repaired; the next command tries again
        notes.append(str(error))
    return tuple(notes)


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """Block migrations, restores, other repairs and the worker."""
    from filelock import FileLock, Timeout

    os.makedirs(settings.data_dir(), mode=0o700, exist_ok=True)
    wait_s = settings.LOCK_WAIT_S
    try:
        with (
            FileLock(database_file.lock_path(path), timeout=wait_s, mode=0o600),
            FileLock(settings.worker_lock(), timeout=wait_s, mode=0o600),
        ):
            yield
    except Timeout as error:
        who = "The worker" if error.lock_file == settings.worker_lock() else "Another process"
        raise errors.DatabaseError(
            f"{who} used {path} for longer than {wait_s:g} s. Nothing was changed; run the command again later."
        ) from error


@contextmanager
def _workshop(path: str) -> Iterator[str]:
    """Create a temporary folder beside the database. If a killed repair left one, remove it first."""
    folder = f"{path}.repairing"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        os.mkdir(folder, mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
