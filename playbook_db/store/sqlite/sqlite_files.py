"""Open, copy and replace whole SQLite files, even while other processes use them."""

import contextlib
import glob
import itertools
import os
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from importlib import resources
from typing import Literal
from urllib.parse import quote

from playbook_db import platforms, settings
from playbook_db.errors import DamagedError, DatabaseBusyError, DatabaseError, DiskError
from playbook_db.files import replace_by, to_disk
from playbook_db.store.sqlite_open import UnusableError, is_at_rest, require_own_log, unwritable

Access = Literal["read", "at rest", "check", "write"]

APPLICATION_ID = 0x504C4244  # "PLBD", so that `file playbook.db` can identify a database
# The schema, the id of the program that created the file, the number of tables and indexes.
VERSIONS = "SELECT * FROM pragma_user_version, pragma_application_id, (SELECT count(*) FROM sqlite_master)"
BESIDE = ("-wal", "-shm", "-journal")  # SQLite's files beside a database
# UnicodeDecodeError: SQLite's message quotes a damaged name.
DRIVER_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_NOT_A_DATABASE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_OF_THE_DISK = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL)
_NO_SHARED_MEMORY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR_SHMMAP, sqlite3.SQLITE_IOERR_SHMOPEN)
_ELSEWHERE = "Let PLAYBOOK_DB_URL name a file on a disk of this machine"
_LEAST_FREE_BYTES = 64 * 1024  # free on the disk; SQLite's own files need them
_RETRY_AFTER_S = 0.005  # between tries to get the write lock


class AsItStands(sqlite3.Connection):
    """A connection to a file on a read-only disk. It uses no locks and doesn't see later writes, so never pool it."""


def open_file(path: str, access: Access, *, wait_s: float | None = None) -> sqlite3.Connection:
    """Return a connection to the existing SQLite file *path*. It waits *wait_s* seconds (default: LOCK_WAIT_S) for
    locks.

    The connection begins no transactions by itself. With the *access* `read` it can't change the file. `at rest` is for
    a file that no process has open: it creates no files beside the database. `check` opens the file for writing but
    never writes: SQLite checks no constraints in a read-only file. Keep a `read` connection open as well; else closing
    the `check` connection would move the log into the file. Raises DamagedError, DatabaseBusyError, DatabaseError.
    """
    wait_s = settings.LOCK_WAIT_S if wait_s is None else wait_s
    with explained(path, "can't be opened"):
        if access == "write":
            connection = _open(path, "mode=rw", wait_s)
            connection.execute("PRAGMA checkpoint_fullfsync = ON")  # only macOS needs this, to keep the order of writes
            return connection
        if access == "at rest" and not has_log(path):
            return _open(path, "mode=ro&immutable=1", wait_s)
        if access == "check":
            with contextlib.suppress(*DRIVER_ERRORS):
                connection = _open(path, "mode=rw", wait_s)
                connection.execute("PRAGMA query_only = ON")
                return connection
        try:
            return _open(path, "mode=ro", wait_s)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:  # a killed process left half a transaction
                _open(path, "mode=rw", wait_s).close()  # only a connection that may write undoes it
                return _open(path, "mode=ro", wait_s)
            if error.sqlite_errorcode & 0xFF in _BUSY or not is_at_rest(path):
                raise
            # On a read-only disk SQLite can't create its own files either.
            return _open(path, "mode=ro&immutable=1", wait_s)


@contextmanager
def explained(
    where: str,
    problem: str = "can't be used",
    *,
    end: str = "Nothing was changed.",
    of_files: bool = False,
) -> Iterator[None]:
    """Translate errors of SQLite into ours, and with *of_files* also errors of the file system. Don't translate bugs.

    Damage becomes DamagedError, a long lock DatabaseBusyError, SQLite's errors of the disk DiskError, and any other
    error DatabaseError with the text "*where* *problem*: the reason. *end*".
    """
    handled: tuple[type[Exception], ...] = (*_wrappers(), OSError, *DRIVER_ERRORS)
    try:
        yield
    except handled as error:
        cause = getattr(error, "orig", None) or error
        if isinstance(cause, OSError):
            if not of_files:
                raise
            raise DatabaseError(
                f"{where} {problem}: {_trouble_of_disk(where) or cause.strerror or cause}. {end}"
            ) from error
        if _is_damage(cause):
            raise DamagedError(where, str(cause)) from error
        if not isinstance(cause, sqlite3.OperationalError):
            raise
        if cause.sqlite_errorcode & 0xFF in _BUSY:
            raise DatabaseBusyError(where, settings.LOCK_WAIT_S) from error
        of_disk, kind = None, DatabaseError
        if cause.sqlite_errorcode & 0xFF in _OF_THE_DISK:
            of_disk, kind = _trouble_of_disk(where), DiskError
            if not of_disk and cause.sqlite_errorcode in _NO_SHARED_MEMORY:
                of_disk = f"{cause}. Its folder lacks what SQLite needs: shared memory. {_ELSEWHERE}"
        raise kind(f"{where} {problem}: {of_disk or cause}. {end}") from error


def _wrappers() -> tuple[type[Exception], ...]:
    """Return SQLAlchemy's class for driver errors if SQLAlchemy is loaded. Importing it takes most of a command's
    time."""
    module = sys.modules.get("sqlalchemy.exc")
    return (module.DBAPIError,) if module else ()


def _trouble_of_disk(path: str) -> str | None:
    """Return the reason why the disk of *path* accepts no writes, or None if the disk reports no reason."""
    if obstacle := unwritable(path):
        return "; to mend that: ".join(platforms.why_unwritable(obstacle, settings.data_dir()))
    try:
        disk = os.statvfs(os.path.dirname(os.path.abspath(path)))
    except OSError:
        return None
    return "its disk is full" if disk.f_bavail * disk.f_frsize < _LEAST_FREE_BYTES else None


def _is_damage(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    of_index = "vtable constructor failed", "no such tokenizer", "invalid fts5 file format"
    says_so = ("no such table", "no such column", "no such index", "Could not decode", *of_index)
    return isinstance(error, UnicodeDecodeError) or code in _NOT_A_DATABASE or str(error).startswith(says_so)


def has_log(path: str) -> bool:
    """Return whether the database file *path* has a write-ahead log that isn't empty."""
    return os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0


def lock_path(path: str) -> str:
    """Return the path of the file to lock before the schema or the whole content of the database *path* is replaced."""
    return f"{path}.upgrade.lock"


@contextmanager
def without_new_log(path: str) -> Iterator[None]:
    """Remove log files that a reader of the database *path* creates. The reader itself can't remove them."""
    had_log = os.path.exists(f"{path}-wal")
    try:
        yield
    finally:
        if not had_log:
            with contextlib.suppress(OSError, DatabaseError):
                if os.path.getsize(f"{path}-wal") == 0:  # SQLite removes the log unless others have the file open
                    open_file(path, "write", wait_s=0).close()


def _open(path: str, options: str, wait_s: float) -> sqlite3.Connection:
    try:
        require_own_log(path)
    except UnusableError as error:
        raise DatabaseError(f"{error}.") from error
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(os.path.abspath(path)))}?{options}",
        uri=True,
        timeout=wait_s,
        isolation_level=None,
        check_same_thread=False,
        factory=AsItStands if "immutable" in options else sqlite3.Connection,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")  # the file may be anybody's
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def copy(path: str, target: str, *, at_rest: bool) -> None:
    """Copy the database file *path*, without free pages, into the empty file *target*. Sync the copy to disk.

    The copy is checked. If *path* is *at_rest*, its indexes are checked first, as copying rebuilds them. Raises
    DamagedError, DatabaseError.
    """
    with closing(open_file(path, "at rest" if at_rest else "read")) as source:
        problems = _check(source, "integrity_check") if at_rest else []
        source.execute("VACUUM INTO CAST(? AS TEXT)", (os.fsencode(target),))  # a name need not be UTF-8
    with closing(open_file(target, "write")) as target_file:
        problems += _check(target_file, "quick_check")
    if problems:
        raise DamagedError(path, problems[0])
    to_disk(target)


def _check(connection: sqlite3.Connection, pragma: str) -> list[str]:
    connection.text_factory = lambda data: data.decode("utf-8", "replace")  # a check may quote damaged names
    return [problem for (problem,) in connection.execute(f"PRAGMA {pragma}") if problem != "ok"]


def put_over(source: str, path: str, *, before: Callable[[], object]) -> None:
    """Replace the content of the database *path* with that of *source*. Other processes may have the database open.

    This is one transaction. *before* runs under the write lock, so it reads the content that will be replaced. If
    *before* raises an error, nothing changes. Raises DatabaseBusyError.
    """
    deadline = time.monotonic() + settings.LOCK_WAIT_S
    has_begun = False

    def at_step(status: int, _remaining: int, _total: int) -> None:
        nonlocal has_begun
        if status & 0xFF in _BUSY:
            if time.monotonic() > deadline:
                raise DatabaseBusyError(path, settings.LOCK_WAIT_S)
        elif not has_begun:
            has_begun = True
            before()

    with closing(open_file(source, "write")) as new, closing(open_file(path, "write")) as live:
        live.execute("PRAGMA journal_mode = WAL")  # in other modes a writer prevents *before* from reading
        live.execute("PRAGMA busy_timeout = 0")  # SQLite's own wait would be longer than those of other writers
        (page_bytes,) = live.execute("PRAGMA page_size").fetchone()
        if new.execute("PRAGMA page_size").fetchone() != (page_bytes,):  # a write-ahead log can't mix sizes
            new.execute("PRAGMA journal_mode = DELETE")
            new.execute(f"PRAGMA page_size = {page_bytes:d}")
            new.execute("VACUUM")
        (pages,) = new.execute("PRAGMA page_count").fetchone()
        # The first step takes the lock, and the last one commits. There must be a step in between.
        new.backup(live, pages=max(1, pages // 4), progress=at_step, sleep=_RETRY_AFTER_S)


def statements(file_name: str) -> list[str]:
    """Return the SQL statements in a file of the store, such as `views.sql`."""
    complete, statement = [], ""
    sql = resources.files("playbook_db.store").joinpath(file_name).read_text(encoding="utf-8")
    for line in sql.splitlines(keepends=True):
        if statement or not (line.startswith("--") or line.isspace()):
            statement += line
        if sqlite3.complete_statement(statement):
            complete.append(statement.strip().rstrip(";"))
            statement = ""
    return complete


# Replace a damaged database with a new file. The damaged file is renamed with its log, and never written. First it gets
# a second name, so that the next process can recognize and undo an unfinished replacement.


_SUFFIXES = ("", "-wal", "-journal")  # of the files that contain rows
# The bytes of a database file that SQLite locks: a connection asks for the pending byte, then locks a shared byte.
_PENDING_BYTE, _SHARED_FIRST, _SHARED_SIZE = 0x40000000, 0x40000002, 510
_RETRY_SWAP_AFTER_S = (0.01, 0.05)
_TRIES = 20  # tries to copy without a write meanwhile

State = tuple[tuple[int, int, int] | None, ...]


def undo_swap(path: str) -> None:
    """Undo an unfinished `swap` of a killed process: give the damaged file its log back."""
    for aside in glob.glob(f"{glob.escape(path)}.damaged-*"):
        if aside.endswith(BESIDE) or not (os.path.exists(path) and os.path.samefile(path, aside)):
            continue
        for suffix in BESIDE:
            if os.path.exists(aside + suffix) and not os.path.exists(path + suffix):
                os.rename(aside + suffix, path + suffix)
        if not any(os.path.exists(aside + suffix) for suffix in BESIDE):
            os.unlink(aside)


def copy_to(path: str, target: str) -> State:
    """Copy the bytes of the database file *path*, which may be missing, and its log to *target*. Return their state."""
    for _ in range(_TRIES):
        before = state_of(path)
        for suffix in _SUFFIXES:
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
    """Return a value that changes whenever the database file *path* or its log is written."""
    state: list[tuple[int, int, int] | None] = []
    for suffix in _SUFFIXES:
        try:
            status = os.stat(path + suffix)
            state.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except FileNotFoundError:
            state.append(None)
    return tuple(state)


def swap(new: str, path: str, *, now: datetime, copied: State) -> str | None:
    """Replace the damaged file *path* with the file *new*. Return the damaged file's new path. If the process is
    killed, *path* is one of the two files.

    If *path* has changed since the state *copied*, do nothing and return None. Raises DatabaseBusyError if another
    program keeps *path* open.
    """
    aside = _free_name(path, now)
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with _held(path):
            if state_of(path) != copied:
                return None
            os.link(path, aside)
            # The log must move first: SQLite would use it for the new file.
            _move_log(path, aside)
            to_disk(folder)
            shutil.copymode(path, new)
            replace_by(path, new)
    except OSError as error:
        undo_swap(path)
        raise DatabaseError(f"{path} can't be replaced: {error.strerror}. It was not changed.") from error
    return aside


def move_leftovers(path: str, *, now: datetime) -> tuple[str, ...]:
    """Rename the log of a lost database file, so that SQLite won't use the log for a new file. Return the new paths."""
    aside = _free_name(path, now)
    _move_log(path, aside)
    return with_log(aside)


def with_log(aside: str) -> tuple[str, ...]:
    """Return the renamed database *aside* and SQLite's files beside it, if they exist."""
    return tuple(aside + suffix for suffix in ("", *BESIDE) if os.path.lexists(aside + suffix))


def _move_log(path: str, aside: str) -> None:
    for suffix in BESIDE:
        if os.path.lexists(path + suffix):
            os.rename(path + suffix, aside + suffix)


@contextmanager
def _held(path: str) -> Iterator[None]:
    """Lock the file *path* so that no other connection uses it in the `with` block."""
    deadline = time.monotonic() + settings.LOCK_WAIT_S
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "rb+") as file:  # creates the file if only its log exists
        while not platforms.lock_bytes(file, (_PENDING_BYTE, 1), (_SHARED_FIRST, _SHARED_SIZE)):
            if time.monotonic() > deadline:
                raise DatabaseBusyError(path, settings.LOCK_WAIT_S)
            time.sleep(random.uniform(*_RETRY_SWAP_AFTER_S))  # noqa: S311 - no secret hangs on it
        yield


def _free_name(path: str, now: datetime) -> str:
    first = f"{path}.damaged-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    names = itertools.chain([first], (f"{first}-{number}" for number in itertools.count(2)))
    return next(name for name in names if not with_log(name))
