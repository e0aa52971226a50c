"""`merge-driver`, `textconv` and `install --git`, alone and in git."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playbook_db.services.sharing import git
from tests.builders import a_sections_dict, an_entry
from tests.cli.conftest import Playbook

FILE = ".claude/playbook.json"
LINE = git.ATTRIBUTES


def _content(*entries: Any, **fields: Any) -> bytes:
    return json.dumps(a_sections_dict({"OTHERS": [*entries]}, **fields), indent=2).encode() + b"\n"


BASE, OURS, THEIRS = (_content(an_entry("oth-001", "one", votes)) for votes in (0, 1, 2))


@pytest.fixture
def files(folder: Path) -> list[str]:
    """The three files of a merge, as git leaves them in the top folder."""
    for name, data in zip((".merge_1", ".merge_2", ".merge_3"), (BASE, OURS, THEIRS), strict=True):
        (folder / name).write_bytes(data)
    return [".merge_1", ".merge_2", ".merge_3"]


def test_driver_merges_into_ours(playbook: Playbook, folder: Path, files: list[str]) -> None:
    """Git owns stdout."""
    result = playbook("merge-driver", *files, FILE)

    assert (result.code, result.out) == (0, "")
    assert result.err == f"playbook: {FILE}: brought into ours: 1 with other votes\n"
    (entry,) = json.loads((folder / files[1]).read_text())["sections"]["OTHERS"]
    assert entry["helpful"] == 3
    assert [(folder / files[place]).read_bytes() for place in (0, 2)] == [BASE, THEIRS]
    assert not [*folder.rglob("*.db")]
    again = playbook("merge-driver", *files, FILE, "--json").json
    assert again == {"file": FILE, "notes": ["brought into ours: 1 with other votes"]}


@pytest.mark.parametrize(
    ("place", "data", "words"),
    [
        (0, b"<<<<<<< ours\n", "the common ancestor, line 1"),
        (1, b"", "ours, line 1, column 1: the file is empty"),
        (2, _content(an_entry("oth-001"), an_entry("oth-001")), "theirs, section 'OTHERS', entry 2"),
        (2, None, "theirs: the file can't be read: No such file"),
    ],
    ids=str,
)
def test_unreadable_side_is_a_conflict(
    playbook: Playbook, folder: Path, files: list[str], place: int, data: bytes | None, words: str
) -> None:
    """Exit code 1 makes git write its markers."""
    (folder / files[place]).unlink()
    if data is not None:
        (folder / files[place]).write_bytes(data)
    before = (folder / files[1]).read_bytes()

    result = playbook("merge-driver", *files, FILE)

    assert result.code == 1
    assert f"{FILE}, {words}" in result.err
    assert f"git add {FILE}" in result.err
    assert (folder / files[1]).read_bytes() == before


def test_textconv_prints_a_line_per_point(playbook: Playbook, folder: Path) -> None:
    (folder / "p").write_bytes(_content({**an_entry("oth-001", "one\ntwo", 1), "note": "x"}, team="us"))
    (folder / "q").write_bytes(b"<<<<<<< ours\n")

    assert playbook("textconv", "p").out.splitlines() == [
        'version: "1.0"',
        "last_updated: null",
        'team: "us"',
        "## OTHERS",
        "[oth-001] helpful=1 harmful=0 :: one\\ntwo",
        '[oth-001] {"note": "x"}',
    ]
    assert playbook("textconv", "q").out == "<<<<<<< ours\n"
    assert playbook("textconv", "r").code == 1


@pytest.fixture
def repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a mirror, and a space in its name."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    made = folder / "the shop"
    (made / ".claude").mkdir(parents=True)
    (made / FILE).write_bytes(BASE)
    _git(made, "init", "-q", "-b", "main")
    for name, value in (("user.name", "ann"), ("user.email", "ann@example.com")):
        _git(made, "config", name, value)
    _git(made, "add", ".")
    _git(made, "commit", "-qm", "begun")
    monkeypatch.chdir(made)
    return made


def _git(folder: Path, *arguments: str, fails: bool = False) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    assert bool(done.returncode) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def _branch(folder: Path, name: str, data: bytes | None) -> None:
    """Commit *data*, or the file's deletion, on a new branch of main."""
    _git(folder, "checkout", "-qb", name, "main")
    (folder / FILE).unlink()
    if data is not None:
        (folder / FILE).parent.mkdir(exist_ok=True)
        (folder / FILE).write_bytes(data)
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", name)


@pytest.mark.nightly(after=2)
@pytest.mark.slow
@pytest.mark.parametrize("option", [(), ("--share",)], ids=["own", "shared"])
@pytest.mark.parametrize("before", [None, b"*.png binary", b"# ours\r\n*.png binary\r\n"])
def test_uninstall_restores_the_git_files(
    playbook: Playbook, repository: Path, before: bytes | None, option: tuple[str, ...]
) -> None:
    """A missing line break at the end is added."""
    path = repository / (".gitattributes" if option else ".git/info/attributes")
    path.unlink(missing_ok=True)
    if before is not None:
        path.write_bytes(before)
    config = (repository / ".git/config").read_bytes()

    first, second = (playbook("install", "--git", *option) for _ in range(2))

    assert (first.code, second.code, first.err, second.err) == (0, 0, "", "")
    assert f"{path}: git merges {FILE} with playbook" in first.out
    assert f"git runs: {shlex.quote(sys.executable)} -P -m playbook_db merge-driver %O %A %B %P" in first.out
    assert "nothing was changed" in second.out
    assert path.read_bytes().count(LINE) == 1
    assert playbook("uninstall", "--git").code == 0
    expected = before + b"\n" * (not before.endswith(b"\n")) if before else None
    assert (path.read_bytes() if path.exists() else None) == expected
    assert (repository / ".git/config").read_bytes().rstrip(b"\n") == config.rstrip(b"\n")
    assert "isn't set up in git" in playbook("uninstall", "--git").out


@pytest.mark.slow
def test_shared_attribute_stays_without_share(playbook: Playbook, repository: Path) -> None:
    playbook("install", "--git", "--share")
    _git(repository, "add", ".")
    _git(repository, "commit", "-qm", "shared")

    result = playbook("uninstall", "--git")

    assert "uninstall --git --share" in result.err
    assert (repository / ".gitattributes").read_bytes() == LINE + b"\n"
    assert "playbook" not in (repository / ".git/config").read_text()
    playbook("uninstall", "--git", "--share")
    assert not (repository / ".gitattributes").exists()


@pytest.mark.slow
def test_impossible_git_setup_is_refused(playbook: Playbook, repository: Path, tmp_path: Path) -> None:
    assert "--share goes with --git" in playbook("install", "--share").err

    (tmp_path / "bashrc").write_text("mine")
    (repository / ".gitattributes").symlink_to(tmp_path / "bashrc")
    refused = playbook("install", "--git", "--share")
    assert (refused.code, (tmp_path / "bashrc").read_text()) == (1, "mine")
    (repository / ".gitattributes").unlink()
    (repository / ".gitattributes").mkdir()
    assert (
        "can't be read: it is not a plain file. Nothing was changed in it."
        in playbook("install", "--git", "--share").err
    )
    nowhere = playbook("--project", str(tmp_path), "install", "--git")
    assert nowhere.code == 1
    assert "not a git repository" in nowhere.err


@pytest.mark.slow
def test_git_merges_in_worktrees_and_submodules(
    playbook: Playbook, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package of our name in the folder isn't imported."""
    (repository / "playbook_db").mkdir()
    (repository / "playbook_db" / "__init__.py").write_text("raise SystemExit('hijacked')")
    _branch(repository, "ours", OURS)
    _branch(repository, "theirs", THEIRS)
    outer = tmp_path / "outer"
    _git(tmp_path, "init", "-q", str(outer))
    _git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner")
    _git(repository, "worktree", "add", "-q", str(tmp_path / "a worktree"), "ours")
    for each in (tmp_path / "a worktree", outer / "inner"):
        monkeypatch.chdir(each)
        assert playbook("install", "--git").code == 0
        for name in ("user.name", "user.email"):
            _git(each, "config", name, "ann")
        if each.name == "inner":
            _git(each, "checkout", "-q", "ours")

        printed = _git(each, "merge", "--no-edit", "-q", "origin/theirs" if each.name == "inner" else "theirs")

        assert "1 with other votes" in printed
        assert json.loads((each / FILE).read_text())["sections"]["OTHERS"][0]["helpful"] == 3


@pytest.mark.slow
def test_driver_without_python_loses_nothing(playbook: Playbook, repository: Path) -> None:
    """The command that a read names resolves the conflict."""
    playbook("init", "--yes")
    playbook("install", "--git")
    driver = _git(repository, "config", "merge.playbook.driver").strip()
    _git(repository, "config", "merge.playbook.driver", driver.replace(sys.executable, "/gone/python"))
    _branch(repository, "theirs", THEIRS)
    _branch(repository, "ours", OURS)

    assert "CONFLICT" in _git(repository, "merge", "theirs", fails=True)
    conflicted = (repository / FILE).read_text()
    assert all(part in conflicted for part in ("<<<<<<< ", '"helpful": 1', '"helpful": 2'))
    way = playbook("list").err.partition("To merge it: ")[2].partition(". Then ")[0]
    first, second = way.split(" && ")
    assert way in playbook("status").out
    playbook(*shlex.split(first)[1:])
    _git(repository, *shlex.split(second)[1:])

    assert json.loads((repository / FILE).read_text())["sections"]["OTHERS"][0]["helpful"] == 3


@pytest.mark.slow
def test_git_keeps_both_sides_of_a_conflict(playbook: Playbook, repository: Path) -> None:
    playbook("install", "--git")
    _branch(repository, "half", THEIRS[:40])
    _branch(repository, "deleted", None)
    _branch(repository, "ours", OURS)

    assert "CONFLICT (content)" in _git(repository, "merge", "half", fails=True)
    assert b"\n<<<<<<< ours\n" in (repository / FILE).read_bytes()
    _git(repository, "merge", "--abort")
    assert "CONFLICT (modify/delete)" in _git(repository, "merge", "deleted", fails=True)
    assert (repository / FILE).read_bytes() == OURS
