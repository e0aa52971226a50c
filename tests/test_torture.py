"""Kills, crowds and mutations in small numbers; `make torture` does the full ones."""

from pathlib import Path

import pytest

from benchmarks.torture import damage, git_baits, hooks, kills, mutations, processes

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.enable_socket,
    pytest.mark.allow_hosts(["127.0.0.1"]),
]  # starts processes


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """It replaces the fixture for all tests: commands are forked through a socket, and an API is on loopback."""


def test_programs_of_a_repository_never_start(tmp_path: Path) -> None:
    """Plain git starts the programs that its settings name."""
    found = git_baits.run(tmp_path, quick=True)

    assert (found.live, found.repositories) == (2 * len(git_baits.LIVE), 5)


def test_kills_lose_nothing(tmp_path: Path) -> None:
    """The mirror is one revision behind at most, and is repaired then."""
    found = kills.run(tmp_path, count=3, seed=11)

    assert found.by_clock + found.at_a_line == 3


def test_hooks_never_fail_on_odd_input(tmp_path: Path) -> None:
    """Commands answer or explain."""
    found = hooks.run(tmp_path, payloads=8, databases=8, seed=11)

    assert (found.payloads, found.databases, [*found.reminders.values()]) == (8, 8, [8, 8, 8])
    assert found.reminded.keys() == found.reminders.keys()


def test_concurrent_programs_lose_nothing(tmp_path: Path) -> None:
    found = processes.run(tmp_path, processes=3, rounds=3, seed=11)

    assert found.processes == 3


def test_mutated_file_is_imported_or_refused(tmp_path: Path) -> None:
    """A refusal changes nothing."""
    found = mutations.run(tmp_path, count=150, seed=11)

    assert found.taken_in + found.refused == 150


def test_damaged_database_is_repaired(tmp_path: Path) -> None:
    """The damaged file stays as it was."""
    found = damage.run(tmp_path, count=12, seed=11)

    assert found.databases == 12
    assert found.found > 6
