"""The harness, and the client's limit for the output of hooks."""

import shlex
from pathlib import Path

import pytest

from tests.client.harness import World, run_print
from tests.client.ours import foreign_hook, register


def test_session_stays_on_this_machine(world: World) -> None:
    """The API is the client's only proxy, and notes each attempt."""
    run = run_print(world, "hello")
    assert (run.code, run.out.strip(), run.err) == (0, "Done.", "")
    assert world.api.messages()
    assert not world.api.outward()


@pytest.mark.parametrize(("first", "is_whole"), [("", True), ("y", False)])
def test_client_shows_10000_utf16_units(world: World, tmp_path: Path, first: str, is_whole: bool) -> None:
    """Of a longer text, the client shows the first 2,000 units and the name of a file."""
    file = tmp_path / "output.txt"
    file.write_text(first + "😀" * 5_000, encoding="utf-8")
    register(world, {"SessionStart": foreign_hook(f"cat {shlex.quote(str(file))}")})
    run_print(world, "hello")
    said = world.api.messages()[0].said
    assert (file.read_text("utf-8") in said, "<persisted-output>" in said) == (is_whole, not is_whole)
