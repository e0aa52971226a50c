"""The two sides of a diff: the playbook as it was once, or as a file has it."""

from dataclasses import dataclass

from playbook_db.rules import comparing, document, merging
from playbook_db.rules.comparing import Comparison
from playbook_db.rules.legacy import Reading
from playbook_db.services import looking_back
from playbook_db.services.looking_back import local
from playbook_db.services.project import Project


@dataclass(frozen=True, slots=True)
class Side:
    """A playbook to compare, and where it comes from: a revision with its time (None for the empty 0), or a file."""

    reading: Reading
    revision: int | None = None
    time: str | None = None
    file: str | None = None
    note: str | None = None

    @property
    def told(self) -> str:
        """Which playbook it is, in words."""
        if self.file is not None:
            return self.file
        return f"revision {self.revision}" + (f" ({local(self.time)})" if self.time else "")


def side_at(project: Project, when: str) -> Side:
    """The playbook as it was at *when*, as `looking_back.find_revision` reads it."""
    seen = looking_back.at(project, when)
    return Side(Reading(seen.playbook), seen.revision, seen.time, note=seen.note)


def side_of_file(data: bytes, name: str) -> Side:
    """The playbook in a file of any shape. Raises PlaybookFileError."""
    return Side(document.decode(data, source=name), file=name)


def difference(before: Side, after: Side) -> Comparison:
    """What differs between the two. A flat file knows no sections: its points stand where the other side has them."""
    old = merging.in_our_sections(before.reading, after.reading.playbook)
    new = merging.in_our_sections(after.reading, old)
    return comparing.compare(old, new)
