"""Up to which byte each transcript has been learned from: in the project's playbook and, if that is a team's, on this
machine too.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from playbook_db.services.project import Project
from playbook_db.store.engine import retry_on_conflict


@dataclass(slots=True)
class Cursor:
    """Up to which byte, `offset`, the transcript at `path`, whose first entry is `first_uuid` (None without one), has
    been learned from. One that `is_new` hasn't been, or has taken another's place."""

    project: Project
    path: str
    session_id: str
    first_uuid: str | None
    offset: int
    is_new: bool

    def relatives(self) -> Mapping[str, int]:
        """How far the transcripts that begin with the same entry have been learned from, by path."""
        with self.project.store.read(self.project.key) as book:
            return book.cursors(first_uuid=self.first_uuid) if self.first_uuid else {}

    @retry_on_conflict
    def move(self, offset: int) -> None:
        """Count the transcript as learned from up to the byte *offset*, unless somebody else has moved the cursor."""
        with self.project.store.write(self.project.key) as book:
            if book.learned_to(self.path) == self.offset:
                book.move_cursor(self.path, offset, session_id=self.session_id, first_uuid=self.first_uuid)

    def note_here(self) -> None:
        """Let this machine know what a team's playbook knows of it."""
        if self.project.is_team:
            _copy(self.project, self.project.own, self.path, self.session_id, or_of_another=True)


@contextmanager
def opened(project: Project, path: str, *, session_id: str, first_uuid: str | None) -> Iterator[Cursor]:
    """The cursor of the transcript at *path*.

    A team's playbook first gets what this machine alone knows, as of a job that was dropped: that raises ServerError if
    the user may not write there, before a model is asked for nothing. Afterwards this machine knows what the team's
    does, so that the transcript isn't taken for lost, nor learned from once more when the team is left.
    """
    if project.is_team:
        _copy(project.own, project, path, session_id)
    with project.store.read(project.key) as book:
        offset, known_uuid = book.cursor(path)
    is_new = first_uuid is not None and (not offset or known_uuid not in (None, first_uuid))
    yield (cursor := Cursor(project, path, session_id, first_uuid, offset, is_new))
    cursor.note_here()


def learned_to(project: Project, path: str) -> int:
    """Up to which byte the transcript at *path* has been learned from."""
    with project.store.read(project.key) as book:
        return book.learned_to(path)


@retry_on_conflict
def _copy(source: Project, target: Project, path: str, session_id: str, *, or_of_another: bool = False) -> None:
    """Let *target* know of the transcript at *path* what *source* does, if that is more; *or_of_another* that was there
    before."""
    with source.store.read(source.key) as book:
        offset, first_uuid = book.cursor(path)
    with target.store.write(target.key) as book:
        known_offset, known_uuid = book.cursor(path)
        is_same = None in (first_uuid, known_uuid) or first_uuid == known_uuid
        if (is_same and offset > known_offset) or (or_of_another and not is_same):
            book.move_cursor(path, offset, session_id=session_id, first_uuid=first_uuid)
