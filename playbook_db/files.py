"""Writing a file whole or not at all."""

import contextlib
import os
import stat

from playbook_db.store.sqlite.files import to_disk


def replace_file(path: str, data: bytes) -> None:
    """Put *data* in the place of the file at *path*: whole or not at all, and on the disk when this returns.

    A link is followed to its file; an existing file keeps its mode. Two callers at once must hold a lock.
    Raises OSError.
    """
    temporary = temporary_path(path)
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o666 & ~_umask()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    try:
        # Made anew and never through a link: a clone may bring a link of that name.
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    to_disk(folder)


def temporary_path(path: str) -> str:
    """Where the file at *path* is written before it takes its place; one name, so that a kill leaves one at most."""
    return f"{os.path.realpath(path)}.tmp"


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
