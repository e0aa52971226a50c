"""Erasing from one playbook: which points go, which fields are blanked, and one revision that does it."""

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db import files as files_module
from playbook_db import projects, settings
from playbook_db.domain import duplicates
from playbook_db.domain.draft import Draft
from playbook_db.domain.erasure import SHORTEST_PASSAGE, Eraser
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.times import timestamp
from playbook_db.errors import DatabaseBusyError, DatabaseError, PointRuleError
from playbook_db.services import edit, mirror
from playbook_db.services.projects import Project
from playbook_db.services.revise import Proposal, revise
from playbook_db.store import connect, erasure, playbooks
from playbook_db.store import erasure as stored
from playbook_db.store.engine import Store, open_store
from playbook_db.store.erasure import Passage, StoredPoint, all_playbooks
from playbook_db.store.hook_queries import SCHEMA
from playbook_db.store.past import Past
from playbook_db.store.sqlite import backups, erased_bytes
from playbook_db.store.sqlite.files import BESIDE

_MOST_PASSAGES = 500  # that a pattern matched and that files are searched for besides the pattern itself


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be forgotten of a playbook: the points `names` with all that they ever said, `texts` and what
    `pattern` matches wherever it stands, and with `takes_matching` the points whose present text it matches.

    Where `texts` are given the playbook is an older copy, and a name counts only for a point that said one of them.
    """

    names: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    takes_matching: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """What goes from one playbook: the points that are forgotten whole, those that lose something of their present
    text and stay, every field that loses something, the texts that are erased wherever they stand, what the pattern
    `matched`, the last revision that was looked at with its time, and the revision that did it (None: not done)."""

    going: tuple[StoredPoint, ...] = ()
    staying: tuple[StoredPoint, ...] = ()
    found: tuple[Passage, ...] = ()
    texts: frozenset[str] = frozenset()
    matched: frozenset[str] = frozenset()
    seen: tuple[int, str | None] = (0, None)
    revision: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the points that are forgotten whole."""
        return tuple(point.name for point in self.going)

    @property
    def revisions(self) -> tuple[int, ...]:
        """The revisions whose texts lose something."""
        of_history = (passage.revision for passage in self.found if passage.is_history)
        return tuple(sorted({revision for revision in of_history if revision is not None}))


class _NothingError(Exception):
    """There is nothing to erase; the transaction is rolled back."""


def look(past: Past, wanted: Wanted, before: Share | None = None) -> Share:
    """What *wanted* would take from the playbook, as the transaction sees it; nothing is written.

    Where a look *before* took the same from the history, only what came since is read: that holds no lock for long.
    """
    connection, playbook_id = past.connection, past.playbook_id or 0
    points = [point for point in erasure.read_points(connection, playbook_id) if not point.is_forgotten]
    chosen = {point.id for point in points if _is_chosen(past, wanted, point)}
    eraser = Eraser(wanted.texts | erasure.wordings(connection, playbook_id, chosen), wanted.pattern)
    going = {point.id for point in points if point.id in chosen or eraser.leaves_nothing(point.text)}
    known = before if before is not None and _still_holds(past, before, eraser, going) else Share()
    found = [passage for passage in known.found if passage.is_history]
    found += erasure.find(connection, playbook_id, eraser, going, after=known.seen[0])
    lost = {passage.row["id"] for passage in found if passage.field == "key_points.text"} - going
    return Share(
        tuple(point for point in points if point.id in going),
        tuple(point for point in points if point.id in lost),
        tuple(found),
        eraser.texts,
        _matched(wanted.pattern, found),
        (past.revision, past.last_time),
    )


def erase(project: Project, wanted: Wanted, *, asked: str, message: str, before: Share | None = None) -> Share | None:
    """Erase what is *wanted* from the project's playbook, as one revision with *message*; what went, None where there
    was nothing. *asked* is how it was asked for, by `name` or by `match`; *before* is what a look found already."""
    done: list[Share] = []

    def plan(draft: Draft, past: Past) -> Proposal:
        share = look(past, wanted, before)
        if not share.going and not share.found:
            raise _NothingError
        for name in share.names:
            if name in draft:
                draft.retire(name, reason=erasure.REASON)
        done.append(share)
        return Proposal("edit", message, is_kept_anyway=True, then=carry_out)

    def carry_out(past: Past, revision: int | None) -> None:
        share = done.pop()
        done.append(_carry_out(past, revision or 0, share, wanted, asked))

    try:
        revise(project, plan)
    except _NothingError:
        return None
    return done.pop()


def mask(past: Past, wanted: Wanted) -> None:
    """Blank what is *wanted* in a copy of an older schema, which knows no forgotten points and is out of its triggers'
    way."""
    erasure.blank(past.connection, look(past, wanted).found)


def _carry_out(past: Past, revision: int, share: Share, wanted: Wanted, asked: str) -> Share:
    connection, playbook_id = past.connection, past.playbook_id or 0
    ids = {point.id for point in share.going}
    # The new revision has written the header anew.
    eraser = Eraser(share.texts, wanted.pattern)
    found = [passage for passage in share.found if not passage.field.startswith("playbooks.")]
    found += erasure.find(connection, playbook_id, eraser, ids, within=["playbooks"])
    now = timestamp(datetime.now(UTC))
    number = erasure.begin(connection, playbook_id, revision, asked=asked, names=share.names, now=now)
    erasure.blank(connection, found)
    erasure.entomb(connection, playbook_id, ids)
    erasure.finish(connection, playbook_id, number, fields=len(found), now=timestamp(datetime.now(UTC)))
    return replace(share, found=tuple(found), revision=revision)


def _still_holds(past: Past, before: Share, eraser: Eraser, going: set[int]) -> bool:
    """Whether a look *before* is true of the history as far as it went: the same was looked for, no erasure came since,
    and no backup has taken the place of all."""
    revision, time = before.seen
    return (
        before.texts == eraser.texts
        and {point.id for point in before.going} == going
        and past.last_erased_in() <= revision
        and past.time_of(revision) == time
    )


def _is_chosen(past: Past, wanted: Wanted, point: StoredPoint) -> bool:
    if wanted.takes_matching and Eraser(pattern=wanted.pattern).finds(point.text):
        return True
    if point.name not in wanted.names:
        return False
    if not wanted.texts:
        return True
    return bool(erasure.wordings(past.connection, past.playbook_id or 0, {point.id}) & wanted.texts)


def _matched(pattern: re.Pattern[str] | None, found: Iterable[Passage]) -> frozenset[str]:
    """What *pattern* matched, to be found in files in whatever form it stands there."""
    if pattern is None:
        return frozenset()
    eraser = Eraser(pattern=pattern)
    pieces = {piece for passage in found for piece in eraser.passages(passage.before)}
    longest = sorted((piece for piece in pieces if len(piece.strip()) >= SHORTEST_PASSAGE), key=len, reverse=True)
    return frozenset(longest[:_MOST_PASSAGES])


# The other copies of what is to be forgotten: our files in the projects and in the data folder, and our backups.
#
# They are blanked in place, each whole or not at all. What isn't ours to change is told.


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
        erased_bytes.remove_leftover(path)
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
        if erased_bytes.holds(path, texts)
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
    files_module.replace_file(path, eraser.blank_file(_read(path)).encode("utf-8", "surrogateescape"))


def _backup_holds(path: str, lost: Iterable[Lost], texts: frozenset[str]) -> bool:
    with erased_bytes.opened(path) as connection:
        for key, each in _in_copy(all_playbooks(connection), lost):
            share = look(Past.open(connection, key), each.wanted)
            if share.going or share.found:
                return True
    return erased_bytes.holds(path, texts)


def _rewrite(path: str, lost: Iterable[Lost]) -> None:
    """Erase from the backup at *path*: as a revision where it is of our schema, else in its tables alone."""
    is_ours = erased_bytes.schema_of(path) == SCHEMA

    def change(partial: str) -> None:
        if is_ours:
            with open_store(f"sqlite:///{partial}") as store:
                with store.snapshot() as connection:
                    held = all_playbooks(connection)
                for key, each in _in_copy(held, lost):
                    erase(Project(store, key), each.wanted, asked=each.asked, message=each.message)
            return
        with erased_bytes.opened(partial, writes=True) as connection:
            for key, each in _in_copy(all_playbooks(connection), lost):
                mask(Past.open(connection, key), each.wanted)

    erased_bytes.rewrite(path, change, drop_triggers=not is_ours)


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


# Forgetting for good: from the playbook and its history, from our files and backups, and from the bytes of all.
#
# The copies go first. The text in the database is what they are found by: after a kill the same command finds the
# rest.


_MOST_PAIRS = 1_000_000  # of points that are alike, of which those of the points that go are named


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be forgotten: the point `name`, or what `pattern` matches, in this project's playbook or in all."""

    name: str | None = None
    pattern: re.Pattern[str] | None = None
    in_all_projects: bool = False

    @property
    def asked(self) -> str:
        """How the history calls this way of asking."""
        return "name" if self.pattern is None else "match"

    @property
    def message(self) -> str:
        """What the revision says of itself; never what is forgotten."""
        return f"forgot {self.name}" if self.pattern is None else "forgot what matches a pattern"

    @property
    def wanted(self) -> Wanted:
        """What goes from a playbook."""
        if self.pattern is not None:
            return Wanted(pattern=self.pattern, takes_matching=True)
        return Wanted(names=frozenset({self.name or ""}))


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What goes, or went: from each playbook by its key, from which copies; what is worth a word; and whether the
    database's own bytes hold nothing of it any more."""

    shares: dict[str, Share]
    copies: Copies
    notes: tuple[str, ...] = ()
    is_scrubbed: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to forget."""
        return not (self.shares or self.copies.files or self.copies.backups)


def forecast(project: Project, request: Request) -> Forgotten:
    """What `forget` would do; nothing is written. Raises PointNotFoundError, PointRuleError."""
    lost, shares = _look(project, request)
    copies = _copies(project, request, lost, dry_run=True)
    held = Copies(tuple(_holding_mirrors(project, request, lost)))
    said = (*_alike(project, request, shares), *_elsewhere(project, request, lost))
    return Forgotten(shares, copies + held, (*copies.notes, *said))


def forget(project: Project, request: Request) -> Forgotten:
    """Erase what *request* names for good, and bring the mirrors in step. Raises PointNotFoundError, PointRuleError."""
    if _is_forgotten(project, request.name):  # by a command that may have been killed
        _sync_mirrors(project, request, [])
        scrub_waiting(project.store)
    lost, seen = _look(project, request)
    said = (*_alike(project, request, seen), *_elsewhere(project, request, lost))
    copies = _copies(project, request, lost, dry_run=False)
    shares: dict[str, Share] = {}
    for key, before in seen.items():
        share = erase(
            _of_key(project, key), request.wanted, asked=request.asked, message=request.message, before=before
        )
        if share is not None:
            shares[key] = share
            lost = [_known_better(each, share) if each.key == key else each for each in lost]
    copies += _copies(project, request, lost, dry_run=False)  # what was written while we were at it
    notes = [*copies.notes, *said, *_sync_mirrors(project, request, lost)]
    try:
        is_scrubbed = scrub_waiting(project.store)
    except DatabaseError as error:
        is_scrubbed = False
        notes.append(str(error))
    return Forgotten(shares, copies, tuple(dict.fromkeys(notes)), is_scrubbed)


def scrub_waiting(store: Store) -> bool:
    """Take out of the database's bytes what erasures have left there; whether nothing is left.

    A reader that began before an erasure keeps its bytes in the write-ahead log. Raises DatabaseError.
    """
    with store.snapshot() as connection:
        waiting = stored.waiting(connection)
    if not waiting:
        return True
    path = connect.sqlite_path(store.url)
    try:
        if path is not None and not erased_bytes.scrub(path):
            return False
    except DatabaseBusyError:
        return False
    with store.transaction() as connection:
        stored.note_scrubbed(connection, waiting, now=timestamp(datetime.now(UTC)))
    return True


def _look(project: Project, request: Request) -> tuple[list[Lost], dict[str, Share]]:
    """What goes from each playbook, and what its older copies lose by it."""
    if request.name is not None:
        _require_point(project, request.name)
    lost: list[Lost] = []
    shares: dict[str, Share] = {}
    with project.store.snapshot() as connection:
        for key in playbooks.all_keys(connection) if request.in_all_projects else [project.key]:
            past = Past.open(connection, key)
            if past.playbook_id is None:
                continue
            share = look(past, request.wanted)
            if share.going or share.found:
                shares[key] = share
            older = Wanted(pattern=request.pattern)
            known = Lost(past.playbook_id, key, older, frozenset(), request.asked, request.message)
            lost.append(_known_better(known, share))
    return lost, shares


def _require_point(project: Project, name: str) -> None:
    edit.find(project, name)
    if _is_forgotten(project, name):
        raise PointRuleError(f"{name} was forgotten for good already; nothing of its text is left in the database.")


def _is_forgotten(project: Project, name: str | None) -> bool:
    with project.store.snapshot() as connection:
        return name in Past.open(connection, project.key).forgotten()


def _known_better(lost: Lost, share: Share) -> Lost:
    wanted = lost.wanted
    names, texts = wanted.names | frozenset(share.names), wanted.texts | share.texts
    return replace(lost, wanted=replace(wanted, names=names, texts=texts), matched=lost.matched | share.matched)


def _eraser(request: Request, lost: Iterable[Lost]) -> Eraser:
    return Eraser(frozenset(text for each in lost for text in each.texts), request.pattern)


def _copies(project: Project, request: Request, lost: list[Lost], *, dry_run: bool) -> Copies:
    folders = [projects.folder_of_mirror(path) for path in _mirrors(project, lost)]
    copies = in_files(folders, _eraser(request, lost), dry_run=dry_run)
    path = connect.sqlite_path(project.store.url)
    return copies if path is None else copies + in_backups(path, lost, dry_run=dry_run)


def _mirrors(project: Project, lost: Iterable[Lost]) -> list[str]:
    """Where mirrors of the playbooks stand or may stand, in whatever worktree."""
    found = [project.mirror_path]
    with project.store.snapshot() as connection:
        for each in lost:
            found += [_of_key(project, each.key).mirror_path, *playbooks.mirror_paths(connection, each.playbook_id)]
    return list(dict.fromkeys(found))


def _holding_mirrors(project: Project, request: Request, lost: list[Lost]) -> list[str]:
    eraser = _eraser(request, lost)
    return [path for path in _mirrors(project, lost) if os.path.isfile(path) and _is_held(path, eraser)]


def _sync_mirrors(project: Project, request: Request, lost: list[Lost]) -> list[str]:
    """Bring the mirrors that are kept in step; a word on those that still hold what was forgotten."""
    notes = list(mirror.sync(project).notes)
    for synced in mirror.sync_changed(project.store):
        notes += synced.notes
    return notes + [
        f"{path} still holds it: it isn't kept in step with the database. Take it out there by hand."
        for path in _holding_mirrors(project, request, lost)
    ]


def _is_held(path: str, eraser: Eraser) -> bool:
    try:
        return holds(path, eraser)
    except OSError:
        return False


def _of_key(project: Project, key: str) -> Project:
    return project if key == project.key else Project(project.store, key)


def _alike(project: Project, request: Request, shares: dict[str, Share]) -> tuple[str, ...]:
    """The live points that may say in other words what a point says that goes."""
    if request.name is None or project.key not in shares:
        return ()
    with project.store.snapshot() as connection:
        live = Past.open(connection, project.key).playbook().points
    share = shares[project.key]
    going = {point.name: KeyPoint(point.name, point.text) for point in share.going}
    seen_to = {*going, *(point.name for point in share.staying)}
    points = [*(point for point in live if point.name not in seen_to), *going.values()]
    pairs = duplicates.near_pairs(points, limit=_MOST_PAIRS)
    named = {pair.one.name for pair in pairs if pair.other.name in going and pair.one.name not in going}
    if not named:
        return ()
    return (f"much the same may stand in {', '.join(sorted(named))}; look at it, and forget it too if need be",)


def _elsewhere(project: Project, request: Request, lost: list[Lost]) -> list[str]:
    """The points of other playbooks that say it too: their words are their own, and stay."""
    eraser, ours = _eraser(request, lost), {each.playbook_id for each in lost}
    notes = []
    with project.store.snapshot() as connection:
        for playbook_id, key in erasure.all_playbooks(connection).items():
            points = [] if playbook_id in ours else erasure.read_points(connection, playbook_id)
            names = [point.name for point in points if eraser.finds(point.text)]
            if names:
                notes.append(f"{key} has a playbook of its own, which says it too and stays: {', '.join(names)}")
    return notes
