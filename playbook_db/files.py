"""Writing files whole or not at all, and making sure that they are on the disk. Standard library only."""

import contextlib
import os
import stat


def replace_file(path: str, data: bytes) -> None:
    """Put *data* in the place of the file at *path*: whole or not at all, and on the disk when this returns.

    A link is followed to its file; an existing file keeps its mode. Two callers at once must hold a lock.
    Raises OSError.
    """
    temporary = temporary_path(path)
    path = os.path.realpath(path)
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o666 & ~_umask()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    try:
        # Made anew and never through a link: a clone may bring a link of that name.
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        replace_by(path, temporary)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def replace_by(path: str, new: str) -> None:
    """Let the file *new*, on the same file system, take the place of *path*; on the disk when this returns.

    A kill leaves the one or the other at *path*. Raises OSError.
    """
    to_disk(new)
    os.replace(new, path)
    to_disk(os.path.dirname(os.path.abspath(path)))


def to_disk(path: str) -> None:
    """Wait until the file or folder at *path* is on the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def temporary_path(path: str) -> str:
    """Where the file at *path* is written before it takes its place; one name, so that a kill leaves one at most."""
    return f"{os.path.realpath(path)}.tmp"


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
