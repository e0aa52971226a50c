"""The spool: files for jobs and showings that the database couldn't store, until the worker imports them.

Each session that began also has a file, with the path of its transcript. Hooks and the worker use this module, so it
needs the standard library only. A file is written whole or not at all. Its `kind` names its content; without a kind it
is a job. If even the spool can't be written, the worker later finds the session by the record of its start.
"""

import json
import os
import time

from playbook_db import settings

SUFFIX = ".json"
STARTED, ENDED = ".started", ".ended"  # of a session; an ENDED file's time is that of the end
SHOWING = "showing"  # the kind of a file with a showing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def keep(content: "Mapping[str, object]") -> str:
    """Write *content* to the spool and return the path of its file. Raises OSError if it can't be written."""
    path = os.path.join(settings.spool_dir(), f"{time.time():.6f}-{os.getpid()}{SUFFIX}")
    _write(path, json.dumps(content).encode("ascii"))
    return path


def keep_start(session_id: str, content: bytes) -> None:
    """Record that the session began: *content* is JSON with its `project`, `folder` and `transcript_path`.

    A session whose id isn't a plain name is ignored. Raises OSError if it can't be written.
    """
    path = _of_session(session_id, STARTED)
    if not path:
        return
    try:
        os.utime(path)  # it was resumed or compacted
    except FileNotFoundError:
        _write(path, content, waits=False)


def read_start(session_id: str) -> "dict[str, str]":
    """Return the record of the session's start, or an empty one if there is none."""
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


def waiting(suffix: "str | tuple[str, ...]" = SUFFIX) -> "list[str]":
    """List the files in the spool, oldest first: jobs and showings, or only files that end with *suffix*."""
    folder = settings.spool_dir()
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(suffix)]


def _write(path: str, data: bytes, *, waits: bool = True) -> None:
    """Write *data* to *path*. With *waits*, wait until the data is on the disk."""
    for folder in (settings.data_dir(), settings.spool_dir()):  # the mode is the last folder's alone
        os.makedirs(folder, mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.part"
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
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
