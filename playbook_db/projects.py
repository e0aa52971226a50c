"""Finding the project of a folder. Each folder belongs to one project, which has one playbook.

A project's key is the real path of its folder. All worktrees of a git repository are one project: a folder in a linked
worktree has the key of the same folder in the main worktree. This module reads git's files, and doesn't run git. Files
may come from a clone, so `read_plain` reads them, and a repository must confirm its worktrees. Standard library only.
"""

import os
import stat

MAX_SMALL_FILE_BYTES = 1 << 20  # of a settings file, or one of git's
_CHUNK_BYTES = 1 << 18
USER_KEY = "user"  # of the personal playbook, which has no folder; on a server, `:` and the user's role follow
# Bytes of a path that aren't UTF-8, as Python's surrogates. In texts, private characters stand for them.
_NO_TEXT, _TO_TEXT = range(0xDC80, 0xDD00), 0xEF80 - 0xDC80

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def project_dir(folder: "str | None" = None) -> str:
    """Return *folder*, or else `CLAUDE_PROJECT_DIR`, or else the folder of the project around the current folder."""
    explicit = folder or os.environ.get("CLAUDE_PROJECT_DIR")
    return os.path.abspath(explicit) if explicit else enclosing_project(os.getcwd())


def project_key(folder: str) -> str:
    """Return the key of the project in *folder*: its real path as text. All worktrees have the same key."""
    real = os.path.realpath(folder)
    root = _root(real)
    main = _main_worktree(root)
    if main is None:
        return as_text(real)
    inside = os.path.relpath(real, root)
    return as_text(main if inside == "." else os.path.join(main, inside))


def is_users(key: str) -> bool:
    """Return whether *key* is the key of a personal playbook. A project's key is an absolute path."""
    return key == USER_KEY or key.startswith(f"{USER_KEY}:")


def repository(folder: str) -> str:
    """Return the main worktree of the repository that contains *folder*. Outside a repository, return *folder*."""
    root = _root(os.path.realpath(folder))
    return _main_worktree(root) or root


def worktree(folder: str) -> str:
    """Return the top folder of the worktree that contains *folder*. Outside a worktree, return *folder*."""
    return _root(os.path.realpath(folder))


def git_dir(folder: str) -> "str | None":
    """Return git's own folder for the worktree that contains *folder*, or None outside a worktree."""
    root = _root(os.path.realpath(folder))
    path = os.path.join(root, ".git")
    pointer = _first_line(path) or ""
    if pointer.startswith("gitdir:"):
        path = os.path.join(root, pointer[len("gitdir:") :].strip())
    return path if os.path.isfile(os.path.join(path, "HEAD")) else None


def as_text(path: str) -> str:
    """Return *path* as text for a database or JSON, where bytes that aren't UTF-8 can't be stored."""
    return path if path.isascii() else path.translate({code: code + _TO_TEXT for code in _NO_TEXT})


def as_path(text: str) -> str:
    """Return the path from which `as_text` made *text*."""
    if text.isascii() or os.path.lexists(text):
        return text
    return text.translate({code + _TO_TEXT: code for code in _NO_TEXT})


def has_folder(key: str) -> bool:
    """Return whether the folder of the project *key* exists on this machine."""
    return os.path.isdir(as_path(key))


def mirror_path(folder: str) -> str:
    """Return the path of the mirror file of the project in *folder*."""
    return os.path.join(folder, ".claude", "playbook.json")


def folder_of_mirror(path: str) -> str:
    """Return the folder of the project whose mirror file is at *path*."""
    return os.path.dirname(os.path.dirname(path))


def enclosing_project(start: str) -> str:
    """Return the folder of the nearest project at or above *start*, or *start* if there is none."""
    return next(filter(is_project, upwards(os.path.realpath(start))), os.path.abspath(start))


def is_project(folder: str) -> bool:
    """Return whether *folder* contains `.git` or `.claude`. In the home folder, `.claude` doesn't count."""
    if os.path.lexists(os.path.join(folder, ".git")):
        return True
    is_home = os.path.realpath(folder) == os.path.realpath(os.path.expanduser("~"))
    return not is_home and os.path.isdir(os.path.join(folder, ".claude"))


def upwards(folder: str) -> "Iterator[str]":
    """Yield *folder* and all folders above it, nearest first."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def read_plain(path: str, most_bytes: int = MAX_SMALL_FILE_BYTES) -> bytes:
    """Return the bytes of the file at *path*, which need not be trusted.

    Raises OSError if the file has more than *most_bytes* or isn't a regular file: a pipe would block, and a device
    would fill the memory.
    """
    chunks, remaining = [], most_bytes
    handle = open_plain(path)
    try:
        while remaining >= 0 and (chunk := os.read(handle, _CHUNK_BYTES)):  # a file of /proc has no size
            chunks.append(chunk)
            remaining -= len(chunk)
    finally:
        os.close(handle)
    if remaining < 0:
        raise _unreadable(f"it is larger than {most_bytes >> 20} MiB", path)
    return b"".join(chunks)


def open_plain(path: str) -> int:
    """Open the file at *path* for reading, without blocking. Raises OSError if it isn't a regular file."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _unreadable("it is not a plain file", path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def _root(real: str) -> str:
    return next((folder for folder in upwards(real) if os.path.lexists(f"{folder}/.git")), real)


def _main_worktree(root: str) -> "str | None":
    """Return the main worktree of the repository to which *root* is linked. Return None if *root* isn't linked.

    Anyone can write a `.git` that names a repository. So the repository must name *root* in its own
    `worktrees/NAME/gitdir`, as git requires.
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
    import errno  # late: hooks rarely need it

    return OSError(errno.EINVAL, why, path)


def _first_line(path: str) -> "str | None":
    try:
        line = read_plain(path).partition(b"\n")[0].strip()
    except OSError:
        return None
    return None if b"\0" in line else os.fsdecode(line)
