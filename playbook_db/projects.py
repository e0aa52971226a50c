"""Finding the project of a folder. Each folder belongs to one project, which has one playbook.

`project_of` has the rule. A project's key is the real path of its folder. All worktrees of a git repository are one
project: a folder in a linked worktree has the key of the same folder in the main worktree. This module reads git's
files, and doesn't run git. Files may come from a clone, so `read_plain` reads them, and a repository must confirm its
worktrees. Standard library only.
"""

import os
import stat

_UNDER_WAY = {
    "MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert", "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}  # fmt: skip
MAX_SMALL_FILE_BYTES = 1 << 20  # of a settings file, or one of git's
_MOST_MIRROR_BYTES = 1 << 26  # that are looked through for conflict markers
_CHUNK_BYTES = 1 << 18
# Between the folder and the origin, in the key of another repository than the folder's first one. No path has it.
OTHER = "//"
USER_KEY = "user"  # of the personal playbook, which has no folder; on a server, `:` and the user's role follow
# Bytes of a path that aren't UTF-8, as Python's surrogates. In texts, private characters stand for them.
_NO_TEXT, _TO_TEXT = range(0xDC80, 0xDD00), 0xEF80 - 0xDC80

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def project_of(folder: str, known: "Callable[[list[str]], Mapping[str, int]]" = lambda keys: {}) -> str:
    """Return the folder of the project to which *folder* belongs: in a linked worktree, the project's folder there.

    This is the nearest folder, from *folder* up to the root of its repository, that has a mirror or was made a project
    by `init`; else the root. Without a repository it is the nearest folder with a playbook, else *folder*. *known*
    looks keys up in the database: it returns those with a playbook, and 1 for those that `init` made a project.
    """
    real = os.path.realpath(folder)
    root = _root(real)
    shared = _shared_places()
    above = [real]
    for each in upwards(real):
        if each not in (real, *shared):
            above.append(each)
        if each == root or real in shared:
            break
    main = root and _main_worktree(root)
    keys = [as_text(each if main is None or root is None else main + each[len(root) :]) for each in above]
    flags = known(keys) if len(keys) > 1 else {}
    for each, key in zip(above, keys):  # noqa: B905 - hooks run on older versions of Python
        if flags.get(key, 0) or (root is None and key in flags) or os.path.isfile(mirror_path(each)):
            return each
    return root or real


def project_key(folder: str) -> str:
    """Return the key of the project in *folder*: its real path as text. All worktrees have the same key."""
    real = os.path.realpath(folder)
    root = _root(real)
    main = root and _main_worktree(root)
    return as_text(real if main is None or root is None else main + real[len(root) :])


def origin(folder: str) -> str:
    """Return the URL of the remote `origin` of the repository around *folder*, without scheme, user and `.git`. Return
    `""` if there is none."""
    own = git_dir(folder) or ""
    common = os.path.join(own, _first_line(os.path.join(own, "commondir")) or "")
    try:
        lines = read_plain(os.path.join(common, "config")).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    section = ""
    for line in map(str.strip, lines):
        section = line.replace("'", '"') if line.startswith("[") else section
        name, _, value = line.partition("=")
        if section == '[remote "origin"]' and name.strip() == "url":
            host, slash, path = (value.strip().partition("://")[2] or value.strip()).partition("/")
            url = f"{host.rpartition('@')[2].replace(':', '/').lower()}{slash}{path}".strip("/")
            return as_text(url[: -len(".git")] if url.endswith(".git") else url)
    return ""


def moved(key: str) -> str:
    """Return a sentence about a project that seems to be the project *key*, moved. Return `""` if that is `""`."""
    from shlex import quote  # late: this is rare

    return f"this looks like {key}, moved. To take its playbook: playbook project move {quote(key)}" if key else ""


def replaced(key: str) -> str:
    """Return a sentence about the project *key* in a folder whose playbook is of another repository."""
    from shlex import quote  # late: this is rare

    folder = quote(key.partition(OTHER)[0])
    text = f"{folder} has another repository than before, which gets a playbook of its own"
    return f"{text}. If it is the same one: playbook project move {folder} {folder}"


def is_users(key: str) -> bool:
    """Return whether *key* is the key of a personal playbook. A project's key is an absolute path."""
    return key == USER_KEY or key.startswith(f"{USER_KEY}:")


def repository(folder: str) -> str:
    """Return the main worktree of the repository that contains *folder*. Outside a repository, return *folder*."""
    root = worktree(folder)
    return _main_worktree(root) or root


def worktree(folder: str) -> str:
    """Return the top folder of the worktree that contains *folder*. Outside a worktree, return *folder*."""
    real = os.path.realpath(folder)
    return _root(real) or real


def git_dir(folder: str) -> "str | None":
    """Return git's own folder for the worktree that contains *folder*, or None outside a worktree."""
    root = worktree(folder)
    path = os.path.join(root, ".git")
    pointer = _first_line(path) or ""
    if pointer.startswith("gitdir:"):
        path = os.path.join(root, pointer[len("gitdir:") :].strip())
    return path if os.path.isfile(os.path.join(path, "HEAD")) else None


def operation_under_way(folder: str) -> "str | None":
    """Return the name of the unfinished git command in the worktree around *folder*, such as `rebase`, or None."""
    state = git_dir(folder) or ""
    return next((task for name, task in _UNDER_WAY.items() if os.path.lexists(os.path.join(state, name))), None)


def conflict(path: str, *, is_unmerged: bool = False) -> str:
    """Return the way out, in sentences, if the mirror at *path* has conflict markers of git, or *is_unmerged*. Else
    return `""`."""
    try:
        if not is_unmerged and b"\n<<<<<<< " not in b"\n" + read_plain(path, _MOST_MIRROR_BYTES):
            return ""
    except OSError:
        return ""
    if not (is_unmerged or operation_under_way(folder_of_mirror(path))):
        return f"{path} has conflict markers of a git merge, so it isn't in use. Edit it until none is left."
    from shlex import quote  # late: seldom needed

    way = f"playbook install --git && git checkout -m -- {quote(path)}"
    rest = f"Then edit it if it has conflict markers, and run: git add {quote(path)}"
    return f"git couldn't merge {path}, so playbook-db leaves it alone. To merge it: {way}. {rest}"


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
    return os.path.isdir(as_path(key.partition(OTHER)[0]))


def mirror_path(folder: str) -> str:
    """Return the path of the mirror file of the project in *folder*."""
    return os.path.join(folder, ".claude", "playbook.json")


def folder_of_mirror(path: str) -> str:
    """Return the folder of the project whose mirror file is at *path*."""
    return os.path.dirname(os.path.dirname(path))


def is_project(folder: str) -> bool:
    """Return whether *folder* contains `.git` or `.claude`. The home folder is no project."""
    has_sign = os.path.lexists(os.path.join(folder, ".git")) or os.path.isdir(os.path.join(folder, ".claude"))
    return has_sign and os.path.realpath(folder) not in _shared_places()


def _shared_places() -> "set[str]":
    """Return the home folder, `/` and the folders for temporary files. The folders below don't belong to them."""
    return {os.path.realpath(each) for each in ("/", os.path.expanduser("~"), *temporary_folders())}


def temporary_folders() -> "Iterator[str]":
    """Yield the folders for temporary files."""
    yield from filter(os.path.isabs, ("/tmp", "/var/tmp", os.environ.get("TMPDIR", "")))  # noqa: S108 - only compared


def is_gone_for_good(folder: str) -> bool:
    """Return whether *folder* was in a folder for temporary files, and is gone."""
    return not os.path.isdir(folder) and any(
        os.path.realpath(folder).startswith(os.path.join(os.path.realpath(each), "")) for each in temporary_folders()
    )


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


def _root(real: str) -> "str | None":
    """Return the root of the worktree that contains *real*. A repository of the home folder or of `/` doesn't count."""
    root = next((folder for folder in upwards(real) if os.path.lexists(f"{folder}/.git")), None)
    return None if root is None or root in _shared_places() else root


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
    # A hidden name, such as `.git` or `.bare`: the folder around it holds the worktrees.
    return os.path.dirname(shared) if os.path.basename(shared).startswith(".") else shared


def _unreadable(why: str, path: str) -> OSError:
    import errno  # late: hooks rarely need it

    return OSError(errno.EINVAL, why, path)


def _first_line(path: str) -> "str | None":
    try:
        line = read_plain(path).partition(b"\n")[0].strip()
    except OSError:
        return None
    return None if b"\0" in line else os.fsdecode(line)
