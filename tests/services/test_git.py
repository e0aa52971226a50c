"""No program that a repository names is run when we ask git."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import playbook_db
from benchmarks.torture.git_baits import LIVE, MIRROR, SETTINGS, Bait, ask_all, older_git
from playbook_db.errors import GitError
from playbook_db.services.sharing import git

ROOT = Path(playbook_db.__file__).parent
# Who starts a program, and which. A new one belongs here if no repository can name it.


# Modules that start programs. A new one belongs here if no repository can name its program.
STARTERS = {
    "services/sharing/git.py", "llm/claude_cli.py", "claude_code/setup/doctor.py", "claude_code/setup/trial.py",
    "__main__.py", "claude_code/hooks/hook_runner.py", "claude_code/plugin_env.py", "platforms.py",
}  # fmt: skip


def test_only_one_module_starts_git() -> None:
    start = re.compile(r"\bsubprocess\.\w+\(|\bos\.(exec|spawn|posix_spawn|system|popen)|from subprocess")
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.rglob("*.py")}

    assert {name for name, text in texts.items() if start.search(text)} == STARTERS
    assert {name for name, text in texts.items() if re.search(r"""[(\[]["']git["'],""", text)} == {
        "services/sharing/git.py"
    }


@pytest.mark.slow
@pytest.mark.parametrize("as_clone", [False, True], ids=["archive", "clone"])
def test_plain_git_runs_the_programs_of_the_bait(tmp_path: Path, as_clone: bool) -> None:
    """Without this, the next tests would show nothing."""
    assert Bait(tmp_path / "bait", LIVE, as_clone=as_clone).dead() == []


@pytest.mark.slow
@pytest.mark.parametrize("as_clone", [False, True], ids=["archive", "clone with git before 2.38"])
def test_no_program_of_a_repository_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_clone: bool) -> None:
    bait = Bait(tmp_path / "bait", SETTINGS, as_clone=as_clone)
    if as_clone:  # a newer one refuses at once
        monkeypatch.setenv("PATH", f"{older_git(tmp_path)}{os.pathsep}{os.environ['PATH']}")

    ask_all(bait.folder)

    assert bait.started() == []


@pytest.mark.slow
def test_fake_bare_repository_is_refused(tmp_path: Path) -> None:
    """A commit may have brought its files."""
    bait = Bait(tmp_path / "bait", [], as_clone=True)
    config = (bait.folder / "config").read_bytes()

    with pytest.raises(GitError, match=r"cannot use bare repository.*worktrees with --project"):
        git.install(str(bait.folder), share=False)

    assert (bait.folder / "config").read_bytes() == config


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a committed mirror, and a space in its path."""
    made = tmp_path / "the shop"
    (made / ".claude").mkdir(parents=True)
    (made / MIRROR).write_text("{}")
    _git(made, "init", "-q", "-b", "main")
    _git(made, "add", ".")
    _git(made, "-c", "user.name=ann", "-c", "user.email=ann@example.com", "commit", "-qm", "begun")
    return made


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


@pytest.mark.slow
def test_git_variables_and_relative_paths_are_ignored(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    (tmp_path / "git").write_text(f"#!/bin/sh\ntouch '{started}'\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "a crowd")

    assert git.is_tracked(str(repository), MIRROR)
    assert not started.exists()
    assert not (tmp_path / "trace").exists()
    monkeypatch.setenv("PATH", ".")
    assert git.is_tracked(str(repository), MIRROR)
    assert not started.exists()


@pytest.mark.slow
def test_repository_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bait = Bait(tmp_path / "bait", SETTINGS)
    (tmp_path / "git").write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n')
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    sentence = rf"git refuses in {bait.folder}: .*ownership.*Another user owns it.*safe\.directory"

    with pytest.raises(GitError, match=sentence):
        git.install(str(bait.folder), share=False)
    ask_all(bait.folder)

    assert bait.started() == []


@pytest.mark.slow
def test_missing_git_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(GitError, match=r"git can't be started in .*No such file"):
        git.install(str(tmp_path), share=False)
