"""The spool: one file for each job, and for what each session was shown, that the database couldn't take, until the
worker takes it in.

For the hooks, so standard library only, and for the worker. A file is there whole or not at all. Its `kind` says what
is in it; one without is a job.
"""

import os
import time

from playbook_db import settings

RESERVE_BYTES = 64 * 1024  # kept free for the spool, given up when the disk is full
SUFFIX = ".json"
SHOWING = "showing"  # the kind of what a session was shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def keep(content: "Mapping[str, object]") -> str:
    """Keep *content* in the spool; its file. On a full disk a job takes the room that is kept for it, which isn't spent
    on what a session was shown. Raises OSError where nothing can be written."""
    try:
        return _write(content)
    except OSError as error:
        import errno

        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or content.get("kind") == SHOWING:
            raise
        os.unlink(_reserve())
        return _write(content)


def keep_reserve() -> None:
    """Have some room on the disk that a job can take when there is none left."""
    path = _reserve()
    if os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(file, b"\0" * RESERVE_BYTES)
    finally:
        os.close(file)


def waiting() -> "list[str]":
    """The files in the spool, oldest first."""
    folder = settings.spool_dir()
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(SUFFIX)]


def _write(content: "Mapping[str, object]") -> str:
    import json

    folder = settings.spool_dir()
    for each in (settings.data_dir(), folder):  # the mode is the last folder's alone
        os.makedirs(each, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"{time.time():.6f}-{os.getpid()}{SUFFIX}")
    temporary = path + ".part"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(json.dumps(content).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    return path


def _reserve() -> str:
    return os.path.join(settings.data_dir(), "reserve")
