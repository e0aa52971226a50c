"""Writing files atomically and durably, and finding files that this package ships. Standard library only."""

import contextlib
import os

from playbook_db import platforms
from playbook_db.errors import PlaybookError, Remedy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def shipped_file(folder: str, name: str, *, what: str) -> str:
    """Return the path of the file *name* in *folder*, which this package ships. In a wheel, it is `_` and *folder*.

    Raises PlaybookError if this installation lacks the file, which *what* describes in the message.
    """
    for path in (os.path.join(_PACKAGE, f"_{folder}", name), os.path.join(os.path.dirname(_PACKAGE), folder, name)):
        if os.path.isfile(path):
            return path
    raise PlaybookError(f"This installation lacks {what}.", Remedy("Install playbook-db again."))


@contextlib.contextmanager
def alone(path: str) -> "Iterator[bool]":
    """Lock the file at *path* until the end of the `with` block. Yield whether the lock is ours. Creates the folder."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        yield platforms.lock(file)


def replace_file(
    path: str,
    data: bytes,
    *,
    mode: "int | None" = None,
    temporary: "str | None" = None,
    check: "Callable[[], None]" = lambda: None,
) -> None:
    """Replace the file at *path* with one that contains *data*, atomically and durably.

    Links are followed. An existing file keeps its mode and (if allowed) its
    owner. A new file gets *mode*, by default the umask's. Concurrent callers need a lock, or a *temporary* file each.
    *check* is called last: if it raises, the file isn't replaced. Raises OSError.
    """
    temporary = temporary or temporary_path(path)
    path = os.path.realpath(path)
    before = os.stat(path) if os.path.exists(path) else None
    if mode is None:
        mode = 0o666 & ~platforms.umask()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    try:
        write_new(temporary, data, like=before, mode=mode)
        check()
        replace_by(path, temporary)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_new(path: str, data: bytes, *, like: "os.stat_result | None", mode: int) -> None:
    """Create a file with *data*, durably. The file gets the mode and owner of *like*, or *mode* without *like*.

    Never follows a link, which a clone may contain. Raises FileExistsError, OSError.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "wb") as file:
        file.write(data)
        file.flush()
        platforms.set_rights(handle, mode, like=like)
        platforms.to_disk(handle)


def replace_by(path: str, new: str) -> None:
    """Move the file *new* to *path*, durably. Both must be on one file system. A kill leaves the old or the new file.

    Raises OSError.
    """
    to_disk(new)
    os.replace(new, path)
    to_disk(os.path.dirname(os.path.abspath(path)))


def to_disk(path: str) -> None:
    """Wait until the file or folder at *path* is written to the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        platforms.to_disk(handle)
    finally:
        os.close(handle)


def temporary_path(path: str) -> str:
    """Return the path of the temporary file for *path*. It never varies, so kills leave at most one such file."""
    return f"{os.path.realpath(path)}.tmp"
