"""The consoles of the documentation: commands, each with what it prints, in one project.

A line `...` in the output means any lines. Times, sizes and folders may differ.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import click

from playbook_db.cli.main import cli
from tests.recording import steady

ROOT = Path(__file__).resolve().parents[2]
_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(!?playbook [^`\n]+)`")
_ENDS = {"|", ">", "<", ";", "&&"}  # of one command in a line of a shell


@dataclass(frozen=True, slots=True)
class Example:
    """A command, and its output on the page."""

    command: str
    printed: str


def examples(text: str) -> list[Example]:
    parts = (part for console in _CONSOLE.findall(text) for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:])
    return [Example(command, printed) for command, _, printed in (part.partition("\n") for part in parts)]


def typed(text: str) -> list[Example]:
    """The commands of the page *text* that a reader types, in consoles and in blocks for a shell."""
    blocks = re.findall(r"^```(?:console|sh)\n.*?^```$", text, re.MULTILINE | re.DOTALL)
    return [step for block in blocks for step in examples(block + "\n") or _in_shell(block)]


def _in_shell(block: str) -> list[Example]:
    return [Example(line.partition("#")[0].strip(), "...\n") for line in block.splitlines() if _is_ours(line)]


def mentioned(text: str) -> Iterator[str]:
    """Each `playbook ...` on the page *text*."""
    yield from (example.command for example in examples(text) if _is_ours(example.command))
    for block in _SHELL.findall(text):
        yield from (part.strip() for line in block.splitlines() for part in line.split("&&") if _is_ours(part))
    yield from (command.removeprefix("!") for command in _INLINE.findall(text))


def _is_ours(part: str) -> bool:
    return part.strip().startswith("playbook ")


def fault(command: str) -> str | None:
    """The unknown sub-command or option of *command*."""
    group: click.Command = cli
    typed = shlex.split(command.replace("...", ""), comments=True)[1:]
    words = iter(takewhile(lambda word: word not in _ENDS, typed))
    for word in words:
        word = word.strip("[]")
        if word.startswith("-") and word != "-":
            name = word.partition("=")[0]
            options = [each for each in group.params if name in (*each.opts, *each.secondary_opts)]
            if not options and name not in ("-h", "--help", "--version"):
                return f"{group.name} has no option {name}"
            if options and isinstance(options[0], click.Option) and not options[0].is_flag and "=" not in word:
                next(words, None)
        elif isinstance(group, click.Group):
            context = click.Context(group)
            inner = [group.get_command(context, name) for name in word.split("|")]
            if None in inner:
                return f"there is no command {word}" if word.islower() else None
            group = inner[0] or group
    return None


def same(printed: str, expected: str) -> bool:
    """Whether *printed* equals the page, apart from times, sizes and folders."""
    pattern = "(?:.*\n)*?".join(map(re.escape, re.split(r"^\.\.\.\n", steady(expected), flags=re.MULTILINE)))
    return re.fullmatch(pattern, steady(printed)) is not None


def type_into(folder: Path, command: str, run: Callable[[list[str]], str]) -> str:
    """Type *command* in *folder*; *run* runs our own command."""
    words = shlex.split(command)
    match words:
        case ["playbook", *arguments]:
            return run(arguments)
        case ["echo", *texts, (">" | ">>") as how, target]:
            with (folder / target).open("w" if how == ">" else "a", encoding="utf-8") as file:
                file.write(" ".join(texts) + "\n")
            return ""
        case ["cat", source]:
            return (folder / source).read_text(encoding="utf-8")
        case ["cp", source, target]:
            (folder / target).write_bytes((folder / source).read_bytes())
            return ""
        case ["rm", target]:
            (folder / target).unlink()
            return ""
    raise ValueError(f"no such command in a console of ours: {command}")
