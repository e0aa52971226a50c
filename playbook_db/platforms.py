"""Functions that depend on the operating system: locks, file modes, detached processes, durable writes, paths.

No other module depends on the system. Standard library only, for any Python that runs a hook. Functions import `fcntl`
themselves, since Windows lacks it. docs/install.md lists the systems that were tried.
"""

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, Any, NoReturn

SYSTEM = sys.platform  # linux, darwin, win32, ...
_PATH_BYTES = 1024  # the longest path that macOS returns


def unsupported() -> "str | None":
    """Return advice for the user if this operating system is unsupported. Otherwise return None."""
    if SYSTEM != "win32":
        return None
    return (
        "playbook-db runs on Linux and macOS. On Windows use it within WSL, with the Claude Code that runs there: "
        "`wsl --install`, then install both in its terminal."
    )


def machine_name() -> str:
    """Return the name of this machine."""
    return os.uname().nodename


def user_number() -> int:
    """Return the id of the user who runs this process."""
    return os.getuid()


def umask() -> int:
    """Return this process's umask."""
    current = os.umask(0)
    os.umask(current)
    return current


def set_rights(handle: int, mode: int, *, like: "os.stat_result | None" = None) -> None:
    """Set the mode of an open file to *mode*. With *like*, copy its mode and (if allowed) its owner. Raises OSError."""
    if like is not None:
        try:  # under sudo, the user's files stay the user's
            os.fchown(handle, like.st_uid, like.st_gid)
        except PermissionError:
            pass
    os.fchmod(handle, mode if like is None else stat.S_IMODE(like.st_mode))


def why_unwritable(path: str, folder: str) -> "tuple[str, str]":
    """Return why this user can't write *path*, and what helps: a command, for all of *folder* if *path* is in it."""
    from shlex import quote

    if os.statvfs(path).f_flag & os.ST_RDONLY:
        elsewhere = "export CLAUDE_CONFIG_DIR=A_FOLDER_THAT_CAN_BE_WRITTEN"
        return f"{path} can't be written: its file system is read-only", elsewhere
    option, target = ("-R ", folder) if f"{path}/".startswith(f"{folder}/") else ("", path)
    owner = os.stat(path).st_uid
    if owner == os.geteuid():
        return f"{path} is yours, but its mode forbids to write it", f"chmod {option}u+rwX {quote(target)}"
    try:
        import pwd

        name = pwd.getpwuid(owner).pw_name
    except (ImportError, KeyError):
        name = f"user {owner}"
    return f"{path} belongs to {name}, and you can't write it", f'sudo chown {option}"$(id -un)" {quote(target)}'


def to_disk(handle: int) -> None:
    """Wait until an open file or folder is written to the disk. Raises OSError.

    On macOS `fsync` doesn't wait for the disk's cache, but F_FULLFSYNC does, except on some file systems.
    """
    import fcntl

    whole = getattr(fcntl, "F_FULLFSYNC", None)
    if whole is not None:
        try:
            fcntl.fcntl(handle, whole)
        except OSError:
            pass
        else:
            return
    os.fsync(handle)


def lock(file: "IO[Any]") -> bool:
    """Lock *file* until this process ends. Return whether the lock is ours."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def lock_bytes(file: "IO[Any]", *ranges: "tuple[int, int]") -> bool:
    """Lock byte *ranges* (first, size) of *file*, all or none, as SQLite locks them. Return whether they are ours.

    Closing the file unlocks the ranges. Raises OSError on any failure except a lock of another process.
    """
    import fcntl

    for number, (first, size) in enumerate(ranges):
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, size, first)
        except (BlockingIOError, PermissionError):
            for ours, length in ranges[:number]:
                fcntl.lockf(file, fcntl.LOCK_UN, length, ours)
            return False
    return True


def run_detached(command: "Sequence[str]", environment: "Mapping[str, str]") -> None:
    """Start *command*, a program and its arguments, as a process that is detached from this one.

    Its parent ends at once, so the command isn't in the caller's process tree. It leads its own session in `/`, with
    standard streams on /dev/null and no other descriptors. The code after the fork is safe on macOS, too.
    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _become(command, environment)
    finally:
        os._exit(0)


def end_group(leader: int) -> None:
    """Kill all processes in the group that the process *leader* leads. Raises OSError."""
    import signal

    os.killpg(leader, signal.SIGKILL)


def as_spelled(path: str) -> str:
    """Return *path* with the capitals and accents that the file system has. Other spellings may mean the same file."""
    import fcntl

    get_path = getattr(fcntl, "F_GETPATH", None)
    if get_path is None:
        return path
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return path
    try:
        return os.fsdecode(fcntl.fcntl(handle, get_path, bytes(_PATH_BYTES)).partition(b"\0")[0])
    except OSError:
        return path
    finally:
        os.close(handle)


def _become(command: "Sequence[str]", environment: "Mapping[str, str]") -> "NoReturn":
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    try:
        highest = max(map(int, os.listdir("/dev/fd")))
    except OSError:  # they can't be listed
        highest = 1023
    os.closerange(3, highest + 1)
    os.chdir("/")
    os.execve(command[0], list(command), environment)  # noqa: S606 - a list, ours
