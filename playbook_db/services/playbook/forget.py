"""Forgetting: erasing texts for good from playbooks and their history, from playbook-db's own files, and from backups.

Files come first, while the database still has the texts to look for. So if the command is killed, running it again does
the rest. Backups come last: a new one replaces those that contain an erased text.
"""

import glob
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from playbook_db import files, projects, settings
from playbook_db.domain import duplicates
from playbook_db.domain.erasure import SHORTEST_TEXT, Eraser
from playbook_db.domain.times import timestamp
from playbook_db.errors import DatabaseBusyError, DatabaseError, PlaybookError, PointRuleError
from playbook_db.services.opening import refresh
from playbook_db.services.playbook import edit
from playbook_db.services.project import Membership, Project, find_membership, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store import urls
from playbook_db.store.engine import Store, retry_on_conflict
from playbook_db.store.playbook import erased_rows
from playbook_db.store.playbook.erased_rows import Field, PointText
from playbook_db.store.playbook.repository import PlaybookRepository, all_keys, users_key
from playbook_db.store.upkeep import database_file

_LEAST_CHARS = 16  # a shorter text that a team has forgotten isn't searched for inside other texts
_MOST_MATCHES = 500  # of a pattern; files are searched for them besides the pattern itself


@dataclass(frozen=True, slots=True)
class Request:
    """A request to forget the point `name`, or the matches of `pattern`, in this project's playbook or in all.

    A point is forgotten with all its earlier texts, in every place. The same happens to a point whose present text the
    pattern matches. In other texts only the matches are erased.
    """

    name: str | None = None
    pattern: re.Pattern[str] | None = None
    in_all_projects: bool = False


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure in one playbook. Points in `forgotten` lose all of their text, points in `shortened` a part of it.

    `fields` are all places in the database that change. `texts` are erased in every place, and so are the `matches` of
    the pattern. `revision` is the one that erased them (None: not yet).
    """

    playbook_id: int
    forgotten: tuple[PointText, ...]
    shortened: tuple[PointText, ...]
    fields: tuple[Field, ...]
    texts: frozenset[str]
    matches: frozenset[str]
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
        """The revisions in which a text is erased."""
        return tuple(sorted({field.revision or 0 for field in self.fields if field.is_history}))


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The result or the plan of `forget`. `erasures` maps playbooks' keys to erasures.

    `files` and `backups` contain an erased text. `new_backup` replaces those backups. `notes` are for the user. If
    `is_rewritten`, no erased text is left in the database's own bytes.
    """

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
    """Plan `forget` without writing anything. Raises NotFoundError, PointRuleError."""
    work = _Work(project, request, _plan_all(project, request))
    files = work.erase(work.our_files(), dry_run=True)
    holding = tuple(work.backups_holding())
    work.note_points()
    erasures = {key: each for key, each in work.erasures.items() if not each.is_nothing}
    work.notes.extend(_out_of_reach(project.store) if erasures else ())
    in_files = tuple(dict.fromkeys([*files, *work.mirrors_holding()]))
    return Forgotten(erasures, in_files, holding, notes=tuple(work.notes))


def forget(project: Project, request: Request) -> Forgotten:
    """Erase the texts of *request* for good, and update the mirrors. Raises NotFoundError, PointRuleError."""
    try:
        work = _Work(project, request, _plan_all(project, request))
    except PointRuleError:  # it was forgotten already, by a command that may have been killed
        _sync_mirrors(project)
        finish_waiting(project.store)
        raise
    work.note_points()
    files = work.erase(work.our_files())
    for key, planned in work.erasures.items():
        if not planned.is_nothing:
            work.erasures[key] = _erase(_of_key(project, key), request, planned)
    files += work.erase(work.our_files())  # those written meanwhile
    work.notes.extend(_sync_mirrors(project))
    work.notes.extend(
        f"{path} still holds it: playbook-db doesn't update this file. Remove the text there by hand."
        for path in work.mirrors_holding()
    )
    holding = tuple(work.backups_holding())
    new_backup, is_rewritten = work.finish(holding)
    erasures = {key: each for key, each in work.erasures.items() if each.revision is not None}
    if project.is_team and (membership := find_membership(project.own)):
        try:
            follow_team(project.own.store, membership, project.store)
        except (PlaybookError, OSError) as error:
            work.notes.append(f"this machine's own copies may still hold it until the worker has run: {error}")
    work.notes.extend(_out_of_reach(project.store) if erasures else ())
    notes = tuple(dict.fromkeys(work.notes))
    return Forgotten(erasures, tuple(dict.fromkeys(files)), holding, new_backup, notes, is_rewritten)


def finish_waiting(store: Store) -> bool:
    """Finish erasures that a killed process or a reader left incomplete. Return whether nothing is left to do.

    A reader that began before an erasure keeps the erased bytes in the write-ahead log. Unreadable backups are skipped.
    Raises DatabaseError.
    """
    with store.snapshot() as connection:
        if not erased_rows.waiting(connection):
            return True
        forgotten = erased_rows.births(connection, forgotten=True)
    holding = []
    for backup in database_file.list_backups(store.url):
        with suppress(DatabaseError), database_file.opened(backup.path) as connection:
            if forgotten & erased_rows.births(connection, forgotten=False):
                holding.append(backup.path)
    _replace_backups(store, holding)
    return _rewrite(store, is_last=True)


def follow_team(store: Store, membership: Membership, server: Store) -> bool:
    """Update the replica of a team's playbook from the *server*. Return whether it was replaced. First the project's
    own playbook forgets the texts that the team has forgotten since."""
    return refresh(store, membership, server, _forget_text) == "new"


def _forget_text(own: Project, text: str) -> None:
    """Forget *text* in the project's own playbook, because the team has forgotten a point with this text."""
    names = [point.name for point in read_playbook(own).points if point.text == text]
    if names:
        request = Request(names[0])
    elif len(text) >= _LEAST_CHARS:
        request = Request(pattern=re.compile(re.escape(text)))
    else:
        return
    forget(own, request)


# The playbooks.


def _plan_all(project: Project, request: Request) -> dict[str, Erasure]:
    """Plan an erasure for each playbook that *request* concerns. An erasure may be empty. Raises NotFoundError,
    and PointRuleError if the point was forgotten already."""
    retired = None if request.name is None else edit.find(project, request.name).retired
    if retired is not None and retired.is_forgotten:
        raise PointRuleError(f"{request.name} was forgotten already; none of its text is left in the database.")
    with project.store.snapshot() as connection:
        keys = all_keys(connection).values() if request.in_all_projects else [project.key]
        books = [PlaybookRepository(connection, key) for key in keys]
        return {book.key: _plan(book, request) for book in books if book.playbook_id}


def _plan(book: PlaybookRepository, request: Request) -> Erasure:
    """Plan the erasure in one playbook. Nothing is written."""
    connection, playbook_id = book.connection, book.playbook_id
    by_pattern = Eraser(pattern=request.pattern)
    points = erased_rows.read_points(connection, playbook_id)
    chosen = {point.id for point in points if point.name == request.name or by_pattern.finds(point.text)}
    eraser = Eraser(erased_rows.wordings(connection, playbook_id, chosen), request.pattern)
    forgotten = tuple(point for point in points if point.id in chosen or eraser.leaves_nothing(point.text))
    fields = tuple(erased_rows.find(connection, playbook_id, eraser, forgotten))
    lost = {field.key[1] for field in fields if field.name == "key_points.text"} - {point.id for point in forgotten}
    shortened = tuple(point for point in points if point.id in lost)
    # Files may hold a match in another form than the pattern's.
    matches = {match for field in fields for match in by_pattern.matches(field.before)}
    longest = sorted((match for match in matches if len(match.strip()) >= SHORTEST_TEXT), key=len, reverse=True)
    return Erasure(playbook_id, forgotten, shortened, fields, eraser.texts, frozenset(longest[:_MOST_MATCHES]))


@retry_on_conflict
def _erase(project: Project, request: Request, planned: Erasure) -> Erasure:
    """Plan the erasure again, as the playbook may have changed, and carry it out in one revision. Return *planned* if
    nothing is left to erase."""
    message = "forgot texts that match a pattern" if request.name is None else f"forgot {request.name}"
    with project.store.write(project.key) as book:
        now = _plan(book, request)
        if now.is_nothing:
            return planned
        for name in now.names:
            if name in book.draft:
                book.draft.retire(name, cause="forgotten", reason=erased_rows.REASON)
        result = book.commit("edit", message, even_if_unchanged=True)
        fields = [field for field in now.fields if field.table != "heads"]
        eraser = Eraser(now.texts, request.pattern)
        fields += erased_rows.find(book.connection, now.playbook_id, eraser, tables=["heads"])  # the commit wrote it
        by = "name" if request.pattern is None else "match"
        erased_rows.erase(book, fields, now.forgotten, revision=result.revision or 0, by=by)
    texts, matches = now.texts | planned.texts, now.matches | planned.matches
    return replace(now, fields=tuple(fields), revision=result.revision, texts=texts, matches=matches)


def _of_key(project: Project, key: str) -> Project:
    if key == project.key:
        return project
    has_folder = os.path.isabs(key)  # neither the personal playbook nor a team's has one
    return Project.of_key(project.store, key) if has_folder else Project(project.store, key)


def _similar_points(book: PlaybookRepository, planned: Erasure) -> list[str]:
    erased_names = {point.name for point in (*planned.forgotten, *planned.shortened)}
    points = [point for point in book.playbook().points if point.name not in erased_names]
    near = (duplicates.near_points(point.text, points, limit=len(points)) for point in planned.forgotten)
    return sorted({point.name for each in near for point, _ in each})


# The files in the projects and in the data folder, and the backups.


@dataclass(frozen=True, slots=True)
class _Work:
    """One run of `forget`: its erasures by playbook, and notes for the user."""

    project: Project
    request: Request
    erasures: dict[str, Erasure]
    notes: list[str] = field(default_factory=list)

    @property
    def eraser(self) -> Eraser:
        """The eraser for files. It erases the texts of all playbooks concerned."""
        texts = (text for each in self.erasures.values() for text in each.texts | each.matches)
        return Eraser(frozenset(texts), self.request.pattern)

    def note_points(self) -> None:
        """Add notes about points that may still contain a forgotten text: similar points of this playbook, and matching
        points of other playbooks."""
        eraser = self.eraser
        with self.project.store.read(self.project.key) as book:
            similar = _similar_points(book, self.erasures[book.key]) if self.request.name else []
            if similar:
                self.notes.append(f"similar points remain: {', '.join(similar)}; forget them too if they say the same")
            for playbook_id, key in all_keys(book.connection).items():
                points = [] if key in self.erasures else erased_rows.read_points(book.connection, playbook_id)
                names = ", ".join(point.name for point in points if eraser.finds(point.text))
                whose = "your personal playbook" if key == users_key(book.connection) else f"the playbook of {key}"
                if names:
                    self.notes.append(f"{whose} says it too, and keeps it: {names}")

    def erase(self, paths: Iterable[str], *, dry_run: bool = False) -> list[str]:
        """Erase the texts from the files at *paths*. A file is replaced as a whole. Return the paths of the files that
        contained a text."""
        eraser, holding = self.eraser, []
        for path in dict.fromkeys(paths):
            try:
                with open(path, "rb") as file:
                    text = file.read().decode("utf-8", "surrogateescape")
                erased = eraser.erase_file(text)
                if erased != text:
                    if not dry_run:
                        files.replace_file(path, erased.encode("utf-8", "surrogateescape"))
                    holding.append(path)
            except OSError as error:
                text = f"{path} can't be rewritten: {error.strerror}. It may still hold what was forgotten."
                self.notes.append(text)
        return holding

    def our_files(self) -> Iterator[str]:
        """Yield the paths of playbook-db's own files in the projects and in the data folder."""
        for folder in map(projects.folder_of_mirror, self._mirrors()):
            diagnostics = os.path.join(folder, ".claude", "diagnostic")
            root = os.path.realpath(folder)
            if os.path.commonpath([os.path.realpath(diagnostics), root]) == root:  # a clone may bring a link out of it
                yield from _plain_files(diagnostics, "*.txt")
            path = os.path.realpath(projects.mirror_path(folder))
            for why in mirror.ASIDE:
                yield from _plain_files(os.path.dirname(path), f"{glob.escape(os.path.basename(path))}.{why}-*")
        yield from _plain_files(settings.logs_dir(), "*")

    def mirrors_holding(self) -> list[str]:
        """Return the mirrors that contain an erased text, even those that playbook-db doesn't update."""
        return replace(self, notes=[]).erase(filter(os.path.isfile, self._mirrors()), dry_run=True)

    def _mirrors(self) -> list[str]:
        paths = [self.project.mirror_path]
        with self.project.store.snapshot() as connection:
            for key in self.erasures:
                book = PlaybookRepository(connection, key)
                paths += [_of_key(self.project, key).mirror_path, *book.mirror_paths()]
        return list(dict.fromkeys(filter(None, paths)))

    def backups_holding(self) -> list[str]:
        """Return the backups that contain an erased text. Add a note for each other copy."""
        store, holding = self.project.store, []
        if store.is_shared:
            return []
        for backup in database_file.list_backups(store.url):
            try:
                if self._backup_holds(backup.path):
                    holding.append(backup.path)
            except DatabaseError as error:
                self.notes.append(f"{error} It may still hold what was forgotten.")
        self.notes.extend(
            f"{other} holds it too, and is not a backup of playbook-db; delete it by hand."
            for other in database_file.other_copies(store.url, self.eraser.texts)
        )
        return holding

    def _backup_holds(self, path: str) -> bool:
        """Return whether a playbook in the backup at *path* still has an erased text. A moved playbook is found by its
        number."""
        by_number = {each.playbook_id: each for each in self.erasures.values()}
        with database_file.opened(path) as connection:
            for playbook_id, key in all_keys(connection).items():
                each = self.erasures.get(key) or by_number.get(playbook_id)
                if each is not None:
                    eraser = Eraser(each.texts, self.request.pattern)
                    if any(erased_rows.find(connection, playbook_id, eraser)):
                        return True
        return False

    def finish(self, holding: Iterable[str]) -> tuple[str | None, bool]:
        """Replace the backups in *holding*, which contain an erased text, and rewrite the database. Return the new
        backup, and whether the rewrite succeeded."""
        store, new_backup, is_last = self.project.store, None, True
        try:
            new_backup = _replace_backups(store, holding)
        except DatabaseError as error:
            self.notes.append(str(error))
            is_last = False
        try:
            return new_backup, _rewrite(store, is_last=is_last)
        except DatabaseError as error:
            self.notes.append(str(error))
        return new_backup, False


def _plain_files(folder: str, pattern: str) -> Iterator[str]:
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern))):
        if os.path.isfile(path) and not os.path.islink(path):
            yield path


def _out_of_reach(store: Store) -> tuple[str, ...]:
    if not store.is_shared:
        return ()
    return (
        f"{store.where} keeps the erased rows on its disk for a while. {urls.rewrite_of(store.url)}",
        "the server's backups, write-ahead log and logs may still hold it; so may other members' machines until their "
        "workers run, and the copies of members who have left",
    )


def _sync_mirrors(project: Project) -> list[str]:
    return [*mirror.sync(project).notes, *(note for each in mirror.sync_changed(project.store) for note in each.notes)]


def _replace_backups(store: Store, old: Iterable[str]) -> str | None:
    """Make a new backup, and remove the *old* ones. Return None if there are no old ones. Raises DatabaseError."""
    old = list(old)
    if not old or store.is_shared:
        return None
    try:
        taken = database_file.take(database_file.path_of(store.url), database_file.BY_HAND, now=datetime.now(UTC)).path
        database_file.remove_backups(old)
    except (DatabaseError, OSError) as error:
        cause = f"{error.filename} can't be removed: {error.strerror}." if isinstance(error, OSError) else str(error)
        raise DatabaseError(f"{cause} These backups may still hold what was forgotten: {', '.join(old)}") from error
    return taken


def _rewrite(store: Store, *, is_last: bool) -> bool:
    """Rewrite the database, so that no erased text is left in its bytes. Return whether that succeeded. If this step
    *is_last*, mark the erasures as done. Raises DatabaseError."""
    with store.snapshot() as connection:
        waiting = erased_rows.waiting(connection)
    if not waiting:
        return True
    try:
        if not database_file.rewrite(store.url):
            return False
    except DatabaseBusyError:
        return False
    if is_last:
        with store.transaction() as connection:
            erased_rows.note_done(connection, waiting, now=timestamp(datetime.now(UTC)))
    return True
