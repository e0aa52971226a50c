"""Which project a folder belongs to, with git's own worktrees."""

import os
import subprocess
import sys
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
    """Without a main worktree, the bare repository is the project."""
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


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: /nowhere", "gitdir: a\0b", "gitdir: .git", "\udcff"])
def test_a_broken_git_file_breaks_nothing(tmp_path: Path, content: str) -> None:
    """The folder is then its own project."""
    (tmp_path / ".git").write_text(content, errors="surrogateescape")

    assert projects.project_key(str(tmp_path)) == str(tmp_path)


@pytest.mark.slow
def test_a_worktree_that_names_its_repository_by_a_relative_path_is_one_of_it(repository: Path, tmp_path: Path) -> None:
    """As git writes both pointers with `worktree.useRelativePaths`."""
    linked = tmp_path / "elsewhere"
    _git("worktree", "add", "-q", str(linked), cwd=repository)
    (linked / ".git").write_text("gitdir: ../repository/.git/worktrees/elsewhere\n")
    (repository / ".git" / "worktrees" / "elsewhere" / "gitdir").write_text("../../../../elsewhere/.git\n")

    assert projects.project_key(str(linked)) == str(repository)


def _names_the_repository(fake: Path, victim: Path) -> None:
    (fake / "x").mkdir()
    (fake / ".git").write_text("gitdir: x\n")
    (fake / "x" / "commondir").write_text(f"{victim}/.git\n")


def _names_itself_too(fake: Path, victim: Path) -> None:
    _names_the_repository(fake, victim)
    (fake / "x" / "gitdir").write_text("../.git\n")


def _looks_like_an_entry_of_the_repository(fake: Path, victim: Path) -> None:
    (fake / "worktrees" / "x").mkdir(parents=True)
    (fake / ".git").write_text("gitdir: worktrees/x\n")
    (fake / "worktrees" / "x" / "commondir").write_text(f"{victim}/.git\n")
    (fake / "worktrees" / "x" / "gitdir").write_text(f"{fake}/.git\n")


def _takes_a_real_worktrees_place(fake: Path, victim: Path) -> None:
    (fake / ".git").write_text(f"gitdir: {victim}/.git/worktrees/linked\n")


def _links_to_a_real_worktrees_file(fake: Path, victim: Path) -> None:
    (fake / ".git").symlink_to(victim.with_name("linked") / ".git")


def _links_to_the_repositorys_entry(fake: Path, victim: Path) -> None:
    (fake / "worktrees").symlink_to(victim / ".git" / "worktrees")
    (fake / ".git").write_text("gitdir: worktrees/linked\n")


@pytest.mark.parametrize(
    "made",
    [
        _names_the_repository,
        _names_itself_too,
        _looks_like_an_entry_of_the_repository,
        _takes_a_real_worktrees_place,
        _links_to_a_real_worktrees_file,
        _links_to_the_repositorys_entry,
    ],
)
def test_a_folder_that_calls_itself_a_worktree_is_none(tmp_path: Path, made: Callable[..., None]) -> None:
    """The repository must say so too: a clone may hold any file, and would be shown another project's playbook."""
    victim, fake = tmp_path / "victim", tmp_path / "fake"
    linked = a_worktree(victim, tmp_path / "linked")
    fake.mkdir()
    made(fake, victim)

    assert projects.project_key(str(fake)) == str(fake)
    assert projects.project_key(str(linked)) == str(victim)


@pytest.mark.parametrize("kind", ["pipe", "endless", "folder", "large"])
def test_only_a_plain_file_of_sane_size_is_read(tmp_path: Path, kind: str) -> None:
    """Whatever a clone brings, nothing is waited for, and a folder with such a `.git` is its own project."""
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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_endless_file_without_a_size_is_not_read() -> None:
    """As the files of /proc, which are plain and empty, and hold more than any memory."""
    with pytest.raises(OSError, match="larger than 1 MiB"):
        projects.read_plain("/proc/self/pagemap")


def test_a_plain_file_is_read_whole(tmp_path: Path) -> None:
    """However many pieces that takes; through a link too."""
    content = os.urandom(projects.MAX_SMALL_FILE_BYTES)
    (tmp_path / "file").write_bytes(content)
    (tmp_path / "link").symlink_to("file")

    assert projects.read_plain(str(tmp_path / "link")) == content


@pytest.mark.parametrize("name", [b"caf\xe9", b"caf\xee\xbf\xa9", "café".encode(), b"\xff\xfe"])
def test_every_folder_has_a_key_that_a_database_can_keep_and_that_leads_back(tmp_path: Path, name: bytes) -> None:
    """A name is bytes, and need not be UTF-8; the escape of such bytes may also be a name by itself."""
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
