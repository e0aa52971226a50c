"""The command sql: queries to the database, answered as a table, CSV or JSON."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from playbook_db import settings
from playbook_db.cli.context import Command, as_json, database_url, is_users_own, notify, project_folder, read_input
from playbook_db.cli.output import (
    beside,
    one_line,
    print_json_list,
    print_texts,
    table,
    terminal_width,
    wants_json,
    width_of,
)
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.services.reading.sql import Answer


_COMMENT = re.compile(r"--[^=\n]*\n|--\s")  # at the beginning of a query
_NARROWEST = 20  # characters of a long column that can still be read
_MEASURED_ROWS = 1000  # whose widest cells set the width of the columns; later rows aren't waited for


class _SqlCommand(Command):
    """The command, which takes a query that begins with a comment for no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        queries = [each for each in args if _COMMENT.match(each)]
        others = [each for each in args if each not in queries]
        return super().parse_args(ctx, [*others, "--", *queries] if queries else args)


@click.command(cls=_SqlCommand)
@click.argument("query", required=False)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV (RFC 4180).")
@click.option("--line", "by_line", is_flag=True, help="Print each value on a line of its own.")
@click.option(
    "--timeout",
    "timeout_s",
    metavar="SECONDS",
    type=click.FloatRange(0, min_open=True),
    default=settings.QUERY_TIMEOUT_S,
    show_default=True,
    help="Stop a query after this time. A single slow function call isn't interrupted.",
)
@as_json
def sql(query: str | None, as_csv: bool, by_line: bool, timeout_s: float) -> None:
    """Query the database in SQL.

    QUERY is one SELECT, which can't change anything. Without QUERY, or with -, the query is read from standard input. A
    query sees all projects of the database. The parameter :project is this project's folder, as in SELECT name, balance
    FROM live_key_points WHERE playbook = :project. Rows are printed as they are found. If a terminal is too narrow for
    the columns, each value gets its own line.
    """
    if as_csv + by_line + wants_json() > 1:
        raise click.UsageError("Give one of --csv, --line and --json.")
    if query in (None, "-"):
        if sys.stdin.isatty():
            notify(["type one SELECT, then press Ctrl-D"])
        query = read_input("-").decode("utf-8", "surrogateescape")
    from playbook_db.services.reading import sql as sql_service

    url, key = sql_service.database_of(database_url(), None if is_users_own() else project_folder())
    if ":project" in (query or "") and not sql_service.has_playbook(url, key):
        notify([f"{key} has no playbook, so :project names none"])
    with sql_service.ask(url, query or "", project_key=key, timeout_s=timeout_s) as answer:
        if as_csv:
            _print_csv(answer)
        elif wants_json():
            print_json_list(records.query_records(answer.columns, answer.rows), indent=0)
        elif by_line:
            print_texts(_by_line(answer.columns, answer.rows))
        elif sys.stdout.isatty():
            print_texts(_on_terminal(answer))
        else:
            for line in aligned(answer.columns, answer.rows):
                click.echo(line)


def _print_csv(answer: "Answer") -> None:
    """Print the rows as they are found. On a terminal, leave out control characters."""
    import csv

    shown = _line if sys.stdout.isatty() else _cell
    lines = csv.writer(sys.stdout)
    lines.writerow([shown(title) for title in answer.columns])
    lines.writerows([shown(value) for value in row] for row in answer.rows)


def aligned(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a table as in docs/sql.md: the titles, a rule, and one line for each row."""
    titles, cells = [_line(title) for title in columns], ([_line(value) for value in row] for row in rows)
    first = list(islice(cells, _MEASURED_ROWS))
    widths = [max(map(width_of, column)) for column in zip(titles, *first, strict=True)]
    for line in chain([titles, ["-" * width for width in widths]], first, cells):
        padded = (cell + " " * (width - width_of(cell)) for cell, width in zip(line, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _on_terminal(answer: "Answer") -> Iterator[str]:
    """Yield tables of up to 1,000 rows each. If there are too many columns, yield one value a line."""
    rows = [[_cell(value) for value in row] for row in islice(answer.rows, _MEASURED_ROWS)]
    if not _fits(answer.columns, rows):
        yield from _by_line(answer.columns, chain(rows, answer.rows))
        return
    yield table(answer.columns, rows)
    while rows := [[_cell(value) for value in row] for row in islice(answer.rows, _MEASURED_ROWS)]:
        yield table(answer.columns, rows)


def _fits(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table of the columns leaves each long column enough room to be read."""
    widths = [max(map(width_of, column)) for column in zip(columns, *rows, strict=True)]
    space = sum(min(width, _NARROWEST) + 2 for width in widths) - 2
    return space <= terminal_width()


def _by_line(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield each value after its title, with an empty line between rows."""
    titles = [_line(title) for title in columns]
    margin = max(map(len, titles)) + 2
    for number, row in enumerate(rows):
        yield "\n" if number else ""
        for title, value in zip(titles, map(_line, row), strict=True):
            yield beside(f"{title:<{margin}}", value, margin).rstrip() + "\n"


def _cell(value: Any) -> str:
    """Return *value* as text: `""` for NULL, hexadecimal for a BLOB."""
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else str(value)


def _line(value: Any) -> str:
    return one_line(_cell(value))
