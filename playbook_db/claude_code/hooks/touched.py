"""The files that a session's tools read or change: the first call on each file is recognized, and the file is scanned.

For the hooks; standard library only. Each touched file is recorded as an empty file, named after it. The shell script
`hooks/touched` looks for these files, too.
"""

import os
import time

from playbook_db import projects, settings

_MOST_BYTES = 4 << 20  # of a transcript, in which calls are counted
_SCANNED_BYTES, _SCAN_S = 64 * 1024, 0.03  # of a file's beginning, and the seconds for its names
_LARGEST_FILE = 16 << 20  # bytes; nobody writes a larger one by hand
_CALL, _START = b'"sourceToolAssistantUUID":"', b'"hookEvent":"SessionStart"'


def is_first(session_id: "str | None", path: str) -> bool:
    """Return whether the session touches the file at *path* for the first time since it began or was compacted. Record
    the first time. If that fails, each call counts as the first."""
    folder = _folder(session_id or "")
    name = path.replace("/", "!")
    if not folder or not os.path.isdir(settings.data_dir()):
        return True
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.close(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    except (OSError, ValueError):  # a name that is too long, a full disk
        pass
    return True


def forget(session_id: "str | None") -> None:
    """Forget the session's touched files, because a compaction removes their points from its context."""
    folder = _folder(session_id or "")
    try:
        os.rename(folder, f"{folder}.{os.getpid()}")  # the worker removes it
    except OSError:
        pass  # it has touched none


def calls_since_start(transcript: "str | None") -> int:
    """Count the tool calls in *transcript* since points were last shown at a session's start."""
    tail = _part(transcript, -_MOST_BYTES)
    return tail[max(0, tail.rfind(_START)) :].count(_CALL)


def in_project(path: str, folder: str) -> "str | None":
    """Return *path* relative to the project's *folder*, or None if it is outside of it."""
    path = os.path.normpath(path)
    for above in (folder, os.path.realpath(folder)):
        if path.startswith(f"{above}/"):
            return path[len(above) + 1 :]
    return None


def defined_in(path: str) -> "list[str]":
    """Return names of functions, classes and types that the file at *path* defines. Return an empty list if it is
    binary, very large or can't be read."""
    content = _part(path, _SCANNED_BYTES, _LARGEST_FILE)
    if not content or b"\0" in content:
        return []
    from playbook_db.domain import code_names

    end = time.monotonic() + _SCAN_S
    return code_names.defined(content.decode("utf-8", "replace"), lambda: time.monotonic() > end)


def _folder(session_id: str) -> str:
    is_name = session_id.isascii() and session_id.replace("-", "").replace("_", "").isalnum()
    return os.path.join(settings.touched_dir(), session_id) if is_name else ""


def _part(path: "str | None", length: int, most_bytes: int = 1 << 62) -> bytes:
    """Return the first *length* bytes of the file at *path*, or the last ones if *length* is negative. Return `b""` if
    it can't be read or has more than *most_bytes*."""
    try:
        with open(projects.open_plain(projects.as_path(path or "")), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size + length) if length < 0 else 0)
            return (file.read(abs(length)) or b"") if size <= most_bytes else b""
    except (OSError, ValueError):
        return b""
