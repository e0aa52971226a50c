"""Which project a folder belongs to, with git's own worktrees."""

import subprocess
from pathlib import Path

import pytest

from playbook_db import projects


def _git(*arguments: str, cwd: Path) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and a folder `package` in it."""
    made = tmp_path / "repository"
    (made / "package").mkdir(parents=True)
    (made / "package" / "module.py").touch()
    _git("init", "-q", ".", cwd=made)
    _git("add", ".", cwd=made)
    _git("commit", "-qm", "first", cwd=made)
    return made


@pytest.mark.slow
def test_all_worktrees_of_a_repository_are_one_project(repository: Path, tmp_path: Path) -> None:
    """A linked worktree, made by git itself, has the key of the main one; a folder inside, that of its twin."""
    linked = tmp_path / "elsewhere"
    _git("worktree", "add", "-q", str(linked), cwd=repository)

    assert projects.project_key(str(linked)) == projects.project_key(str(repository)) == str(repository)
    assert projects.project_key(str(linked / "package")) == str(repository / "package")


@pytest.mark.slow
def test_a_worktree_of_a_bare_repository_is_keyed_by_that(repository: Path, tmp_path: Path) -> None:
    """Where there is no main worktree the bare repository stands for the project."""
    _git("clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"), cwd=tmp_path)
    for name in ("one", "two"):
        _git("worktree", "add", "-q", "--detach", str(tmp_path / name), cwd=tmp_path / "bare.git")

    keys = {projects.project_key(str(tmp_path / name)) for name in ("one", "two")}

    assert keys == {str(tmp_path / "bare.git")}


@pytest.mark.slow
def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    """Its `.git` is a file too, but it is another repository."""
    outer = tmp_path / "outer"
    outer.mkdir()
    _git("init", "-q", ".", cwd=outer)
    _git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner", cwd=outer)

    assert projects.project_key(str(outer / "inner")) == str(outer / "inner")


def test_links_to_a_folder_are_the_folder(tmp_path: Path) -> None:
    """A project has one playbook, by whatever path one comes to it; two folders of the same name have two."""
    for parent in ("one", "two"):
        (tmp_path / parent / "app").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "one" / "app")

    assert projects.project_key(str(tmp_path / "link")) == projects.project_key(str(tmp_path / "one" / "app"))
    assert projects.project_key(str(tmp_path / "one" / "app")) != projects.project_key(str(tmp_path / "two" / "app"))


@pytest.mark.slow
def test_the_variable_of_claude_code_names_the_project(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said on the command line wins over CLAUDE_PROJECT_DIR, which wins over where one stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(repository))

    assert projects.project_dir() == str(repository)
    assert projects.project_dir(str(tmp_path)) == str(tmp_path)


@pytest.mark.slow
def test_inside_a_project_a_command_means_the_whole_of_it(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest folder upwards with `.git` or `.claude` is the project."""
    monkeypatch.chdir(repository / "package")

    assert projects.project_dir() == str(repository)


def test_the_home_folders_own_claude_is_no_sign_of_a_project(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code keeps its settings there; a folder below home is not the project `home` for that."""
    (home / ".claude").mkdir()
    (home / "notes").mkdir()
    monkeypatch.chdir(home / "notes")

    assert projects.project_dir() == str(home / "notes")


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: /nowhere", "\udcff"])
def test_a_broken_git_file_breaks_nothing(tmp_path: Path, content: str) -> None:
    """The folder is then its own project."""
    (tmp_path / ".git").write_text(content, errors="surrogateescape")

    assert projects.project_key(str(tmp_path)) == str(tmp_path)
