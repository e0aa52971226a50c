"""The mirror: a project's `.claude/playbook.json`, which people commit and edit.

The database is the truth. After each commit the file is written from it; where the file changed meanwhile (git
pull, a hand edit), it is merged in first. A file that came with a clone is somebody else's text: it is taken in only
once the user, or the program that asks, has said so.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db import files, projects, settings
from playbook_db.domain import merge, playbook_file
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import Playbook
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.times import timestamp
from playbook_db.errors import MirrorError, PlaybookFileError
from playbook_db.services import diagnostics, import_export
from playbook_db.services.projects import Notify, Project
from playbook_db.services.revise import Proposal, Revised, revise
from playbook_db.store import playbooks
from playbook_db.store.engine import Store
from playbook_db.store.past import Past
from playbook_db.store.playbooks import Mirror

_TRIES = 5  # rounds of taking in before writing, when somebody keeps editing the file under us


@dataclass(frozen=True, slots=True)
class Synced:
    """What a look at the mirror did: the revision it made, if any, and what the user should hear of."""

    revised: Revised | None = None
    notes: tuple[str, ...] = ()


def state(project: Project) -> str:
    """Whether the project's playbook is mirrored: `undecided`, `on`, `found` or `off`."""
    with project.store.snapshot() as connection:
        return Past.open(connection, project.key).mirror_state()


def is_waiting(project: Project) -> bool:
    """Whether a file stands there that nobody has been asked about yet."""
    return state(project) == "undecided" and os.path.lexists(project.mirror_path)


def sync(project: Project) -> Synced:
    """Take in what changed in a mirror that is kept, and write it where it is behind the database.

    Raises nothing about the file: one that can't be taken in is left alone or set aside, and told in the notes.
    """
    kept = state(project)
    return _sync(project, make=kept == "on") if kept in ("on", "found") else Synced()


@contextmanager
def kept_in_step(project: Project, notify: Notify) -> Iterator[None]:
    """The mirror, where it is kept, in step before and after what is done; *notify* is given what came of it."""
    before = _lines(project, sync(project))
    for line in before:
        notify(line)
    if is_waiting(project):
        notify(f"{project.mirror_path} is here but not taken in; look at it with: playbook init")
    yield
    for line in _lines(project, sync(project)):
        if line not in before:
            notify(line)


def sync_changed(store: Store) -> Iterator[Synced]:
    """Sync each mirror that is kept and that is behind its playbook, or isn't, at a glance, what it was when last in
    step."""
    with store.snapshot() as connection:
        kept = playbooks.kept_mirrors(connection)
    for path, last, known in kept:
        is_untouched = status(path) == (known.size_bytes, known.mtime_ns)
        if not is_untouched or (known.revision or 0) != last:
            folder = projects.folder_of_mirror(path)
            if os.path.isdir(folder):
                yield sync(Project(store, folder))


def in_step(store: Store) -> dict[str, str]:
    """The mirrors that are kept and hold what they held when last seen: path and SHA-256."""
    with store.snapshot() as connection:
        kept = playbooks.kept_mirrors(connection)
    return {path: known.sha256 for path, _, known in kept if _digest_at(path) == known.sha256}


def follow(store: Store, held: Mapping[str, str]) -> Iterator[Synced]:
    """Write the mirrors that hold nothing of their own (`in_step`) from a database that was put in the place of
    theirs."""
    for path, sha256 in held.items():
        project = Project(store, projects.folder_of_mirror(path))
        if state(project) in ("on", "found"):
            with _writing(project) as past:
                past.note_mirror(path, Mirror(None, sha256))
            yield sync(project)


def accept(project: Project) -> Synced:
    """Take a file in that nobody has been asked about yet, and keep it from now on: the user, or the calling program,
    trusts it."""
    if is_waiting(project):
        _set_state(project, "found")
    return sync(project)


def enrol(project: Project) -> Synced:
    """Take the project in where it isn't known yet, and bring its mirror, if one is kept, in step."""
    with _writing(project):
        pass
    return sync(project)


def switch(project: Project, *, on: bool) -> Synced:
    """Keep the mirror from now on, making it where it isn't; or leave the file alone from now on."""
    _set_state(project, "on" if on else "off")
    return sync(project)


def write(project: Project) -> Synced:
    """Write the mirror whether or not it is kept, after taking in what changed in it; what can't be taken in is
    moved aside."""
    if state(project) == "undecided":
        _set_state(project, "found")
    return _sync(project, make=True, insist=True)


def _lines(project: Project, synced: Synced) -> list[str]:
    """What came of it, for a person."""
    lines = list(synced.notes)
    if synced.revised is not None:
        summary = import_export.told(synced.revised)
        lines.append(f"took in {project.mirror_path}: {summary} (revision {synced.revised.revision})")
    return lines


def _sync(project: Project, *, make: bool, insist: bool = False) -> Synced:
    notes: list[str] = []
    revised: Revised | None = None
    try:
        with lock(project.mirror_path):
            remove_leftover(project.mirror_path)
            for _ in range(_TRIES):
                found = read(project.mirror_path, project.folder)
                if found is None and not make:
                    break
                if found is not None and not _is_known(project, found):
                    taken = _take_in(project, found, insist=insist)
                    revised = taken.revised or revised
                    notes += taken.notes
                if _bring_up_to_date(project, found, make=make):
                    break
    except (MirrorError, PlaybookFileError) as error:
        notes.append(str(error))
    return Synced(revised, tuple(notes))


def _digest_at(path: str) -> str | None:
    try:
        found = read(path, projects.folder_of_mirror(path))
    except MirrorError:
        return None
    return None if found is None else digest(found)


def _is_known(project: Project, found: bytes) -> bool:
    known = _known(project)
    return known is not None and known.sha256 == digest(found)


def _take_in(project: Project, found: bytes, *, insist: bool) -> Synced:
    """Merge the file's bytes into the playbook; move the file aside where they are damaged."""
    try:
        reading = playbook_file.decode(found, source=project.mirror_path)
    except PlaybookFileError as error:
        if not insist and not may_be_set_aside(error):
            raise
        aside = set_aside(project.mirror_path)
        return Synced(notes=(f"{error} It was moved to {aside}.",))

    def plan(draft: Draft, past: Past) -> Proposal:
        proposal = _merge(draft, past, reading, project)
        # In the same commit, so that a kill can't make these bytes be taken in twice. They are no revision of ours.
        past.note_mirror(project.mirror_path, Mirror(None, digest(found)))
        return proposal

    revised = revise(project, plan)
    diagnostics.migration(project.folder, reading.migrated)
    return Synced(revised if revised.revision else None, tuple(revised.notes))


def _merge(draft: Draft, past: Past, reading: Reading, project: Project) -> Proposal:
    """Bring a changed mirror in: three ways where a common ancestor is known, else as any file."""
    ours = draft.playbook()
    theirs, left_out = merge.incoming(reading, ours, past.forgotten())
    retired = {name: gone.point for name, gone in past.retired().items()}
    ancestor = _common_ancestor(past, theirs, project)
    if ancestor is None:
        notes = merge.take_in(draft, theirs, retired)
        header = theirs.header if past.revision == 0 else ours.header
    else:
        revision, base = ancestor
        # A file that doesn't tell its age may be from before an erasure.
        was_erased = past.revision_of(theirs.header) is None or revision < past.last_erased_in()
        notes = merge.merge_three_way(draft, base, theirs, retired, was_erased_since=was_erased)
        header = merge.merge_headers(base.header, ours.header, theirs.header, was_erased_since=was_erased)
    holds_all = draft.playbook().content == theirs.content and header.stamped(None) == theirs.header.stamped(None)
    is_dated = holds_all and not left_out and (bool(draft.changes) or past.revision == 0)
    if is_dated:  # nothing of ours is missing in the file: it stays as it is, to the byte, and git sees no change
        header = replace(theirs.header, final_newline=header.final_newline)
    message = f"took in {os.path.relpath(project.mirror_path, project.folder)}"
    return Proposal("sync", message, notes=(*reading.warnings, *left_out, *notes), header=header, is_dated=is_dated)


def _common_ancestor(past: Past, theirs: Playbook, project: Project) -> tuple[int, Playbook] | None:
    """The revision, and the playbook, that the file and ours both come from; None where none is known.

    That is the revision which the file's `last_updated` names; else what the file last held. In that case the file
    may come from a branch that never had our newest points: those newer than any that it has don't count as removed.
    """
    named = past.revision_of(theirs.header)
    if named is not None:
        return named, past.at(named)
    known = past.mirror(project.mirror_path)
    if known is None or known.revision is None:
        return None
    base = past.at(known.revision)
    created = past.created_in()
    newest = max((created[name] for name in theirs.by_name if name in base.by_name), default=0)
    seen = tuple(point for point in base.points if created[point.name] <= newest)
    return known.revision, replace(base, points=seen)


def _bring_up_to_date(project: Project, found: bytes | None, *, make: bool) -> bool:
    """Write the file where it is behind the database; False, and nothing written, where it isn't *found* any more."""
    known = _known(project)
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        revision = past.revision
        if found is not None and known == Mirror(revision, digest(found)):
            _note(project, known)
            return True
        if revision == 0 and not make:
            return True
        text = playbook_file.encode(past.playbook())
    data = text.encode("utf-8")
    if data != found:
        if read(project.mirror_path, project.folder) not in (found, None):
            return False
        write_file(project.mirror_path, data)
    _note(project, Mirror(revision or None, digest(data)))
    return True


def _known(project: Project) -> Mirror | None:
    with project.store.snapshot() as connection:
        return Past.open(connection, project.key).mirror(project.mirror_path)


def _note(project: Project, mirror: Mirror) -> None:
    """Keep what the file holds, and how it looks at a glance."""
    size_bytes, mtime_ns = status(project.mirror_path)
    known = _known(project)
    if mirror != known or (known.size_bytes, known.mtime_ns) != (size_bytes, mtime_ns):
        with _writing(project) as past:
            past.note_mirror(project.mirror_path, replace(mirror, size_bytes=size_bytes, mtime_ns=mtime_ns))


def _set_state(project: Project, wanted: str) -> None:
    with _writing(project) as past:
        past.set_mirror_state(wanted)


@contextmanager
def _writing(project: Project) -> Iterator[Past]:
    with project.store.transaction() as connection:
        yield Past.open_to_write(connection, project.key, now=timestamp(datetime.now(UTC)))


# The file of a mirror itself: read with care, replaced whole, moved aside, one writer at a time.


def read(path: str, project_folder: str) -> bytes | None:
    """The bytes of the mirror at *path*, None where there is no file.

    Raises MirrorError where it is a link out of the project, no plain file, too large or not to be read.
    """
    target = os.path.realpath(path)
    root = os.path.realpath(project_folder)
    if os.path.commonpath([target, root]) != root:
        raise MirrorError(
            f"{path} is a link out of the project, to {target}. It is left alone; put a plain file there."
        )
    try:
        status = os.stat(target)
        if not stat.S_ISREG(status.st_mode):
            raise MirrorError(f"{path} is no plain file. It is left alone; move it away.")
        if status.st_size > settings.MAX_FILE_BYTES:
            raise MirrorError(f"{path} is larger than {settings.MAX_FILE_BYTES >> 20} MiB. It is left alone.")
        with open(target, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MirrorError(f"{path} can't be read: {error.strerror}. It is left alone.") from error


def status(path: str) -> tuple[int | None, int | None]:
    """Size in bytes and time of change in nanoseconds of the file at *path*; None for both where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None, None
    return found.st_size, found.st_mtime_ns


def write_file(path: str, data: bytes) -> None:
    """Write the mirror at *path*, whole or not at all. The caller holds the lock. Raises MirrorError."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.replace_file(path, data)
    except OSError as error:
        raise MirrorError(
            f"{path} can't be written: {error.strerror}. The database has everything; the next command tries again."
        ) from error


def remove_leftover(path: str) -> None:
    """Remove what a killed writer of the mirror left beside it. The caller holds the lock."""
    with contextlib.suppress(OSError):
        os.unlink(files.temporary_path(path))


def may_be_set_aside(error: PlaybookFileError) -> bool:
    """Whether the file that gave *error* is of no use to anyone as it is. One in the middle of a git merge is."""
    return error.damaged and not error.in_git_merge


def set_aside(path: str) -> str:
    """Move the file out of the way, never over another; its new path."""
    path = os.path.realpath(path)
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    number = 0
    while True:
        aside = f"{path}.damaged-{stamp}{f'-{number}' if number else ''}"
        if not os.path.lexists(aside):
            os.rename(path, aside)
            return aside
        number += 1


@contextlib.contextmanager
def lock(path: str) -> Iterator[None]:
    """Hold off other writers of the mirror at *path*; the lock is a file in our data folder, not in the work tree."""
    from filelock import FileLock, Timeout

    folder = os.path.join(settings.data_dir(), "locks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = digest(os.path.realpath(path).encode("utf-8", "surrogateescape"))[:32]
    try:
        with FileLock(os.path.join(folder, f"mirror-{name}.lock"), timeout=settings.LOCK_WAIT_S):
            yield
    except Timeout as error:
        raise MirrorError(
            f"{path} is being written by another process; the next command brings it up to date."
        ) from error


def digest(data: bytes) -> str:
    """The SHA-256 of *data*, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
