"""Writes docs/commands.md from the commands' own help: `make docs`. A test fails where the page is not up to date."""

import sys
from pathlib import Path

import click

from playbook_db.cli.main import ALL_COMMANDS, cli

PAGE = Path(__file__).with_name("commands.md")
WIDTH = 100


def page() -> str:
    """The page: the help of `playbook`, then that of each command and its sub-commands."""
    parts = [
        "# Commands\n\nThis page is made from `playbook help --all` and the help of each command, by `make docs`.\n"
    ]
    with click.Context(cli, info_name="playbook", terminal_width=WIDTH, **cli.context_settings) as context:
        context.meta[ALL_COMMANDS] = True
        parts += _helps(cli, context, "playbook")
    return "\n".join(parts)


def _helps(command: click.Command, context: click.Context, title: str) -> list[str]:
    parts = [f"## `{title}`\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                with click.Context(inner, info_name=name, parent=context, terminal_width=WIDTH) as inner_context:
                    parts += _helps(inner, inner_context, f"{title} {name}")
    return parts


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE} is up to date\n")
