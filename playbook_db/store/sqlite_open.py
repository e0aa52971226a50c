"""Open the database in a hook, and name the database's files.

This module runs on Python 3.9 and later, and imports almost nothing. Opening never waits long and never migrates. The
hook handles the driver's errors.
"""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection as Connection
    from typing import Any

SCHEMA = 17  # the newest migration that this code knows, as in PRAGMA user_version
OLDEST_SQLITE = (3, 37, 0)  # the first with STRICT tables
_TOGETHER_S = 1  # changes of two files that are closer were made together: `chmod -R`, a copy of the whole folder
# A backup's name ends with this, after its database's name.
BACKUP_NAME = r"-(?P<time>\d{8}T\d{6}Z)(-(?P<number>\d+))?(\.(?P<kind>daily|before-restore|schema-\d+))?\.db"


class UnusableError(Exception):
    """An error for a database that this program can't use. If the database `is_old`, it needs a migration."""

    def __init__(self, text: str, *, is_old: bool = False) -> None:
        self.is_old = is_old
        super().__init__(text)


def connect(path: str, *, wait_s: float) -> "Connection":
    """Open the existing database file *path*. The connection can't write before `allow_writes` is called.

    On a full or read-only disk SQLite can't create its own files. The file is then read without them if it has no log.
    Never close the connection: closing the last connection moves the log into the file, which is slow. Raises
    UnusableError or the driver's Error.
    """
    try:
        return _open_file(path, "mode=rw", wait_s)
    except driver().Error as error:
        if "locked" in str(error) or not is_at_rest(path):
            raise
        return _open_file(path, "mode=ro&immutable=1", wait_s)


def file_of(url: str) -> "str | None":
    """Return the path of the SQLite database at *url*, or None for another kind of database. Resolve links, as SQLite
    keeps its log beside the real file. Needs no SQLAlchemy."""
    from playbook_db import settings

    path = settings.sqlite_file(url)
    return os.path.realpath(path) if path and os.path.islink(path) else path


def is_at_rest(path: str) -> bool:
    """Return whether the database file *path* has neither a log nor an unfinished transaction."""
    beside = [path + suffix for suffix in ("-wal", "-journal")]
    return not any(os.path.exists(each) and os.path.getsize(each) for each in beside)


def unwritable(path: "str | None") -> "str | None":
    """Return the file or folder that this user can't write: the data folder, the database or its folder; or None.

    *path* is the database file, or None for a database on a server.
    """
    from playbook_db import settings

    for each in [_nearest(settings.data_dir()), *([_nearest(os.path.dirname(path)), path] if path else [])]:
        if os.path.lexists(each) and not os.access(each, os.R_OK | os.W_OK | os.X_OK * os.path.isdir(each)):
            return each
    return None


def _nearest(folder: str) -> str:
    while not os.path.exists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def require_own_log(path: str) -> None:
    """Raise UnusableError if the log beside the database file *path* is another file's: SQLite would mix or remove it.

    Then the file was put there after the log, though none of the log's pages was moved into it. A program that keeps
    the time of the file (`cp -p`, rsync, Syncthing) can't keep the time of its inode (ctime).
    """
    log = f"{path}-wal"
    if not os.path.exists(log) or not os.path.getsize(log):
        return
    file_state, log_state = os.stat(path), os.stat(log)
    is_newer = file_state.st_mtime > log_state.st_mtime
    if not is_newer and file_state.st_ctime <= log_state.st_ctime + _TOGETHER_S:
        return
    with open(path, "rb") as file, open(log, "rb") as pages:
        size = int.from_bytes(pages.read(32)[8:12], "big")
        page = pages.read(24 + size)  # after 24 bytes that begin with its number
        while size and len(page) == 24 + size:
            file.seek((int.from_bytes(page[:4], "big") - 1) * size)
            if file.read(size) == page[24:]:
                return
            page = pages.read(24 + size)
    raise UnusableError(
        f"{path} was replaced beside a log of the former file, {log}. Both are as they were. To use the new file, move "
        f"the log away: mv {log} {log}.former; to keep the log's changes, put the former file back first. If only "
        f"the file's owner or mode was changed: touch {log}"
    )


def no_regular_file(path: str) -> "str | None":
    """Return the database file *path* or a file beside it, if that is not a regular file. Opening a pipe would
    block."""
    files = (path, f"{path}-journal", f"{path}-wal", f"{path}-shm")
    return next((file for file in files if os.path.exists(file) and not os.path.isfile(file)), None)


def _open_file(path: str, options: str, wait_s: float) -> "Connection":
    sqlite = driver()
    if tuple(map(int, sqlite.sqlite_version.split("."))) < OLDEST_SQLITE:
        raise UnusableError(
            f"{sys.executable} has SQLite {sqlite.sqlite_version}; playbook-db needs 3.37 or later. "
            "Install a newer Python, then run: playbook install"
        )
    if odd := no_regular_file(path):
        raise UnusableError(f"{odd} is not a regular file. Move it away, or set PLAYBOOK_DB_URL to another file")
    if not os.stat(path).st_size:  # SQLite would remove its log
        raise UnusableError(loss_of(path) or f"{path} is empty. Run: playbook init")
    require_own_log(path)
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection: Connection = sqlite.connect(f"file:{quoted}?{options}", timeout=wait_s, isolation_level=None, uri=True)
    try:
        _require_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def loss_of(path: str) -> str:
    """Return an error message if the file *path* is missing or empty but a log or a backup exists, else `""`."""
    if os.path.exists(path) and (os.path.getsize(path) or not os.path.isfile(path)):
        return ""
    path = os.path.realpath(path) if os.path.islink(path) else path  # other files are beside the real one
    log = f"{path}-wal"
    has_log = os.path.exists(log) and os.path.getsize(log) > 0
    backup = None if has_log else newest_backup(path)
    if not has_log and not backup:
        return ""
    from playbook_db import errors  # late: a first session doesn't need it

    if backup:
        return str(errors.database_lost(path, backup))
    return str(errors.DamagedError(path, "the file is missing or empty, but its log is not"))


def newest_backup(path: str) -> "str | None":
    """Return the newest backup of the database file *path*, or None. The time is in the backup's name."""
    folder, stem = backups_of(path)
    try:
        names = [name for name in os.listdir(folder) if name.startswith(f"{stem}-")]
    except OSError:
        return None
    if not names:
        return None
    import re  # late, as above

    from playbook_db.wrong_clock import is_ahead

    matches = [re.fullmatch(re.escape(stem) + BACKUP_NAME, name) for name in names]
    now_s = time.time()
    named = [(not is_ahead(m["time"], now_s), m["time"], int(m["number"] or 1), m.string) for m in matches if m]
    return os.path.join(folder, max(named)[3]) if named else None


def backups_of(path: str) -> "tuple[str, str]":
    """Return the folder for backups of the database file *path*, and the prefix of their names."""
    name = os.path.basename(path)
    stem = name[: -len(".db")] if name.endswith(".db") else name
    return os.path.join(os.path.dirname(os.path.abspath(path)), "backups"), stem


def replica_of(path: str, playbook_id: int) -> str:
    """Return the path of the replica of a team's playbook. *playbook_id* is the number of the project's own playbook in
    the database file *path*."""
    backups, stem = backups_of(os.path.realpath(path) if os.path.islink(path) else path)
    return os.path.join(os.path.dirname(backups), "teams", f"{stem}-{playbook_id}.db")


def open_replica(path: str) -> "Connection":
    """Open the replica *path* for reading. Raises UnusableError or the driver's Error."""
    try:
        return _open_file(path, "mode=ro&immutable=1", 0.0)
    except UnusableError:
        is_file = os.path.isfile(path)
        problem = "is not a replica of this version" if is_file else "is not a regular file; move it away"
        raise UnusableError(f"{path} {problem}. To create a new replica, run: playbook work", is_old=is_file) from None


def _require_schema(connection: "Connection", path: str) -> None:
    """Forbid writes. Raise UnusableError unless the file *path* is a playbook-db database with the schema SCHEMA."""
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")  # the file may be anybody's
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
        raise UnusableError(f"{path} is the database of another program. Set PLAYBOOK_DB_URL to another file")
    if version != SCHEMA:
        remedy = "Run: playbook db upgrade"
        if version > SCHEMA:
            remedy = "If a newer version wrote it, bring playbook-db up to date. Else see: playbook db check"
        message = f"{path} is at schema {version:04d}, this playbook-db needs {SCHEMA:04d}. {remedy}"
        raise UnusableError(message, is_old=version < SCHEMA)


def allow_writes(connection: "Connection") -> None:
    """Allow writes on *connection*."""
    connection.execute("PRAGMA query_only = OFF")
    connection.execute("PRAGMA wal_autocheckpoint = 0")  # only the worker checkpoints
    connection.execute("PRAGMA synchronous = NORMAL")


def driver() -> "Any":
    """Return the C module of SQLite's driver. (`import sqlite3` takes longer.)"""
    import _sqlite3

    return _sqlite3
