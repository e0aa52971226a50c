"""One playbook inside a transaction: as it stands, what is asked of its past, and where a revision goes."""

from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection

from playbook_db.domain.playbook import Header, KeyPoint, Playbook, PointState
from playbook_db.domain.undo import Undo
from playbook_db.store import playbooks, revisions, snapshots
from playbook_db.store.playbooks import Mirror, RetiredPoint, Standing


@dataclass(frozen=True, slots=True)
class Past:
    """The playbook of one project, seen from inside a transaction. One that isn't there yet is empty."""

    connection: Connection
    standing: Standing

    @classmethod
    def open(cls, connection: Connection, key: str) -> Self:
        """The playbook of the project *key*, to read."""
        return cls(connection, playbooks.stand(connection, key))

    @classmethod
    def open_to_write(cls, connection: Connection, key: str, *, now: str) -> Self:
        """The playbook of the project *key*, made if need be, with other writers kept off it until the end."""
        if playbooks.stand(connection, key).id is None:
            playbooks.make(connection, key, now=now)
        playbooks.lock(connection, key)
        return cls.open(connection, key)

    @property
    def playbook_id(self) -> int | None:
        """The playbook's number, None where it isn't there yet."""
        return self.standing.id

    @property
    def last_time(self) -> str | None:
        """When the last revision was made, None where there is none."""
        return self.standing.time

    @property
    def revision(self) -> int:
        """The number of the last revision, 0 where there is none."""
        return self.standing.revision

    def playbook(self) -> Playbook:
        """The playbook as it is now."""
        return (
            playbooks.read(self.connection, self.playbook_id, self.standing.header) if self.playbook_id else Playbook()
        )

    def retired(self) -> dict[str, RetiredPoint]:
        """The points that have left, by name, the last to leave first."""
        return playbooks.read_retired(self.connection, self.playbook_id) if self.playbook_id else {}

    def forgotten(self) -> frozenset[str]:
        """The names of the points that were forgotten for good."""
        return playbooks.forgotten(self.connection, self.playbook_id) if self.playbook_id else frozenset()

    def last_erased_in(self) -> int:
        """The revision of the last erasure, 0 where there was none: copies that come from before may hold more."""
        return playbooks.last_erased_in(self.connection, self.playbook_id) if self.playbook_id else 0

    def at(self, revision: int) -> Playbook:
        """The playbook as it was after *revision*."""
        return snapshots.read_at(self.connection, self.playbook_id, revision) if self.playbook_id else Playbook()

    def states_at(self, revision: int, *, first: int, last: int) -> dict[str, PointState]:
        """How the points that the revisions *first* to *last* changed were after *revision*, live or retired."""
        if not self.playbook_id:
            return {}
        return snapshots.states_at(self.connection, self.playbook_id, revision, first=first, last=last)

    def header_at(self, revision: int) -> Header:
        """The header as it was after *revision*."""
        return snapshots.header_at(self.connection, self.playbook_id, revision) if self.playbook_id else Header()

    def revision_at(self, time: str) -> int:
        """The last revision at *time* or before, 0 where there was none yet."""
        return snapshots.revision_at(self.connection, self.playbook_id, time) if self.playbook_id else 0

    def said_by(self, revision: int) -> tuple[str, str | None]:
        """The source and the message of *revision*, which is there."""
        return snapshots.said_by(self.connection, self._id, revision)

    def undos_after(self, revision: int) -> list[Undo]:
        """The undos that came after *revision*, newest first."""
        return snapshots.undos_after(self.connection, self.playbook_id, revision) if self.playbook_id else []

    def time_of(self, revision: int) -> str | None:
        """When *revision* was made; None where there is no such revision."""
        return snapshots.time_of(self.connection, self.playbook_id, revision) if self.playbook_id else None

    def candidates_at(self, revision: int) -> tuple[list[KeyPoint], list[KeyPoint], int]:
        """What `rules.selection` chose from after *revision*: the points, best first, the newest without votes, and how
        many there were."""
        return snapshots.candidates_at(self.connection, self.playbook_id, revision) if self.playbook_id else ([], [], 0)

    def created_in(self) -> dict[str, int]:
        """The revision in which each point, live or retired, came to be, by name."""
        return playbooks.created_in(self.connection, self.playbook_id) if self.playbook_id else {}

    def mirror_state(self) -> str:
        """Whether the playbook is mirrored: `undecided`, `on`, `found` or `off`."""
        return playbooks.mirror_state(self.connection, self.playbook_id) if self.playbook_id else "undecided"

    def mirror(self, path: str) -> Mirror | None:
        """What the mirror at *path* held when last seen."""
        return playbooks.read_mirror(self.connection, self.playbook_id, path) if self.playbook_id else None

    def revision_of(self, header: Header) -> int | None:
        """The revision that a file or dict with *header* descends from, where its `last_updated` is one of ours."""
        if self.playbook_id is None or header.last_updated is None:
            return None
        return snapshots.find_by_last_updated(self.connection, self.playbook_id, header.last_updated)

    def append(self, new: revisions.NewRevision) -> int:
        """Keep *new* as the next revision; its number. The playbook was opened to write."""
        number = self.revision + 1
        revisions.append(self.connection, self._id, number, new)
        return number

    def note_mirror(self, path: str, mirror: Mirror) -> None:
        """Keep what the mirror at *path* holds now."""
        playbooks.note_mirror(self.connection, self._id, path, mirror)

    def set_mirror_state(self, state: str) -> None:
        """Keep whether the playbook is mirrored from now on."""
        playbooks.set_mirror_state(self.connection, self._id, state)

    @property
    def _id(self) -> int:
        if self.playbook_id is None:
            raise ValueError("the playbook was not opened to write")
        return self.playbook_id
