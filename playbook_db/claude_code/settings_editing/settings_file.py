"""Claude Code's settings files on the disk: read, replaced whole or not at all, copied beside before a change.

The files are the user's, and other programs write them too: nothing is replaced but what was read. A link is followed
and stays a link. Every error is an InstallError.
"""

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from datetime import datetime

from playbook_db.errors import InstallError

_COPY = re.compile(r"\.before-playbook-\d{8}T\d{6}Z(-\d+)?")


class ChangedMeanwhileError(Exception):
    """Another program has written the file since it was read; it was left as that program wrote it."""


def read(path: str) -> bytes | None:
    """The file's bytes; None where there is no file."""
    with _explained(path, "read"):
        try:
            with open(path, "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None


def replace(path: str, data: bytes, *, expected: bytes | None, private: bool) -> None:
    """Put *data* in the place of the file, which holds *expected*; None: there is none yet, and it is made.

    An existing file keeps its mode; a new one is for the user alone where *private*. Raises ChangedMeanwhileError.
    """
    with _explained(path, "written"):
        os.makedirs(os.path.dirname(path), mode=0o700 if private else 0o777, exist_ok=True)
        real = os.path.realpath(path)
        before = os.stat(real) if expected is not None else None
        if before and not os.access(real, os.W_OK):
            raise PermissionError(None, "it is write-protected")
        handle, temporary = tempfile.mkstemp(
            prefix=f"{os.path.basename(real)}.", suffix=".tmp", dir=os.path.dirname(real)
        )
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                _take_over(file.fileno(), before, mode=0o600 if private else 0o644)
                os.fsync(file.fileno())
            if read(path) != expected:
                raise ChangedMeanwhileError
            os.replace(temporary, real)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def remove(path: str, *, expected: bytes) -> None:
    """Remove the file, which holds *expected*. Raises ChangedMeanwhileError."""
    if read(path) != expected:
        raise ChangedMeanwhileError
    with _explained(path, "removed"):
        os.unlink(os.path.realpath(path))


def keep_copy(path: str, data: bytes, now: datetime) -> str:
    """Keep *data*, what the file holds, in a new file beside it, with its mode; that file's path."""
    stamped = f"{path}.before-playbook-{now:%Y%m%dT%H%M%SZ}"
    number, copy = 1, stamped
    with _explained(stamped, "written"):
        mode = stat.S_IMODE(os.stat(path).st_mode)
        while True:
            try:
                handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
                break
            except FileExistsError:
                number += 1
                copy = f"{stamped}-{number}"
        with open(handle, "wb") as file:
            file.write(data)
            _take_over(file.fileno(), os.stat(path), mode=mode)
            os.fsync(file.fileno())
    return copy


def copies(path: str) -> list[str]:
    """The copies that `keep_copy` has left beside the file, the oldest first."""
    folder, name = os.path.split(path)
    with _explained(folder, "read"):
        beside = os.listdir(folder) if os.path.isdir(folder) else []
    found = [other for other in beside if other.startswith(name) and _COPY.fullmatch(other, len(name))]
    return [os.path.join(folder, other) for other in sorted(found, key=lambda one: (len(one), one))]


def discard(copy: str) -> None:
    """Remove a copy that nobody needs any more."""
    with _explained(copy, "removed"), contextlib.suppress(FileNotFoundError):
        os.unlink(copy)


def _take_over(handle: int, before: os.stat_result | None, *, mode: int) -> None:
    """Give an open file the mode and, where we may, the owner of the one whose place it takes."""
    if before is not None:
        with contextlib.suppress(PermissionError):  # under sudo, the user's settings stay the user's
            os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode) if before is not None else mode)


@contextlib.contextmanager
def _explained(path: str, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        at = error.filename if isinstance(error.filename, str) and error.filename != path else None
        where = f" (at {at})" if at else ""
        raise InstallError(
            f"{path} can't be {done}: {error.strerror or error}{where}. Correct that, and run the command again."
        ) from error
