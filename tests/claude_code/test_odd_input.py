"""Odd payloads and databases in small numbers; `make torture` tries many more."""

from pathlib import Path

import pytest

from benchmarks.torture import hooks

pytestmark = [pytest.mark.nightly, pytest.mark.slow]  # starts processes


def test_odd_payloads_fail_no_hook(tmp_path: Path) -> None:
    found = hooks.run(tmp_path, payloads=40, databases=0, seed=11)
    assert found.payloads == 40
    assert 0 < found.told < 40


def test_odd_databases_fail_no_hook(tmp_path: Path) -> None:
    found = hooks.run(tmp_path, payloads=0, databases=20, seed=11)
    assert found.databases == 20
    assert found.queued
    assert found.told
