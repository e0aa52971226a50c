"""The mirror: a project's `.claude/playbook.json`, which people commit and edit.

The database is the truth. After each commit, the file is written from it. If the file has changed (git pull, a hand
edit), it is merged first. A version that git has is merged, too, but left as it is: git could else refuse to replace
it. A file that came with a clone is somebody else's text. It is merged only after the user, or
the calling program, has accepted this very file. A linked worktree has the consent of its repository. A project without
a folder on this machine has no mirror.
"""

import contextlib
import hashlib
import itertools
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db import files, projects, settings
from playbook_db.domain import draft, playbook_file
from playbook_db.domain.merging import merge
from playbook_db.domain.playbook import Playbook
from playbook_db.domain.playbook_file import Reading
from playbook_db.errors import DiskError, MirrorError, PlaybookFileError, Remedy
from playbook_db.services.learning import diagnostics
from playbook_db.services.playbook import import_export
from playbook_db.services.project import Notify, Project
from playbook_db.store.engine import Store, retry_on_conflict
from playbook_db.store.playbook import repository
from playbook_db.store.playbook.repository import FileFields, Mirror, PlaybookRepository, RevisionResult
from playbook_db.store.queries import list_queries

_TRIES = 5  # rounds of merging and writing, if somebody keeps editing the file
ASIDE = ("damaged", "extra")  # why a file is kept aside, as its name says
_UNKNOWN = Mirror(None, "")  # of a file that was never read


@dataclass(frozen=True, slots=True)
class Synced:
    """The result of a sync: the revision that it made, if any, and notes for the user."""

    result: RevisionResult | None = None
    notes: tuple[str, ...] = ()


def state(project: Project) -> str:
    """Return the state of the project's mirror: `undecided`, `on`, `found` or `off`."""
    with project.store.read(project.key) as book:
        return book.project.mirror


def needs_consent(project: Project) -> bool:
    """Return whether the mirror was never synced, so that the user must consent before it is merged. A linked worktree
    needs no consent if its repository's mirror is active and needs none."""
    return _state_of(project)[1]


def is_waiting(project: Project) -> bool:
    """Return whether the mirror needs the user's consent and they haven't been asked yet."""
    mirrored, needs_consent = _state_of(project)
    return needs_consent and mirrored != "off"


def _state_of(project: Project) -> tuple[str, bool]:
    """Return the mirror's state, and whether the mirror needs the user's consent."""
    path = project.mirror_path
    is_there = path is not None and os.path.lexists(path)
    with project.store.read(project.key) as book:
        mirrored, paths = book.project.mirror, book.mirror_paths() if is_there else []
    if path is None or not is_there:
        return mirrored, False
    ever_synced = {os.path.realpath(projects.folder_of_mirror(each)) for each in paths}
    if mirrored == "undecided" or os.path.realpath(projects.folder_of_mirror(path)) in ever_synced:
        return mirrored, mirrored == "undecided"
    repository = projects.as_path(project.key)
    has_consent = repository in ever_synced or not os.path.lexists(projects.mirror_path(repository))
    return mirrored, not (has_consent and mirrored in ("on", "found"))


def sync(project: Project, *, always: bool = False) -> Synced:
    """Merge the changes in an active mirror. Write the mirror if the playbook or the user has changed it and it isn't
    in git's way, or *always*. A file that can't be merged is left alone or moved aside, and the notes say so."""
    mirrored, needs_consent = _state_of(project)
    if project.mirror_path is None or needs_consent or mirrored not in ("on", "found"):
        return Synced()
    from playbook_db.services.sharing import git  # late: only a mirror that is kept needs it

    if problem := git.conflict(project.mirror_path):
        return Synced(notes=(problem,))
    under_way = projects.operation_under_way(projects.folder_of_mirror(project.mirror_path))
    if under_way is not None:  # the file isn't anybody's playbook yet
        return Synced(notes=(f"a git {under_way} is not finished; {project.mirror_path} is left alone until it is",))
    return _sync(project, project.mirror_path, make=mirrored == "on", always=always)


@contextlib.contextmanager
def syncing(project: Project, notify: Notify) -> Iterator[None]:
    """Sync an active mirror before and after the `with` block. Pass notes for the user to *notify*. The block runs even
    if the disk can't be written, since the playbook can still be read."""
    before = _lines(project)
    for line in before:
        notify(line)
    if is_waiting(project):
        notify(f"{project.mirror_path} was never imported; to look at it and decide: playbook init")
    yield
    for line in _lines(project):
        if line not in before:
            notify(line)


def sync_changed(store: Store) -> Iterator[Synced]:
    """Sync each active mirror that is older than its playbook, or whose size or time has changed since the last
    sync."""
    with store.snapshot() as connection:
        mirrors = repository.kept_mirrors(connection)
    for path, last, known in mirrors:
        folder = projects.folder_of_mirror(path)
        is_untouched = _size_and_mtime(path) == (known.size_bytes, known.mtime_ns)
        if os.path.isdir(folder) and not (is_untouched and (known.revision or 0) == last):
            yield sync(Project.in_folder(store, folder))


def unchanged(store: Store) -> dict[str, str]:
    """Return the paths and SHA-256 of the active mirrors that haven't changed since they were last read. A mirror that
    can't be read now counts as unchanged."""
    with store.snapshot() as connection:
        mirrors = repository.kept_mirrors(connection)
    digests = {}
    for path, _, known in mirrors:
        if digest_in(projects.folder_of_mirror(path)) in (known.sha256, ""):
            digests[path] = known.sha256
    return digests


def expect(store: Store, digests: Mapping[str, str]) -> None:
    """Make the next sync write the mirrors in *digests* when *store* has replaced their database. *digests* is the
    result of `unchanged`."""
    for path, sha256 in digests.items():
        project = Project.in_folder(store, projects.folder_of_mirror(path))
        if state(project) in ("on", "found"):
            with store.write(project.key) as book:
                book.note_mirror(path, Mirror(None, sha256))


def accept(project: Project) -> Synced:
    """Sync the mirror, even if the user hasn't been asked about the file. The user, or the calling program, trusts the
    file."""
    if is_waiting(project):
        _trust(project)
    return sync(project)


def enrol(project: Project) -> Synced:
    """Add the project to the database if it isn't there, and sync its mirror if that is active."""
    if not project.is_team:
        with project.store.write(project.key):
            pass
    return sync(project)


def switch(project: Project, *, on: bool, accepts: bool = False) -> Synced:
    """Turn the mirror on, and create the file if there is none. Or turn the mirror off, and leave the file alone.
    Raises MirrorError for a team's playbook, and for a mirror that needs consent unless the user *accepts* it."""
    if project.is_team:
        raise MirrorError(
            f"The playbook of {project.own.key} is the team's: its members share it through {project.store.where}. "
            "A team's playbook has no mirror.",
            Remedy("To have it as a file: {}", ("export", "-o", "playbook.json")),
        )
    if on and needs_consent(project):
        if not accepts:
            raise MirrorError(
                f"{project.mirror_path} was never imported. It may be somebody else's text, so it was left alone. "
                "To merge it, run: playbook mirror on --yes"
            )
        _trust(project)
    with project.store.write(project.key) as book:
        book.set_mirror_state("on" if on else "off")
    return sync(project, always=on)


def write(project: Project) -> Synced:
    """Merge and write the mirror even if it is off. A file that can't be merged is moved aside."""
    if project.mirror_path is None:
        return Synced()
    if state(project) == "undecided":
        _trust(project)
    return _sync(project, project.mirror_path, make=True, always=True, insist=True)


def _lines(project: Project) -> list[str]:
    try:
        synced = sync(project)
    except (DiskError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        return [f"{project.mirror_path} was not synced: {why}"]
    lines = list(synced.notes)
    if synced.result is not None:
        summary = draft.summary(synced.result.changes)
        lines.append(f"merged {project.mirror_path}: {summary} (revision {synced.result.revision})")
    return lines


def _sync(project: Project, path: str, *, make: bool, always: bool, insist: bool = False) -> Synced:
    from playbook_db.services.sharing import git

    notes: list[str] = []
    result: RevisionResult | None = None
    try:
        with _lock(path):
            for _ in range(_TRIES):
                data = read(path, projects.folder_of_mirror(path))
                with contextlib.suppress(OSError):  # only after `read`: the path may be a link out of the project
                    os.unlink(files.temporary_path(path))  # left by a killed writer
                if data is None and not make:
                    break
                with project.store.read(project.key) as book:
                    known, revision = book.mirror(path) or _UNKNOWN, book.revision
                is_same, is_new = known.revision == revision, data is not None and known.sha256 != _digest(data)
                if data is not None and is_same and not is_new and not always:
                    _note(project, path, known, known)
                    break
                stays = not always and git.keeps(path, data, is_changed_here=not (is_same or is_new))
                if data is not None and is_new:
                    merged = _merge(project, path, data, insist=insist, stays=stays)
                    result, known = merged.result or result, _UNKNOWN
                    notes += merged.notes
                    revision = (merged.result and merged.result.revision) or revision
                if stays and data is not None:
                    _note(project, path, Mirror(revision or None, _digest(data)), known)
                if stays:
                    break
                if _write_file(project, path, data, known, make=make):
                    break
    except (MirrorError, PlaybookFileError) as error:
        notes.append(str(error))
    return Synced(result, tuple(notes))


@retry_on_conflict
def _merge(project: Project, path: str, data: bytes, *, insist: bool, stays: bool) -> Synced:
    """Merge *data*, the content of the file, into the playbook. Move a damaged file aside, unless the file *stays* as
    it is."""
    try:
        reading = playbook_file.decode(data, source=path)
    except PlaybookFileError as error:
        if stays or (not insist and (not error.damaged or error.in_git_merge)):  # it may still be of use to somebody
            raise
        aside = _free_path(path, "damaged")
        os.rename(os.path.realpath(path), aside)  # so that it is no longer the mirror
        return Synced(notes=(f"{error} It was moved to {aside}.",))
    in_git = _ancestor_in_git(project, reading.playbook, path, data)
    with project.store.write(project.key) as book:
        message = f"merged {os.path.relpath(path, projects.folder_of_mirror(path))}"
        result = _merge_in(book, reading, message, path, in_git)
        # In the same commit, so that after a kill these bytes aren't merged twice. They are no revision of ours.
        book.note_mirror(path, Mirror(None, _digest(data)))
    diagnostics.migration(projects.folder_of_mirror(path), reading.migrated)
    notes = [*result.notes]
    if (result.extras or reading.warnings) and not stays:
        notes.append(f"{path} is rewritten without that; the old file is kept as {_keep_aside(path, data)}")
    return Synced(result if result.revision else None, tuple(notes))


def _merge_in(
    book: PlaybookRepository, reading: Reading, message: str, path: str, ancestor: tuple[int, Playbook] | None
) -> RevisionResult:
    """Merge *reading*, a changed mirror at *path*, in one revision with *message*. If a common *ancestor* is given or
    known here, this is a three-way merge, else an import."""
    draft = book.draft
    retired = book.retired()
    theirs, left_out = merge.prepare_import(reading, draft.playbook(), retired)
    base_of = ancestor or _common_ancestor(book, theirs, path)
    if base_of is None:
        notes = merge.merge_two_way(draft, theirs, retired)
        header = theirs.header if book.revision == 0 else book.header
    else:
        revision, base = base_of
        # A file that doesn't tell its age may be from before an erasure.
        was_erased = not book.named_by(theirs.header) or revision < book.last_erased_in()
        notes = merge.merge_three_way(draft, base, theirs, retired, was_erased_since=was_erased)
        header = merge.merge_headers(base.header, book.header, theirs.header, was_erased_since=was_erased)
    holds_all = draft.playbook().content == theirs.content and header.stamped(None) == theirs.header.stamped(None)
    is_news = bool(draft.changes) or book.revision == 0 or ancestor is not None
    keeps_file = holds_all and not left_out and is_news
    if keeps_file:  # the file has all of ours: it isn't written, and git sees no change
        header = replace(theirs.header, final_newline=header.final_newline)
    if not keeps_file and theirs.header.last_updated:  # by which a later merge in git knows it
        message += f" of {theirs.header.last_updated}"
    extras = import_export.new_extras(book, reading, theirs)
    notes = (*reading.warnings, *left_out, *notes, *import_export.extras_message(extras))
    file = FileFields(header, keeps_last_updated=keeps_file, extras=extras)
    return book.commit("sync", message, notes=notes, file=file)


def _ancestor_in_git(project: Project, theirs: Playbook, path: str, data: bytes) -> tuple[int, Playbook] | None:
    """Return the part of the file that git's history shows to be merged already. Return None if `last_updated` names a
    revision, or if git can't tell."""
    from playbook_db.services.sharing import git

    with project.store.read(project.key) as book:
        if book.named_by(theirs.header):
            return None
        known = book.mirror(path)
        versions = git.MirrorVersions(path, lambda times: list_queries.known_times(book, times), size_bytes=len(data))
    behind = versions.behind(data, "HEAD", before_rebase=True)
    common = versions.common(behind & versions.lineage.taken_in())
    if common is None and known is not None and _digest(head := git.in_head(path)) == known.sha256:
        common = playbook_file.decode(head, source=path).playbook  # edited by hand since the checkout
    return (0, common) if common else None


def _common_ancestor(book: PlaybookRepository, theirs: Playbook, path: str) -> tuple[int, Playbook] | None:
    """Return the revision from which both the file and the present playbook come, and its playbook. Return None if
    there is no such revision.

    It is the revision that the file's `last_updated` names, else that of the file's last known content. In the second
    case the file may come from a branch without the newest points, so points newer than all of its own don't count as
    removed.
    """
    named = book.base_of(theirs)
    if named is not None:
        return named, book.at(named)
    known = book.mirror(path)
    if known is None or known.revision is None:
        return None
    base = book.at(known.revision)
    created = book.created_in()
    newest = max((created[name] for name in theirs.by_name if name in base.by_name), default=0)
    in_their_branch = tuple(point for point in base.points if created[point.name] <= newest)
    return known.revision, replace(base, points=in_their_branch)


def _write_file(project: Project, path: str, data: bytes | None, known: Mirror, *, make: bool) -> bool:
    """Write the playbook into the file. If the file's content is no longer *data*, write nothing and return False."""
    with project.store.read(project.key) as book:
        revision, playbook = book.revision, book.playbook()
    if not revision and not make:
        return True
    new_data = playbook_file.encode(playbook).encode("utf-8")
    if new_data != data:
        if read(path, projects.folder_of_mirror(path)) not in (data, None):
            return False
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            project.store.to_disk()
            files.replace_file(path, new_data)
        except OSError as error:
            raise MirrorError(
                f"{path} can't be written: {error.strerror}. No point is lost; the next command tries again."
            ) from error
    _note(project, path, Mirror(revision or None, _digest(new_data)), known)
    return True


@retry_on_conflict
def _note(project: Project, path: str, mirror: Mirror, known: Mirror) -> None:
    """Record the file's digest, size and time, unless the *known* record has them already."""
    size_bytes, mtime_ns = _size_and_mtime(path)
    if mirror != known or (known.size_bytes, known.mtime_ns) != (size_bytes, mtime_ns):
        with project.store.write(project.key) as book:
            book.note_mirror(path, replace(mirror, size_bytes=size_bytes, mtime_ns=mtime_ns))


@retry_on_conflict
def _trust(project: Project) -> None:
    with project.store.write(project.key) as book:
        if book.project.mirror == "undecided":
            book.set_mirror_state("found")
        if project.mirror_path is not None and book.mirror(project.mirror_path) is None:
            book.note_mirror(project.mirror_path, _UNKNOWN)


def read(path: str, project_folder: str) -> bytes | None:
    """Return the bytes of the mirror at *path*, or None if there is no file. Raises MirrorError if the file is outside
    the project, not a plain file, too large or unreadable."""
    target = os.path.realpath(path)
    root = os.path.realpath(project_folder)
    if os.path.commonpath([target, root]) != root:
        raise MirrorError(
            f"{path} is a link to {target}, outside the project. It is left alone; put a plain file there."
        )
    try:
        return projects.read_plain(target, settings.MAX_FILE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MirrorError(f"{path} can't be read: {error.strerror}. It is left alone.") from error


def digest_in(folder: str) -> str | None:
    """Return the SHA-256 of the mirror in *folder*, `""` if it can't be read, or None if there is none."""
    try:
        data = read(projects.mirror_path(folder), folder)
    except MirrorError:
        return ""
    return None if data is None else _digest(data)


def _size_and_mtime(path: str) -> tuple[int | None, int | None]:
    try:
        status = os.stat(path)
    except OSError:
        return None, None
    return status.st_size, status.st_mtime_ns


def _keep_aside(path: str, data: bytes) -> str:
    aside = _free_path(path, "extra")
    try:
        files.replace_file(aside, data, mode=stat.S_IMODE(os.stat(path).st_mode))
    except OSError as error:
        raise MirrorError(f"{aside} can't be written: {error.strerror}. The points are in the database.") from error
    return aside


def _free_path(path: str, why: str) -> str:
    aside = f"{os.path.realpath(path)}.{why}-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    numbered = (f"{aside}-{number}" for number in itertools.count(1))
    return next(name for name in itertools.chain([aside], numbered) if not os.path.lexists(name))


@contextlib.contextmanager
def _lock(path: str) -> Iterator[None]:
    """Block other writers of the mirror at *path*. The lock file is in the data folder, not in the worktree."""
    from filelock import FileLock, Timeout

    folder = os.path.join(settings.data_dir(), "locks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = _digest(os.path.realpath(path).encode("utf-8", "surrogateescape"))[:32]
    try:
        with FileLock(os.path.join(folder, f"mirror-{name}.lock"), settings.LOCK_WAIT_S, mode=0o600):
            yield
    except Timeout as error:
        raise MirrorError(
            f"{path} is being written by another process; the next command brings it up to date."
        ) from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
