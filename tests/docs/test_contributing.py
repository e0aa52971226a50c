"""CONTRIBUTING.md names files and targets that are there."""

import re

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
