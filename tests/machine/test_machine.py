"""Random histories agree with the model, and a file's with a server's; the night has longer ones."""

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
    """In place of the one for all tests: the event loop of the SDK has a pair of sockets of its own."""
    pytest_socket.disable_socket(allow_unix_socket=True)


def test_a_random_history_agrees_with_the_model() -> None:
    """Points, counters, history, mirror and search, after each step."""
    run_machine(0, 50)


def test_a_seed_repeats_its_history() -> None:
    """Two processes run the same commands and get the same answers, whatever the order of their sets."""
    command = [sys.executable, "-m", "tests.machine", "--seed", "0", "--steps", "50"]
    environments = [{**os.environ, "PYTHONHASHSEED": number} for number in ("1", "2")]
    first, second = (
        subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for environment in environments
    )

    assert re.fullmatch(r"\d+ steps agreed; digest [0-9a-f]{16}\n", first)
    assert first == second


def test_a_program_in_a_second_process_has_the_time_of_the_history() -> None:
    """Its own clock would date a revision, and a seed would go another way each day."""
    machine = PlaybookMachine()
    try:
        machine.begin(slug="pat", is_old=False)
        machine.read_by_a_program()
        machine.save_by_a_program(pick=0, tag="helpful", text="rule w1x says so")
        (saved,) = machine.answer("log", "-n", "1", "--json")
    finally:
        machine.teardown()

    assert (saved["message"], saved["time"][:10]) == ("saved by a program", "2026-03-01")


def test_a_random_history_is_the_same_in_a_file_and_on_a_server() -> None:
    """All that commands print, errors too, and the answers to the questions of docs/sql.md."""
    require_server()
    run_machine(0, 25, twins=True)


@pytest.mark.nightly
def test_long_random_histories_agree_with_the_model() -> None:
    """The same with more of them."""
    run_machine(1, 1500)


@pytest.mark.nightly
def test_long_random_histories_are_the_same_in_a_file_and_on_a_server() -> None:
    """The same with more of them."""
    require_server()
    run_machine(1, 500, twins=True)


@pytest.mark.nightly
def test_histories_that_failed_once_agree() -> None:
    """Each seed of seeds.txt."""
    for number, steps, twins in seeds():
        run_machine(number, steps, twins=twins)
