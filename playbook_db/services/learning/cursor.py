"""The position up to which each transcript has been learned from. A team's database stores it, and so does this
machine."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from playbook_db.services.project import Project
from playbook_db.store.engine import retry_on_conflict


@dataclass(slots=True)
class Cursor:
    """The position `offset`, in bytes, up to which the transcript at `path` has been learned from.

    `first_uuid` is the transcript's first entry (None: it has none). The cursor `is_new` if nothing was learned from
    the transcript, or if the transcript has replaced another one.
    """

    project: Project
    path: str
    session_id: str
    first_uuid: str | None
    offset: int
    is_new: bool

    def relatives(self) -> Mapping[str, int]:
        """Return the offsets of the transcripts with the same first entry as this one, by path."""
        with self.project.store.read(self.project.key) as book:
            return book.cursors(first_uuid=self.first_uuid) if self.first_uuid else {}

    @retry_on_conflict
    def move(self, offset: int) -> None:
        """Move the cursor to the byte *offset*, unless another process has moved it."""
        with self.project.store.write(self.project.key) as book:
            if book.learned_to(self.path) == self.offset:
                book.move_cursor(self.path, offset, session_id=self.session_id, first_uuid=self.first_uuid)

    def note_here(self) -> None:
        """If the playbook is a team's, copy its cursor to this machine."""
        if self.project.is_team:
            _copy(self.project, self.project.own, self.path, self.session_id, or_of_another=True)


@contextmanager
def opened(project: Project, path: str, *, session_id: str, first_uuid: str | None) -> Iterator[Cursor]:
    """Yield the cursor of the transcript at *path*.

    First, a team's playbook gets the position if only this machine knows it, for example after a job was dropped. If
    the user may not write there, this raises ServerError before a model is asked. At the end, the team's cursor is
    copied to this machine. Otherwise the transcript would be learned from again when the project leaves the team.
    """
    if first_uuid is not None:
        _adopt(project.own, path, session_id, first_uuid)
    if project.is_team:
        _copy(project.own, project, path, session_id)
    with project.store.read(project.key) as book:
        offset, known_uuid = book.cursor(path)
    is_new = first_uuid is not None and (not offset or known_uuid not in (None, first_uuid))
    yield (cursor := Cursor(project, path, session_id, first_uuid, offset, is_new))
    cursor.note_here()


@retry_on_conflict
def _adopt(own: Project, path: str, session_id: str, first_uuid: str) -> None:
    with own.store.read(own.key) as book:
        known = {} if book.learned_to(path) else book.cursors_everywhere(session_id, first_uuid)
    learned = max((offset for each, offset in known.items() if not os.path.exists(each)), default=0)
    if learned:
        with own.store.write(own.key) as book:
            book.move_cursor(path, learned, session_id=session_id, first_uuid=first_uuid)


@retry_on_conflict
def _copy(source: Project, target: Project, path: str, session_id: str, *, or_of_another: bool = False) -> None:
    """Copy the cursor of the transcript at *path* from *source* to *target* if that moves it forward. With
    *or_of_another*, also copy it if *target* knows another transcript by this path."""
    with source.store.read(source.key) as book:
        offset, first_uuid = book.cursor(path)
    with target.store.write(target.key) as book:
        known_offset, known_uuid = book.cursor(path)
        is_same = None in (first_uuid, known_uuid) or first_uuid == known_uuid
        if (is_same and offset > known_offset) or (or_of_another and not is_same):
            book.move_cursor(path, offset, session_id=session_id, first_uuid=first_uuid)
