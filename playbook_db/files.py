"""Writing files whole or not at all, making sure that they are on the disk, and finding those that come with our code.

Standard library only.
"""

import contextlib
import os

from playbook_db import platforms
from playbook_db.errors import PlaybookError, Remedy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def shipped_file(folder: str, name: str, *, what: str, error: "type[PlaybookError]") -> str:
    """The file *name* in *folder* of the repository: in the installed package (`_hooks` for `hooks`), else in the
    checkout. Raises *error* where this installation lacks it, which is *what*."""
    for path in (os.path.join(_PACKAGE, f"_{folder}", name), os.path.join(os.path.dirname(_PACKAGE), folder, name)):
        if os.path.isfile(path):
            return path
    raise error(f"This installation lacks {what}.", Remedy("Install playbook-db once more."))


@contextlib.contextmanager
def alone(path: str) -> "Iterator[bool]":
    """Whether this process alone holds the lock file at *path*, in a folder of ours; the system lets go of it when the
    process ends, however it does."""
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
    """Put *data* in the place of the file at *path*: whole or not at all, and on the disk when this returns.

    A link is followed to its file; an existing file keeps its mode and, where we may, its owner; a new one gets *mode*,
    else what the umask leaves. Two callers at once must hold a lock, or name each a *temporary* file of its own. What
    *check* raises at the last moment leaves the file as it is. Raises OSError.
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
    """Write *data* to a new file, with mode and owner of the file *like*, else with *mode*; on the disk when this
    returns. Never through a link: a clone may bring one of that name. Raises FileExistsError, OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "wb") as file:
        file.write(data)
        file.flush()
        platforms.set_rights(handle, mode, like=like)
        platforms.to_disk(handle)


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
        platforms.to_disk(handle)
    finally:
        os.close(handle)


def temporary_path(path: str) -> str:
    """Where the file at *path* is written before it takes its place; one name, so that a kill leaves one at most."""
    return f"{os.path.realpath(path)}.tmp"
