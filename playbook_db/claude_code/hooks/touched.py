"""The files that a session's tools have read or changed: whether a call is the first on its file, and the latest ones.

For the hooks; standard library only. That a file was touched is an empty file of its name, which the shell script
`hooks/touched` looks for, too.
"""

import os

from playbook_db import projects, settings

_TAIL_BYTES = 64 * 1024  # of a transcript, in which files touched since the last prompt are looked for
_MOST_FILES = 4
_MOST_BYTES = 4 << 20  # of a transcript, in which calls are counted
_PROMPT, _CALL, _START = b'"promptSource":"', b'"sourceToolAssistantUUID":"', b'"hookEvent":"SessionStart"'


def is_first(session_id: "str | None", path: str) -> bool:
    """Whether the session touches the file at *path* for the first time since it began or was compacted; then record
    that. If that can't be recorded, each call counts as the first."""
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
    """Forget the files of the session: after a compaction, their points are no longer in its context."""
    folder = _folder(session_id or "")
    try:
        os.rename(folder, f"{folder}.{os.getpid()}")  # the worker removes it
    except OSError:
        pass  # it has touched none


def since_prompt(transcript: "str | None", folder: str) -> "list[str]":
    """The files of the project in *folder* that were touched since the last prompt in *transcript*, the latest ones."""
    tail = _tail(transcript, _TAIL_BYTES)
    paths: dict[str, None] = {}
    for part in reversed(tail[tail.rfind(_PROMPT) + 1 :].split(b'_path":"')[1:]):
        path = in_project(part.partition(b'"')[0].decode("utf-8", "replace"), folder)
        if path and "\\" not in path:
            paths[path] = None
    return [*paths][:_MOST_FILES]


def calls_since_start(transcript: "str | None") -> int:
    """How many tool calls have ended since the session's start last showed points, according to *transcript*."""
    tail = _tail(transcript, _MOST_BYTES)
    return tail[max(0, tail.rfind(_START)) :].count(_CALL)


def in_project(path: str, folder: str) -> "str | None":
    """*path* relative to the project's *folder*; None if it is elsewhere."""
    path = os.path.normpath(path)
    for above in (folder, os.path.realpath(folder)):
        if path.startswith(f"{above}/"):
            return path[len(above) + 1 :]
    return None


def _folder(session_id: str) -> str:
    is_name = session_id.isascii() and session_id.replace("-", "").replace("_", "").isalnum()
    return os.path.join(settings.touched_dir(), session_id) if is_name else ""


def _tail(path: "str | None", most_bytes: int) -> bytes:
    """The last *most_bytes* of the file at *path*; `b""` if it can't be read."""
    try:
        file = projects.open_plain(projects.as_path(path or ""))
    except (OSError, ValueError):
        return b""
    try:
        return os.pread(file, most_bytes, max(0, os.fstat(file).st_size - most_bytes))
    except OSError:
        return b""
    finally:
        os.close(file)
