"""The commands that git starts: merging three playbook files, and writing a playbook as text for `git diff`.

Git starts these for every merge, so heavy modules are imported late. They are needed only if the database knows that
one side's playbook came from the other's, as on two branches of one person. With git's common ancestor, votes that both
sides have would then count twice.
"""

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from playbook_db import files, projects, settings
from playbook_db.domain.prompt_text import render_points, shown
from playbook_db.domain.times import read_timestamp
from playbook_db.errors import PlaybookError, PlaybookFileError
from playbook_db.services.reading import command_reads
from playbook_db.store.queries import list_queries

if TYPE_CHECKING:
    from playbook_db.domain.merging.file_merge import Side
    from playbook_db.domain.playbook import Playbook
    from playbook_db.domain.playbook_file import Reading
    from playbook_db.store.playbook.repository import PlaybookRepository


def merge(base: str, ours: str, theirs: str, *, url: str, folder: str) -> Sequence[str]:
    """Merge the file *theirs* into the file *ours*. *base* is their common ancestor, empty if there is none. *url* and
    *folder* locate the database and the project. Return notes on the decisions, for a person. Raises PlaybookFileError
    if one of the three can't be read; *ours* is then unchanged."""
    their_side, our_side = (_side(_read_bytes(path, side), side) for path, side in ((theirs, "theirs"), (ours, "ours")))
    base_data = b"" if base == os.devnull else _read_bytes(base, "the common ancestor")
    common = _side(base_data, "the common ancestor") if base_data.strip() else None
    ancestor, doubts = None, []
    try:
        ancestor = _closer_ancestor(url, folder, common, our_side, their_side)
    except PlaybookError as error:  # the three files suffice
        doubts = [f"the database couldn't be asked, so votes that both sides had from it count twice: {error}"]
    from playbook_db.domain.merging import file_merge

    merged = file_merge.merge_files(common.reading if common else None, our_side, their_side, ancestor=ancestor)
    if merged.data != our_side.data:
        try:
            files.replace_file(ours, merged.data)
        except OSError as error:
            raise PlaybookFileError("ours", "", f"the file can't be written: {error.strerror}.") from error
    return [*merged.notes, *doubts]


def readable_text(path: str) -> str:
    """Return the playbook in the file at *path* as text for a diff. Each point and each other key has its own line. If
    the file is not a playbook, return the file's text. Raises PlaybookFileError if the file can't be read."""
    data = _read_bytes(path, path)
    from playbook_db.domain import playbook_file
    from playbook_db.domain.json_text import write_json

    try:
        reading = playbook_file.decode(data, source=path)
    except PlaybookFileError:
        return "".join(f"{shown(line)}\n" for line in data.decode("utf-8", "replace").splitlines())
    playbook = reading.playbook
    fields = [f"{key}: {write_json(value)}" for key, value in playbook.header.fields if key != "sections"]
    extras = [f"[{name}] {extra}" for name, extra in reading.extras.items()]
    lines = [*map(shown, fields), render_points(playbook.points), *map(shown, extras)]
    return "\n".join(filter(None, lines)) + "\n"


def _side(data: bytes, which: str) -> "Side":
    from playbook_db.domain import playbook_file
    from playbook_db.domain.merging.file_merge import Side

    return Side(data, playbook_file.decode(data, source=which))


def _read_bytes(path: str, which: str) -> bytes:
    try:
        return projects.read_plain(path, settings.MAX_FILE_BYTES)
    except OSError as error:
        raise PlaybookFileError(which, "", f"the file can't be read: {error.strerror}.") from error


def _closer_ancestor(url: str, folder: str, base: "Side | None", ours: "Side", theirs: "Side") -> "Playbook | None":
    """Return a better common ancestor than git's *base* if the database or git's history knows one, else None.

    In one database, a later revision includes all of an earlier one. A side that is a revision, or comes from one,
    includes everything merged into that revision. This holds for one person's branches, and for others' branches merged
    into them.
    """
    sides = [each.reading if each else None for each in (base, ours, theirs)]
    known = _known_times(url, folder, [time for side in sides for time in _times(side)])
    before, here, there = (_revision(known, side) for side in sides)
    if here is not None and there is not None:
        is_ancestor = base is None or before is not None or not _is_later(*sides)
        if not is_ancestor or (before or 0) >= min(here, there):  # as for a revert
            return None
        with _opened(url, folder) as book:
            return book.at(min(here, there))
    if base is None:
        return None
    from playbook_db.services.sharing import git

    path, size_bytes = projects.mirror_path(folder), len(ours.data)
    versions = git.MirrorVersions(path, lambda times: _known_times(url, folder, times), size_bytes=size_bytes)
    head = git.head_to_merge()
    behind = versions.behind(ours.data, "HEAD"), versions.behind(theirs.data, head)
    common = versions.lineage.held(behind[0]) & versions.lineage.held(behind[1])
    of_git = versions.lineage.newest(behind[0] & behind[1], as_git_knows=True)
    if {*versions.lineage.newest(common)} == {*of_git}:  # git's base is as good, and has the names of its own merges
        return None
    base_commits = versions.find(base.data)
    if base_commits and common.isdisjoint(base_commits):  # a commit is reverted, or picked by itself
        return None
    return versions.common(common) if base_commits or head else None  # of several ancestors git made one


def _is_later(base: "Reading | None", *sides: "Reading | None") -> bool:
    moment, *moments = (read_timestamp(next(iter(_times(side)), None)) for side in (base, *sides))
    return moment is not None and any(each is not None and each < moment for each in moments)


def _times(side: "Reading | None") -> list[str]:
    time = side.playbook.header.last_updated if side else None
    return [] if time is None else [time]


def _revision(known: Mapping[str, tuple[int, bool]], side: "Reading | None") -> int | None:
    matches = (known.get(time, (0, False)) for time in _times(side))
    return next((number for number, is_revision in matches if is_revision), None)


def _known_times(url: str, folder: str, times: Collection[str]) -> Mapping[str, tuple[int, bool]]:
    if settings.sqlite_file(url) is not None:
        return command_reads.known_times(url, folder, times) or {}
    with _opened(url, folder) as book:
        return list_queries.known_times(book, times)


@contextlib.contextmanager
def _opened(url: str, folder: str) -> "Iterator[PlaybookRepository]":
    from playbook_db.services.opening import open_project

    with open_project(url, folder, sync=False, notify=str) as project, project.store.read(project.key) as book:
        yield book
