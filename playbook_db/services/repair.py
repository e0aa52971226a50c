"""Repairing a damaged database from its newest sound state and the readable rest of the damaged file.

That state is the file itself if SQLite can rewrite it without a loss, else the newest sound backup, else an empty
database. The saved points are added in one revision for each playbook. The new database is built and checked beside the
damaged one, and replaces it at the end. The damaged file is kept under another name.
"""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db import errors, projects, settings
from playbook_db.domain import draft, playbook_file
from playbook_db.domain.merging import salvaging
from playbook_db.domain.playbook import Change
from playbook_db.domain.times import local
from playbook_db.services import maintenance
from playbook_db.services.playbook import forget
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from playbook_db.store import migrate, urls
from playbook_db.store.at_hand import SCHEMA
from playbook_db.store.connect import dialect_for
from playbook_db.store.engine import Store, open_store, retry_on_conflict
from playbook_db.store.playbook.repository import FileFields, all_keys
from playbook_db.store.upkeep import check as store_check
from playbook_db.store.upkeep import database_file, salvage
from playbook_db.store.upkeep.database_file import Backup, Held, Pages
from playbook_db.store.upkeep.salvage import SavedPlaybook

_ROUNDS = 3  # of building, if another process writes into the damaged file meanwhile


@dataclass(frozen=True, slots=True)
class RepairedPlaybook:
    """A playbook that was repaired. `summary` describes the changes in its new `revision` (None: none was needed).

    The history is kept up to the revision `kept_to` of `kept_time` (0 and None: no history). The damaged file knew
    revisions up to `last_revision`. `renamed` are points whose names are lost.
    """

    key: str
    kept_to: int
    kept_time: str | None
    last_revision: int
    revision: int | None
    summary: str
    renamed: tuple[str, ...] = ()
    is_key_lost: bool = False

    @property
    def lost_history(self) -> str:
        """A sentence that says which revisions are lost, or "" if none are."""
        if self.last_revision <= self.kept_to:
            return ""
        period = "All history"
        if self.kept_time is not None:
            period = f"History after revision {self.kept_to} ({local(self.kept_time)})"
        return f"{period} is lost, up to revision {self.last_revision}; the points are as they were last seen."


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair, or its plan.

    If the file is sound, `is_damaged` is False, and `has_wrong_search` says whether its full-text index was wrong.
    `is_whole` is True if SQLite could rewrite the whole file. Otherwise, `playbooks` were added to the `backup`.
    `holds` are the playbooks in the new database. `mirrors` are notes on changes from mirrors. `aside` is the new path
    of the damaged file.
    """

    where: str
    is_damaged: bool = True
    has_wrong_search: bool = False
    is_whole: bool = False
    holds: tuple[Held, ...] = ()
    playbooks: tuple[RepairedPlaybook, ...] = ()
    backup: Backup | None = None
    mirrors: tuple[str, ...] = ()
    aside: str | None = None


def repair(url: str, *, folder: str, dry_run: bool = False) -> Repaired:
    """Repair the database at *url* if it is damaged. The last resort is the mirror in *folder*, for the user to import.
    Raises RepairError if there is nothing to save, DatabaseBusyError if another process uses the database."""
    path = urls.sqlite_path(url)
    if not path:
        return _from_history(url, dry_run=dry_run)
    if not database_file.is_there(path):
        migrate.refuse_lost(url)
        raise errors.RepairError(f"There is no database file at {path}.", errors.Remedy("Run: {}", ("init",)))
    with database_file.refusing_repair(path), _alone(path), _workshop(path) as workshop:
        database_file.undo_swap(path)
        for turn in range(_ROUNDS):
            copy, new = (os.path.join(workshop, f"{name}-{turn}.db") for name in ("copy", "new"))
            copied = database_file.copy_to(path, copy)
            repaired = _build(path, copy, new, folder)
            if not repaired.is_damaged:
                return replace(repaired, has_wrong_search=_has_wrong_search(url, rebuild=not dry_run))
            if dry_run:
                return repaired
            aside = database_file.swap(new, path, now=datetime.now(UTC), copied=copied)
            if aside is not None:
                break
        else:
            raise errors.DatabaseBusyError(path, settings.LOCK_WAIT_S)
    with open_store(url) as store:
        return replace(repaired, mirrors=(*repaired.mirrors, *_merge_mirrors(store)), aside=aside)


def _from_history(url: str, *, dry_run: bool) -> Repaired:
    """Restore each playbook of the database at *url*, which is on a server, from its history."""
    with open_store(url) as store:
        with store.snapshot() as connection:
            keys, ranks = all_keys(connection).values(), store_check.wrong_ranks(connection)
        done = tuple(filter(None, (_restore(store, key, ranks, dry_run=dry_run) for key in keys)))
        problem = None if dry_run and done else next(iter(maintenance.check(store)), None)
        if problem:
            raise errors.RepairError(f"{store.where}: {problem}. No history can repair that; restore a server backup.")
        return Repaired(store.where, is_damaged=bool(done), playbooks=done)


@retry_on_conflict
def _restore(store: Store, key: str, ranks: list[tuple[str, str]], *, dry_run: bool) -> RepairedPlaybook | None:
    """Restore the playbook of *key* from its history in one revision. Return None if it matches its history already.
    *ranks* names points with a wrong rank. A point without any change in the history is retired."""
    with store.write(key, dry_run=dry_run) as book:
        history, live = book.at(book.revision).by_name, book.playbook().by_name
        others = [name for name in {**live, **history} if history.get(name) != live.get(name) or (key, name) in ranks]
        is_counted = book.stored().live_points == len(live)
        if not others and is_counted and not store_check.check_history(key, book.connection):
            return None
        for name in others:
            kind, point = "edit" if name in live else "restore", history.get(name)
            change = Change(kind, point, reworded=True) if point else Change("retire", live[name], reworded=True)
            book.draft.changes.append(replace(change, reason="restored from the history"))
        message = f"corrected: {', '.join(others) or 'stored counts'}"
        file = FileFields(book.header_at(book.revision))
        if book.commit("import", message, file=file, even_if_unchanged=True).revision:
            book.count_anew()
    return RepairedPlaybook(key, book.revision, book.last_time, book.revision, book.revision + 1, message)


def _build(path: str, copy: str, new: str, folder: str) -> Repaired:
    """Build the database *new* from *copy*, which is a copy of *path*. If the copy is sound, build nothing."""
    pages = database_file.open_pages(copy)
    if not pages.log_is_damaged and _is_sound(copy):
        return Repaired(path, is_damaged=False)
    if salvage.is_foreign(pages):
        raise errors.RepairError(f"{path} is the database of another program. Name another file with --db.")
    if (schema := salvage.schema(pages)) > SCHEMA:
        raise errors.SchemaTooNewError(path, schema, SCHEMA)
    empty = f"{new}.empty"
    migrate.migrate(f"sqlite:///{empty}")
    if _write_anew(pages, empty, new):
        return Repaired(path, is_whole=True, holds=tuple(database_file.held_in(new)))
    saved = salvage.read(pages)
    backup = _put_newest_backup(path, saved, new)
    if backup is None:
        os.replace(empty, new)
    with Store(dialect_for(f"sqlite:///{new}").make_engine()) as store:
        playbooks = tuple(_add_all(store, saved))
        is_empty = not any(held.revision for held in database_file.held_in(new, "read"))
        mirrors = _note_on_mirror(store, path, folder) if is_empty else ()
        forget.finish_waiting(store)
        problems = maintenance.check(store)
        store.tidy()
    if problems:
        raise errors.RepairError(
            f"The points saved from {path} are inconsistent ({problems[0]}). Nothing was changed;",
            errors.Remedy("please report this, and restore a backup with: {}", ("restore-backup",)),
        )
    return Repaired(path, holds=tuple(database_file.held_in(new)), playbooks=playbooks, backup=backup, mirrors=mirrors)


def _is_sound(copy: str) -> bool:
    """Return whether the check finds no problem in *copy*. An older copy is migrated first."""
    url = f"sqlite:///{copy}"
    try:
        schema = dialect_for(url).schema_version()
        if schema and schema < SCHEMA:
            migrate.migrate(url)
        _has_wrong_search(url, rebuild=True)
    except Exception:  # damaged bytes can break a migration in any way, or have changed a view
        return False
    return not maintenance.check_database(url).problems


def _has_wrong_search(url: str, *, rebuild: bool) -> bool:
    """Return whether only the full-text index is wrong. With *rebuild* it is rebuilt."""
    is_wrong = maintenance.check_database(url).remedy == maintenance.REBUILD_SEARCH
    if is_wrong and rebuild:
        maintenance.rebuild_search(url)
    return is_wrong


def _write_anew(pages: Pages, empty: str, new: str) -> bool:
    """Let SQLite write the content of the *pages* to the file *new*. Return whether *new* is sound and complete."""
    if not database_file.write_anew(pages, empty, new) or not _is_sound(new):
        return False
    with Store(dialect_for(f"sqlite:///{new}").make_engine()) as store, store.snapshot() as connection:
        return salvage.agrees_with_indexes(connection, pages)


def _put_newest_backup(path: str, saved: Collection[SavedPlaybook], new: str) -> Backup | None:
    """Copy the newest sound backup to *new*. Skip backups that aren't an earlier state of the *saved* playbooks. Return
    None if no backup is left."""
    for backup in database_file.list_backups(f"sqlite:///{path}"):
        with suppress(errors.DatabaseError), database_file.prepared(path, backup.path) as prepared:
            url = f"sqlite:///{prepared}"
            if maintenance.check_database(url).problems:
                continue
            with Store(dialect_for(url).make_engine()) as store, store.snapshot() as connection:
                goes_on = (each.descends_from(salvage.revision_times(connection, each.number)) for each in saved)
                if not all(goes_on):
                    continue
            shutil.copyfile(prepared, new)
            return backup
    return None


def _add_all(store: Store, saved: Collection[SavedPlaybook]) -> Iterator[RepairedPlaybook]:
    """Add the *saved* playbooks to the database. If a key is uncertain, use the most likely one."""
    with store.snapshot() as connection:
        held = all_keys(connection)
        times = {each.number: salvage.revision_times(connection, each.number) for each in saved}
    used: set[str] = set()
    for each in saved:
        before = held.get(each.number)
        is_same = before in each.keys or bool(each.times.items() & times[each.number].items())
        keys = [key for key in (*each.keys, before if is_same else None) if key and key not in used]
        # A row's key or its index may be damaged: an existing folder is right.
        key = max(keys, key=lambda key: (os.path.isdir(key), keys.count(key)), default=f"/lost/playbook-{each.number}")
        used.add(key)
        if is_same and before is not None and before != key:  # the project has moved since the backup
            with store.write(before) as book:
                book.rename(key)
        yield replace(_add(store, key, each), is_key_lost=not keys)


def _add(store: Store, key: str, saved: SavedPlaybook) -> RepairedPlaybook:
    """Add a *saved* playbook in one revision, with its cursors, jobs and proposals."""
    with store.write(key) as book:
        names = salvage.point_names(book.connection, book.playbook_id)
        points = [each.named(names.get(each.number, "")) for each in saved.points]
        renamed = salvaging.bring_in(book.draft, points, book.retired(), known_to=book.revision)
        is_lost = saved.last_revision > book.revision
        lost = f"the history after revision {book.revision} is lost" if book.revision else "its history is lost"
        message = f"repaired: {lost}" if is_lost else "repaired"
        saved_extras = {each.point.name: saved.extras[each.number] for each in points if each.number in saved.extras}
        extras = dict(saved_extras.items() - book.extras().items())
        result = book.commit("import", message, file=FileFields(saved.header, extras=extras), even_if_unchanged=is_lost)
        salvage.put_rest(book, saved, result.revision)
    summary = draft.summary(result.changes)
    return RepairedPlaybook(
        key, book.revision, book.last_time, saved.last_revision, result.revision, summary, tuple(renamed)
    )


def _note_on_mirror(store: Store, path: str, folder: str) -> tuple[str, ...]:
    """Return a note if the mirror in *folder* needs the user's consent. It is the last source of points. Raises
    RepairError if the mirror has no key points either."""
    file = projects.mirror_path(folder)
    try:
        data = mirror.read(file, folder)
        reading = playbook_file.decode(data, source=file) if data is not None else None
    except (errors.MirrorError, errors.PlaybookFileError) as error:
        raise errors.RepairError(f"Nothing could be read from {path}, and there is no sound backup. {error}") from error
    if reading is None or not reading.playbook.points:
        raise errors.RepairError(
            f"Nothing could be read from {path}. There is neither a sound backup nor a mirror with key points in "
            f"{folder}. The database was left as it is.",
            errors.Remedy("Move it away and run: {}", ("init",)),
        )
    if not mirror.is_waiting(Project.in_folder(store, folder)):
        return ()
    count = len(reading.playbook.points)
    return (f"{file} holds {count} key points, which need your consent; review and import them with: playbook init",)


def _merge_mirrors(store: Store) -> tuple[str, ...]:
    """Merge the active mirrors that have changed, and return notes for the user."""
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
        raise errors.RepairError(
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
