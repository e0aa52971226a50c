"""The spool: files for jobs and showings that the database couldn't store, until the worker imports them.

Each session that began also has a file, with the path of its transcript. Hooks and the worker use this module, so it
needs the standard library only. A file is written whole or not at all. Its `kind` names its content; without a kind it
is a job. On a full disk, a job or a start overwrites a file of the reserve, whose blocks are already allocated.
"""

import os
import time

from playbook_db import settings

RESERVE_FILES, RESERVE_FILE_BYTES = 16, 4096
SUFFIX = ".json"
STARTED, ENDED = ".started", ".ended"  # of a session; an ENDED file's time is that of the end
SHOWING = "showing"  # the kind of a file with a showing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def keep(content: "Mapping[str, object]") -> str:
    """Write *content* to the spool and return the path of its file. On a full disk a job uses a file of the reserve; a
    showing doesn't. Raises OSError if nothing can be written."""
    import json

    path = os.path.join(settings.spool_dir(), f"{time.time():.6f}-{os.getpid()}{SUFFIX}")
    _write(path, json.dumps(content).encode("ascii"), uses_reserve=content.get("kind") != SHOWING)
    return path


def keep_start(session_id: str, content: bytes) -> None:
    """Record that the session began: *content* is JSON with its `project`, `folder` and `transcript_path`.

    A session whose id isn't a plain name is ignored. Raises OSError if nothing can be written.
    """
    path = _of_session(session_id, STARTED)
    if not path:
        return
    try:
        os.utime(path)  # it was resumed or compacted
    except FileNotFoundError:
        _write(path, content, uses_reserve=True, waits=False)
        keep_reserve()


def read_start(session_id: str) -> "dict[str, str]":
    """Return the record of the session's start, or an empty one if there is none."""
    import json  # late: the session's folder is rarely gone

    from playbook_db.projects import read_plain

    for suffix in (STARTED, ENDED):
        try:
            start = json.loads(read_plain(_of_session(session_id, suffix)))
            return {str(name): str(value) for name, value in start.items()}
        except (OSError, ValueError, AttributeError, RecursionError):
            pass  # it isn't on record, or was written by half
    return {}


def note_end(session_id: str, *, is_kept: bool) -> None:
    """Record that the session has ended, so that later lines of its transcript don't count. Unless *is_kept*, remove
    the session's record, so that nothing is learned from it."""
    path = _of_session(session_id, STARTED)
    try:
        if is_kept:
            os.utime(path)
            os.rename(path, _of_session(session_id, ENDED))
        else:
            os.unlink(path)
    except OSError:
        pass  # its start isn't on record


def keep_reserve() -> None:
    """Create missing files of the reserve, while the disk has room. On a full disk they can be overwritten."""
    if os.path.exists(_reserve(0)):
        return
    try:
        for number in reversed(range(RESERVE_FILES)):  # 0 is created last and used first, so it means that all exist
            if not os.path.exists(_reserve(number)):
                _write(_reserve(number), b" " * RESERVE_FILE_BYTES, uses_reserve=False, waits=False)
    except OSError:
        pass  # each hook and worker tries again


def is_disk_full() -> bool:
    """Return whether the disk is full and the reserve is used up."""
    try:
        is_full = not os.statvfs(settings.claude_dir()).f_bavail
    except OSError:
        return False
    return is_full and not any(os.path.exists(_reserve(number)) for number in range(RESERVE_FILES))


def waiting(suffix: "str | tuple[str, ...]" = SUFFIX) -> "list[str]":
    """List the files in the spool, oldest first: jobs and showings, or only files that end with *suffix*."""
    folder = settings.spool_dir()
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(suffix)]


def _write(path: str, data: bytes, *, uses_reserve: bool, waits: bool = True) -> None:
    """Write *data* to *path*. With *waits*, wait until the data is on the disk. On a full disk, overwrite a file of the
    reserve. If even that needs room, delete files of the reserve."""
    reserve = range(RESERVE_FILES) if uses_reserve and len(data) <= RESERVE_FILE_BYTES else ()
    for taken in (None, *reserve, None):
        try:
            return _write_into(taken, path, data, waits=waits)
        except OSError as error:
            import errno  # late: mostly all goes well

            if error.errno == errno.ENOENT and taken is None:
                for folder in (settings.data_dir(), settings.spool_dir()):  # the mode is the last folder's alone
                    os.makedirs(folder, mode=0o700, exist_ok=True)
            elif error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.ENOENT):  # ENOENT: another hook used that file
                raise
            problem = error
    raise problem


def _write_into(taken: "int | None", path: str, data: bytes, *, waits: bool) -> None:
    temporary = f"{path}.{os.getpid()}.part"
    try:
        if taken is not None:
            os.rename(_reserve(taken), temporary)
        file = os.open(temporary, os.O_WRONLY | (os.O_CREAT | os.O_EXCL if taken is None else 0), 0o600)
        try:
            while data:
                data = data[os.write(file, data) :]
            if waits:
                os.fsync(file)
        finally:
            os.close(file)
        os.rename(temporary, path)
        if waits:
            from playbook_db.files import to_disk  # late: mostly the database can be written

            to_disk(os.path.dirname(path))
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def _of_session(session_id: str, suffix: str) -> str:
    is_name = session_id.isascii() and session_id.replace("-", "").replace("_", "").isalnum()
    return os.path.join(settings.spool_dir(), session_id + suffix) if is_name else ""


def _reserve(number: int) -> str:
    return os.path.join(settings.spool_dir(), f"reserve-{number:02}")
