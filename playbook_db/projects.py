"""Which project a folder belongs to: one playbook a project, and no folder in two.

A project is keyed by the real path of its folder. All worktrees of one git repository are one
project: a folder inside a linked worktree is keyed by its twin in the main one. Read off git's own
files, without starting git. Standard library only.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def project_dir(given: "str | None" = None) -> str:
    """The folder that is meant: *given*, else `CLAUDE_PROJECT_DIR`, else the project around the current folder.

    Around the current folder means the nearest folder upwards that holds `.claude` or `.git`; the home
    folder's own `.claude` is Claude Code's, and does not count. Where there is none, the current folder.
    """
    explicit = given or os.environ.get("CLAUDE_PROJECT_DIR")
    if explicit:
        return os.path.abspath(explicit)
    return enclosing_project(os.getcwd())


def project_key(folder: str) -> str:
    """The key under which the playbook of *folder* is kept: a real path, the same for all worktrees."""
    real = os.path.realpath(folder)
    root = next((folder for folder in upwards(real) if os.path.lexists(os.path.join(folder, ".git"))), real)
    main = _main_worktree(root)
    if main is None:
        return real
    inside = os.path.relpath(real, root)
    return main if inside == "." else os.path.join(main, inside)


def mirror_path(folder: str) -> str:
    """Where the mirror of the project in *folder* stands, or would."""
    return os.path.join(folder, ".claude", "playbook.json")


def folder_of_mirror(path: str) -> str:
    """The project's folder whose mirror stands at *path*."""
    return os.path.dirname(os.path.dirname(path))


def enclosing_project(start: str) -> str:
    """The nearest folder at or above *start* that holds `.claude` or `.git`; *start* where there is none."""
    home = os.path.realpath(os.path.expanduser("~"))
    for here in upwards(os.path.realpath(start)):
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        if here != home and os.path.isdir(os.path.join(here, ".claude")):
            return here
    return os.path.abspath(start)


def upwards(folder: str) -> "Iterator[str]":
    """*folder* and all above it, the nearest first."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _main_worktree(root: str) -> "str | None":
    """The main worktree of the repository that *root* is a linked worktree of; None where *root* is none."""
    pointer = _first_line(os.path.join(root, ".git"))
    if pointer is None or not pointer.startswith("gitdir:"):
        return None
    gitdir = os.path.join(root, pointer[len("gitdir:") :].strip())
    common = _first_line(os.path.join(gitdir, "commondir"))
    if common is None:  # a submodule, or a repository with its git folder elsewhere: a project of its own
        return None
    shared = os.path.realpath(os.path.join(gitdir, common))
    return os.path.dirname(shared) if os.path.basename(shared) == ".git" else shared


def _first_line(path: str) -> "str | None":
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().strip()
    except OSError:
        return None
