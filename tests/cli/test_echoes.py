"""No command prints a character that controls the terminal."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from playbook_db.cli.main import cli
from playbook_db.domain.prompt_text import NEVER_SHOWN
from tests.cli.conftest import Playbook

pytestmark = pytest.mark.slow  # all commands

_STEERING = "a\x1b[2J\x9b1m\u202eb"
_FOR_PROGRAMS = {"at", "db metadata", "export"}  # they print each character as it is
_WITHOUT_END = {"mcp", "web"}  # they serve


def _commands(group: click.Group, *path: str) -> Iterator[tuple[list[str], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, *path, name)
        elif command is not None and " ".join((*path, name)) not in _FOR_PROGRAMS | _WITHOUT_END:
            yield [*path, name], command


def _calls(command: click.Command, value: str) -> Iterator[list[str]]:
    """Arguments for *command*, with *value* for each text: its arguments, then each option with what it needs."""
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    given = [_value(each, value) for each in arguments if each.type.name != "integer"]
    yes = ["--yes"] if any("--yes" in each.opts for each in command.params) else []
    yield [*given, *yes]
    for option in command.params:
        if isinstance(option, click.Option) and option.type.name == "text" and option.name not in ("project", "db"):
            needed = [_value(each, value) for each in arguments if each.required]
            yield [*needed, option.opts[0], *[value] * option.nargs, *yes]


def _value(argument: click.Argument, value: str) -> str:
    return argument.type.choices[0] if isinstance(argument.type, click.Choice) else value


def _is_plain(text: str) -> bool:
    return not any(first <= ord(char) <= last for char in text for first, last in NEVER_SHOWN)


@pytest.mark.nightly
@pytest.mark.parametrize("is_there", [False, True], ids=["unknown", "a file"])
def test_no_command_prints_a_control_character(
    playbook: Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    """Home, project, files, texts and arguments all contain some."""
    place = tmp_path / f"{_STEERING} place"
    (place / "project" / ".claude").mkdir(parents=True)
    file = place / "file"
    entry = {"name": "oth-001", "text": f"{_STEERING} text", "helpful": 0, "harmful": 0}
    file.write_text(json.dumps({"sections": {"OTHERS": [entry]}, _STEERING: 1}))
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(place / "project"))
    monkeypatch.chdir(place)
    monkeypatch.setenv("PLAYBOOK_ACTOR", f"{_STEERING} ann")
    assert playbook("import", str(file)).code == 0

    bad = []
    value = str(file) if is_there else f"{_STEERING} unknown"
    for path, command in _commands(cli):
        for arguments in _calls(command, value):
            ended = playbook(*path, *arguments)
            if ended.code == 3 or not _is_plain(ended.out + ended.err):
                bad.append(" ".join([*path, *arguments]))

    assert bad == []
