"""What programs do to a playbook as a whole: load it, change a copy, save it. Other writers' changes survive."""

from typing import Any

from playbook_db.rules import merging, older_copies
from playbook_db.rules.draft import Draft
from playbook_db.services import mirror, plain
from playbook_db.services.plain import PlaybookDict
from playbook_db.services.project import Project
from playbook_db.services.revising import Proposal, read_with_revision, revise
from playbook_db.store.past import Past


def load(project: Project) -> tuple[PlaybookDict, tuple[str, ...]]:
    """The project's playbook as a dict, after taking in its file where that changed; and what is worth a word."""
    synced = mirror.accept(project)
    playbook, revision = read_with_revision(project)
    return plain.to_plain(playbook, origin=_origin(project), revision=revision), synced.notes


def save(project: Project, given: dict[str, Any]) -> tuple[str, ...]:
    """Store *given* and write the mirror; what is worth a word.

    Where it is known which revision *given* was loaded from, what others changed since is merged; else the playbook
    becomes equal to it. Afterwards *given* holds what is stored. Raises PlaybookFileError for a bad entry.
    """
    reading = plain.from_plain(given)
    before = mirror.accept(project)  # what stands in the file is in the history before it is written over

    def plan(draft: Draft, past: Past) -> Proposal:
        ours = draft.playbook()
        theirs, left_out = merging.incoming(reading, ours, past.forgotten())
        retired = {name: gone.point for name, gone in past.retired().items()}
        loaded = None
        if isinstance(given, PlaybookDict) and given.origin == _origin(project):
            loaded = given.revision
        base_revision = past.revision_of(theirs.header) if loaded is None else loaded
        if base_revision is None:
            notes = merging.become(draft, theirs, retired)
            header = older_copies.header_as_forgotten(ours.header, theirs.header)
        else:
            base, was_erased = past.at(base_revision), base_revision < past.last_erased_in()
            notes = merging.merge_three_way(draft, base, theirs, retired, was_erased_since=was_erased)
            header = merging.merge_headers(base.header, ours.header, theirs.header, was_erased_since=was_erased)
        return Proposal(
            "sync",
            "saved by a program",
            notes=(*reading.warnings, *left_out, *notes),
            header=header,
            is_kept_anyway=True,
        )

    saved = revise(project, plan)
    plain.write_back(given, saved.playbook, flat=reading.is_flat)
    given["last_updated"] = saved.playbook.header.last_updated
    if isinstance(given, PlaybookDict):
        given.origin, given.revision = _origin(project), saved.revision
    return (*before.notes, *saved.notes, *mirror.write(project).notes)


def _origin(project: Project) -> tuple[str, str]:
    return str(project.store.url), project.key
