"""Help, and the answer to a mistyped name."""

import re
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from playbook_db.cli.main import _GROUPS, cli
from tests.cli.conftest import Playbook


def _helps(command: click.Command, context: click.Context) -> dict[str, tuple[click.Command, str]]:
    """The *command* and its help, and those of its sub-commands, by their names."""
    helps = {context.command_path: (command, command.get_help(context))}
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        each = command.get_command(context, name)
        assert each is not None
        with click.Context(each, info_name=name, parent=context, terminal_width=80) as inner:
            helps |= _helps(each, inner)
    return helps


def test_help_fits_80_columns() -> None:
    with click.Context(cli, info_name="playbook", terminal_width=80, **cli.context_settings) as context:
        helps = _helps(cli, context)

    assert {"playbook", "playbook db", "playbook jobs retry", "playbook apply"} <= helps.keys()
    for name, (command, text) in helps.items():
        lines = [line for line in text.splitlines() if not line.startswith("Usage:")]
        assert not [line for line in lines if line.endswith("...") or len(line) > 80], name
        if not isinstance(command, click.Group):
            continue
        listed = [line for line in lines if re.match(r"  [a-z][a-z-]+ +[A-Z]", line)]
        assert listed
        assert all(line.endswith(".") for line in listed), name


def test_list_repeats_each_commands_sentence() -> None:
    """The list imports no command."""
    listed = {name: sentence for group in _GROUPS.values() for name, (_, sentence) in group.items()}
    with click.Context(cli, info_name="playbook") as context:
        commands = {name: cli.get_command(context, name) for name in listed}

    assert {name: each and each.get_short_help_str(100) for name, each in commands.items()} == listed
    assert [*listed] == [*cli.list_commands(context)]


def test_short_help_lists_ten_commands(playbook: Playbook) -> None:
    """`help --all` lists all."""
    short, whole = playbook("--help").out, playbook("help", "--all").out
    alone = playbook()

    for out in (short, alone.out):
        names = re.findall(r"^  ([a-z][a-z-]+) +[A-Z]", out.partition("Commands:")[2], re.MULTILINE)
        assert names == ["init", "install", "doctor", "status", "list", "search", "add", "review", "undo", "web"]
    assert alone.code == 0
    assert set(re.findall(r"^  ([a-z][a-z-]+) +[A-Z]", whole, re.MULTILINE)) >= {"merge-driver", "textconv", "work"}


def test_bare_command_shows_the_project(playbook: Playbook) -> None:
    before = playbook()
    is_there = Path(playbook("db", "path").out.strip()).exists()
    playbook("add", "use ruff")
    after = playbook()

    assert (before.code, "playbook init" in before.out, is_there) == (0, True, False)
    assert after.out.splitlines()[0].endswith(": 1 key point")


@pytest.mark.parametrize(
    "group", [("show", "why"), ("learn", "work", "bootstrap"), ("retire", "prune", "forget")], ids=" ".join
)
def test_similar_commands_name_each_other(playbook: Playbook, group: tuple[str, ...]) -> None:
    for name in group:
        text = " ".join(playbook(name, "--help").out.split())
        others = [other for other in group if other != name]
        assert any(f"playbook {other}" in text for other in others), name


def test_shell_completes_names(playbook: Playbook, capsys: pytest.CaptureFixture[str]) -> None:
    completing = ShellComplete(cli, {}, "playbook", "_PLAYBOOK_COMPLETE")

    assert "vote" in [item.value for item in completing.get_completions([], "vo")]
    assert "--reason" in [item.value for item in completing.get_completions(["retire"], "--re")]
    assert completing.get_completions(["jobs"], "re")[0].value == "retry"
    assert capsys.readouterr() == ("", "")
