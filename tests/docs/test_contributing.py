"""CONTRIBUTING.md names only files and targets that exist."""

import re

from tests.docs.consoles import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_named_files_exist() -> None:
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", PAGE))

    assert len(named) > 20
    assert {name for name in named - {"dist/"} if not (ROOT / name).exists()} == set()  # which `make build` makes


def test_named_targets_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([\w-]+)", PAGE, re.MULTILINE))

    assert {"check", "docs", "pictures", "check-fast"} <= named
    assert named - {"imports"} <= targets
