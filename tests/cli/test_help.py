"""The help as a person reads it, and what a mistyped name is answered."""

import re

import click
import pytest
from click.shell_completion import ShellComplete

from playbook_db.cli.main import cli
from tests.cli.conftest import Playbook


def _helps(command: click.Command, context: click.Context) -> dict[str, tuple[click.Command, str]]:
    """The *command* and its help, and those of all in it, by what a person types."""
    helps = {context.command_path: (command, command.get_help(context))}
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        each = command.get_command(context, name)
        assert each is not None
        with click.Context(each, info_name=name, parent=context, terminal_width=80) as inner:
            helps |= _helps(each, inner)
    return helps


def test_no_sentence_of_a_listing_is_cut_at_80_columns() -> None:
    """Each command stands in its group's help with a whole sentence, and no help has a longer line."""
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


@pytest.mark.parametrize(
    ("command", "meant"),
    [(["lst"], "'list'"), (["undoo"], "'undo'"), (["project", "lits"], "'list'"), (["log", "--sinse", "1"], "--since")],
    ids=" ".join,
)
def test_a_mistyped_name_is_answered_with_the_one_that_is_meant(
    playbook: Playbook, command: list[str], meant: str
) -> None:
    """Of a command, a sub-command and an option, though commands are imported when they are called."""
    result = playbook(*command)

    assert (result.code, result.out) == (2, "")
    assert meant in result.err.partition("Did you mean")[2]


@pytest.mark.parametrize(
    "command", [["show"], ["vote", "pat-001"], ["why"], ["--project", ".", "retire"]], ids=" ".join
)
def test_a_shell_completes_the_names_of_key_points(
    playbook: Playbook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    """And says nothing where there is no database."""
    completing = ShellComplete(cli, {}, "playbook", "_PLAYBOOK_COMPLETE")

    assert completing.get_completions(command, "pat-") == []
    playbook("add", "one", "--section", "pat")
    playbook("add", "two", "--section", "mis")
    playbook("--user", "add", "mine", "--section", "pat")
    capsys.readouterr()

    assert [item.value for item in completing.get_completions(command, "pat-")] == ["pat-001"]
    assert [item.value for item in completing.get_completions(command, "upat")] == ["upat-001"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("given", "missing"), [(["helpful"], "NAME"), (["pat-001"], "'pat-001' is not one of 'helpful'"), ([], "TAG")]
)
def test_a_vote_that_lacks_something_is_told_what(playbook: Playbook, given: list[str], missing: str) -> None:
    """The name of a point isn't taken for a missing name."""
    result = playbook("vote", *given)

    assert (result.code, missing in result.err) == (2, True)
