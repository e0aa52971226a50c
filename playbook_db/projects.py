"""The project of a folder. Each folder belongs to one project, which has one playbook.

A project's key is the real path of its folder. All worktrees of a git repository are one project: a folder in a linked
worktree has the key of the same folder in the main one. This reads git's own files, without git. Files of a folder may
be from a clone: `read_plain` reads them, and the repository must confirm a worktree. Standard library only.
"""

import os
import stat

MAX_SMALL_FILE_BYTES = 1 << 20  # of a settings file, or one of git's
_CHUNK_BYTES = 1 << 18
USER_KEY = "user"  # of the personal playbook, which has no folder; on a server a role follows
# Bytes of a path that are not UTF-8, as in Python, and the private characters for them in texts.
_TO_TEXT = {0xDC00 + byte: 0xEF00 + byte for byte in range(0x80, 0x100)}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def project_dir(folder: "str | None" = None) -> str:
    """The project's folder: *folder*, else `CLAUDE_PROJECT_DIR`, else `enclosing_project` of the current folder."""
    explicit = folder or os.environ.get("CLAUDE_PROJECT_DIR")
    return os.path.abspath(explicit) if explicit else enclosing_project(os.getcwd())


def project_key(folder: str) -> str:
    """The key of the playbook of *folder*: a real path as text, the same for all worktrees."""
    real = os.path.realpath(folder)
    root = _root(real)
    main = _main_worktree(root)
    if main is None:
        return as_text(real)
    inside = os.path.relpath(real, root)
    return as_text(main if inside == "." else os.path.join(main, inside))


def is_users(key: str) -> bool:
    """Whether *key* is that of a personal playbook; a project's key is a whole path."""
    return key == USER_KEY or key.startswith(f"{USER_KEY}:")


def repository(folder: str) -> str:
    """The main worktree of the repository with *folder*; *folder* itself outside a repository."""
    root = _root(os.path.realpath(folder))
    return _main_worktree(root) or root


def worktree(folder: str) -> str:
    """The top folder of the worktree with *folder*; *folder* itself outside a worktree."""
    return _root(os.path.realpath(folder))


def git_dir(folder: str) -> "str | None":
    """Git's folder for the worktree with *folder*; None outside a worktree."""
    root = _root(os.path.realpath(folder))
    path = os.path.join(root, ".git")
    pointer = _first_line(path) or ""
    if pointer.startswith("gitdir:"):
        path = os.path.join(root, pointer[len("gitdir:") :].strip())
    return path if os.path.isfile(os.path.join(path, "HEAD")) else None


def as_text(path: str) -> str:
    """*path* for a database or JSON, which can't hold names that are not UTF-8."""
    return path.translate(_TO_TEXT)


def as_path(text: str) -> str:
    """The path of *text* from `as_text`."""
    if text.isascii() or os.path.lexists(text):
        return text
    return text.translate({there: here for here, there in _TO_TEXT.items()})


def has_folder(key: str) -> bool:
    """Whether the folder of the project *key* is on this machine."""
    return os.path.isdir(as_path(key))


def mirror_path(folder: str) -> str:
    """The path of the mirror of the project in *folder*."""
    return os.path.join(folder, ".claude", "playbook.json")


def folder_of_mirror(path: str) -> str:
    """The folder of the project with the mirror *path*."""
    return os.path.dirname(os.path.dirname(path))


def enclosing_project(start: str) -> str:
    """The nearest project at or above *start*; *start* if there is none."""
    return next(filter(is_project, upwards(os.path.realpath(start))), os.path.abspath(start))


def is_project(folder: str) -> bool:
    """Whether *folder* has `.git`, or `.claude`, which doesn't count in the home folder."""
    if os.path.lexists(os.path.join(folder, ".git")):
        return True
    is_home = os.path.realpath(folder) == os.path.realpath(os.path.expanduser("~"))
    return not is_home and os.path.isdir(os.path.join(folder, ".claude"))


def upwards(folder: str) -> "Iterator[str]":
    """*folder* and all folders above it, nearest first."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def read_plain(path: str, most_bytes: int = MAX_SMALL_FILE_BYTES) -> bytes:
    """The bytes of the file at *path*, which may be from a clone.

    Raises OSError if it has more than *most_bytes*, or is no regular file: a pipe would block, a device would fill the
    memory.
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
    """A descriptor to read the file at *path*, without blocking. Raises OSError if it is no regular file."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _unreadable("it is not a plain file", path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def _root(real: str) -> str:
    return next((folder for folder in upwards(real) if os.path.lexists(os.path.join(folder, ".git"))), real)


def _main_worktree(root: str) -> "str | None":
    """The main worktree of the repository whose linked worktree is *root*; None if it is no linked worktree.

    Anyone can write a `.git` that names a repository. As for git, the repository must name *root* in its own
    `worktrees/NAME/gitdir`.
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
