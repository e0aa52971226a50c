"""Writes docs/commands.md from the commands' own help: `make docs`. A test fails if the page is not up to date."""

import re
import sys
import textwrap
from pathlib import Path

import click

from playbook_db.cli.main import ALL_COMMANDS, cli

PAGE = Path(__file__).with_name("commands.md")
WIDTH = 100
LISTS = r"^(?!Options:)[A-Z][\w ]*:\n(?:  [a-z].*\n(?: {6,}.*\n)*)+"
# What is said beside the command's name, and what is left out.
SHARED = {
    "--json": r"^  --json +Print one JSON document\.\n",
    "--user": r"^Global options \(.*--user.*$",
}
REPEATED = (r"^  -h, --help +Show this message and exit\.(\n|\Z)", r"^Global options \(.*$", r"^Help on one .*$", LISTS)


HEAD = """# Commands

This page is made from the commands' own help, by `make docs`. The global options come first.
Beside a command's name, `[--json]` means that it can print one JSON document, and `[--user]` that
it can use your personal playbook.
"""


def page() -> str:
    """The page: the help of `playbook`, then that of each command and its sub-commands."""
    parts = [HEAD]
    with click.Context(cli, info_name="playbook", terminal_width=WIDTH, **cli.context_settings) as context:
        context.meta[ALL_COMMANDS] = True
        parts += _helps(cli, context, "playbook")
    return "\n".join(parts)


def _helps(command: click.Command, context: click.Context, title: str) -> list[str]:
    usage, text = _shortened(command.get_help(context))
    parts = [f"## `{usage}`\n\n{textwrap.indent(text, '  ')}\n"]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                with click.Context(inner, info_name=name, parent=context, terminal_width=WIDTH) as inner_context:
                    parts += _helps(inner, inner_context, f"{title} {name}")
    return parts


def _shortened(text: str) -> tuple[str, str]:
    """The usage, and the help without what each command repeats, and without lists of commands that follow on the
    page. Each line keeps its two spaces."""
    usage, _, rest = text.partition("\n\n")
    shared = [f"[{option}]" for option, line in SHARED.items() if re.search(line, rest, re.MULTILINE)]
    for line in (*SHARED.values(), *REPEATED):
        rest = re.sub(line, "", rest, flags=re.MULTILINE)
    rest = re.sub(r"\n{2,}", "\n\n", rest.replace("Options:\n", "").strip("\n"))
    return " ".join([*usage.removeprefix("Usage: ").replace("[OPTIONS]", "").split(), *shared]), rest


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE} is up to date\n")
