"""Removing playbook's files from this machine: the plugin's environment, logs, spool, markers and the database."""

import contextlib
import os
import shutil
from collections.abc import Sequence

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.errors import InstallError, Remedy
from playbook_db.files import alone

# Not `skipped`: a database that stays must not learn from a private session later.
_REMOVED = {
    "consents", "guarded", "locks", "logs", "runtime", "runtime.json", "runtime.lock", "touched", "spool", "told",
    "worker.lock",
}  # fmt: skip
_AGAIN = Remedy("Then run it again: {}", ("uninstall", "--purge"))
_AT_WORK = ("The worker is running, so no file was removed. Wait until it ends.", _AGAIN)


def find(*, with_database: bool) -> list[tuple[str, int, int]]:
    """List the files and folders of the data folder that a purge removes; with *with_database*, these are all. Each has
    its number of files and their size in bytes. Raises InstallError while a worker runs."""
    if worker.is_at_work():
        raise InstallError(*_AT_WORK)
    folder = settings.data_dir()
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    chosen = [name for name in names if with_database or name in _REMOVED or name.startswith("runtime-")]
    return [_measured(os.path.join(folder, name)) for name in chosen]


def remove(paths: Sequence[str]) -> None:
    """Remove *paths*, then the data folder if it is empty. Raises InstallError, also while a worker runs."""
    if not paths:
        return
    with alone(settings.worker_lock()) as is_alone:
        if not is_alone:
            raise InstallError(*_AT_WORK)
        try:
            for path in (*paths, settings.worker_lock()):
                if os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path)
                elif os.path.lexists(path):
                    os.unlink(path)
        except OSError as error:
            raise InstallError(f"{error.filename} can't be removed: {error.strerror}. Fix that.", _AGAIN) from error
    with contextlib.suppress(OSError):  # it isn't empty
        os.rmdir(settings.data_dir())


def _measured(path: str) -> tuple[str, int, int]:
    is_folder = os.path.isdir(path) and not os.path.islink(path)
    files = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names] if is_folder else [path]
    return path, len(files), sum(os.lstat(file).st_size for file in files)
