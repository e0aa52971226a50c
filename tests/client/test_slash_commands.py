"""The plugin's slash commands, as the client takes them: what they put before the model."""

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click import Context

from playbook_db.cli.main import cli
from tests.client.harness import World, run_print
from tests.client.ours import REPOSITORY, data_folder, fill

POINT = "say why before how"
COMMANDS = sorted(file.stem for file in (REPOSITORY / "commands").glob("*.md"))


@pytest.fixture
def ready(world: World) -> World:
    """A project with a point, and the plugin's own environment as if it had been set up."""
    fill(world, POINT)
    python = Path(data_folder(world)) / "runtime" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return world


def test_each_slash_command_calls_a_command_that_there_is() -> None:
    """And the README names them all."""
    called = {
        name: re.findall(r'hooks/playbook" (\w+)', (REPOSITORY / "commands" / f"{name}.md").read_text())
        for name in COMMANDS
    }

    assert {name: {*words} for name, words in called.items()} == {name: {name} for name in COMMANDS}
    assert {*COMMANDS} <= {*cli.list_commands(Context(cli))}
    assert all(f"`{name}`" in (REPOSITORY / "README.md").read_text() for name in COMMANDS if name != "list")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/playbook:list", f"oth-001\\t0\\t0\\tOTHERS\\t{POINT}"),
        ("/playbook:log --session nobody", "No revision came from a session"),
        ("/playbook:undo", "took back revision 1 "),
        ("/playbook:undo 7", "There is no revision 7"),
    ],
)
def test_slash_command_puts_its_answer_before_the_model(ready: World, typed: str, told: str) -> None:
    """What the command prints stands in the prompt, an error too; looking at an undo undoes nothing."""
    run = run_print(ready, "--plugin-dir", str(REPOSITORY), typed)

    asked = json.dumps([request.body for request in ready.api.messages()])
    assert (run.code, run.err) == (0, "")
    assert told in asked
    with closing(sqlite3.connect(data_folder(ready) / "playbook.db")) as connection:
        assert connection.execute("SELECT count(*) FROM revisions").fetchall() == [(1,)]
