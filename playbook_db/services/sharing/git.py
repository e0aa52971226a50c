"""Git for projects: setting up playbook-db as a merge driver, and reading versions of the mirror from the history.

Only `_ask` starts git. A repository's own files may name programs for git to run; `_ask` makes sure that none runs.
"""

import contextlib
import itertools
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from playbook_db import files, projects
from playbook_db.domain import playbook_file
from playbook_db.domain.merging import file_merge
from playbook_db.domain.merging.file_merge import Side
from playbook_db.domain.merging.lineage import Lineage, Version
from playbook_db.domain.playbook import Playbook
from playbook_db.errors import GitError, PlaybookFileError, Remedy

ATTRIBUTES = b"**/.claude/playbook.json merge=playbook diff=playbook"
_NAME, _DRIVER, _TEXTCONV = "merge.playbook.name", "merge.playbook.driver", "diff.playbook.textconv"
_TIMEOUT_S = 20  # for one question to git
# A clone or an archive may bring a config that names programs. These options override any config. No GIT_* variable of
# ours reaches git. Never use --git-dir: git then checks no owner.
_OPTIONS = (
    "--no-pager",
    "-c", "core.fsmonitor=",  # not `false`, which is the name of a program before git 2.36
    "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false",  # else `reflog` starts gpg.program
    "-c", "safe.bareRepository=explicit",  # a folder with HEAD, objects and refs is no repository; from git 2.38 on
)  # fmt: skip
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "",  # none; protocol.NAME.allow of a repository is stronger than -c protocol.allow
    "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C",
}  # fmt: skip
_REMEDIES = {
    "not a git repository": "Give the folder of a repository with --project.",
    "bare repository": "Give the folder of one of its worktrees with --project.",
    "ownership": "Another user owns it. If you trust them, add the folder to safe.directory in your git config.",
}
# If playbook-db can't merge or can't be started, the file gets both sides with conflict markers. A commit of it loses
# nothing then.
_ELSE = "|| { git merge-file -L ours -L ancestor -L theirs %A %O %B; exit 1; }"
_MOST_VERSIONS, _MOST_BYTES = 300, 64 << 20  # of the mirror in the history
_MOST_TIPS = 20  # of the branch, before it was rewritten
_LAST_UPDATED = re.compile(rb'"last_updated"\s*:\s*"([^"\\]+)"')


@dataclass(frozen=True, slots=True)
class GitSetup:
    """A change of git's setup: the `changed` files, the `command` that git runs to merge, and notes for the user."""

    changed: tuple[str, ...]
    command: str
    notes: tuple[str, ...] = ()


def install(folder: str, *, share: bool) -> GitSetup:
    """Let git merge and compare playbooks with playbook-db in the repository around *folder*. With *share*, the setting
    is in `.gitattributes`, for all clones; else in the repository's own `info/attributes`. Raises GitError."""
    attributes = _attributes_files(folder)[share]
    command = _command()
    values = {
        _NAME: "key points one by one, votes of both sides",
        _DRIVER: f"{command} merge-driver %O %A %B %P {_ELSE}",
        _TEXTCONV: f"{command} textconv",
    }
    others = {name: value for name, value in values.items() if _config(folder, name) != value}
    for name, value in others.items():
        _ask(folder, "config", "--local", "--replace-all", name, value)
    data = _content(attributes)
    is_new = ATTRIBUTES not in _lines(data)
    if is_new:
        _write(attributes, data + b"\n" * (data != b"" and not data.endswith(b"\n")) + ATTRIBUTES + b"\n")
    changed = (*([_git_path(folder, "config")] if others else []), *([attributes] if is_new else []))
    return GitSetup(changed, values[_DRIVER])


def uninstall(folder: str, *, share: bool) -> GitSetup:
    """Undo `install`. The committed line in `.gitattributes`, which is for all clones, is removed only with *share*.
    Raises GitError."""
    names = [name for name in (_NAME, _DRIVER, _TEXTCONV) if _config(folder, name)]
    for name in names:
        _ask(folder, "config", "--local", "--unset-all", name)
    changed, notes = [_git_path(folder, "config")] if names else [], []
    own, shared = _attributes_files(folder)
    for path in (own, shared):
        data = _content(path)
        if ATTRIBUTES not in _lines(data):
            continue
        committed = _ask(folder, "cat-file", "blob", "HEAD:.gitattributes", may_fail=True)
        if path == shared and not share and ATTRIBUTES in _lines(committed):
            remedy = "To remove it for all clones: playbook uninstall --git --share"
            notes.append(f"{path} is committed, and stays: a clone without the rest ignores it. {remedy}")
            continue
        rest = b"".join(line for line in data.splitlines(keepends=True) if line.strip() != ATTRIBUTES)
        if rest:
            _write(path, rest)
        else:
            os.unlink(path)
        changed.append(path)
    return GitSetup(tuple(changed), "", tuple(notes))


def remote_url(folder: str) -> str:
    """Return the URL of the repository's remote `origin`. Return `""` if there is none, or if git fails."""
    with contextlib.suppress(GitError):
        url = os.fsdecode(_ask(folder, "remote", "get-url", "--", "origin", may_fail=True))
        return url.partition("\n")[0]
    return ""


def root_commit(folder: str) -> str:
    """Return the first root commit of the repository around *folder*. Return `""` if there is none yet, if the clone is
    shallow, or if git fails."""
    own = projects.git_dir(folder)
    if own is None or os.path.exists(os.path.join(own, "shallow")):
        return ""
    with contextlib.suppress(GitError):
        return min(_ask(folder, "rev-list", "--max-parents=0", "HEAD", may_fail=True).decode().split(), default="")
    return ""


def is_tracked(folder: str, path: str) -> bool:
    """Return whether git tracks *path* in the repository in *folder*, in upper or lower case. Raises GitError."""
    return bool(_ask(folder, "ls-files", "--", f":(icase,literal){path}"))


def list_files(folder: str) -> list[str]:
    """Return the files below *folder* that git tracks or would add, relative to *folder*. Raises GitError."""
    listed = _ask(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    return os.fsdecode(listed).split("\0")[:-1]


def conflict(path: str) -> str:
    """Return the result of `projects.conflict`, and ask git whether it couldn't merge the mirror at *path*."""
    folder, name = os.path.split(os.path.realpath(path))
    with contextlib.suppress(GitError):
        if projects.git_dir(folder) is not None and _ask(folder, "ls-files", "-u", "--", f":(literal){name}"):
            return projects.conflict(path, is_unmerged=True)
    return projects.conflict(path)


def in_head(path: str) -> bytes:
    """Return the content of the file at *path* in git's present commit, or `b""` if it isn't there. Raises GitError."""
    folder, name = os.path.split(os.path.realpath(path))
    if projects.git_dir(folder) is None:
        return b""
    return _ask(folder, "cat-file", "blob", f"HEAD:./{name}", may_fail=True)


def keeps(path: str, data: bytes | None, *, is_changed_here: bool) -> bool:
    """Return whether the mirror at *path* is to stay as it is, so that no git command refuses to replace it. *data* is
    its content. Unless the playbook *is_changed_here*, git may have brought the content, or removed the file."""
    folder = os.path.dirname(os.path.realpath(path))
    state = projects.git_dir(folder)
    if state is None:
        return False
    try:
        if not is_changed_here and data is None:
            return True
        if not is_changed_here and data is not None:
            blob = _ask(folder, "hash-object", "--stdin", stdin=_unix(data)).decode().strip()
            if _ask(folder, "cat-file", "-t", blob, may_fail=True):
                return True
        if not in_head(path):
            return data is None
        is_detached = not _ask(folder, "symbolic-ref", "-q", "HEAD", may_fail=True)
        return is_detached or os.path.lexists(os.path.join(state, "BISECT_LOG"))
    except GitError:  # such as a missing git
        return False


class MirrorVersions:
    """All versions of the mirror at *path* in git's history. There are none if git fails. `lineage` says which versions
    include which others. *known* looks up versions in the database by their times. A version has about *size_bytes*."""

    def __init__(
        self, path: str, known: "Callable[[Collection[str]], Mapping[str, tuple[int, bool]]]", *, size_bytes: int
    ) -> None:
        self._folder, self._name = os.path.split(os.path.realpath(path))
        most = max(1, min(_MOST_VERSIONS, _MOST_BYTES // max(1, size_bytes)))
        try:
            versions = self._read(most) if projects.git_dir(self._folder) is not None else []
        except GitError:
            versions = []
        self._times = {version.commit: version.time for version in versions}
        known_times = known({*self._times.values()} - {""}) if versions else {}
        self.lineage = Lineage(versions, known_times)

    def behind(self, data: bytes, commit: str | None, *, before_rebase: bool = False) -> set[str]:
        """Return the commits whose versions are included in the version *data*, and its own. *data* is looked for in
        *commit* first. With *before_rebase*, also return commits that a rebase has replaced."""
        if not self._times:
            return set()
        try:
            if commit is None or not self._is(commit, data):
                return self.lineage.behind(self.find(data)[-1:])
            tips = _tips_before(self._folder) if before_rebase else ()
            behind = _ask(self._folder, "rev-list", commit, *tips).decode().split()
            return self._times.keys() & behind
        except GitError:
            return set()

    def find(self, data: bytes) -> list[str]:
        """Return the commits that contain the version *data*, newest first."""
        time = _LAST_UPDATED.search(data)
        same_time = [each for each, when in self._times.items() if time and when == time[1].decode(errors="replace")]
        return [commit for commit in same_time if self._is(commit, data)]

    def common(self, commits: Collection[str]) -> Playbook | None:
        """Return the playbook that includes the versions in all *commits*. If no single version does, merge several.
        Return None if there are no commits, or if one can't be read."""
        newest = self.lineage.newest(commits)
        try:
            side = self._merged(newest) if newest else None
        except (GitError, PlaybookFileError):
            return None
        return side.reading.playbook if side else None

    def _merged(self, commits: Sequence[str]) -> Side:
        lineage = self.lineage
        merged, held = self._side(commits[0]), lineage.held(lineage.behind(commits[:1]))
        for commit in commits[1:]:
            here = lineage.held(lineage.behind([commit]))
            shared = lineage.newest(held & here)  # older than both, as neither holds the other
            base = self._merged(shared).reading if shared else None
            merged, held = _side(file_merge.merge_files(base, merged, self._side(commit)).data, commit), held | here
        return merged

    def _side(self, commit: str) -> Side:
        return _side(_ask(self._folder, "cat-file", "blob", f"{commit}:./{self._name}"), commit)

    def _is(self, commit: str, data: bytes) -> bool:
        has = _ask(self._folder, "cat-file", "blob", f"{commit}:./{self._name}", may_fail=True)
        return _unix(has) == _unix(data)

    def _read(self, most: int) -> list[Version]:
        question = ("rev-list", "--topo-order", "--simplify-merges", "--parents", f"--max-count={most}", "--all")
        log = _ask(self._folder, *question, "--reflog", "--", self._name).decode()
        entries = [line.split() for line in log.splitlines()]
        names = "".join(f"{commit}:./{self._name}\n" for commit, *_ in entries)
        # Each answer starts with the line `<object> <type> <size>`, or is one line that ends with `missing`.
        answers = _ask(self._folder, "cat-file", "--batch", stdin=names.encode())
        versions, place = [], 0
        for commit, *parents in entries:
            first, _, _ = answers[place:].partition(b"\n")
            place += len(first) + 1
            time = None
            if not first.endswith(b" missing"):
                size_bytes = int(first.split()[-1])
                time = _LAST_UPDATED.search(answers, place, place + size_bytes)
                place += size_bytes + 1
            versions.append(Version(commit, tuple(parents), time[1].decode(errors="replace") if time else ""))
        return versions


def head_to_merge() -> str | None:
    """Return the commit that is being merged if `git merge` started this process. Return None for another command, or
    if several commits are merged."""
    heads = [name.removeprefix("GITHEAD_") for name in os.environ if name.startswith("GITHEAD_")]
    return heads[0] if len(heads) == 1 else None


def _tips_before(folder: str) -> Iterator[str]:
    """Yield the earlier tips of the branch that a rebase or an amended commit has replaced, newest first."""
    branch = _ask(folder, "rev-parse", "--symbolic-full-name", "HEAD").decode().strip()
    if branch == "HEAD":  # detached
        return
    log = _ask(folder, "reflog", "show", "--format=%H %gs", f"--max-count={_MOST_TIPS}", branch).decode(
        errors="replace"
    )
    entries = [line.partition(" ")[::2] for line in log.splitlines()]
    for (_, why), (before, _) in itertools.pairwise(entries):
        if re.match(r"[^:]*(rebase|amend|\(finish\))", why):
            yield before


def _side(data: bytes, source: str) -> Side:
    return Side(data, playbook_file.decode(data, source=source))


def _command() -> str:
    """Return the command with which git starts playbook-db. It works in any folder and with any PATH. -P keeps Python
    from importing files in the current folder."""
    import shlex

    root = os.environ.get("PLAYBOOK_PLUGIN_ROOT")  # set if the plugin itself runs the command
    path = f"PYTHONPATH={shlex.quote(root)} " if root else ""
    return f"{path}{shlex.quote(os.path.abspath(sys.executable))} -P -m playbook_db"


def _attributes_files(folder: str) -> tuple[str, str]:
    """Return the paths of the repository's own attributes file and of the one that all clones share."""
    top = os.fsdecode(_ask(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n"))
    shared = os.path.join(top, ".gitattributes")
    if os.path.islink(shared):
        raise GitError(f"{shared} is a link, and git doesn't follow it. Nothing was changed; put a plain file there.")
    return _git_path(folder, "info/attributes"), shared


def _git_path(folder: str, name: str) -> str:
    path = os.fsdecode(_ask(folder, "rev-parse", "--git-path", name).removesuffix(b"\n"))
    return os.path.normpath(os.path.join(folder, path))


def _config(folder: str, name: str) -> str:
    """Return the values of *name* in the repository's config, one a line, or `""` if there are none."""
    values = _ask(folder, "config", "--local", "--get-all", name, may_fail=True)
    return values.decode(errors="surrogateescape").removesuffix("\n")


def _ask(folder: str, *question: str, stdin: bytes = b"", may_fail: bool = False) -> bytes:
    """Run git, and return its output. Return no output if git fails and *may_fail* is set. Git fetches nothing, prompts
    nobody and starts no other program. Raises GitError."""
    import subprocess  # late: each command that syncs the mirror imports this module

    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _VARIABLES
    # A relative entry of PATH would find programs in the current folder.
    environment["PATH"] = os.pathsep.join(filter(os.path.isabs, os.get_exec_path())) or os.defpath
    command = ["git", *_OPTIONS, "-C", folder, *question]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, env=environment, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git can't be started in {folder}: {error}.") from error
    if done.returncode and not may_fail:
        problem = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ").split("\n")[0]
        remedy = next((Remedy(sentence) for words, sentence in _REMEDIES.items() if words in problem), None)
        raise GitError(f"git refuses in {folder}: {problem}.", remedy)
    return b"" if done.returncode else done.stdout


def _content(path: str) -> bytes:
    try:
        return projects.read_plain(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise GitError(f"{path} can't be read: {error.strerror}. Nothing was changed in it.") from error


def _write(path: str, data: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.replace_file(path, data)
    except OSError as error:
        raise GitError(f"{path} can't be written: {error.strerror}. It was left as it is.") from error


def _lines(data: bytes) -> list[bytes]:
    return [line.strip() for line in data.splitlines()]


def _unix(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")
