"""Another file in the place of a damaged database, which is moved aside with its log and never written into.

The damaged file keeps its name until the new one takes it; it has its second name before, by which a swap that was
killed in the middle is recognised and undone.
"""

import contextlib
import fcntl
import glob
import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import BinaryIO

from playbook_db import settings
from playbook_db.errors import DatabaseBusyError, DatabaseError
from playbook_db.store import sqlite_copies
from playbook_db.store.sqlite_copies import BESIDE

_KEPT = ("", "-wal", "-journal")  # of a database and what SQLite has beside it, what holds rows
# SQLite's locks on a database file: whoever has it open holds one of the shared bytes, and asks the pending byte first.
_PENDING_BYTE, _SHARED_FIRST, _SHARED_SIZE = 0x40000000, 0x40000002, 510
_RETRY_AFTER_S = (0.01, 0.05)
_TRIES = 20  # at a copy that nobody wrote into meanwhile

State = tuple[tuple[int, int, int] | None, ...]


def take_back(path: str) -> None:
    """Undo a swap that was killed before the new file had the name: give the damaged one its log back."""
    for aside in glob.glob(f"{glob.escape(path)}.damaged-*"):
        if aside.endswith(BESIDE) or not (os.path.exists(path) and os.path.samefile(path, aside)):
            continue
        for suffix in BESIDE:
            if os.path.exists(aside + suffix) and not os.path.exists(path + suffix):
                os.rename(aside + suffix, path + suffix)
        if not any(os.path.exists(aside + suffix) for suffix in BESIDE):
            os.unlink(aside)


def copy_to(path: str, target: str) -> State:
    """Copy the database file *path* and its log, byte for byte, to *target*; how they looked at that time.

    Of a log whose file is gone, the file is empty.
    """
    for _ in range(_TRIES):
        before = state_of(path)
        for suffix in _KEPT:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target + suffix)
            if os.path.exists(path + suffix):
                shutil.copyfile(path + suffix, target + suffix)
            elif not suffix:
                open(target, "xb").close()
        if state_of(path) == before:
            return before
        time.sleep(random.uniform(*_RETRY_AFTER_S))  # noqa: S311 - no secret hangs on it
    raise DatabaseBusyError(path, _TRIES * _RETRY_AFTER_S[1])


def state_of(path: str) -> State:
    """What tells whether somebody has written into the database file *path* or its log."""
    return tuple(_status(path + suffix) for suffix in _KEPT)


def swap(new: str, path: str, *, now: datetime, copied: State) -> str | None:
    """Put the file *new* in the place of the damaged *path*; where that is now. A kill leaves the one or the other.

    None, and nothing done, where it isn't as it was when it was *copied*. Raises DatabaseBusyError where another
    program keeps it open.
    """
    sqlite_copies.to_disk(new)
    aside = _free_name(path, now)
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with _held(path) as damaged:
            if state_of(path) != copied:
                return None
            _name_again(path, aside, damaged)
            # Before the new file comes in: a log that it found there would be taken for its own.
            _move_log(path, aside)
            sqlite_copies.to_disk(folder)
            shutil.copymode(path, new)
            os.replace(new, path)
        sqlite_copies.to_disk(folder)
    except OSError as error:
        take_back(path)
        raise DatabaseError(f"{path} can't be replaced: {error.strerror}. It is as it was.") from error
    return aside


def move_leftovers(path: str, *, now: datetime) -> tuple[str, ...]:
    """Move aside the log of a database file that is gone: a new file would be given what it holds. Where it is now."""
    aside = _free_name(path, now)
    _move_log(path, aside)
    return with_log(aside)


def with_log(aside: str) -> tuple[str, ...]:
    """The files that there are of the database that was moved *aside*."""
    return tuple(aside + suffix for suffix in ("", *BESIDE) if os.path.lexists(aside + suffix))


def _move_log(path: str, aside: str) -> None:
    for suffix in BESIDE:
        if os.path.lexists(path + suffix):
            os.rename(path + suffix, aside + suffix)


@contextmanager
def _held(path: str) -> Iterator[BinaryIO]:
    """Keep every SQLite off the file, so that no other connection has it open or opens it while its name changes."""
    deadline = time.monotonic() + settings.LOCK_WAIT_S
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "rb+") as file:  # made where only its log is left
        while True:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _PENDING_BYTE)
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
                break
            except (BlockingIOError, PermissionError) as error:
                fcntl.lockf(file, fcntl.LOCK_UN, 1, _PENDING_BYTE)
                if time.monotonic() > deadline:
                    raise DatabaseBusyError(path, settings.LOCK_WAIT_S) from error
            time.sleep(random.uniform(*_RETRY_AFTER_S))  # noqa: S311 - no secret hangs on it
        yield file


def _name_again(path: str, aside: str, damaged: BinaryIO) -> None:
    """Give the file *path*, open as *damaged*, the name *aside* as well; a copy, where a file can't have two names."""
    try:
        os.link(path, aside)
    except OSError:
        with open(aside, "xb") as copy:  # from the open file: to open it once more, and close it, would drop the locks
            shutil.copyfileobj(damaged, copy)
        sqlite_copies.to_disk(aside)


def _status(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _free_name(path: str, now: datetime) -> str:
    """A name beside *path* for it and its log that nothing has yet."""
    wanted = f"{path}.damaged-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    number, name = 1, wanted
    while any(os.path.lexists(name + suffix) for suffix in ("", *BESIDE)):
        number += 1
        name = f"{wanted}-{number}"
    return name
