"""A few kills of the worker, two workers at once, sessions that end at once; `make torture` does many."""

from pathlib import Path

import pytest

from benchmarks.torture import learning

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.enable_socket]  # workers are forked by a socket


def test_kills_and_crowds_lose_and_double_nothing(tmp_path: Path) -> None:
    """Each vote counts once, each job ends, and no kept answer is asked for again."""
    found = learning.run(tmp_path, kills=4, twins=1, ends=4, seed=11)

    assert (found.by_clock + found.after_a_request, found.twins, found.ends_at_once) == (4, 1, 4)
