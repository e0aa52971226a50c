"""The fixtures of the tests with the real client: the client, a home, a project and the API."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.harness import World, fresh_home, is_compaction
from tests.client.install import VERSION, Client, ClientMissingError, ensure_client
from tests.client.ours import REPOSITORY
from tests.messages_api import MessagesApi, Rule

NOT_OF_A_CLONE = (".git", ".venv", "dist", "__pycache__", ".*_cache", ".hypothesis")
SUMMARY = Rule("<summary>\nThey greeted each other.\n</summary>", when=is_compaction)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: `nightly`, `slow`, and no socket connects anywhere but here."""
    here = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.nightly)
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Replace the fixture that forbids all sockets: here the mark `allow_hosts` does it."""


def installed(version: str) -> Client:
    """The real client of *version*, or skip the test."""
    try:
        return ensure_client(version)
    except ClientMissingError as missing:
        pytest.skip(f"no Claude Code client: {missing}")


@pytest.fixture(scope="session")
def client() -> Client:
    """The real client, installed once."""
    return installed(VERSION)


@pytest.fixture
def tmux() -> None:
    """For tests that need a terminal."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is missing, which gives the client a terminal: apt install tmux, or brew install tmux")


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """An API that says "Done." to everything and sums up when a conversation is compacted."""
    with MessagesApi(SUMMARY) as made:
        yield made


@pytest.fixture
def world(client: Client, home: Path, folder: Path, api: MessagesApi) -> World:
    """A home without hooks, a trusted project, an API; nothing is running yet."""
    fresh_home(home, folder)
    return World(client, home, folder, api)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of the repository, without build products and environment."""
    made = tmp_path / "clone"
    shutil.copytree(REPOSITORY, made, ignore=shutil.ignore_patterns(*NOT_OF_A_CLONE))
    return made
