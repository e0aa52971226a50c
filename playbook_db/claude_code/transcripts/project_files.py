"""The files that git tracked in a project when the session began.

Later files, dependencies, logs and data files don't count, because anybody may have written their content. Without git,
a file counts if it is older than the session. Paths are compared after the file system has resolved them.
"""

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from playbook_db import project_env, projects
from playbook_db.errors import GitError
from playbook_db.services.sharing import git

# Folders with others' code, build results or caches.
_DEPENDENCIES = frozenset(
    ("node_modules", "bower_components", "jspm_packages", "site-packages", "dist-packages", "venv", ".venv", "env",
     "virtualenv", "vendor", "third_party", "third-party", "external", "target", "dist", "build", "out", "_build",
     "deps", "Pods", "Carthage", "DerivedData", "__pycache__", "obj", "elm-stuff", ".git", ".tox", ".nox", ".cache",
     ".npm", ".yarn", ".gradle", ".m2")
)  # fmt: skip
_MANIFESTS = ("package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml", "composer.json", ".git")
_DATA = re.compile(  # files with other people's words: logs, mail, tables, exchanged data
    r"\.(?:log|out|err|[ct]sv|jsonl|ndjson|eml|mbox|msg|vcf|ics|har|xlsx?|parquet|db|sqlite3?|dump|txt|json|xml|html?"
    r"|rss|atom|pdf|docx?|rtf|ipynb|diff|patch)$",
    re.IGNORECASE,
)
_CONFIGURATION = re.compile(  # files that look like data, but are written by the project's developers
    r"(?:^|/)(?:[\w.-]*requirements[\w.-]*\.txt|constraints\.txt|CMakeLists\.txt|package\.json|composer\.json|pom\.xml"
    r"|(?:deno|turbo|nx|lerna|vercel|nest-cli|angular|tslint|biome|pyrightconfig|(?:ts|js)config[\w.-]*)\.json"
    r"|\.\w+rc\.json|[\w.-]+\.config\.json|AndroidManifest\.xml)$"
)
# The beginning of a line that a search printed: the file's path, and the line's number.
_HIT_PATH = re.compile(r"(?:\./)?(.+?)(?:[:-]\d+[:-]|:|$)")
_NO_HIT = re.compile(r"(?:Found \d+ |No (?:files|matches)|--$|\[)")
_NUMBERED = re.compile(r"^\s*(?:[^\s:]*:)?\d+[\u2192\t:|-]\s*|^[^\s:]+:\s*")


@dataclass(slots=True)
class ProjectFiles:
    """The files of the project in `folders` when a session began. `commands` are the user's test commands.

    `began_at`, the start of the session, is in seconds since 1970. The other fields follow the session. `written` has
    the real paths of files that its tools wrote. `read` has those of files and folders that its last command showed.
    `has_new_commits` is true if commands may have added commits, `has_strangers` if these may be others'.
    """

    folders: tuple[str, ...]
    commands: tuple[str, ...] = ()
    began_at: float = 0.0
    written: set[str] = field(default_factory=set)
    read: list[str] = field(default_factory=list)
    has_new_commits: bool = False
    has_fetched: bool = False
    has_strangers: bool = False
    _blobs: dict[str, str] | None = None
    _tracked_folders: frozenset[str] = frozenset()
    _is_asked: bool = False

    @classmethod
    def of(cls, folder: str, began_at: float) -> "ProjectFiles":
        """Return the files of the project in *folder*, with its whole repository unless that is the home folder."""
        folder = projects.as_path(folder)
        repository = projects.repository(folder)
        is_home = repository == os.path.realpath(os.path.expanduser("~"))
        names = (folder, os.path.realpath(folder), folder if is_home else projects.worktree(folder))
        commands = tuple(project_env.further_tests(folder))
        return cls(tuple(dict.fromkeys(map(os.path.abspath, names))), commands, began_at)

    def holds(self, path: str, folder: str) -> bool:
        """Return whether *path*, relative to *folder*, was a file or folder of the project when the session began."""
        real = os.path.realpath(os.path.join(folder, path))
        inner = next((posixpath.relpath(real, root) for root in self._roots() if _is_below(real, root)), None)
        if inner is None or not _DEPENDENCIES.isdisjoint(inner.split("/")):
            return False
        if self._tracked() is None:
            return os.path.isdir(real) or self._is_older(real, inner)
        name = posixpath.relpath(real, self._roots()[-1])
        return name in self._tracked_folders or (name in (self._blobs or {}) and not _is_data(name))

    def shows(self, path: str, folder: str) -> bool:
        """Return the same as `holds`, and record that a command showed the content of *path*."""
        self.read.append(os.path.realpath(os.path.join(folder, path)))
        return self.holds(path, folder)

    def contains(self, path: str, folder: str) -> bool:
        """Return whether *path*, relative to *folder*, is in the project. Folders with others' code count, too."""
        return bool(self.inside(path, folder))

    def inside(self, path: str, folder: str) -> list[str]:
        """For each of the project's folders that contain *path*, return the relative path."""
        whole = posixpath.normpath(posixpath.join(folder, path))
        return [posixpath.relpath(whole, root) for root in self.folders if _is_below(whole, root)]

    def known_lines(self, text: str, paths: Collection[str]) -> str | None:
        """Return the lines of *text* that the files at the real *paths* had when the session began. Return None if
        *text* has other lines, and not only the session's tools changed the files."""
        changed = [path for path in paths if self._tracked() is not None and not self._is_older(path)]
        if not changed:
            return text
        old_lines = {"", *(line.strip() for path in paths for line in self._lines_at_begin(path))}
        lines = text.splitlines()
        known = [
            line
            for line in lines
            if line.strip() in old_lines or _NUMBERED.sub("", line).strip() in old_lines or line.startswith("[...")
        ]
        return "\n".join(known) if len(known) == len(lines) or self.written.issuperset(changed) else None

    def names_own_only(self, text: str, folders: Iterable[str]) -> bool:
        """Return whether each line of *text*, printed by a search in *folders*, names a file of the project."""
        lines = (line for line in text.splitlines() if line.strip() and not _NO_HIT.match(line))
        names = (match[1] if (match := _HIT_PATH.match(line)) else line for line in lines)
        return all(any(self.holds(name, folder) for folder in folders) for name in names)

    def _roots(self) -> tuple[str, ...]:
        return tuple(map(os.path.realpath, self.folders))

    def _tracked(self) -> dict[str, str] | None:
        """Return the files in git at the session's start, with git's ids of their contents, or None without git."""
        if not self._is_asked:
            self._is_asked = True
            try:
                self._blobs = git.files_at(self.folders[-1], self.began_at) if self.folders else None
            except GitError:
                self._blobs = None
            above = {parent for name in self._blobs or () for parent in _above(name)}
            self._tracked_folders = frozenset({".", *above})
        return self._blobs

    def _lines_at_begin(self, path: str) -> list[str]:
        blob = (self._tracked() or {}).get(posixpath.relpath(path, self._roots()[-1]), "")
        try:
            return git.content_of(self.folders[-1], blob).decode(errors="replace").splitlines() if blob else []
        except GitError:
            return []

    def _is_older(self, real: str, inner: str | None = None) -> bool:
        """Return whether the file at *real* is older than the session. With *inner*, its path in the project, the file
        must also not be data, hidden, or in a package inside the project."""
        try:
            is_older = os.stat(real).st_ctime < self.began_at
        except OSError:
            return False
        if inner is None:
            return is_older
        root = real.removesuffix(inner)
        packages = (os.path.join(root, above, name) for above in _above(inner) for name in _MANIFESTS)
        return is_older and not _is_data(inner) and "/." not in f"/{inner}" and not any(map(os.path.lexists, packages))


def _above(name: str) -> Iterator[str]:
    """Yield the folders above the relative path *name*, without the root."""
    while name := posixpath.dirname(name):
        yield name


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _is_data(name: str) -> bool:
    return _DATA.search(name) is not None and not _CONFIGURATION.search(name)
