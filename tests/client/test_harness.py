"""The harness itself, and the facts about the client from which our limits come."""

import shlex
from pathlib import Path

import pytest

from tests.client.harness import World, run_print
from tests.client.ours import foreign_hook, register

LIMIT_UNITS = 10_000


def _hook_that_prints(folder: Path, output: str) -> dict[str, object]:
    """A hook at a session's start that prints *output*."""
    file = folder / "output.txt"
    file.write_text(output, encoding="utf-8")
    return {"SessionStart": foreign_hook(f"cat {shlex.quote(str(file))}")}


def test_a_print_session_does_not_even_try_to_leave_the_machine(world: World) -> None:
    """The fake key goes to the API alone; a client that knocks elsewhere is found out by the API, its only proxy."""
    run = run_print(world, "hello")

    assert (run.code, run.out.strip(), run.err) == (0, "Done.", "")
    assert world.api.messages()
    assert not world.api.outward()


@pytest.mark.parametrize("letter", ["漢", "😀"])
def test_the_client_takes_ten_thousand_utf16_units_of_a_hook_whole(world: World, tmp_path: Path, letter: str) -> None:
    """Not bytes, not characters: `selection.CLIENT_LIMIT_UNITS` counts as the client does."""
    units = len(letter.encode("utf-16-le")) // 2
    output = letter * (LIMIT_UNITS // units)
    register(world, _hook_that_prints(tmp_path, output))

    run_print(world, "hello")

    assert output in world.api.messages()[0].said


def test_the_client_cuts_a_hook_that_prints_one_unit_more(world: World, tmp_path: Path) -> None:
    """From 10,001 units on the model sees the first 2,000 and the name of a file; the reason for our limit."""
    output = "y" + "😀" * (LIMIT_UNITS // 2)
    register(world, _hook_that_prints(tmp_path, output))

    run_print(world, "hello")

    assert "<persisted-output>" in world.api.messages()[0].said
    assert output not in world.api.messages()[0].said
