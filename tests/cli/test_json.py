"""Each command speaks JSON too, for programs."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from playbook_db.cli.main import cli
from tests.cli.conftest import Playbook

JSON_AS_IT_IS = {"export", "db metadata"}
FOR_GIT = {"textconv"}
SERVING = {"web", "mcp"}  # until they are ended


def leaves(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from leaves(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def test_each_command_has_json() -> None:
    """Except commands that print JSON anyway, that git calls, or that serve."""
    without = {
        name for name, command in leaves(cli) if not any("--json" in parameter.opts for parameter in command.params)
    }

    assert without == JSON_AS_IT_IS | FOR_GIT | SERVING | {"help"}


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        (["add", "more"], {"revision", "dry_run", "changes", "skipped"}),
        (["restore", "--at", "1"], {"revision", "undoes"}),
        (["import", "in.json"], {"revision", "changes"}),
        (["bootstrap"], {"transcripts", "chunks", "tokens", "revisions"}),
        (["init"], {"project", "points", "database", "mirror"}),
        (["restore-backup", "b.db", "--yes"], {"database", "restored", "backup"}),
        (["install"], {"settings", "changed", "interpreter"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_commands_print_one_json_object(playbook: Playbook, folder: Path, command: list[str], keys: set[str]) -> None:
    playbook("add", "use ruff")
    playbook("backup", "b.db")
    (folder / "in.json").write_text(json.dumps({"key_points": [{"name": "kpt_001", "text": "use uv"}]}))

    result = playbook(*command, "--json")

    assert result.code == 0, result.err
    assert keys <= result.json.keys()
