"""Copies of the whole SQLite file: which there are, taking one, what one holds, letting the oldest go.

They lie in `backups/` beside the database, each with its time and what it was taken for in its name:
`playbook-TIME.db` by hand, `playbook-TIME.daily.db`, `playbook-TIME.before-restore.db`, and before a migration
`playbook-TIME.schema-0002.db`. What stands under any other name is not ours to list or to remove.
"""

import contextlib
import os
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from playbook_db.errors import BackupError, DamagedError
from playbook_db.store.sqlite import files

BY_HAND, DAILY, BEFORE_RESTORE = "hand", "daily", "before-restore"
_STAMP = "%Y%m%dT%H%M%SZ"
_STAMPED = r"(?P<time>\d{8}T\d{6}Z)"
_NAME = rf"-{_STAMPED}(-(?P<number>\d+))?(\.(?P<kind>daily|before-restore|schema-\d+))?\.db"
_OLDER_NAME = rf"\.(?P<kind>schema-\d+)-{_STAMPED}\.backup"
_PARTIAL = ".partial"  # the end of the name of one that is being written
_LONGEST_WRITE_S = 24 * 3600.0  # a partial that is older was left by a kill
_SAME_SECOND = 1000  # backups at most
_HELD = """
SELECT p.key, coalesce((SELECT max(r.number) FROM revisions AS r WHERE r.playbook_id = p.id), 0),
       (SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NULL)
FROM playbooks AS p ORDER BY p.key
"""


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of the database: its file, when it was taken (UTC, by its name), what for (`hand`, `daily`,
    `before-restore`, or `schema-0002`: that one was about to be migrated), and its size."""

    path: str
    time: datetime
    kind: str
    size_bytes: int

    @property
    def is_before_migration(self) -> bool:
        """Whether it was taken because the schema was about to change."""
        return self.kind.startswith("schema-")


@dataclass(frozen=True, slots=True)
class Held:
    """What a database holds of one playbook: its project's key, its last revision, how many points are live."""

    key: str
    revision: int
    points: int


def list_backups(path: str) -> list[Backup]:
    """The backups of the database file *path*, newest first; also those beside it that older versions took."""
    beside, name = os.path.split(os.path.abspath(path))
    found = _matching(folder_of(path), re.escape(_stem(path)) + _NAME)
    found += _matching(beside, re.escape(name) + _OLDER_NAME)
    return [backup for _, backup in sorted(found, key=lambda each: (each[1].time, each[0]), reverse=True)]


def folder_of(path: str) -> str:
    """Where the backups of the database file *path* go. Not made here."""
    return os.path.join(os.path.dirname(os.path.abspath(path)), "backups")


def make_folder(path: str) -> str:
    """The folder of the backups of *path*, made where it isn't there. Raises BackupError."""
    folder = folder_of(path)
    try:
        for each in (os.path.dirname(folder), folder):
            os.makedirs(each, mode=0o700, exist_ok=True)
    except OSError as error:
        raise BackupError(f"{folder} can't be made: {error.strerror}. No backup was taken.") from error
    return folder


def take(path: str, kind: str, *, now: datetime) -> Backup:
    """Copy the database file *path*, as it is at one moment, into the folder of its backups, without what is forgotten
    meanwhile. Raises BackupError, DamagedError."""
    now = now.astimezone(UTC).replace(microsecond=0)
    while True:
        taken = _take(path, kind, now)
        if _erasures_in(path, in_use=True) <= _erasures_in(taken, in_use=False):
            return Backup(taken, now, kind, os.path.getsize(taken))
        _remove(taken)


def take_to(path: str, target: str) -> None:
    """Copy the database file *path*, as it is at one moment, to *target*, where nothing is yet.

    Raises BackupError, DamagedError.
    """
    folder = os.path.dirname(os.path.abspath(target))
    if os.path.isdir(target):
        raise BackupError(f"{target} is a folder. Name a file in it.")
    if os.path.lexists(target):
        raise _there_already(target)
    if not os.path.isdir(folder):
        raise BackupError(f"There is no folder {folder}. Make it, or name a file somewhere else.")
    with copied(path, folder) as partial:
        place(partial, [target])


def rotate(path: str) -> list[str]:
    """Remove the oldest of the backups that were taken by themselves, and what a kill left half-written; what went."""
    found = list_backups(path)
    daily = [backup for backup in found if backup.kind == DAILY]
    migrations = [backup for backup in found if backup.is_before_migration]
    days = daily_kept(backup.time for backup in daily)
    newest = before_migrations_kept(backup.time for backup in migrations)
    gone = [backup.path for backup in daily if backup.time not in days]
    gone += [backup.path for backup in migrations if backup.time not in newest]
    gone += [left for left in partials(path) if _age_s(left) > _LONGEST_WRITE_S]
    return [removed for removed in gone if _remove(removed)]


def partials(path: str) -> list[str]:
    """What is being written into the folder of the backups of *path*, or was left there by a kill."""
    folder = folder_of(path)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.startswith(".") and _PARTIAL in name]


def held_in(path: str, *, in_use: bool = False) -> list[Held]:
    """What the database file *path*, of any schema, holds; `in_use` where others may have it open.

    Raises DatabaseError.
    """
    with closing(_opened(path, in_use=in_use)) as connection:
        try:
            return [Held(*row) for row in connection.execute(_HELD)]
        except files.DRIVER_ERRORS as error:
            raise files.translated(error, path) from error


@contextmanager
def copied(path: str, folder: str, *, in_use: bool = True) -> Iterator[str]:
    """A sound copy of the database file *path* in *folder*, for its owner alone, under a name that goes at the end.

    One that nobody else has open isn't touched, and is checked more thoroughly. Raises BackupError, DamagedError.
    """
    try:
        handle, partial = tempfile.mkstemp(prefix=f".{_stem(path)}-", suffix=_PARTIAL, dir=folder)
    except OSError as error:
        raise BackupError(f"{folder} can't be written: {error.strerror}. No backup was taken.") from error
    os.close(handle)
    try:
        _copy(path, partial, in_use=in_use)
        yield partial
    finally:
        for suffix in ("", *files.BESIDE):
            _remove(partial + suffix)


def place(partial: str, names: Iterable[str]) -> str:
    """Give the file *partial* the first of *names* under which nothing is, at once; that name. Raises BackupError."""
    name = ""
    for name in names:
        try:
            try:
                os.link(partial, name)
            except FileExistsError:
                continue
            except OSError:  # a file system without hard links
                if os.path.lexists(name):
                    continue
                os.rename(partial, name)
            files.to_disk(os.path.dirname(os.path.abspath(name)))
        except OSError as error:
            raise BackupError(f"{name} can't be made: {error.strerror}. No backup was taken.") from error
        return name
    raise _there_already(name)


def _take(path: str, kind: str, now: datetime) -> str:
    with copied(path, make_folder(path)) as partial:
        beginning = os.path.join(folder_of(path), f"{_stem(path)}-{now:{_STAMP}}")
        end = ".db" if kind == BY_HAND else f".{kind}.db"
        return place(partial, (f"{beginning}{number}{end}" for number in ("", *range(-2, -_SAME_SECOND, -1))))


def _erasures_in(path: str, *, in_use: bool) -> int:
    """How often something was forgotten in the database file *path*; 0 where its schema doesn't know of it."""
    with closing(_opened(path, in_use=in_use)) as connection, contextlib.suppress(*files.DRIVER_ERRORS):
        return int(connection.execute("SELECT count(*) FROM erasures").fetchone()[0])
    return 0


def _opened(path: str, *, in_use: bool) -> sqlite3.Connection:
    return files.open_to_read(path) if in_use else files.open_untouched(path)


def _copy(path: str, partial: str, *, in_use: bool) -> None:
    try:
        with closing(_opened(path, in_use=in_use)) as source:
            problems = files.copy(source, partial, thoroughly=not in_use)
    except files.DRIVER_ERRORS as error:
        if files.is_damage(error):
            raise DamagedError(path, str(error)) from error
        raise BackupError(f"{path} can't be copied: {error}. No backup was taken.") from error
    except OSError as error:
        raise BackupError(f"{path} can't be copied: {error.strerror}. No backup was taken.") from error
    if problems:
        raise DamagedError(path, problems[0])


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".db")


def _matching(folder: str, pattern: str) -> list[tuple[int, Backup]]:
    """The backups in *folder* whose names match *pattern*, each with when it was written: a second may hold several."""
    found = []
    names = os.listdir(folder) if os.path.isdir(folder) else []
    for match in filter(None, (re.fullmatch(pattern, name) for name in names)):
        told = match.groupdict()
        path = os.path.join(folder, match.string)
        with contextlib.suppress(OSError, ValueError):  # it has just gone, or the time is none
            taken = datetime.strptime(told["time"], _STAMP).replace(tzinfo=UTC)
            status = os.stat(path)
            found.append((status.st_mtime_ns, Backup(path, taken, told["kind"] or BY_HAND, status.st_size)))
    return found


def _there_already(name: str) -> BackupError:
    return BackupError(f"{name} is there already; nothing is overwritten. Remove it, or name another file.")


def _age_s(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


# Which of the backups that were taken by themselves stay.
#
# Pure: a backup is its time here. Those that a person took are not asked about: they stay.


DAILY_KEPT = 7
WEEKLY_KEPT = 4  # weeks before those
MIGRATIONS_KEPT = 3


def daily_kept(times: Iterable[datetime]) -> set[datetime]:
    """Of the daily ones the newest DAILY_KEPT, and the newest of each of the last WEEKLY_KEPT weeks before theirs."""
    newest_first = sorted(set(times), reverse=True)
    kept = newest_first[:DAILY_KEPT]
    weeks: dict[tuple[int, int], datetime] = {}
    for taken_at in newest_first[DAILY_KEPT:]:
        if _week(taken_at) < _week(kept[-1]):
            weeks.setdefault(_week(taken_at), taken_at)
    return {*kept, *list(weeks.values())[:WEEKLY_KEPT]}


def before_migrations_kept(times: Iterable[datetime]) -> set[datetime]:
    """Of those taken before migrations the newest MIGRATIONS_KEPT."""
    return set(sorted(set(times), reverse=True)[:MIGRATIONS_KEPT])


def _week(time: datetime) -> tuple[int, int]:
    year, week, _ = time.isocalendar()
    return year, week
