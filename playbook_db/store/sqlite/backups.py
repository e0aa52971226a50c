"""List, make, read and remove backups of the whole SQLite file.

They are in `backups/` beside the database. Their names contain time and kind: `playbook-TIME.db` (made by hand),
`playbook-TIME.daily.db`, `playbook-TIME.before-restore.db`, and `playbook-TIME.schema-0002.db` (before a migration).
Files with other names are never listed or removed.
"""

import contextlib
import glob
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from playbook_db.errors import DatabaseError
from playbook_db.files import to_disk
from playbook_db.store.sqlite import sqlite_files
from playbook_db.store.sqlite.sqlite_files import Access
from playbook_db.store.sqlite_open import BACKUP_NAME, backups_of
from playbook_db.wrong_clock import is_ahead

BY_HAND, DAILY, BEFORE_RESTORE = "hand", "daily", "before-restore"
_STAMP = "%Y%m%dT%H%M%SZ"
_PARTIAL = ".partial"  # ends the name of an unfinished backup
_LONGEST_WRITE_S = 24 * 60 * 60  # an older unfinished backup was left by a killed process
_SAME_SECOND = 1000  # at most so many backups
MAX_DAILY = 7
MAX_WEEKLY = 4  # weeks before the daily backups
MAX_OF_MIGRATIONS = 3
_HELD = """
SELECT p.key, coalesce((SELECT max(r.number) FROM revisions AS r WHERE r.playbook_id = p.id), 0),
       (SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NULL)
FROM playbooks AS p ORDER BY p.key
"""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup. `time` (UTC) comes from its name. `kind` is `hand`, `daily`, `before-restore`, or for example
    `schema-0002`, made before a migration of that schema."""

    path: str
    time: datetime
    kind: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Held:
    """A playbook in a database file, with its last revision and its number of live points."""

    key: str
    revision: int
    points: int


def list_backups(path: str) -> list[Backup]:
    """Return the backups of the database file *path*, newest first. Those of a wrong clock come last."""
    backups, now_s = [], time.time()
    pattern = re.escape(os.path.join(*backups_of(path))) + BACKUP_NAME
    for match in filter(None, (re.fullmatch(pattern, file) for file in _files_of(path, "*.db"))):
        file = match.string
        with contextlib.suppress(OSError, ValueError):  # the file was just removed, or has no valid time
            taken_at = datetime.strptime(match["time"], _STAMP).replace(tzinfo=UTC)
            status, kind = os.stat(file), match["kind"] or BY_HAND
            order = not is_ahead(match["time"], now_s), taken_at, status.st_mtime_ns
            backups.append((order, Backup(file, taken_at, kind, status.st_size)))
    return [backup for _, backup in sorted(backups, key=lambda each: each[0], reverse=True)]


def folder_of(path: str) -> str:
    """Return the folder for backups of the database file *path*. Don't create it."""
    return backups_of(path)[0]


def make_folder(path: str) -> str:
    """Return the folder for backups of *path*. Create it if needed. Raises DatabaseError."""
    folder = folder_of(path)
    with _explained(folder, "can't be made"):
        for each in (os.path.dirname(folder), folder):
            os.makedirs(each, mode=0o700, exist_ok=True)
    return folder


def take(path: str, kind: str, *, now: datetime) -> Backup:
    """Back up the database file *path*. If a text is forgotten meanwhile, start again. Raises DatabaseError,
    DamagedError."""
    folder, taken_at = make_folder(path), now.astimezone(UTC).replace(microsecond=0)
    beginning = os.path.join(folder, f"{backups_of(path)[1]}-{taken_at:{_STAMP}}")
    end = ".db" if kind == BY_HAND else f".{kind}.db"
    while True:
        with copied(path, folder) as partial:
            taken = place(partial, (f"{beginning}{number}{end}" for number in ("", *range(-2, -_SAME_SECOND, -1))))
        if _erasures_in(path, "read") <= _erasures_in(taken, "at rest"):
            return Backup(taken, taken_at, kind, os.path.getsize(taken))
        os.unlink(taken)


def take_to(path: str, target: str) -> None:
    """Back up the database file *path* to the new file *target*. Raises DatabaseError, DamagedError."""
    folder = os.path.dirname(os.path.abspath(target))
    if os.path.isdir(target):
        raise DatabaseError(f"{target} is a folder. Name a file in it.")
    if os.path.lexists(target):
        raise _already_there(target)
    if not os.path.isdir(folder):
        raise DatabaseError(f"There is no folder {folder}. Create it, or name another file.")
    with copied(path, folder) as partial:
        place(partial, [target])


def rotate(path: str) -> None:
    """Remove the oldest automatic backups, and unfinished backups of killed processes. Backups with points are counted
    separately, so that empty ones never replace them."""
    groups: dict[bool, list[Backup]] = {True: [], False: []}
    for backup in list_backups(path):
        if backup.kind == DAILY or backup.kind.startswith("schema-"):
            groups[_has_points(backup.path)].append(backup)
    surplus: list[str] = []
    for backups in groups.values():
        daily = [backup for backup in backups if backup.kind == DAILY]
        migrations = [backup for backup in backups if backup.kind != DAILY]
        to_keep = daily_to_keep(backup.time for backup in daily)
        surplus += [backup.path for backup in daily if backup.time not in to_keep]
        surplus += [backup.path for backup in migrations[MAX_OF_MIGRATIONS:]]
    for file in (*surplus, *partials(path)):
        with contextlib.suppress(OSError):
            if file in surplus or time.time() - os.path.getmtime(file) > _LONGEST_WRITE_S:
                os.unlink(file)


def partials(path: str) -> list[str]:
    """Return the unfinished backups of *path*. They are in progress, or a killed process left them."""
    return _files_of(path, f".*{_PARTIAL}*")


def held_in(path: str, access: Access = "at rest") -> list[Held]:
    """Return the playbooks in the database file *path*. Raises DatabaseError."""
    with closing(sqlite_files.open_file(path, access)) as connection, sqlite_files.explained(path):
        return [Held(*row) for row in connection.execute(_HELD)]


@contextmanager
def copied(path: str, folder: str, *, at_rest: bool = False) -> Iterator[str]:
    """Make a checked temporary copy of the database file *path* in *folder*. Only the copy's owner can read it. A file
    *at rest* isn't changed, and is checked more thoroughly. Raises DatabaseError, DamagedError."""
    with _explained(folder, "can't be written"):
        handle, partial = tempfile.mkstemp(prefix=f".{backups_of(path)[1]}-", suffix=_PARTIAL, dir=folder)
        os.close(handle)
    try:
        with _explained(path, "can't be copied"):
            sqlite_files.copy(path, partial, at_rest=at_rest)
        yield partial
    finally:
        for suffix in ("", *sqlite_files.BESIDE, ".checkpoint.lock"):
            with contextlib.suppress(OSError):
                os.unlink(partial + suffix)


def place(partial: str, names: Iterable[str]) -> str:
    """Rename the file *partial* to the first of *names* that is free. Return that name. Raises DatabaseError."""
    name = ""
    for name in names:
        with _explained(name, "can't be made"):
            try:
                os.link(partial, name)
            except FileExistsError:
                continue
            except OSError:  # a file system without hard links
                if os.path.lexists(name):
                    continue
                os.rename(partial, name)
            to_disk(os.path.dirname(os.path.abspath(name)))
        return name
    raise _already_there(name)


def _has_points(path: str) -> bool:
    """Return whether the backup *path* has live or retired points. An unreadable backup has none."""
    try:
        with closing(sqlite_files.open_file(path, "at rest")) as connection, sqlite_files.explained(path):
            return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM key_points)").fetchone()[0])
    except DatabaseError:
        return False


def _erasures_in(path: str, access: Access) -> int:
    with closing(sqlite_files.open_file(path, access)) as connection, sqlite_files.explained(path):
        return int(connection.execute("SELECT count(*) FROM erasures").fetchone()[0])


def _explained(where: str, problem: str) -> AbstractContextManager[None]:
    return sqlite_files.explained(where, problem, end="No backup was made.", of_files=True)


def _files_of(path: str, pattern: str) -> list[str]:
    return glob.glob(os.path.join(glob.escape(folder_of(path)), pattern))


def _already_there(name: str) -> DatabaseError:
    return DatabaseError(f"{name} exists already, and was not overwritten. Delete it, or name another file.")


def daily_to_keep(times: Iterable[datetime]) -> set[datetime]:
    """Return the newest MAX_DAILY of *times*, and one time for each of the MAX_WEEKLY weeks before these."""
    newest_first = sorted(set(times), reverse=True)
    newest = newest_first[:MAX_DAILY]
    weeks: dict[tuple[int, int], datetime] = {}
    for taken_at in newest_first[MAX_DAILY:]:
        week = taken_at.isocalendar()[:2]
        if week < newest[-1].isocalendar()[:2]:
            weeks.setdefault(week, taken_at)
    return {*newest, *list(weeks.values())[:MAX_WEEKLY]}
