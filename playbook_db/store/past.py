"""One playbook inside a transaction: what a plan may ask about beyond the live points, and where a revision goes."""

from dataclasses import dataclass

from sqlalchemy import Connection

from playbook_db.rules.playbook import Header, Playbook
from playbook_db.store import history, playbooks
from playbook_db.store.playbooks import Mirror, RetiredPoint


@dataclass(frozen=True, slots=True)
class Past:
    """The past of the playbook `playbook_id` (None: it isn't there yet, and has none)."""

    connection: Connection
    playbook_id: int | None

    @property
    def last_time(self) -> str | None:
        """When the last revision was made, None where there is none."""
        return history.last_revision(self.connection, self.playbook_id)[1] if self.playbook_id else None

    @property
    def revision(self) -> int:
        """The number of the last revision, 0 where there is none."""
        return history.last_revision(self.connection, self.playbook_id)[0] if self.playbook_id else 0

    def retired(self) -> dict[str, RetiredPoint]:
        """The points that have left, by name."""
        return playbooks.read_retired(self.connection, self.playbook_id) if self.playbook_id else {}

    def at(self, revision: int) -> Playbook:
        """The playbook as it was after *revision*."""
        return history.read_at(self.connection, self.playbook_id, revision) if self.playbook_id else Playbook()

    def created_in(self) -> dict[str, int]:
        """The revision in which each point, live or retired, came to be, by name."""
        return playbooks.created_in(self.connection, self.playbook_id) if self.playbook_id else {}

    def mirror(self, path: str) -> Mirror | None:
        """What the mirror at *path* held when last seen."""
        return playbooks.read_mirror(self.connection, self.playbook_id, path) if self.playbook_id else None

    def revision_of(self, header: Header) -> int | None:
        """The revision that a file or dict with *header* descends from, where its `last_updated` is one of ours."""
        if self.playbook_id is None or header.last_updated is None:
            return None
        return history.find_by_last_updated(self.connection, self.playbook_id, header.last_updated)

    def append(self, new: history.NewRevision) -> int:
        """Keep *new* as the next revision; its number. The playbook must be there."""
        if self.playbook_id is None:
            raise ValueError("a revision needs a playbook")
        return history.append(self.connection, self.playbook_id, new)
