"""The two tiers of the tests: the mark `nightly`, and the order of the tests."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests import tiers

_ROOT = Path(__file__).parent.parent
_FILE = """
import pytest

@pytest.mark.nightly
def test_by_night():
    pass

@pytest.mark.nightly(after=2)
@pytest.mark.parametrize("case", [1, pytest.param(2, marks=pytest.mark.nightly), 3, 4])
def test_cases(case):
    pass

def test_always():
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "number"),
    [([], 3), pytest.param(["--tier=all"], 6, marks=pytest.mark.nightly), (["test_it.py"], 6)],
    ids=["commit", "all", "a file"],
)
def test_tier_chooses_tests(arguments: list[str], number: int, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(_FILE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = nightly\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.tiers", "-q", *arguments]

    output = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(_ROOT)}, capture_output=True, text=True)

    assert f"{number} passed" in output.stdout


def test_seed_repeats_the_random_order(request: pytest.FixtureRequest) -> None:
    """Tests of one file stay together, as they may share a server."""
    ours, others = list(request.session.items[:200]), list(request.session.items[:200])

    tiers.shuffle(ours, random.Random(7))
    tiers.shuffle(others, random.Random(7))

    files = [item.path for item in ours]
    assert ours == others
    assert sorted(files, key=files.index) == files
