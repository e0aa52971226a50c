"""Odd payloads and odd databases in small numbers; `make torture` does the full ones."""

from pathlib import Path

import pytest

from benchmarks.torture import hooks

pytestmark = [pytest.mark.nightly, pytest.mark.slow]  # starts processes


def test_no_payload_makes_a_hook_fail(tmp_path: Path) -> None:
    """Exit code 0, valid output, in time; and the database is sound afterwards."""
    found = hooks.run(tmp_path, payloads=40, databases=0, seed=11)

    assert found.payloads == 40
    assert 0 < found.told < 40


def test_no_database_makes_a_hook_fail(tmp_path: Path) -> None:
    """Nor is one overwritten that can't be read."""
    found = hooks.run(tmp_path, payloads=0, databases=20, seed=11)

    assert found.databases == 20
    assert found.queued
    assert found.told
