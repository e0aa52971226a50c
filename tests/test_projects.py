"""Which project a folder belongs to, with git's own worktrees."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db import projects
from tests.builders import a_worktree


def _git(*arguments: str, cwd: Path) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and a folder `package`."""
    made = tmp_path / "repository"
    (made / "package").mkdir(parents=True)
    (made / "package" / "module.py").touch()
    _git("init", "-q", ".", cwd=made)
    _git("add", ".", cwd=made)
    _git("commit", "-qm", "first", cwd=made)
    return made


@pytest.mark.slow
def test_worktrees_are_one_project(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "elsewhere"
    _git("worktree", "add", "-q", str(linked), cwd=repository)

    assert projects.project_key(str(linked)) == projects.project_key(str(repository)) == str(repository)
    assert projects.project_key(str(linked / "package")) == str(repository / "package")


@pytest.mark.slow
def test_bare_repository_is_the_project(repository: Path, tmp_path: Path) -> None:
    _git("clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"), cwd=tmp_path)
    for name in ("one", "two"):
        _git("worktree", "add", "-q", "--detach", str(tmp_path / name), cwd=tmp_path / "bare.git")

    keys = {projects.project_key(str(tmp_path / name)) for name in ("one", "two")}

    assert keys == {str(tmp_path / "bare.git")}


@pytest.mark.slow
def test_submodule_is_its_own_project(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    _git("init", "-q", ".", cwd=outer)
    _git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner", cwd=outer)

    assert projects.project_key(str(outer / "inner")) == str(outer / "inner")


def test_link_to_a_folder_is_the_folder(tmp_path: Path) -> None:
    """Two folders of the same name are two projects."""
    for parent in ("one", "two"):
        (tmp_path / parent / "app").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "one" / "app")

    assert projects.project_key(str(tmp_path / "link")) == projects.project_key(str(tmp_path / "one" / "app"))
    assert projects.project_key(str(tmp_path / "one" / "app")) != projects.project_key(str(tmp_path / "two" / "app"))


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: /nowhere", "gitdir: a\0b", "gitdir: .git", "\udcff"])
def test_broken_git_file_is_ignored(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content, errors="surrogateescape")

    assert projects.project_key(str(tmp_path)) == str(tmp_path)


@pytest.mark.slow
def test_worktree_may_have_relative_paths(repository: Path, tmp_path: Path) -> None:
    """Git writes them with `worktree.useRelativePaths`."""
    linked = tmp_path / "elsewhere"
    _git("worktree", "add", "-q", str(linked), cwd=repository)
    (linked / ".git").write_text("gitdir: ../repository/.git/worktrees/elsewhere\n")
    (repository / ".git" / "worktrees" / "elsewhere" / "gitdir").write_text("../../../../elsewhere/.git\n")

    assert projects.project_key(str(linked)) == str(repository)


def _names_itself_too(fake: Path, victim: Path) -> None:
    (fake / "x").mkdir()
    (fake / ".git").write_text("gitdir: x\n")
    (fake / "x" / "commondir").write_text(f"{victim}/.git\n")
    (fake / "x" / "gitdir").write_text("../.git\n")


def _looks_like_an_entry_of_the_repository(fake: Path, victim: Path) -> None:
    (fake / "worktrees" / "x").mkdir(parents=True)
    (fake / ".git").write_text("gitdir: worktrees/x\n")
    (fake / "worktrees" / "x" / "commondir").write_text(f"{victim}/.git\n")
    (fake / "worktrees" / "x" / "gitdir").write_text(f"{fake}/.git\n")


def _takes_a_real_worktrees_place(fake: Path, victim: Path) -> None:
    (fake / ".git").write_text(f"gitdir: {victim}/.git/worktrees/linked\n")


def _links_to_the_repositorys_entry(fake: Path, victim: Path) -> None:
    (fake / "worktrees").symlink_to(victim / ".git" / "worktrees")
    (fake / ".git").write_text("gitdir: worktrees/linked\n")


@pytest.mark.parametrize(
    "made",
    [
        _names_itself_too,
        _looks_like_an_entry_of_the_repository,
        _takes_a_real_worktrees_place,
        _links_to_the_repositorys_entry,
    ],
)
def test_false_worktree_gets_no_other_project(tmp_path: Path, made: Callable[..., None]) -> None:
    """The repository must name the worktree, too: a clone may contain any file."""
    victim, fake = tmp_path / "victim", tmp_path / "fake"
    linked = a_worktree(victim, tmp_path / "linked")
    fake.mkdir()
    made(fake, victim)

    assert projects.project_key(str(fake)) == str(fake)
    assert projects.project_key(str(linked)) == str(victim)


@pytest.mark.parametrize("kind", ["pipe", "endless", "folder", "large"])
def test_only_small_plain_files_are_read(tmp_path: Path, kind: str) -> None:
    file = tmp_path / ".git"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "endless":
        file.symlink_to("/dev/zero")
    elif kind == "folder":
        file.mkdir()
    else:
        with file.open("wb") as sparse:
            sparse.truncate(projects.MAX_SMALL_FILE_BYTES + 1)

    with pytest.raises(OSError, match="larger than 1 MiB" if kind == "large" else "not a plain file"):
        projects.read_plain(str(file))
    assert projects.project_key(str(tmp_path)) == str(tmp_path)


def test_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    content = os.urandom(projects.MAX_SMALL_FILE_BYTES)
    (tmp_path / "file").write_bytes(content)
    (tmp_path / "link").symlink_to("file")

    assert projects.read_plain(str(tmp_path / "link")) == content


@pytest.mark.parametrize("name", [b"caf\xe9", b"caf\xee\xbf\xa9", "café".encode(), b"\xff\xfe"])
def test_any_folder_name_can_be_a_key(tmp_path: Path, name: bytes) -> None:
    """A name need not be UTF-8."""
    folder = tmp_path / os.fsdecode(name)
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")

    key = projects.project_key(str(folder))

    assert key.encode("utf-8").decode("utf-8") == key
    assert os.fsencode(projects.as_path(key)) == os.fsencode(folder)
    assert projects.has_folder(key)
    assert projects.as_text(key) == key
