"""Random histories agree with the model, and in a file and on a server; at night, longer ones."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_socket

from tests.machine.__main__ import run_machine
from tests.machine.machine import PlaybookMachine, seeds
from tests.postgres import require_server

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # a server may have to be brought up


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Replaces the fixture for all tests: the SDK's event loop has a pair of sockets."""
    pytest_socket.disable_socket(allow_unix_socket=True)


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize(("seed", "steps"), [(0, 50), (1, 1500)])
def test_random_history_agrees_with_the_model(seed: int, steps: int) -> None:
    """Points, counters, history, mirror and search, after each step."""
    run_machine(seed, steps)


@pytest.mark.nightly
def test_seed_repeats_its_history() -> None:
    """Whatever the order of sets in a process."""
    command = [sys.executable, "-m", "tests.machine", "--seed", "0", "--steps", "50"]
    first, second = (
        subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for env in ({**os.environ, "PYTHONHASHSEED": number} for number in "12")
    )

    assert re.fullmatch(r"\d+ steps agreed; digest [0-9a-f]{16}\n", first)
    assert first == second


def test_second_process_has_the_history_s_time() -> None:
    """With its own clock, a seed would run differently each day."""
    machine = PlaybookMachine()
    try:
        machine.begin(slug="pat", is_old=False)
        machine.read_by_a_program()
        machine.save_by_a_program(pick=0, tag="helpful", text="rule w1x says so")
        (saved,) = machine.answer("log", "-n", "1", "--json")
    finally:
        machine.teardown()

    assert (saved["message"], saved["time"][:10]) == ("saved by a program", "2026-03-01")


@pytest.mark.nightly
@pytest.mark.parametrize(("seed", "steps"), [(0, 25), (1, 500)])
def test_random_history_is_equal_on_a_server(seed: int, steps: int) -> None:
    """All output and errors of commands, and the answers to the questions of docs/sql.md."""
    require_server()
    run_machine(seed, steps, twins=True)


@pytest.mark.nightly
def test_failed_seeds_agree() -> None:
    for number, steps, twins in seeds():
        run_machine(number, steps, twins=twins)
