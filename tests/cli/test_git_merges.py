"""A mirror in real git repositories: two members, each with a clone and a database of their own.

After each merge, the next command merges the mirror, and nothing counts twice.
"""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from playbook_db.cli.main import main

pytestmark = pytest.mark.slow  # git is started, and starts the driver

PATTERNS = "PATTERNS & APPROACHES"
FILE = ".claude/playbook.json"


@dataclass
class Member:
    """Somebody with a clone at `folder`, and a home folder with a database."""

    folder: Path
    home: Path
    patch: pytest.MonkeyPatch
    printed: pytest.CaptureFixture[str]
    err: str = field(default="", init=False)  # of the last command of playbook

    def git(self, *arguments: str, fails: bool = False) -> str:
        """What `git ARGUMENT ...` prints in the clone; it must succeed, or fail."""
        self._enter()
        done = subprocess.run(["git", *arguments], cwd=self.folder, capture_output=True, text=True)
        assert bool(done.returncode) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def playbook(self, *arguments: str) -> str:
        """What `playbook ARGUMENT ...` prints there."""
        self._enter()
        self.printed.readouterr()
        code = main([*arguments])
        printed = self.printed.readouterr()
        self.err = printed.err
        assert code == 0, printed.err
        return printed.out

    def commit(self, message: str = "playbook") -> None:
        self.git("commit", "-qam", message)

    def commit_vote(self, name: str) -> None:
        self.playbook("vote", name, "helpful")
        self.commit()

    def visit(self, branch: str) -> dict[str, int]:
        """The votes while *branch* is checked out; then main is again."""
        self.git("fetch", "-q")
        self.git("checkout", "-qf", branch)
        votes = self.votes()
        self.git("checkout", "-qf", "main")
        return votes

    def votes(self) -> dict[str, int]:
        """The helpful votes of the live points; the mirror has the same ones, or is git's version."""
        points = {point["text"]: point["helpful"] for point in json.loads(self.playbook("list", "--json"))}
        in_file = {entry["text"]: entry["helpful"] for entry in self.file()["sections"][PATTERNS]}
        assert points == in_file or not self.git("diff", "HEAD", "--", FILE)
        return points

    def file(self) -> Any:
        """The content of the mirror."""
        return json.loads((self.folder / FILE).read_text(encoding="utf-8"))

    def is_clean(self) -> bool:
        """Whether git sees no change in the clone."""
        return not self.git("status", "--porcelain")

    def _enter(self) -> None:
        self.patch.setenv("HOME", str(self.home))
        self.patch.setenv("PLAYBOOK_ACTOR", self.home.name)
        self.patch.chdir(self.folder)


NewMember = Callable[..., Member]


@pytest.fixture
def member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> NewMember:
    """Makes a member with a clone of the repository that all push to."""
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "somebody")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "somebody@example.com")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_EDITOR", "true")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # without `playbook`
    hub = tmp_path / "hub.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", hub], check=True)

    def make(name: str) -> Member:
        home = tmp_path / name
        home.mkdir()
        subprocess.run(["git", "clone", "-q", hub, home / "the shop"], check=True, capture_output=True)
        made = Member(home / "the shop", home, monkeypatch, capsys)
        made.git("config", "--global", "init.defaultBranch", "main")
        made.git("config", "--global", "pull.rebase", "false")
        made.git("checkout", "-qB", "main")
        made.playbook("install", "--git")
        return made

    return make


@pytest.fixture
def ann(member: NewMember) -> Member:
    """A member who has pushed a playbook of four points."""
    ann = member("ann")
    ann.playbook("mirror", "on")
    for text in ("one", "two", "three", "four"):
        ann.playbook("add", text, "--section", PATTERNS)
    ann.git("add", ".")
    ann.git("commit", "-qm", "the playbook")
    ann.git("push", "-q", "-u", "origin", "main")
    return ann


@pytest.fixture
def ben(ann: Member, member: NewMember) -> Member:
    """A member who has imported it."""
    ben = member("ben")
    ben.git("branch", "-q", "--set-upstream-to=origin/main")
    ben.playbook("init", "--yes")
    assert ben.votes() == ann.votes() == {"one": 0, "two": 0, "three": 0, "four": 0}
    return ben


def _ann_works(ann: Member) -> None:
    ann.playbook("vote", "pat-001", "helpful")
    ann.playbook("vote", "pat-001", "helpful")
    ann.playbook("edit", "pat-002", "--text", "two, as Ann has it")
    ann.playbook("retire", "pat-004")
    ann.playbook("add", "five of Ann", "--section", PATTERNS)
    ann.commit("Ann")
    ann.git("push", "-q")


def _ben_works(ben: Member) -> None:
    ben.playbook("vote", "pat-001", "helpful")
    ben.commit_vote("pat-003")
    ben.playbook("edit", "pat-002", "--text", "two, as Ben has it")
    ben.playbook("add", "five of Ben", "--section", PATTERNS)
    ben.commit("Ben adds")


BOTH = {"one": 3, "three": 1, "two, as Ben has it": 0, "five of Ann": 0, "five of Ben": 0}


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize("how", ["no-rebase", "rebase"])
def test_work_of_two_members_adds_up(ann: Member, ben: Member, how: str) -> None:
    """Each vote counts once, the later wording wins, and two points of one name stay two."""
    _ann_works(ann)
    _ben_works(ben)

    printed = ben.git("pull", "-q", "--no-edit", f"--{how}")

    assert "pat-005" in printed
    assert "two, as Ann has it" in printed
    assert ben.votes() == BOTH
    assert ben.is_clean()
    ben.git("push", "-q")
    ann.git("pull", "-q")
    assert ann.votes() == BOTH
    assert ann.is_clean()
    for member in (ann, ben):
        member.playbook("vote", "pat-003", "helpful")
        assert member.votes() == {**BOTH, "three": 2}
        member.playbook("undo")
        assert member.votes() == BOTH
        assert member.playbook("db", "check")


def test_plain_pull_retires_a_point(ann: Member, ben: Member) -> None:
    ann.playbook("retire", "pat-004")
    ann.commit()
    ann.git("push", "-q")

    ben.git("pull", "-q")

    assert ben.votes() == {"one": 0, "two": 0, "three": 0}
    assert ben.is_clean()


@pytest.mark.nightly
def test_merge_after_a_visit_loses_no_vote(ann: Member, ben: Member) -> None:
    """Each side already has a part of the other."""
    ben.commit_vote("pat-001")
    ben.git("push", "-q", "origin", "main:his")
    assert ann.visit("origin/his")["one"] == 1
    ann.commit_vote("pat-001")
    ben.commit_vote("pat-001")
    ben.git("push", "-q", "origin", "main:his")
    assert ann.visit("origin/his")["one"] == 3

    ann.git("merge", "-q", "--no-edit", "origin/his")

    assert ann.votes()["one"] == 3


@pytest.mark.nightly
def test_discarded_mirror_loses_no_vote(ann: Member, ben: Member) -> None:
    """The database still has the votes."""
    ben.playbook("vote", "pat-003", "helpful")
    for votes in (1, 2, 3):
        ann.commit_vote("pat-001")
        ann.git("push", "-q")

        ben.git("checkout", FILE)
        ben.git("pull", "-q")

        assert ben.votes() == {"one": votes, "two": 0, "three": 1, "four": 0}


@pytest.mark.nightly
def test_cherry_pick_brings_one_commit(ann: Member, ben: Member) -> None:
    ann.commit_vote("pat-001")
    ann.commit_vote("pat-002")
    ann.git("push", "-q")
    ben.commit_vote("pat-003")

    ben.git("fetch", "-q")
    ben.git("cherry-pick", "origin/main")

    assert ben.votes() == {"one": 0, "two": 1, "three": 1, "four": 0}
    assert ben.is_clean()
    ben.git("pull", "-q", "--no-edit")
    votes = ben.votes()
    assert (votes["one"], votes["three"]) == (1, 1)


@pytest.mark.nightly
def test_stashed_votes_count_once(ann: Member, ben: Member) -> None:
    ann.commit_vote("pat-001")
    ann.git("push", "-q")
    ben.playbook("vote", "pat-001", "helpful")
    ben.playbook("add", "five of Ben", "--section", PATTERNS)

    ben.git("stash", "-q")
    ben.git("pull", "-q")
    ben.git("stash", "pop")

    assert ben.votes() == {"one": 2, "two": 0, "three": 0, "four": 0, "five of Ben": 0}
    ben.git("reset", "-q")
    ben.commit()
    assert ben.votes()["one"] == 2


@pytest.mark.nightly
def test_reverted_vote_is_gone(ann: Member) -> None:
    ann.commit_vote("pat-001")
    ann.commit_vote("pat-002")

    ann.git("revert", "--no-edit", "HEAD~1")

    assert ann.votes() == {"one": 0, "two": 1, "three": 0, "four": 0}
    assert ann.is_clean()


@pytest.mark.nightly
def test_mirror_waits_for_a_rebase(ann: Member, ben: Member) -> None:
    for member in (ann, ben):
        member.playbook("vote", "pat-001", "helpful")
        (member.folder / "README").write_text(f"{member.home.name}\n")
        member.git("add", ".")
        member.commit()
    ann.git("push", "-q")

    ben.git("pull", "-q", "--rebase", fails=True)
    ben.playbook("vote", "pat-002", "helpful")

    assert "a git rebase is not finished" in ben.err
    assert ben.git("diff", "--name-only", "--diff-filter=U").strip() == "README"
    ben.git("checkout", "--theirs", "README")
    ben.git("add", "README")
    ben.git("rebase", "--continue")
    assert ben.votes() == {"one": 2, "two": 1, "three": 0, "four": 0}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "moves",
    [
        ["checkout -q before", "checkout -q main"],
        ["bisect start main before", "bisect good", "bisect reset"],
        ["stash -q", "stash pop"],
        ["rm -q .claude/playbook.json", "commit -qm gone"],
    ],
    ids=lambda moves: moves[0].split(" -")[0],
)
def test_reading_never_changes_gits_files(ann: Member, moves: list[str]) -> None:
    ann.git("checkout", "-q", "--orphan", "before")
    ann.git("rm", "-q", "-rf", ".")
    ann.git("commit", "-q", "--allow-empty", "-m", "before")
    ann.git("checkout", "-q", "main")
    ann.commit_vote("pat-001")
    ann.git("push", "-q")
    if moves[0].startswith("stash"):
        ann.playbook("vote", "pat-001", "helpful")
    for move in moves:
        ann.git(*move.split())
        git_sees = ann.git("status", "--porcelain")
        ann.playbook("list")
        ann.playbook("work")
        assert ann.git("status", "--porcelain") == git_sees


@pytest.mark.nightly
def test_mirror_waits_for_a_branch_with_the_file(ann: Member) -> None:
    """`mirror on` writes it anywhere."""
    ann.git("checkout", "-qb", "before")
    ann.git("rm", "-q", FILE)
    ann.git("commit", "-qm", "none here")

    ann.playbook("vote", "pat-001", "helpful")

    assert ann.is_clean()
    ann.git("checkout", "-q", "main")
    ann.playbook("vote", "pat-002", "helpful")
    assert [entry["helpful"] for entry in ann.file()["sections"][PATTERNS]] == [1, 1, 0, 0]
    ann.git("checkout", "-qf", "before")
    ann.playbook("mirror", "on")
    assert [entry["helpful"] for entry in ann.file()["sections"][PATTERNS]] == [1, 1, 0, 0]


@pytest.mark.nightly
def test_hand_edit_keeps_newer_changes(ann: Member, ben: Member) -> None:
    ann.playbook("edit", "pat-002", "--text", "two, as Ann has it")
    ann.commit()
    ann.git("push", "-q")
    ben.playbook("edit", "pat-003", "--text", "three, as Ben has it")
    ben.git("checkout", FILE)
    ben.git("pull", "-q")
    ben.playbook("list")

    path = ben.folder / FILE
    path.write_text(path.read_text().replace('"one"', '"one, by hand"'))

    assert list(ben.votes()) == ["one, by hand", "two, as Ann has it", "three, as Ben has it", "four"]
