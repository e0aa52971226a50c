"""The benchmarks: that they run, in their quick form. Their figures say nothing then."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS
from benchmarks.figures import show

pytestmark = [pytest.mark.nightly, pytest.mark.slow]  # each starts processes
ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_has_a_figure_in_each_cell(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A benchmark checks its own work."""
    if name == "sde-bench":  # it listens on a socket, as a model
        request.getfixturevalue("socket_enabled")
    figures = BENCHMARKS[name](tmp_path, quick=True)

    assert figures.rows
    assert {len(row) for row in figures.rows} == {len(figures.columns)}
    assert show(figures).startswith(f"{figures.title}\n---")


def test_unknown_benchmark_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "redaktion", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert f"there is no benchmark redaktion; there are: {', '.join(BENCHMARKS)}" in done.stderr
