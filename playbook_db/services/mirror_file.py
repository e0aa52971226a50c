"""The file of a mirror itself: read with care, replaced whole, moved aside, one writer at a time."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime

from playbook_db import settings
from playbook_db.errors import MirrorError, PlaybookFileError
from playbook_db.services import whole_file


def read(path: str, project_folder: str) -> bytes | None:
    """The bytes of the mirror at *path*, None where there is no file.

    Raises MirrorError where it is a link out of the project, no plain file, too large or not to be read.
    """
    target = os.path.realpath(path)
    root = os.path.realpath(project_folder)
    if os.path.commonpath([target, root]) != root:
        raise MirrorError(
            f"{path} is a link out of the project, to {target}. It is left alone; put a plain file there."
        )
    try:
        status = os.stat(target)
        if not stat.S_ISREG(status.st_mode):
            raise MirrorError(f"{path} is no plain file. It is left alone; move it away.")
        if status.st_size > settings.MAX_FILE_BYTES:
            raise MirrorError(f"{path} is larger than {settings.MAX_FILE_BYTES >> 20} MiB. It is left alone.")
        with open(target, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MirrorError(f"{path} can't be read: {error.strerror}. It is left alone.") from error


def status(path: str) -> tuple[int | None, int | None]:
    """Size in bytes and time of change in nanoseconds of the file at *path*; None for both where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None, None
    return found.st_size, found.st_mtime_ns


def replace(path: str, data: bytes) -> None:
    """Write the mirror at *path*, whole or not at all. The caller holds the lock. Raises MirrorError."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        whole_file.replace(path, data)
    except OSError as error:
        raise MirrorError(
            f"{path} can't be written: {error.strerror}. The database has everything; the next command tries again."
        ) from error


def remove_leftover(path: str) -> None:
    """Remove what a killed writer of the mirror left beside it. The caller holds the lock."""
    with contextlib.suppress(OSError):
        os.unlink(whole_file.temporary_path(path))


def may_be_set_aside(error: PlaybookFileError) -> bool:
    """Whether the file that gave *error* is of no use to anyone as it is. One in the middle of a git merge is."""
    return error.damaged and not error.in_git_merge


def set_aside(path: str) -> str:
    """Move the file out of the way, never over another; its new path."""
    path = os.path.realpath(path)
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    number = 0
    while True:
        aside = f"{path}.damaged-{stamp}{f'-{number}' if number else ''}"
        if not os.path.lexists(aside):
            os.rename(path, aside)
            return aside
        number += 1


@contextlib.contextmanager
def lock(path: str) -> Iterator[None]:
    """Hold off other writers of the mirror at *path*; the lock is a file in our data folder, not in the work tree."""
    from filelock import FileLock, Timeout

    folder = os.path.join(settings.data_dir(), "locks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = digest(os.path.realpath(path).encode("utf-8", "surrogateescape"))[:32]
    try:
        with FileLock(os.path.join(folder, f"mirror-{name}.lock"), timeout=settings.LOCK_WAIT_S):
            yield
    except Timeout as error:
        raise MirrorError(
            f"{path} is being written by another process; the next command brings it up to date."
        ) from error


def digest(data: bytes) -> str:
    """The SHA-256 of *data*, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
