"""What we ask git, in repositories that name programs, that are another user's, or that have a rare shape."""

import ast
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import playbook_db
from benchmarks.torture.git_baits import LIVE, MIRROR, SETTINGS, Bait, ask_all, older_git
from playbook_db.errors import GitError
from playbook_db.services.sharing import git

ROOT = Path(playbook_db.__file__).parent
_STARTS = {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "system", "popen"}
# Who starts a program, and which. A new one belongs here if no repository can name it.
STARTERS = {
    ("services/sharing/git.py", "_ask"),  # git
    ("llm/claude_cli.py", "_run"),  # the client
    ("claude_code/setup/doctor.py", "_interpreter"),  # the user's Python, and that of the hooks and of the worker
    ("claude_code/setup/doctor.py", "_worker"),
    ("claude_code/setup/trial.py", "_try"),
    ("__main__.py", "run"),  # itself, with paths in UTF-8
    ("claude_code/hooks/hook_runner.py", "run"),  # the same
    ("claude_code/plugin_env.py", "_find_python"),
    ("claude_code/plugin_env.py", "_run"),  # uv, pip
    ("platforms.py", "_become"),  # the worker
}


def _starters(path: Path, tree: ast.Module) -> set[tuple[str, str]]:
    """The functions of a module that start a program: those of subprocess, and of os."""
    found = set()

    def look(node: ast.AST, function: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                look(child, child.name)
                continue
            if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name):
                of_os = child.value.id == "os" and child.attr.startswith(("exec", "spawn", "posix_spawn"))
                if (child.value.id in ("subprocess", "os") and child.attr in _STARTS) or of_os:
                    found.add((str(path.relative_to(ROOT)), function))
            if isinstance(child, ast.ImportFrom):
                assert child.module != "subprocess", f"{path} hides what it starts"
            look(child, function)

    look(tree, "")
    return found


def test_only_one_function_starts_git() -> None:
    modules = {path: ast.parse(path.read_text()) for path in ROOT.rglob("*.py")}

    assert set().union(*(_starters(path, tree) for path, tree in modules.items())) == STARTERS
    with_git = {
        path.name
        for path, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.List | ast.Tuple)
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value == "git"
    }
    assert with_git == {"git.py"}


@pytest.mark.slow
@pytest.mark.parametrize("as_clone", [False, True], ids=["archive", "clone"])
def test_plain_git_runs_the_programs_of_the_bait(tmp_path: Path, as_clone: bool) -> None:
    """Without this, the next tests would show nothing."""
    assert Bait(tmp_path / "bait", LIVE, as_clone=as_clone).dead() == []


@pytest.mark.nightly(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [SETTINGS, *(pytest.param([name], marks=pytest.mark.nightly) for name in LIVE)], ids=["all", *LIVE]
)
@pytest.mark.parametrize("as_clone", [False, True], ids=["archive", "clone with git before 2.38"])
def test_no_program_of_a_repository_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_clone: bool, settings: list[str]
) -> None:
    bait = Bait(tmp_path / "bait", settings, as_clone=as_clone)
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
def test_worktree_of_a_bare_repository_works(repository: Path, tmp_path: Path) -> None:
    _git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    _git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", "side", str(tmp_path / "a worktree"))
    worktree = str(tmp_path / "a worktree")

    git.install(worktree, share=False)
    assert "merge-driver" in (tmp_path / "bare.git" / "config").read_text()
    assert git.uninstall(worktree, share=False).changed


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
