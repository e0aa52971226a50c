"""The other copies of what is to be forgotten: our files in the projects and in the data folder, and our backups.

They are blanked in place, each whole or not at all. What isn't ours to change is told.
"""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from playbook_db import projects, settings
from playbook_db.errors import DatabaseError
from playbook_db.rules.erasing import Eraser
from playbook_db.services import erasing, whole_file
from playbook_db.services.erasing import Wanted
from playbook_db.services.project import Project
from playbook_db.store import backups, scrubbing
from playbook_db.store.engine import open_store
from playbook_db.store.past import Past
from playbook_db.store.read import SCHEMA
from playbook_db.store.sqlite_copies import BESIDE
from playbook_db.store.written import all_playbooks


@dataclass(frozen=True, slots=True)
class Lost:
    """What one playbook loses: its number and key, what is wanted of its older copies, what a pattern `matched` in it,
    how it was asked for, and what the revision says of itself."""

    playbook_id: int
    key: str
    wanted: Wanted
    matched: frozenset[str]
    asked: str
    message: str

    @property
    def texts(self) -> frozenset[str]:
        """What is looked for in files, in whatever form it stands there."""
        return self.wanted.texts | self.matched


@dataclass(frozen=True, slots=True)
class Copies:
    """The files and backups that hold what is to be forgotten, or held it, and what is worth a word."""

    files: tuple[str, ...] = ()
    backups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: "Copies") -> "Copies":
        """Both together, each once."""
        return Copies(
            tuple(dict.fromkeys((*self.files, *other.files))),
            tuple(dict.fromkeys((*self.backups, *other.backups))),
            tuple(dict.fromkeys((*self.notes, *other.notes))),
        )


def in_files(folders: Iterable[str], eraser: Eraser, *, dry_run: bool) -> Copies:
    """Blank the files that we leave in the projects' *folders* and in the data folder."""
    found: list[str] = []
    notes: list[str] = []
    for path in dict.fromkeys(_our_files(folders)):
        try:
            if holds(path, eraser):
                if not dry_run:
                    _blank(path, eraser)
                found.append(path)
        except OSError as error:
            notes.append(f"{path} can't be rewritten: {error.strerror}. It may still hold what was forgotten.")
    return Copies(tuple(found), (), tuple(notes))


def in_backups(database: str, lost: Iterable[Lost], *, dry_run: bool) -> Copies:
    """Erase from the backups of the file *database* what its playbooks have *lost*."""
    lost = tuple(lost)
    texts = frozenset(text for each in lost for text in each.texts)
    known = [backup.path for backup in backups.list_backups(database)]
    found: list[str] = []
    notes: list[str] = []
    for path in known:
        scrubbing.remove_leftover(path)
        try:
            if _backup_holds(path, lost, texts):
                if not dry_run:
                    _rewrite(path, lost)
                found.append(path)
        except DatabaseError as error:
            notes.append(f"{error} It may still hold what was forgotten.")
    notes += [
        f"{path} holds it too, and is none of the backups that are kept; remove it by hand."
        for path in _strangers(database, known)
        if scrubbing.holds(path, texts)
    ]
    return Copies((), tuple(found), tuple(notes))


def holds(path: str, eraser: Eraser) -> bool:
    """Whether the file at *path* holds what is to be forgotten. Raises OSError."""
    text = _read(path)
    return eraser.blank_file(text) != text


def _our_files(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        kept = os.path.join(folder, ".claude", "diagnostic")
        root = os.path.realpath(folder)
        if os.path.commonpath([os.path.realpath(kept), root]) == root:  # a clone may bring a link out of the project
            yield from _plain_files(kept, "*.txt")
        mirror = os.path.realpath(projects.mirror_path(folder))
        yield from _plain_files(os.path.dirname(mirror), f"{glob.escape(os.path.basename(mirror))}.damaged-*")
    yield from _plain_files(settings.logs_dir(), "*")


def _plain_files(folder: str, pattern: str) -> Iterator[str]:
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), pattern))):
        if os.path.isfile(path) and not os.path.islink(path):
            yield path


def _read(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "surrogateescape")


def _blank(path: str, eraser: Eraser) -> None:
    whole_file.replace(path, eraser.blank_file(_read(path)).encode("utf-8", "surrogateescape"))


def _backup_holds(path: str, lost: Iterable[Lost], texts: frozenset[str]) -> bool:
    with scrubbing.opened(path) as connection:
        for key, each in _in_copy(all_playbooks(connection), lost):
            share = erasing.look(Past.open(connection, key), each.wanted)
            if share.going or share.found:
                return True
    return scrubbing.holds(path, texts)


def _rewrite(path: str, lost: Iterable[Lost]) -> None:
    """Erase from the backup at *path*: as a revision where it is of our schema, else in its tables alone."""
    is_ours = scrubbing.schema_of(path) == SCHEMA

    def change(partial: str) -> None:
        if is_ours:
            with open_store(f"sqlite:///{partial}") as store:
                with store.snapshot() as connection:
                    held = all_playbooks(connection)
                for key, each in _in_copy(held, lost):
                    erasing.erase(Project(store, key), each.wanted, asked=each.asked, message=each.message)
            return
        with scrubbing.opened(partial, writes=True) as connection:
            for key, each in _in_copy(all_playbooks(connection), lost):
                erasing.mask(Past.open(connection, key), each.wanted)

    scrubbing.rewrite(path, change, drop_triggers=not is_ours)


def _in_copy(held: dict[int, str], lost: Iterable[Lost]) -> Iterator[tuple[str, Lost]]:
    """The keys of a copy's playbooks that have lost something since; one that has moved is known by its number."""
    for each in lost:
        for playbook_id, key in held.items():
            if key == each.key or (playbook_id == each.playbook_id and each.key not in held.values()):
                yield key, each


def _strangers(database: str, known: Iterable[str]) -> Iterator[str]:
    """Files beside the database that may be copies of it, and aren't among the backups *known*."""
    ours = {f"{path}{end}" for path in (database, *known) for end in ("", *BESIDE)}
    escaped = glob.escape(database)
    around = (*glob.glob(f"{escaped}*"), *glob.glob(os.path.join(glob.escape(backups.folder_of(database)), "*")))
    around = (*around, *backups.partials(database))
    yield from sorted(path for path in around if path not in ours and os.path.isfile(path))
