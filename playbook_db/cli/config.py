"""The command config, which shows every setting and changes the user's own."""

from typing import TYPE_CHECKING

import click

from playbook_db import project_env, settings
from playbook_db.cli.context import as_json, notify, project_folder
from playbook_db.cli.main import cli
from playbook_db.cli.output import print_json, print_table
from playbook_db.cli.setup import model_in_words

if TYPE_CHECKING:
    from playbook_db.claude_code.setup.configuration import Setting


@cli.command()
@click.argument("words", nargs=-1, metavar="[NAME] [VALUE]")
@click.option("--unset", is_flag=True, help="Remove your own setting NAME, so that the default applies.")
@as_json
def config(words: tuple[str, ...], unset: bool, as_json: bool) -> None:
    """Show every setting and where it comes from; change yours.

    With NAME, show only that setting. With NAME and VALUE (or `config set NAME VALUE`), set it for all your sessions.
    The value is written to Claude Code's settings; a variable is written to their section `env`. The hooks, the worker
    and the commands read it there. In a terminal, a variable of the shell overrides it. API keys are never shown.
    """
    from dataclasses import asdict

    from playbook_db.claude_code.setup import configuration

    name, value = _name_and_value(words)
    folder = project_folder()
    if (value is not None or unset) and (name is None or (value is not None and unset)):
        raise click.UsageError("Give a NAME with a VALUE, or with --unset.")
    if name is not None and name not in (*configuration.NAMES_IN_SETTINGS, *configuration.VARIABLES):
        from difflib import get_close_matches  # late: only a wrong name needs it

        similar = get_close_matches(name, (*configuration.NAMES_IN_SETTINGS, *configuration.VARIABLES), n=1)
        hint = f" Did you mean {similar[0]}?" if similar else ""
        raise click.UsageError(f"There is no setting {name}.{hint} To list all settings: playbook config")
    if name is not None and (value is not None or unset):
        path, is_changed = configuration.write(name, value)
        notify([f"changed {path}; sessions that start now use it" if is_changed else f"{path} has that value already"])
    shown = [each for each in configuration.read_all(folder) if name in (None, each.name)]
    if as_json:
        print_json([asdict(each) for each in shown])
        return
    home = f"{settings.home()}/"
    rows = [(each.name, each.value, each.source.replace(home, "~/"), each.note or _cost(each)) for each in shown]
    print_table(("setting", "value", "from", "note"), rows, nothing="no settings")
    if name is None:
        notify([model_in_words(folder)])
    elif value is None and name in configuration.VALUES:
        notify([f"{name} can be {', '.join(configuration.VALUES[name])}"])


def _cost(setting: "Setting") -> str:
    from playbook_db.llm import choose

    is_budget = setting.name == project_env.BUDGET and setting.value.isdigit()
    return choose.cost_in_words(int(setting.value), project_folder()) if is_budget else ""


def _name_and_value(words: tuple[str, ...]) -> tuple[str | None, str | None]:
    match words:
        case []:
            return None, None
        case [name]:
            return name, None
        case ["set", name, value] | [name, value]:
            return name, value
    raise click.UsageError("Give a NAME with a VALUE, as in: playbook config set NAME VALUE")
