"""Forgetting for good: from the playbook and its history, from our files and backups, and from the bytes of all.

The copies go first. The text in the database is what they are found by: after a kill the same command finds the rest.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from playbook_db import projects
from playbook_db.errors import DatabaseBusyError, DatabaseError, PointRuleError
from playbook_db.rules import near_duplicates
from playbook_db.rules.erasing import Eraser
from playbook_db.rules.playbook import KeyPoint
from playbook_db.services import editing, erased_copies, erasing, mirror
from playbook_db.services.erased_copies import Copies, Lost
from playbook_db.services.erasing import Share, Wanted
from playbook_db.services.project import Project
from playbook_db.services.revising import timestamp
from playbook_db.store import connecting, playbooks, scrubbing, written
from playbook_db.store import erasing as stored
from playbook_db.store.engine import Store
from playbook_db.store.past import Past

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
        share = erasing.erase(
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
    path = connecting.sqlite_path(store.url)
    try:
        if path is not None and not scrubbing.scrub(path):
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
            share = erasing.look(past, request.wanted)
            if share.going or share.found:
                shares[key] = share
            older = Wanted(pattern=request.pattern)
            known = Lost(past.playbook_id, key, older, frozenset(), request.asked, request.message)
            lost.append(_known_better(known, share))
    return lost, shares


def _require_point(project: Project, name: str) -> None:
    editing.find(project, name)
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
    copies = erased_copies.in_files(folders, _eraser(request, lost), dry_run=dry_run)
    path = connecting.sqlite_path(project.store.url)
    return copies if path is None else copies + erased_copies.in_backups(path, lost, dry_run=dry_run)


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
        return erased_copies.holds(path, eraser)
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
    pairs = near_duplicates.near_pairs(points, most=_MOST_PAIRS)
    named = {pair.one.name for pair in pairs if pair.other.name in going and pair.one.name not in going}
    if not named:
        return ()
    return (f"much the same may stand in {', '.join(sorted(named))}; look at it, and forget it too if need be",)


def _elsewhere(project: Project, request: Request, lost: list[Lost]) -> list[str]:
    """The points of other playbooks that say it too: their words are their own, and stay."""
    eraser, ours = _eraser(request, lost), {each.playbook_id for each in lost}
    notes = []
    with project.store.snapshot() as connection:
        for playbook_id, key in written.all_playbooks(connection).items():
            points = [] if playbook_id in ours else written.read_points(connection, playbook_id)
            names = [point.name for point in points if eraser.finds(point.text)]
            if names:
                notes.append(f"{key} has a playbook of its own, which says it too and stays: {', '.join(names)}")
    return notes
