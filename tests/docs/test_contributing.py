"""CONTRIBUTING.md names files, targets and commits that are there."""

import re
import shutil
import subprocess

import pytest

from tests.docs.consoles import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_files_that_are_named_are_there() -> None:
    """Whoever looks for one finds it."""
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", PAGE))

    assert len(named) > 20
    assert {name for name in named - {"dist/"} if not (ROOT / name).exists()} == set()  # which `make build` makes


def test_the_targets_that_are_named_are_there() -> None:
    """In the Makefile, each with its words in `make help`."""
    targets = set(re.findall(r"^([\w-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([\w-]+)", PAGE, re.MULTILINE))

    assert {"check", "docs", "pictures", "check-fast"} <= named
    assert named - {"imports"} <= targets


@pytest.mark.slow
def test_the_commits_that_are_named_are_in_the_history() -> None:
    """Where this is a checkout with its whole history."""
    if shutil.which("git") is None or _git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("there is no history here to look into")

    for commit in re.findall(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7}\b", PAGE):
        assert _git("cat-file", "-t", commit) == "commit", commit


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()
