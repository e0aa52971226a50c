"""Importing and exporting playbook files, and composing the text for a session."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from playbook_db.domain import playbook_file
from playbook_db.domain.merging import merge
from playbook_db.domain.playbook import Header, Playbook, normalised, storable
from playbook_db.domain.playbook_file import Layout, Reading
from playbook_db.domain.prompt_text import shown
from playbook_db.domain.trust.evidence import HERE, MAX_QUOTE_CHARS, Evidence
from playbook_db.services import session_text
from playbook_db.services.project import Project
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.repository import FileFields, PlaybookRepository, RevisionResult

if TYPE_CHECKING:
    from playbook_db.services.playbook.markdown import Note

_MAX_KEYS_CHARS = 200  # of other keys that are named


@retry_on_conflict
def import_playbook(
    project: Project,
    reading: Reading,
    *,
    source: str,
    replace: bool = False,
    restore: bool = False,
    folds_equal: bool = True,
    dry_run: bool = False,
) -> RevisionResult:
    """Merge a playbook read from *source*, as one revision. With `replace`, the playbook becomes equal to it.

    A new playbook keeps the file's header byte for byte, so that it exports the same file. A playbook with points gets
    no text twice, unless *folds_equal* is off. An earlier wording of a point adds nothing, and retired points come back
    only with `restore`. With `dry_run` nothing is written.
    """
    with project.store.write(project.key, dry_run=dry_run) as book:
        retired = book.retired()
        theirs, left_out = merge.prepare_import(reading, book.draft.playbook(), retired)
        if replace:
            notes = merge.replace_points(book.draft, theirs, retired)
        else:
            wordings = book.wordings()
            theirs, old = merge.without_old_wordings(book.draft, theirs, retired, wordings)
            theirs, stays = (theirs, ()) if restore else merge.without_earlier_texts(book.draft, theirs, wordings)
            left_out = (*left_out, *old, *(f"{note}, unless you import with --restore" for note in stays))
            folds_equal = folds_equal and bool(book.draft.points())
            notes = merge.merge_two_way(book.draft, theirs, retired, folds_equal=folds_equal)
        takes_over = replace or book.revision == 0
        header = merge.without_erased_header(book.header, theirs.header)
        if not takes_over:
            known = dict(book.header.fields)
            new = tuple((key, value) for key, value in header.fields if key not in known)
            header = Header(book.header.fields + new, book.header.final_newline)
        message = f"{'replaced by' if replace else 'imported'} {source}"
        extras = new_extras(book, reading, theirs)
        notes = (*reading.warnings, *left_out, *notes, *extras_message(extras))
        file = FileFields(header, keeps_last_updated=takes_over, extras=extras)
        return book.commit("import", message, notes=notes, file=file)


@retry_on_conflict
def propose_notes(project: Project, notes: "Sequence[Note]", *, source: str) -> Sequence[int]:
    """Propose each of *notes*, read from *source*, as a point, and return the numbers of the proposals. Texts that the
    playbook has or had, or that were proposed before, are skipped."""
    with project.store.write(project.key) as book:
        retired = {each.point.folded for each in book.retired().values()}
        new = [
            (
                {"type": "ADD", "section": note.section, "text": note.text},
                Evidence(note.text[:MAX_QUOTE_CHARS], f"{source}, line {note.line}", HERE),
            )
            for note in notes
            if not book.draft.find_text(note.text) and normalised(note.text) not in retired
        ]
        return book.add_new_points(new, HERE) if new else []


def new_extras(book: PlaybookRepository, reading: Reading, theirs: Playbook) -> dict[str, str]:
    """Return the extra fields in *reading* that the playbook doesn't have yet. They are JSON, by the point's name."""
    return merge.new_extras(book.draft, reading, theirs, book.extras()) if reading.extras else {}


def extras_message(extras: Mapping[str, str]) -> list[str]:
    """Return a line that names the keys of *extras*, the extra fields of points in a file. Without any, return `[]`."""
    keys = ", ".join(sorted({storable(key) for fields in extras.values() for key in json.loads(fields)}))
    entries = "1 entry has" if len(extras) == 1 else f"{len(extras)} entries have"
    message = f"{entries} other keys ({shown(keys[:_MAX_KEYS_CHARS])}), which are kept in the database"
    return [f"{message}: playbook show NAME --json, playbook export --extra"] if extras else []


def export_playbook(project: Project, *, layout: Layout = "sections", with_extras: bool = False) -> str:
    """Return the playbook as the text of a JSON file. *with_extras* adds the extra fields of points."""
    with project.store.read(project.key) as book:
        return playbook_file.encode(book.playbook(), layout=layout, extras=book.extras() if with_extras else None)


def reading_of(book: PlaybookRepository) -> Reading:
    """Return the playbook in the form that `playbook_file` returns for an exported file."""
    text = playbook_file.encode(book.playbook(), extras=book.extras())
    return playbook_file.decode(text, source="the playbook")


def prompt(project: Project) -> str:
    """Return the text for a session of *project*, as `session_text.compose` explains it."""
    with project.reading() as books:
        return session_text.compose(books, project.folder)
