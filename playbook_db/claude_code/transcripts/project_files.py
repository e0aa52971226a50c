"""The files of a project, without those that a stranger may have written.

These are files in dependency folders, data files such as logs and mail, and files that the session downloaded.
"""

import os
import posixpath
import re
from dataclasses import dataclass, field

from playbook_db import projects

_DEPENDENCIES = frozenset(
    ("node_modules", "bower_components", "jspm_packages", "site-packages", "dist-packages", "venv", ".venv",
     "virtualenv", "vendor", "third_party", "third-party", "external", "ext", "deps", "_deps", "Pods", "Carthage",
     "elm-stuff", ".git", ".tox", ".nox", ".cache", ".cargo", ".npm", ".yarn", ".gradle", ".m2")
)  # fmt: skip
DATA = re.compile(r"\.(?:log|[ct]sv|jsonl|ndjson|eml|mbox|ics|html?|pdf|ipynb|sqlite3?|db)(?![\w.])", re.IGNORECASE)


@dataclass(slots=True)
class ProjectFiles:
    """The files of the project in `folders`, which have absolute paths.

    The other fields follow the session. `downloads` are the paths of files and folders that it downloaded or extracted.
    It `has_strangers` if commands brought another person's files into the project. `page` is the address of its
    browser.
    """

    folders: tuple[str, ...]
    downloads: set[str] = field(default_factory=set)
    has_strangers: bool = False
    page: str = ""
    _repository: str = ""
    _followed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, folder: str) -> "ProjectFiles":
        """Return the files of the project in *folder*, with its whole repository unless that is the home folder."""
        folder = projects.as_path(folder)
        repository = projects.repository(folder)
        is_home = repository == os.path.realpath(os.path.expanduser("~"))
        names = (folder, os.path.realpath(folder), folder if is_home else projects.worktree(folder))
        return cls(tuple(dict.fromkeys(map(os.path.abspath, names))), _repository="" if is_home else repository)

    def follow(self, folder: str) -> None:
        """Record that the session is in *folder*. The first such folder is the project's, and so is each worktree of
        its repository."""
        if folder and folder not in self._followed:
            is_worktree = self._repository != "" and projects.repository(folder) == self._repository
            more = [projects.worktree(folder)] * is_worktree or [folder] * (not self._followed)
            self._followed.add(folder)
            self.folders = tuple(dict.fromkeys((*self.folders, *more)))

    def holds(self, path: str, folder: str) -> bool:
        """Return whether *path*, relative to *folder*, is the project's own, and no data file."""
        inside = self.inside(path, folder)
        whole = _whole(path, folder)
        is_brought = any(map(has_dependency, inside)) or any(_is_below(whole, download) for download in self.downloads)
        return bool(inside) and not is_brought and not DATA.search(path)

    def inside(self, path: str, folder: str) -> list[str]:
        """For each of the project's folders that contain *path*, return the relative path."""
        whole = _whole(path, folder)
        return [posixpath.relpath(whole, root) for root in self.folders if _is_below(whole, root)]


def has_dependency(path: str) -> bool:
    """Return whether *path* leads through a folder for dependencies."""
    return not _DEPENDENCIES.isdisjoint(path.split("/"))


def _whole(path: str, folder: str) -> str:
    return posixpath.normpath(posixpath.join(folder, os.path.expanduser(path)))


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
