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
    """In place of the one for all tests: commands are forked by way of a socket, and an API is on loopback."""


def test_nothing_that_a_repository_names_is_started(tmp_path: Path) -> None:
    """Plain git starts the programs of its settings; none of our commands and hooks does."""
    found = git_baits.run(tmp_path, quick=True)

    assert (found.live, found.repositories) == (2 * len(git_baits.LIVE), 5)


def test_a_kill_at_any_moment_leaves_a_sound_database_and_a_whole_mirror(tmp_path: Path) -> None:
    """Nothing half-done, nothing lost that was done, the mirror at most one revision behind and then repaired."""
    found = kills.run(tmp_path, count=3, seed=11)

    assert found.by_clock + found.at_a_line == 3


def test_an_odd_payload_or_database_makes_no_hook_and_no_command_fail(tmp_path: Path) -> None:
    """The hooks end with 0 and valid output, the commands with an answer or an explanation."""
    found = hooks.run(tmp_path, payloads=8, databases=8, seed=11)

    assert (found.payloads, found.databases, [*found.reminders.values()]) == (8, 8, [8, 8, 8])
    assert found.reminded.keys() == found.reminders.keys()


def test_programs_and_batches_at_once_lose_nothing(tmp_path: Path) -> None:
    """load, change and save, beside batches on the same playbook, in several processes."""
    found = processes.run(tmp_path, processes=3, rounds=3, seed=11)

    assert found.processes == 3


def test_a_mutated_file_is_taken_in_or_refused_and_nothing_else(tmp_path: Path) -> None:
    """Never another error, and a refusal changes nothing."""
    found = mutations.run(tmp_path, count=150, seed=11)

    assert found.taken_in + found.refused == 150


def test_damaged_database_is_reported_and_repaired(tmp_path: Path) -> None:
    """Whatever happened to its bytes: the check says so, the hooks go on, and the damaged file stays as it was."""
    found = damage.run(tmp_path, count=12, seed=11)

    assert found.databases == 12
    assert found.found > 6
