"""How answers look: JSON for programs, tables on a terminal, plain lines in a pipe."""

import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from playbook_db.domain.prompt_text import NEVER_SHOWN, shown

if TYPE_CHECKING:
    from playbook_db.domain.playbook import Change
    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.store.repository import RevisionResult


def print_json(document: Any) -> None:
    """Print one JSON document, the same to any program; what `shown` would change is escaped."""
    import json

    click.echo(shown_json(json.dumps(document, indent=2, ensure_ascii=False)))


def shown_json(text: str) -> str:
    """The JSON *text* with the same values, and with nothing in it that may not be shown."""
    return (text if text.isascii() else text.translate(_unseen())).replace("\x7f", "\\u007f").replace("</", "<\\/")


@functools.cache
def _unseen() -> dict[int, str]:
    """What stands in JSON for each character that may not be shown."""
    import json

    return {code: json.dumps(chr(code))[1:-1] for first, last in NEVER_SHOWN for code in range(first, last + 1)}


def print_points(points: Sequence["PromptPoint"]) -> None:
    """Print the points under their sections: a table on a terminal, else a line with tabs for each."""
    if sys.stdout.isatty():
        _print_tables(points)
        return
    for point in points:
        click.echo(f"{one_line(point.name)}\t{point.helpful}\t{point.harmful}\t{point.section}\t{one_line(point.text)}")


def print_revised(revised: "RevisionResult", *, dry_run: bool = False) -> None:
    """Print what a revision did, a line for each change and for each operation that was skipped."""
    for change in revised.changes:
        click.echo(_change_line(change))
    for item in revised.skipped:
        click.echo(f"skipped   operation {item.index + 1}: {one_line(item.reason)}")
    if dry_run:
        click.echo("dry run: nothing was written")
    elif revised.revision is None:
        click.echo("nothing changed")
    else:
        click.echo(f"revision {revised.revision}")


def write_text(text: str, output: str | None) -> None:
    """Write *text* in UTF-8, whatever the terminal's encoding is, to the file *output*, or to stdout without one."""
    data = text.encode("utf-8")
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_file(data, output)


def write_file(data: bytes, output: str) -> None:
    """Put *data* into the file *output*, whole or not at all."""
    from playbook_db import files

    try:
        files.replace_file(output, data)
    except OSError as error:
        raise click.UsageError(f"{output} can't be written: {error.strerror}.") from error


def readable_size(size_bytes: int) -> str:
    """A size in KiB, from 1 MiB on in MiB."""
    return f"{size_bytes / 1024:,.0f} KiB" if size_bytes < 1024**2 else f"{size_bytes / 1024**2:,.1f} MiB"


def count_of(number: int, word: str) -> str:
    """*number* with the word for what is counted, as in `1 point`, `2,000 points`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def one_line(text: str) -> str:
    """*text* as one line for a listing, without what could steer a terminal."""
    return shown(text if text.isprintable() else " ".join(text.replace("\t", " ").splitlines()))


def readable(text: str) -> str:
    """*text* with its line breaks, but without what could steer a terminal."""
    return "\n".join(map(shown, text.splitlines()))


def _print_tables(points: Sequence["PromptPoint"]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for section in dict.fromkeys(point.section for point in points):
        table = Table(title=section, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for title, justify in (("name", "left"), ("+", "right"), ("-", "right")):
            table.add_column(title, justify=justify, no_wrap=True)  # type: ignore[arg-type]
        table.add_column("text", overflow="fold")
        for point in points:
            if point.section == section:
                table.add_row(
                    Text(one_line(point.name), style="cyan"),
                    Text(str(point.helpful), style="green" if point.helpful else "dim"),
                    Text(str(point.harmful), style="red" if point.harmful else "dim"),
                    Text(readable(point.text)),
                )
        console.print(table)
        console.print()


def _change_line(change: "Change") -> str:
    point = change.point
    line = f"{change.kind:<9} {one_line(point.name)}"
    if change.kind == "vote":
        return f"{line}: {point.helpful} helpful, {point.harmful} harmful"
    if change.kind == "retire":
        return f"{line}: {one_line(change.reason or '')}".removesuffix(": ")
    votes = f" +{point.helpful} -{point.harmful}" if point.helpful or point.harmful else ""
    reason = f" ({one_line(change.reason)})" if change.reason else ""
    return f"{line} [{point.section}]{votes} {one_line(point.text)}{reason}"
