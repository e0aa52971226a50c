"""Forgetting for good: erasing from playbooks and their history, from our files and backups, and from the bytes of all.

Our files come first: what to look for in them is in the database, so that the same command finds the rest after a kill.
Backups come last: one of the database as it is then replaces those that hold what was erased.
"""

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db import files, projects, settings
from playbook_db.domain import duplicates
from playbook_db.domain.erasure import SHORTEST_TEXT, Eraser
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.times import timestamp
from playbook_db.errors import DatabaseBusyError, DatabaseError, PointRuleError
from playbook_db.services import edit, mirror
from playbook_db.services.projects import Project
from playbook_db.store import connect, erasure
from playbook_db.store.engine import Store
from playbook_db.store.erasure import Field, PointText
from playbook_db.store.repository import PlaybookRepository, all_keys
from playbook_db.store.sqlite import backups, erased_bytes
from playbook_db.store.sqlite.files import BESIDE

_MOST_MATCHES = 500  # of a pattern for which files are searched besides the pattern itself
_MOST_PAIRS = 1_000_000  # of similar points, of which those of the forgotten points are named


@dataclass(frozen=True, slots=True)
class Request:
    """What to forget: the point `name`, or what `pattern` matches, in this project's playbook or in all of them.

    Of a point all goes that it ever said, wherever that stands. A point whose present text the pattern matches goes
    likewise; elsewhere what matches goes.
    """

    name: str | None = None
    pattern: re.Pattern[str] | None = None
    in_all_projects: bool = False

    @property
    def message(self) -> str:
        """What the revision says of itself; never what is forgotten."""
        return f"forgot {self.name}" if self.pattern is None else "forgot what matches a pattern"


@dataclass(frozen=True, slots=True)
class Erasure:
    """What goes from one playbook: the points that are `forgotten` whole, those that are `shortened` and stay, and all
    `fields` that lose something.

    `texts` are erased wherever they stand, and `matches` are what the pattern matched. `read_to` is the last revision
    that was looked at, with its time; `revision` the one that did it (None: it isn't done).
    """

    playbook_id: int
    forgotten: tuple[PointText, ...]
    shortened: tuple[PointText, ...]
    fields: tuple[Field, ...]
    texts: frozenset[str]
    matches: frozenset[str]
    read_to: tuple[int, str | None]
    revision: int | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing in the playbook is to be erased."""
        return not (self.forgotten or self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the forgotten points."""
        return tuple(point.name for point in self.forgotten)

    @property
    def revisions(self) -> tuple[int, ...]:
        """The revisions whose texts lose something."""
        return tuple(sorted({field.revision or 0 for field in self.fields if field.is_history}))


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What goes, or went: from each playbook by its key, from which files, and the backups that hold it, or held it
    until `new_backup` replaced them. `notes` are for the user; `is_rewritten` says whether the database's own bytes
    hold nothing of it any more."""

    erasures: dict[str, Erasure]
    files: tuple[str, ...]
    backups: tuple[str, ...]
    new_backup: str | None = None
    notes: tuple[str, ...] = ()
    is_rewritten: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to forget."""
        return not (self.erasures or self.files or self.backups)


def preview(project: Project, request: Request) -> Forgotten:
    """What `forget` would do; nothing is written. Raises PointNotFoundError, PointRuleError."""
    _require_point(project, request.name)
    planned = _plan_all(project, request)
    found, notes = _erase_files(project, request, planned, dry_run=True)
    holding, more = _backups_holding(project, request, planned)
    notes += [*more, *_notes_on_points(project, request, planned)]
    return Forgotten(
        {key: each for key, each in planned.items() if not each.is_nothing},
        tuple(dict.fromkeys([*found, *_mirrors_holding(project, request, planned)])),
        tuple(holding),
        notes=tuple(notes),
    )


def forget(project: Project, request: Request) -> Forgotten:
    """Erase what *request* names for good, and bring the mirrors in step. Raises PointNotFoundError, PointRuleError."""
    if _is_forgotten(project, request.name):  # by a command that may have been killed
        _sync_mirrors(project)
        finish_waiting(project.store)
    _require_point(project, request.name)
    erasures = _plan_all(project, request)
    notes = _notes_on_points(project, request, erasures)
    found, more = _erase_files(project, request, erasures)
    notes += more
    for key, planned in erasures.items():
        if not planned.is_nothing:
            erasures[key] = _erase(_of_key(project, key), request, planned)
    found_meanwhile, more = _erase_files(project, request, erasures)  # what was written while we were at it
    notes += [*more, *_sync_mirrors(project)]
    notes += [
        f"{path} still holds it: it isn't kept in step with the database. Take it out there by hand."
        for path in _mirrors_holding(project, request, erasures)
    ]
    holding, more = _backups_holding(project, request, erasures)
    new_backup, is_rewritten, failures = _finish(project.store, holding)
    return Forgotten(
        {key: each for key, each in erasures.items() if each.revision is not None},
        tuple(dict.fromkeys([*found, *found_meanwhile])),
        tuple(holding),
        new_backup,
        tuple(dict.fromkeys([*notes, *more, *failures])),
        is_rewritten,
    )


def finish_waiting(store: Store) -> bool:
    """Do what erasures have left to be done, after a kill or because of a reader; whether nothing is left.

    A reader that began before an erasure keeps its bytes in the write-ahead log. A backup that can't be read is passed
    over. Raises DatabaseError.
    """
    with store.snapshot() as connection:
        if not erasure.waiting(connection):
            return True
        forgotten = erasure.births(connection, forgotten=True)
    path = connect.sqlite_path(store.url)
    holding = []
    for backup in backups.list_backups(path) if path is not None else ():
        with suppress(DatabaseError), erased_bytes.opened(backup.path) as connection:
            if forgotten & erasure.births(connection, forgotten=False):
                holding.append(backup.path)
    _replace_backups(store, holding)
    return _rewrite(store, is_last=True)


# The playbooks.


def _plan_all(project: Project, request: Request) -> dict[str, Erasure]:
    """What goes from each playbook that *request* is about; also those from which nothing does."""
    with project.store.snapshot() as connection:
        keys = all_keys(connection) if request.in_all_projects else [project.key]
        books = [PlaybookRepository.open(connection, key) for key in keys]
        return {book.key: _plan(book, request) for book in books if book.playbook_id}


def _plan(book: PlaybookRepository, request: Request, before: Erasure | None = None) -> Erasure:
    """What goes from one playbook, as the transaction sees it; nothing is written.

    Where the same was planned *before*, only the history since is read, so that the write lock isn't held for long.
    """
    connection, playbook_id = book.connection, book.playbook_id
    by_pattern = Eraser(pattern=request.pattern)
    points = erasure.read_points(connection, playbook_id)
    chosen = {point.id for point in points if point.name == request.name or by_pattern.finds(point.text)}
    eraser = Eraser(erasure.wordings(connection, playbook_id, chosen), request.pattern)
    forgotten = tuple(point for point in points if point.id in chosen or eraser.leaves_nothing(point.text))
    known, after = _known_fields(book, before, eraser, forgotten) if before is not None else ([], 0)
    fields = (*known, *erasure.find(connection, playbook_id, eraser, forgotten, after=after))
    lost = {field.key for field in fields if field.name == "key_points.text"} - {
        (playbook_id, point.id) for point in forgotten
    }
    return Erasure(
        playbook_id,
        forgotten,
        tuple(point for point in points if (playbook_id, point.id) in lost),
        fields,
        eraser.texts,
        _matches(by_pattern, fields),
        (book.revision, book.last_time),
    )


def _known_fields(
    book: PlaybookRepository, before: Erasure, eraser: Eraser, forgotten: tuple[PointText, ...]
) -> tuple[list[Field], int]:
    """The fields of the history that were found *before*, and the revision to which that was read; none where something
    else is to be erased now, something was erased since, or a backup has replaced the database."""
    revision, time = before.read_to
    is_same = (before.texts, before.names) == (eraser.texts, tuple(point.name for point in forgotten))
    if not is_same or book.last_erased_in() > revision or book.time_of(revision) != time:
        return [], 0
    return [field for field in before.fields if field.is_history], revision


def _matches(by_pattern: Eraser, fields: Iterable[Field]) -> frozenset[str]:
    """What the pattern matched, to be found in files in whatever form it stands there."""
    matches = {match for field in fields for match in by_pattern.matches(field.before)}
    longest = sorted((match for match in matches if len(match.strip()) >= SHORTEST_TEXT), key=len, reverse=True)
    return frozenset(longest[:_MOST_MATCHES])


def _erase(project: Project, request: Request, planned: Erasure) -> Erasure:
    """Erase from the project's playbook, as one revision, what is there of it by now; *planned* where nothing is."""
    with project.store.write(project.key) as book:
        now = _plan(book, request, planned)
        if now.is_nothing:
            return planned
        for name in now.names:
            if name in book.draft:
                book.draft.retire(name, reason=erasure.REASON)
        result = book.commit("edit", request.message, even_if_unchanged=True)
        fields = [field for field in now.fields if field.table != "playbooks"]
        eraser = Eraser(now.texts, request.pattern)
        fields += erasure.find(book.connection, now.playbook_id, eraser, tables=["playbooks"])  # written anew since
        erasure.erase(
            book.connection,
            now.playbook_id,
            fields,
            now.forgotten,
            revision=result.revision or 0,
            by="name" if request.pattern is None else "match",
            now=book.now,
        )
    return replace(
        now,
        fields=tuple(fields),
        revision=result.revision,
        texts=now.texts | planned.texts,
        matches=now.matches | planned.matches,
    )


def _require_point(project: Project, name: str | None) -> None:
    if name is None:
        return
    edit.find(project, name)
    if _is_forgotten(project, name):
        raise PointRuleError(f"{name} was forgotten for good already; nothing of its text is left in the database.")


def _is_forgotten(project: Project, name: str | None) -> bool:
    with project.store.read(project.key) as book:
        point = book.retired_point(name) if name else None
        return point is not None and point.is_forgotten


def _of_key(project: Project, key: str) -> Project:
    return project if key == project.key else Project.in_folder(project.store, key)


def _notes_on_points(project: Project, request: Request, erasures: Mapping[str, Erasure]) -> list[str]:
    """Which points may still say it: of this playbook in other words, of other playbooks in the same ones."""
    eraser, notes = _eraser(request, erasures), []
    with project.store.read(project.key) as book:
        similar = _similar_points(book, erasures[project.key]) if request.name else []
        if similar:
            notes.append(f"much the same may stand in {', '.join(similar)}; look at it, and forget it too if need be")
        for playbook_id, key in erasure.all_playbooks(book.connection).items():
            points = [] if key in erasures else erasure.read_points(book.connection, playbook_id)
            names = [point.name for point in points if eraser.finds(point.text)]
            if names:
                notes.append(f"{key} has a playbook of its own, which says it too and stays: {', '.join(names)}")
    return notes


def _similar_points(book: PlaybookRepository, planned: Erasure) -> list[str]:
    """The live points that may say in other words what a forgotten point says."""
    forgotten = {point.name: KeyPoint(point.name, point.text) for point in planned.forgotten}
    left_out = {*forgotten, *(point.name for point in planned.shortened)}
    points = [*(point for point in book.playbook().points if point.name not in left_out), *forgotten.values()]
    pairs = duplicates.near_pairs(points, limit=_MOST_PAIRS)
    return sorted({pair.one.name for pair in pairs if pair.other.name in forgotten and pair.one.name not in forgotten})


# Our files, in the projects and in the data folder.


def _eraser(request: Request, erasures: Mapping[str, Erasure]) -> Eraser:
    return Eraser(frozenset(text for each in erasures.values() for text in each.texts | each.matches), request.pattern)


def _erase_files(
    project: Project, request: Request, erasures: Mapping[str, Erasure], *, dry_run: bool = False
) -> tuple[list[str], list[str]]:
    """Erase from the files that we leave in the projects and in the data folder, each whole or not at all; which ones
    hold it, and notes on those that can't be read or written."""
    eraser, found, notes = _eraser(request, erasures), [], []
    for path in dict.fromkeys(_our_files(map(projects.folder_of_mirror, _mirrors(project, erasures)))):
        try:
            text = _read(path)
            erased = eraser.erase_file(text)
            if erased != text:
                if not dry_run:
                    files.replace_file(path, erased.encode("utf-8", "surrogateescape"))
                found.append(path)
        except OSError as error:
            notes.append(f"{path} can't be rewritten: {error.strerror}. It may still hold what was forgotten.")
    return found, notes


def _our_files(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        diagnostics = os.path.join(folder, ".claude", "diagnostic")
        root = os.path.realpath(folder)
        if os.path.commonpath([os.path.realpath(diagnostics), root]) == root:  # a clone may bring a link out of it
            yield from _plain_files(diagnostics, "*.txt")
        path = os.path.realpath(projects.mirror_path(folder))
        yield from _plain_files(os.path.dirname(path), f"{glob.escape(os.path.basename(path))}.damaged-*")
    yield from _plain_files(settings.logs_dir(), "*")


def _plain_files(folder: str, pattern: str) -> Iterator[str]:
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern))):
        if os.path.isfile(path) and not os.path.islink(path):
            yield path


def _read(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "surrogateescape")


def _mirrors(project: Project, erasures: Mapping[str, Erasure]) -> list[str]:
    """Where mirrors of the playbooks stand or may stand, in whatever worktree."""
    paths = [project.mirror_path]
    with project.store.snapshot() as connection:
        for key in erasures:
            book = PlaybookRepository.open(connection, key)
            paths += [_of_key(project, key).mirror_path, *book.mirror_paths()]
    return list(dict.fromkeys(filter(None, paths)))


def _mirrors_holding(project: Project, request: Request, erasures: Mapping[str, Erasure]) -> list[str]:
    eraser, holding = _eraser(request, erasures), []
    for path in filter(os.path.isfile, _mirrors(project, erasures)):
        try:
            text = _read(path)
        except OSError:
            continue
        if eraser.erase_file(text) != text:
            holding.append(path)
    return holding


def _sync_mirrors(project: Project) -> list[str]:
    return [*mirror.sync(project).notes, *(note for each in mirror.sync_changed(project.store) for note in each.notes)]


# Our backups, and the bytes of the database.


def _backups_holding(
    project: Project, request: Request, erasures: Mapping[str, Erasure]
) -> tuple[list[str], list[str]]:
    """The backups that hold what is to be erased, and notes on those that can't be read and on copies that aren't
    ours."""
    path = connect.sqlite_path(project.store.url)
    if path is None:
        return [], []
    ours, holding, notes = [backup.path for backup in backups.list_backups(path)], [], []
    for backup in ours:
        try:
            if _backup_holds(backup, request, erasures):
                holding.append(backup)
        except DatabaseError as error:
            notes.append(f"{error} It may still hold what was forgotten.")
    texts = _eraser(request, erasures).texts
    notes += [
        f"{other} holds it too, and is none of the backups that are kept; remove it by hand."
        for other in _other_files(path, ours)
        if erased_bytes.holds(other, texts)
    ]
    return holding, notes


def _backup_holds(path: str, request: Request, erasures: Mapping[str, Erasure]) -> bool:
    """Whether a playbook in the backup at *path* says what is erased from it since; one that has moved is known by its
    number."""
    by_number = {each.playbook_id: each for each in erasures.values()}
    with erased_bytes.opened(path) as connection:
        for playbook_id, key in erasure.all_playbooks(connection).items():
            each = erasures.get(key) or by_number.get(playbook_id)
            if each is not None:
                eraser = Eraser(each.texts, request.pattern)
                if any(erasure.find(connection, playbook_id, eraser)):
                    return True
    return False


def _other_files(path: str, ours: Iterable[str]) -> Iterator[str]:
    """Files beside the database *path* that may be copies of it, and aren't among the backups *ours*."""
    known = {f"{file}{end}" for file in (path, *ours) for end in ("", *BESIDE)}
    beside = glob.glob(f"{glob.escape(path)}*")
    beside += glob.glob(os.path.join(glob.escape(backups.folder_of(path)), "*"))
    yield from sorted(file for file in (*beside, *backups.partials(path)) if file not in known and os.path.isfile(file))


def _finish(store: Store, holding: Iterable[str]) -> tuple[str | None, bool, list[str]]:
    """Replace the backups that are *holding* something and rewrite the database; the new backup, whether the database
    was rewritten, and why the one or the other could not be done."""
    new_backup, is_rewritten, failures = None, False, []
    try:
        new_backup = _replace_backups(store, holding)
    except DatabaseError as error:
        failures.append(str(error))
    try:
        is_rewritten = _rewrite(store, is_last=not failures)
    except DatabaseError as error:
        failures.append(str(error))
    return new_backup, is_rewritten, failures


def _replace_backups(store: Store, old: Iterable[str]) -> str | None:
    """Take a backup in the place of the *old* ones; None where there are none. Raises DatabaseError."""
    old, path = list(old), connect.sqlite_path(store.url)
    if not old or path is None:
        return None
    try:
        taken = backups.take(path, backups.BY_HAND, now=datetime.now(UTC)).path
        for file in (f"{backup}{end}" for backup in old for end in ("", *BESIDE)):
            if os.path.exists(file):
                os.unlink(file)
    except (DatabaseError, OSError) as error:
        cause = f"{error.filename} can't be removed: {error.strerror}." if isinstance(error, OSError) else str(error)
        raise DatabaseError(f"{cause} These backups may still hold what was forgotten: {', '.join(old)}") from error
    return taken


def _rewrite(store: Store, *, is_last: bool) -> bool:
    """Take out of the database's bytes what erasures have left there; whether nothing is left. Raises DatabaseError.

    They stop waiting where this *is_last* of what was to be done.
    """
    with store.snapshot() as connection:
        waiting = erasure.waiting(connection)
    if not waiting:
        return True
    path = connect.sqlite_path(store.url)
    try:
        if path is not None and not erased_bytes.rewrite(path):
            return False
    except DatabaseBusyError:
        return False
    if is_last:
        with store.transaction() as connection:
            erasure.note_done(connection, waiting, now=timestamp(datetime.now(UTC)))
    return True
