"""A fault at every call, and power that goes at any moment, in small numbers; the night has more."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import shim
from tests.faults.positions import CASES

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow]
needs_shim = pytest.mark.skipif(bool(shim.why_missing()), reason=shim.why_missing())


def run(module: str, *arguments: str) -> None:
    """Run the module, which prints what broke."""
    command = [sys.executable, "-m", f"tests.faults.{module}", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{ended.stdout[-5000:]}\n{ended.stderr[-3000:]}"
    assert '"broken": []' in ended.stdout


@needs_shim
def test_a_call_that_fails_leaves_the_state_before_or_after() -> None:
    """And one sentence says so, the database is sound, and the same command succeeds the next time."""
    run("positions", "vote", "spool", "settings", "--every", "9", "--errors", "1")


@needs_shim
def test_power_that_goes_loses_no_session_end_and_halves_nothing() -> None:
    """Of other commits the last ones may be missing."""
    run("power", "--cuts", "12")


@needs_shim
@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES)
def test_every_call_may_fail(case: str) -> None:
    """With one error after the other."""
    run("positions", case, "--errors", "1")


@needs_shim
@pytest.mark.nightly
def test_power_may_go_at_any_moment() -> None:
    """The same with more cuts."""
    run("power", "--cuts", "500")
