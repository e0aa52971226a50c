"""Random histories agree with the model, and a file's with a server's; the night has longer ones."""

import pytest
import pytest_socket

from tests.machine.__main__ import run_machine
from tests.machine.machine import seeds
from tests.postgres import require_server

pytestmark = pytest.mark.slow  # a server may have to be brought up


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """In place of the one for all tests: the event loop of the SDK has a pair of sockets of its own."""
    pytest_socket.disable_socket(allow_unix_socket=True)


def test_a_random_history_agrees_with_the_model() -> None:
    """Points, counters, history, mirror and search, after each step."""
    run_machine(0, 50)


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
