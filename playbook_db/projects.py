"""Which project a folder belongs to: one playbook a project, and no folder in two.

A project is keyed by the real path of its folder. All worktrees of one git repository are one
project: a folder inside a linked worktree is keyed by its twin in the main one. Read off git's own
files, without starting git. What a folder holds may have come with a clone: it is read with `read_plain`,
and a worktree is one only where the repository says so too. Standard library only.
"""

import os
import stat

MAX_SMALL_FILE_BYTES = 1 << 20  # of a settings file, or one of git's: hooks read them at each session
_CHUNK_BYTES = 1 << 18
USER_KEY = "user"  # of the user's own playbook, for which there is no folder; on a server a role stands behind it
# Bytes that are no UTF-8, as Python has them in a path, and what stands for them in a text: private characters.
_TO_TEXT = {0xDC00 + byte: 0xEF00 + byte for byte in range(0x80, 0x100)}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def project_dir(folder: "str | None" = None) -> str:
    """The folder that is meant: *folder*, else `CLAUDE_PROJECT_DIR`, else the project around the current folder.

    Around the current folder means the nearest folder upwards that holds `.claude` or `.git`; the home
    folder's own `.claude` is Claude Code's, and does not count. Where there is none, the current folder.
    """
    explicit = folder or os.environ.get("CLAUDE_PROJECT_DIR")
    return os.path.abspath(explicit) if explicit else enclosing_project(os.getcwd())


def project_key(folder: str) -> str:
    """The key under which the playbook of *folder* is kept: a real path, the same for all worktrees, as `as_text`."""
    real = os.path.realpath(folder)
    root = _root(real)
    main = _main_worktree(root)
    if main is None:
        return as_text(real)
    inside = os.path.relpath(real, root)
    return as_text(main if inside == "." else os.path.join(main, inside))


def is_users(key: str) -> bool:
    """Whether the playbook of *key* is a user's own. No other can have such a key: a project's is a whole path."""
    return key == USER_KEY or key.startswith(f"{USER_KEY}:")


def repository(folder: str) -> str:
    """The main worktree of the repository that *folder* is in; *folder* itself where it is in none."""
    root = _root(os.path.realpath(folder))
    return _main_worktree(root) or root


def worktree(folder: str) -> str:
    """The topmost folder of the worktree that *folder* is in; *folder* itself if it is in none."""
    return _root(os.path.realpath(folder))


def git_dir(folder: str) -> "str | None":
    """The folder in which git keeps the state of the worktree that *folder* is in; None where it is in none."""
    root = _root(os.path.realpath(folder))
    path = os.path.join(root, ".git")
    pointer = _first_line(path) or ""
    if pointer.startswith("gitdir:"):
        path = os.path.join(root, pointer[len("gitdir:") :].strip())
    return path if os.path.isfile(os.path.join(path, "HEAD")) else None


def as_text(path: str) -> str:
    """*path* as a database and JSON can keep it, where a folder's name isn't UTF-8; any other path as it is."""
    return path.translate(_TO_TEXT)


def as_path(text: str) -> str:
    """The path that `as_text` made *text* of."""
    if text.isascii() or os.path.lexists(text):
        return text
    return text.translate({there: here for here, there in _TO_TEXT.items()})


def has_folder(key: str) -> bool:
    """Whether the folder of the project *key* is on this machine."""
    return os.path.isdir(as_path(key))


def mirror_path(folder: str) -> str:
    """Where the mirror of the project in *folder* stands, or would."""
    return os.path.join(folder, ".claude", "playbook.json")


def folder_of_mirror(path: str) -> str:
    """The project's folder whose mirror stands at *path*."""
    return os.path.dirname(os.path.dirname(path))


def enclosing_project(start: str) -> str:
    """The nearest folder at or above *start* that holds `.claude` or `.git`; *start* where there is none."""
    return next(filter(is_project, upwards(os.path.realpath(start))), os.path.abspath(start))


def is_project(folder: str) -> bool:
    """Whether *folder* looks like a project: it holds `.git`, or `.claude` and isn't the home folder."""
    if os.path.lexists(os.path.join(folder, ".git")):
        return True
    is_home = os.path.realpath(folder) == os.path.realpath(os.path.expanduser("~"))
    return not is_home and os.path.isdir(os.path.join(folder, ".claude"))


def upwards(folder: str) -> "Iterator[str]":
    """*folder* and all above it, the nearest first."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def read_plain(path: str, most_bytes: int = MAX_SMALL_FILE_BYTES) -> bytes:
    """The bytes of the file at *path*, which may have come with a clone.

    Raises OSError where it is no plain file, as a pipe or a link to a device, or has more than *most_bytes*: nothing
    is waited for, and nothing fills the memory.
    """
    chunks, remaining = [], most_bytes
    handle = open_plain(path)
    try:
        while remaining >= 0 and (chunk := os.read(handle, _CHUNK_BYTES)):  # a file of /proc doesn't tell its size
            chunks.append(chunk)
            remaining -= len(chunk)
    finally:
        os.close(handle)
    if remaining < 0:
        raise _unreadable(f"it is larger than {most_bytes >> 20} MiB", path)
    return b"".join(chunks)


def open_plain(path: str) -> int:
    """A descriptor that reads the file at *path*. Raises OSError where it is no plain file; nothing is waited for."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _unreadable("it is no plain file", path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def _root(real: str) -> str:
    return next((folder for folder in upwards(real) if os.path.lexists(os.path.join(folder, ".git"))), real)


def _main_worktree(root: str) -> "str | None":
    """The main worktree of the repository that *root* is a linked worktree of; None where *root* is none.

    A `.git` that names a repository proves nothing: anyone can write it. As for git, the repository has to name *root*
    in its own `worktrees/NAME/gitdir`.
    """
    pointer = _first_line(os.path.join(root, ".git"))
    if pointer is None or not pointer.startswith("gitdir:"):
        return None
    gitdir = os.path.realpath(os.path.join(root, pointer[len("gitdir:") :].strip()))
    worktrees, shared = os.path.dirname(gitdir), os.path.dirname(os.path.dirname(gitdir))
    common, back = (_first_line(os.path.join(gitdir, name)) for name in ("commondir", "gitdir"))
    if common is None or back is None:  # a submodule, or a repository with its git folder elsewhere
        return None
    named, name = os.path.split(os.path.join(gitdir, back))
    is_proven = os.path.basename(worktrees) == "worktrees" and os.path.realpath(os.path.join(gitdir, common)) == shared
    if not is_proven or name != ".git" or os.path.realpath(named) != root:
        return None
    return os.path.dirname(shared) if os.path.basename(shared) == ".git" else shared


def _unreadable(why: str, path: str) -> OSError:
    import errno  # late: hooks hardly ever need it

    return OSError(errno.EINVAL, why, path)


def _first_line(path: str) -> "str | None":
    try:
        line = read_plain(path).partition(b"\n")[0].strip()
    except OSError:
        return None
    return None if b"\0" in line else os.fsdecode(line)
