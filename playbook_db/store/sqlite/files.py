"""SQLite files as a whole: opened to read alone, copied while others write, put over one that others have open."""

import contextlib
import fcntl
import glob
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import BinaryIO
from urllib.parse import quote

from playbook_db import settings
from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError

BESIDE = ("-wal", "-shm", "-journal")  # what SQLite has beside a database file
# Where SQLite's message quotes a name that is damaged, the driver fails to make it a text.
DRIVER_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_NOT_A_DATABASE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_WAITS = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_RETRY_AFTER_S = 0.005  # when the write lock is taken


def open_to_read(path: str) -> sqlite3.Connection:
    """A connection to the file at *path* that can't change it, though others may.

    Raises DamagedError, DatabaseError.
    """
    try:
        try:
            return _opened(path, "mode=ro")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in _WAITS or os.path.exists(f"{path}-wal"):
                raise
            return _opened(path, "immutable=1")  # where nobody may write, SQLite can't make its own files either
    except DRIVER_ERRORS as error:
        raise translated(error, path) from error


def open_untouched(path: str) -> sqlite3.Connection:
    """A connection to a file that nobody has open: nothing is made beside it. Raises DamagedError, DatabaseError."""
    if has_log(path):
        return open_to_read(path)
    try:
        return _opened(path, "immutable=1")
    except DRIVER_ERRORS as error:
        raise translated(error, path) from error


def open_to_check(path: str) -> sqlite3.Connection:
    """A connection that writes nothing, for a check of the file at *path* while an `open_to_read` is open: closing the
    last connection that may write would work the log into the file.

    SQLite looks at no CHECK constraint where a file is opened for reading alone.
    """
    try:
        connection = _opened(path, "mode=rw")
    except DRIVER_ERRORS:
        return open_to_read(path)
    connection.execute("PRAGMA query_only = ON")
    return connection


def has_log(path: str) -> bool:
    """Whether there is something in the write-ahead log of the database file *path*."""
    return os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0


def schema_of(path: str) -> int:
    """The number of the schema that the file at *path*, which nobody has open, is at. Raises DatabaseError."""
    with closing(open_untouched(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def copy(source: sqlite3.Connection, target: str, *, thoroughly: bool = False) -> list[str]:
    """Copy what *source* reads into the empty file *target*: one state of it, without pages that were freed, in one
    file that needs no other to be read. What a check finds wrong with the copy, and *thoroughly* with the source's
    indexes too, which are made anew in the copy; the copy is on the disk."""
    source.text_factory = lambda data: data.decode("utf-8", "replace")  # a check may quote damaged names
    found = source.execute("PRAGMA integrity_check").fetchall() if thoroughly else []
    source.execute("VACUUM INTO ?", (target,))
    with closing(sqlite3.connect(target, isolation_level=None)) as made:
        made.text_factory = source.text_factory
        made.execute("PRAGMA journal_mode = DELETE")
        found += made.execute("PRAGMA quick_check").fetchall()
    to_disk(target)
    return [problem for (problem,) in found if problem != "ok"]


def put_over(source: str, path: str, *, before: Callable[[], object]) -> None:
    """Give the database in *path* the content of *source*, in one transaction, whoever has it open.

    *before* is called with the write lock held: what it reads is what is replaced. What it raises leaves all as it was.
    Raises DatabaseBusyError.
    """
    deadline = time.monotonic() + settings.LOCK_WAIT_S
    has_begun = False

    def at_step(status: int, _remaining: int, _total: int) -> None:
        nonlocal has_begun
        if status & 0xFF in _WAITS:
            if time.monotonic() > deadline:
                raise DatabaseBusyError(path, settings.LOCK_WAIT_S)
        elif not has_begun:
            has_begun = True
            before()

    with (
        closing(sqlite3.connect(source, isolation_level=None)) as new,
        closing(sqlite3.connect(path, timeout=settings.LOCK_WAIT_S, isolation_level=None)) as live,
    ):
        live.execute("PRAGMA journal_mode = WAL")  # else who writes keeps *before* from reading
        live.execute("PRAGMA busy_timeout = 0")  # SQLite's own wait loses to a crowd's short ones
        _take_page_size(new, live)
        (pages,) = new.execute("PRAGMA page_count").fetchone()
        # The first step takes the lock, the last commits: there must be one in between.
        new.backup(live, pages=max(1, pages // 4), progress=at_step, sleep=_RETRY_AFTER_S)


def is_damage(error: BaseException) -> bool:
    """Whether the driver's *error* says that the file isn't the database it should be."""
    if not isinstance(error, sqlite3.Error):
        return isinstance(error, UnicodeDecodeError)
    code = getattr(error, "sqlite_errorcode", None)
    return (code is not None and code & 0xFF in _NOT_A_DATABASE) or str(error).startswith(
        ("no such table", "no such column", "no such index", "Could not decode")
    )


def translated(error: Exception, path: str) -> DatabaseError:
    """What the driver's *error* about the file at *path* means to a user."""
    if is_damage(error):
        return DamagedError(path, str(error))
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _WAITS:
        return DatabaseBusyError(path, settings.LOCK_WAIT_S)
    return DatabaseError(f"{path} can't be opened: {error}.")


def _opened(path: str, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(os.path.abspath(path)))}?{options}",
        uri=True,
        timeout=settings.LOCK_WAIT_S,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _take_page_size(new: sqlite3.Connection, live: sqlite3.Connection) -> None:
    """Give *new* the page size of *live*: a write-ahead log can't hold another."""
    (wanted,) = live.execute("PRAGMA page_size").fetchone()
    if new.execute("PRAGMA page_size").fetchone() != (wanted,):
        new.execute(f"PRAGMA page_size = {wanted:d}")
        new.execute("VACUUM")


def to_disk(path: str) -> None:
    """Wait until the file or folder at *path* is on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# Another file in the place of a damaged database, which is moved aside with its log and never written into.
#
# The damaged file keeps its name until the new one takes it; it has its second name before, by which a swap that was
# killed in the middle is recognised and undone.


_KEPT = ("", "-wal", "-journal")  # of a database and what SQLite has beside it, what holds rows
# SQLite's locks on a database file: whoever has it open holds one of the shared bytes, and asks the pending byte
# first.
_PENDING_BYTE, _SHARED_FIRST, _SHARED_SIZE = 0x40000000, 0x40000002, 510
_RETRY_SWAP_AFTER_S = (0.01, 0.05)
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
        time.sleep(random.uniform(*_RETRY_SWAP_AFTER_S))  # noqa: S311 - no secret hangs on it
    raise DatabaseBusyError(path, _TRIES * _RETRY_SWAP_AFTER_S[1])


def state_of(path: str) -> State:
    """What tells whether somebody has written into the database file *path* or its log."""
    return tuple(_status(path + suffix) for suffix in _KEPT)


def swap(new: str, path: str, *, now: datetime, copied: State) -> str | None:
    """Put the file *new* in the place of the damaged *path*; where that is now. A kill leaves the one or the other.

    None, and nothing done, where it isn't as it was when it was *copied*. Raises DatabaseBusyError where another
    program keeps it open.
    """
    to_disk(new)
    aside = _free_name(path, now)
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with _held(path) as damaged:
            if state_of(path) != copied:
                return None
            _name_again(path, aside, damaged)
            # Before the new file comes in: a log that it found there would be taken for its own.
            _move_log(path, aside)
            to_disk(folder)
            shutil.copymode(path, new)
            os.replace(new, path)
        to_disk(folder)
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
            time.sleep(random.uniform(*_RETRY_SWAP_AFTER_S))  # noqa: S311 - no secret hangs on it
        yield file


def _name_again(path: str, aside: str, damaged: BinaryIO) -> None:
    """Give the file *path*, open as *damaged*, the name *aside* as well; a copy, where a file can't have two names."""
    try:
        os.link(path, aside)
    except OSError:
        with open(aside, "xb") as copy:  # from the open file: to open it once more, and close it, would drop the locks
            shutil.copyfileobj(damaged, copy)
        to_disk(aside)


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
