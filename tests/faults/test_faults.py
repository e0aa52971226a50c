"""Faults at some calls and some power failures; at night, at each call and many more."""

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
    command = [sys.executable, "-m", f"tests.faults.{module}", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{ended.stdout[-5000:]}\n{ended.stderr[-3000:]}"
    assert '"broken": []' in ended.stdout


@needs_shim
def test_failing_call_leaves_the_state_before_or_after() -> None:
    """An error says so, the database is sound, and the command succeeds the next time."""
    run("positions", "vote", "spool", "settings", "--every", "18", "--errors", "1")


@needs_shim
def test_power_failure_loses_no_session_s_end() -> None:
    """The last commits may be missing, but no revision is incomplete."""
    run("power", "--cuts", "6")


@needs_shim
@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES)
def test_each_call_may_fail(case: str) -> None:
    run("positions", case, "--errors", "1")


@needs_shim
@pytest.mark.nightly
def test_power_may_fail_at_any_moment() -> None:
    run("power", "--cuts", "500")
