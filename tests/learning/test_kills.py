"""Kills of the worker, twins and a crowd in small numbers; `make torture` does the full ones."""

from pathlib import Path

import pytest

from benchmarks.torture import learning

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.enable_socket,
]  # workers are forked through a socket file


def test_a_kill_at_any_moment_of_learning_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Every vote and every operation once, every job done, no answer that is kept asked for again."""
    found = learning.run(tmp_path, kills=4, twins=0, ends=0, seed=11)

    assert found.by_clock + found.after_a_request == 4


def test_of_two_workers_that_begin_together_one_works(tmp_path: Path) -> None:
    """The other leaves at once, or finds nothing left."""
    found = learning.run(tmp_path, kills=0, twins=1, ends=0, seed=11)

    assert found.twins == 1
