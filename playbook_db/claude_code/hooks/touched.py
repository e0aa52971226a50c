"""Recording which files a session's tools have read or changed, to recognize the first call on each file.

For the hooks; standard library only. Each touched file is recorded as an empty file, named after it. The shell script
`hooks/touched` looks for these files, too.
"""

import os

from playbook_db import projects, settings

_TAIL_BYTES = 64 * 1024  # of a transcript, in which files touched since the last prompt are looked for
_MOST_FILES = 4
_MOST_BYTES = 4 << 20  # of a transcript, in which calls are counted
_PROMPT, _CALL, _START = b'"promptSource":"', b'"sourceToolAssistantUUID":"', b'"hookEvent":"SessionStart"'


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


def since_prompt(transcript: "str | None", folder: str) -> "list[str]":
    """Return the project's files that were touched after the last prompt of *transcript*, latest first."""
    tail = _tail(transcript, _TAIL_BYTES)
    paths: dict[str, None] = {}
    for part in reversed(tail[tail.rfind(_PROMPT) + 1 :].split(b'_path":"')[1:]):
        path = in_project(part.partition(b'"')[0].decode("utf-8", "replace"), folder)
        if path and "\\" not in path:
            paths[path] = None
    return [*paths][:_MOST_FILES]


def calls_since_start(transcript: "str | None") -> int:
    """Count the tool calls in *transcript* since points were last shown at a session's start."""
    tail = _tail(transcript, _MOST_BYTES)
    return tail[max(0, tail.rfind(_START)) :].count(_CALL)


def in_project(path: str, folder: str) -> "str | None":
    """Return *path* relative to the project's *folder*, or None if it is outside of it."""
    path = os.path.normpath(path)
    for above in (folder, os.path.realpath(folder)):
        if path.startswith(f"{above}/"):
            return path[len(above) + 1 :]
    return None


def _folder(session_id: str) -> str:
    is_name = session_id.isascii() and session_id.replace("-", "").replace("_", "").isalnum()
    return os.path.join(settings.touched_dir(), session_id) if is_name else ""


def _tail(path: "str | None", most_bytes: int) -> bytes:
    """Return the last *most_bytes* bytes of the file at *path*, or `b""` if it can't be read."""
    try:
        with open(projects.open_plain(projects.as_path(path or "")), "rb", buffering=0) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
            return file.read(most_bytes) or b""
    except (OSError, ValueError):
        return b""
