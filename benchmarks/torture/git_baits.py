"""Repositories whose settings, hooks and attributes name programs: no command and no hook of ours may start one.

A plain clone can carry such a repository as a folder with `HEAD`, `objects`, `refs` and `config`; an archive carries it
as `.git`. Each program writes the name of its setting into a file, so that the file says which one was started.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.torture.life import Life
from benchmarks.torture.promises import promise
from playbook_db.claude_code import registration
from playbook_db.errors import GitError
from playbook_db.services.sharing import git

_PATIENCE_S = 60.0
MIRROR = ".claude/playbook.json"
_ASKED = ("cat-file", "config", "ls-files", "reflog", "remote", "rev-list", "rev-parse")  # of git, by us
_EVENTS = (
    "post-checkout", "post-commit", "post-index-change", "post-command", "pre-auto-gc", "pre-command", "pre-commit",
    "reference-transaction",
)  # fmt: skip
_ANN = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
_CONTENT = {"version": "1.0", "last_updated": "2026-01-01T00:00:00+00:00", "sections": {"OTHERS": ["a point"]}}

# The settings of git 2.55 and its forks that name a program; {} is its path.
SETTINGS: dict[str, str] = {
    **dict.fromkeys(
        (
            "core.fsmonitor", "core.hooksPath", "core.pager", "core.editor", "core.askPass", "core.sshCommand",
            "core.gitProxy", "core.alternateRefsCommand", "core.virtualFilesystem", "sequence.editor", "diff.external",
            "interactive.diffFilter", "gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program",
            "gpg.ssh.defaultKeyCommand", "gc.recentObjectsHook", "uploadpack.packObjectsHook", "imap.tunnel",
            "receive.procReceiveRefs", "remote.origin.uploadpack", "remote.origin.receivepack", "tar.bait.command",
            "trailer.bait.command", "trailer.bait.cmd", "man.bait.cmd", "man.bait.path", "browser.bait.cmd",
            "browser.bait.path", "difftool.bait.cmd", "difftool.bait.path", "mergetool.bait.cmd", "mergetool.bait.path",
            "guitool.bait.cmd", "instaweb.httpd", "sendemail.sendmailCmd", "sendemail.toCmd", "sendemail.ccCmd",
            "sendemail.headerCmd", "help.browser", "web.browser", "credential.helper", "hook.bait.command",
            "filter.bait.clean", "filter.bait.smudge", "filter.bait.process", "diff.bait.command", "diff.bait.textconv",
            "diff.playbook.command", "diff.playbook.textconv", "merge.bait.driver", "merge.playbook.driver",
            *(f"pager.{command}" for command in _ASKED),
        ),
        "{}",
    ),
    **{f"alias.{command}": "!{}" for command in (*_ASKED, "bait")},
    "alias.bait2.command": "!{}",
    "credential.https://example.com.helper": "!{}",
    "submodule.inner.update": "!{}",
    "remote.origin.url": "ext::{}",
    "remote.origin.vcs": "bait",
}  # fmt: skip
# These start nothing, but let some of the above be started.
_HELPERS = {
    "core.repositoryFormatVersion": "1",
    "extensions.partialClone": "origin",
    "log.showSignature": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "remote.origin.promisor": "true",
    "safe.bareRepository": "all",
    "user.name": "ann",
    "user.email": "ann@example.com",
}
# The command with which plain git starts the program of a setting. If it starts nothing, the bait is dead.
LIVE = {
    "core.fsmonitor": ("status",),
    "gpg.program": ("reflog", "show", "--format=%H", "main"),
    "remote.origin.url": ("cat-file", "blob", f"main~1:{MIRROR}"),
    "core.hooksPath": ("update-ref", "refs/heads/new", "HEAD"),
    "core.alternateRefsCommand": ("rev-list", "--max-count=1", "--alternate-refs"),
    "diff.playbook.command": ("diff", "main~1", "main", "--", "another"),
    "filter.bait.clean": ("add", "filtered"),
    "alias.bait": ("bait",),
}


@dataclass(slots=True)
class Baits:
    """Plain git started `live` programs; our `commands` started none in so many `repositories`."""

    live: int = 0
    repositories: int = 0
    commands: int = 0


class Bait:
    """A repository at `folder` that names a program for each of *settings*.

    It has a `.git` as an archive does. With *as_clone*, it is a folder of a clone, and a bare repository by itself.
    """

    def __init__(self, place: Path, settings: Iterable[str], *, as_clone: bool = False) -> None:
        promise(" " not in str(place), f"a shell doesn't start what {place} holds")
        self._programs = place / "programs"
        self._marker = place / "started"
        self._programs.mkdir(parents=True)
        self.folder = place / "origin" / "sub" if as_clone else place / "archive"
        self._make()
        self._set(set(settings))
        if as_clone:
            self._put_into_a_clone(place)

    def started(self) -> list[str]:
        """The settings whose programs were started since the last call."""
        names = self._marker.read_text().splitlines() if self._marker.exists() else []
        self._marker.unlink(missing_ok=True)
        return sorted({*names})

    def dead(self) -> list[str]:
        """The settings of LIVE whose program plain git doesn't start here."""
        dead = []
        for name, command in LIVE.items():
            subprocess.run(["git", *command], cwd=self.folder, capture_output=True, timeout=_PATIENCE_S)
            dead += [name] if name not in self.started() else []
        return dead

    def _make(self) -> None:
        """Two commits. The first one's mirror isn't there, as in a partial clone; the second one is signed."""
        folder, inside = self.folder, self.folder / ".git"
        (folder / ".claude").mkdir(parents=True)
        _git(folder, "init", "-q", "-b", "main")
        for data in ("{}", json.dumps(_CONTENT)):
            for name in (MIRROR, "another"):
                (folder / name).write_text(data + name)
            (folder / MIRROR).write_text(data)
            _git(folder, "add", ".")
            _git(folder, *_ANN, "commit", "-qm", "a commit")
        header, _, message = _git(folder, "cat-file", "commit", "HEAD").partition("\n\n")
        signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n bait\n -----END PGP SIGNATURE-----"
        text = f"{header}\n{signature}\n\n{message}\n"
        signed = _git(folder, "hash-object", "-t", "commit", "-w", "--stdin", given=text)
        _git(folder, "update-ref", "-m", "rebase (finish): onto another", "refs/heads/main", signed)
        missing = _git(folder, "rev-parse", f"HEAD~1:{MIRROR}")
        (inside / "objects" / missing[:2] / missing[2:]).unlink()
        _git(folder, "init", "-q", "--bare", str(self._programs / "alternate"))
        (inside / "objects" / "info" / "alternates").write_text(f"{self._programs / 'alternate' / 'objects'}\n")
        attributes = "* diff=bait filter=bait merge=bait\nanother diff=playbook\n"
        (inside / "info").mkdir(exist_ok=True)
        (inside / "info" / "attributes").write_text(f"{attributes}{git.ATTRIBUTES.decode()}\n")
        (folder / ".gitattributes").write_text(attributes)
        (folder / "filtered").touch()

    def _set(self, settings: set[str]) -> None:
        inside = self.folder / ".git"
        hooks = self._programs / "core.hooksPath"
        hooks.mkdir()
        for event in _EVENTS:
            self._write_program(hooks / event, "core.hooksPath")
            self._write_program(inside / "hooks" / event, "hooks")
        values = [*_HELPERS.items()]
        for name in settings:
            program = self._programs / name.replace("/", "_")
            if not program.exists():
                self._write_program(program, name)
            values.append((name, SETTINGS[name].format(program)))
        values += [("hook.bait.event", event) for event in _EVENTS if "hook.bait.command" in settings]
        for name, value in values:
            _git(self.folder, "config", "--file", str(inside / "included"), "--add", name, value)
        with (inside / "config").open("a") as config:
            config.write("[include]\npath = included\n[core]\nrepositoryFormatVersion = 1\n")

    def _put_into_a_clone(self, place: Path) -> None:
        with (self.folder / ".git" / "config").open("a") as config:
            config.write("[core]\nworktree = .\n")
        (self.folder / ".gitattributes").unlink()  # it is for the other repository too, which is to have the files
        for file in [*(self.folder / ".git").iterdir()]:
            file.rename(self.folder / file.name)
        (self.folder / ".git").rmdir()
        origin = self.folder.parent
        _git(origin, "init", "-q", "-b", "main")
        _git(origin, "add", "-A", "-f")
        _git(origin, *_ANN, "commit", "-qm", "with a repository among its files")
        _git(place, "clone", "-q", str(origin), "clone")
        self.folder = place / "clone" / "sub"

    def _write_program(self, path: Path, name: str) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{name}' >> '{self._marker}'\n")
        path.chmod(0o755)


def run(folder: Path, *, quick: bool = False) -> Baits:
    """Let our commands and hooks loose on such repositories: with all settings at once, and unless *quick* with each
    alone. Raises AssertionError if a program is started, or if plain git starts none."""
    found = Baits()
    for kind, as_clone in (("archive", False), ("clone", True)):
        dead = Bait(folder / f"control-{kind}", LIVE, as_clone=as_clone).dead()
        promise(not dead, f"the bait is dead: plain git doesn't start {dead}")
        found.live += len(LIVE)
        life = Life(folder / f"together-{kind}")
        bait = Bait(life.folder / "bait", SETTINGS, as_clone=as_clone)
        _try(found, life, bait, "doctor")
        older = Life(folder / f"older-git-{kind}")
        bait = Bait(older.folder / "bait", SETTINGS, as_clone=as_clone)
        _try(found, older, bait, PATH=f"{older_git(older.folder)}{os.pathsep}{os.environ['PATH']}")
        for number, name in enumerate([] if quick else SETTINGS):
            bait = Bait(folder / f"alone-{kind}" / str(number), [name], as_clone=as_clone)
            ask_all(bait.folder)
            promise(not (started := bait.started()), f"with {name} in {bait.folder}, we started {started}")
            found.repositories += 1
    _try_registered_hooks(found, Life(folder / "registered"))
    return found


def ask_all(folder: Path) -> None:
    """Ask git all that we ever ask it of the repository in *folder*."""
    here, data = str(folder), (folder / MIRROR).read_bytes()
    times = {"2026-01-01T00:00:00+00:00": (1, True)}
    for share in (False, True):
        for ask in (git.install, git.uninstall):
            with suppress(GitError):
                ask(here, share=share)
            with suppress(GitError):
                git.is_tracked(here, MIRROR)
    git.remote_url(here)
    git.conflict(str(folder / MIRROR))
    git.keeps(str(folder / MIRROR), data, is_changed_here=False)
    git.keeps(str(folder / MIRROR), data, is_changed_here=True)
    versions = git.MirrorVersions(str(folder / MIRROR), lambda _: times, size_bytes=len(data))
    versions.common(versions.behind(data, "HEAD", before_rebase=True) | {*versions.find(data)})


def older_git(folder: Path) -> Path:
    """A folder with a `git` that knows no `safe.bareRepository`, as those before 2.38."""
    made = folder / "older"
    made.mkdir()
    (made / "git").write_text(
        "#!/bin/sh\n"
        "for word; do shift; case $word in safe.bareRepository=*) word=safe.unknown=1;; esac; "
        'set -- "$@" "$word"; done\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    (made / "git").chmod(0o755)
    return made


def _try(found: Baits, life: Life, bait: Bait, *first: str, **environ: str) -> None:
    """Run *first*, each command that asks git, and the hooks in the repository of *bait*."""
    mirror = bait.folder / MIRROR
    data = mirror.read_text()
    for name in ("base", "ours", "theirs"):
        (bait.folder / name).write_text(data.replace("00:00:00", f"00:00:0{len(name)}"))

    def command(*arguments: str) -> None:
        life.command(*arguments, project=bait.folder, may_end_with=1, **environ)
        started = bait.started()
        promise(not started, f"{' '.join(arguments)} in {bait.folder} started {started}")
        found.commands += 1

    for arguments in (*first, "init --yes", "add another", "mirror on --yes"):
        command(*arguments.split())
    mirror.write_text(data)  # as a rebase does
    for arguments in (
        "list", "merge-driver base ours theirs .claude/playbook.json", "textconv ours", "team status",
        "team join postgresql://127.0.0.1:1/none", "install --git", "install --git --share", "status",
        "uninstall --git --share",
    ):  # fmt: skip
        command(*arguments.split())
    for hook in ("inject", "enqueue"):
        life.hook(hook, project=bait.folder, **environ)
    command("work")
    found.repositories += 1


def _try_registered_hooks(found: Baits, life: Life) -> None:
    """A clone whose settings register programs of its own as our hooks, which doctor tries."""
    project, marker = life.project(), life.folder / "started"
    for name in ("python", "inject.py", "enqueue.py", "remind.py", "worker"):
        (project / name).write_text(f"#!/bin/sh\necho '{name}' >> '{marker}'\n")
        (project / name).chmod(0o755)
    for scope, name in (("project", "settings.json"), ("local", "settings.local.json")):
        hooks = {}
        for event, (hook, _) in registration.EVENTS.items():
            line = registration.command(
                hook, scope=scope, python=str(project / "python"), hooks_folder=str(project),
                worker_python=str(project / "worker"),
            )  # fmt: skip
            hooks[event] = [{"hooks": [{"type": "command", "command": line}]}]
        (project / ".claude" / name).write_text(json.dumps({"hooks": hooks}))
    life.command("doctor", may_end_with=1)
    promise(not marker.exists(), "doctor started a program that a clone's settings name")
    found.commands += 1
    found.repositories += 1


def _git(folder: Path, *arguments: str, given: str = "") -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, input=given, capture_output=True, text=True)
    promise(done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()
