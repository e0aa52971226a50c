"""Output: JSON for programs, tables on a terminal, plain lines in a pipe."""

import functools
import os
import re
import stat
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import click

from playbook_db.domain.prompt_text import NEVER_SHOWN, shown
from playbook_db.domain.prompt_text import one_line as one_line
from playbook_db.projects import is_users

if TYPE_CHECKING:
    from playbook_db.domain.playbook import Change
    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.domain.trust.evidence import Evidence
    from playbook_db.store.playbook.repository import RevisionResult
    from playbook_db.store.queries.list_queries import StoredMarks
    from playbook_db.store.queries.log_queries import EventUse

_UUID_LENGTH = 36  # characters
_WIDE = 100  # columns of a terminal with room for more than the texts
_SHORT_CELL = 12  # characters; a column of such cells is never wrapped
_LONGEST_NAME = 32  # characters, in the first column
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d|-?")  # nor is a column of times, to be copied
_NO_BYTES = re.compile("[^\udc80-\udcff]+")  # how Python keeps bytes of a path that aren't UTF-8
_BUSY_AFTER_S = 1.0
IGNORED = "not followed, which cost the session time"  # of a point that the session had
KINDS = {  # of changes
    "add": "added", "edit": "edited", "vote": "voted on", "move": "moved", "restore": "restored", "retire": "retired",
}  # fmt: skip
_STYLES = {"name": "cyan", "+": "green", "-": "red"}  # of the columns with these titles


def print_json(document: Any) -> None:
    """Print one JSON document, with unprintable characters escaped."""
    import json

    click.echo(shown_json(json.dumps(document, indent=2, ensure_ascii=False)))


def print_json_list(items: Iterable[Any], *, indent: int = 2) -> None:
    """Print one JSON list, each item as it arrives. Without *indent*, an item is one line."""
    import json

    before, margin = "[\n", " " * indent
    for item in items:
        text = shown_json(json.dumps(item, indent=indent or None, ensure_ascii=False))
        click.echo(before + margin + text.replace("\n", f"\n{margin}"), nl=False)
        before = ",\n"
    click.echo("[]" if before == "[\n" else "\n]")


def wants_json() -> bool:
    """Return whether the command got the option `--json`."""
    return bool((click.get_current_context().find_object(dict) or {}).get("json"))


def print_answer(text: str, **record: Any) -> None:
    """Print the result of a command in words, or with `--json` as the JSON object *record*."""
    if wants_json():
        print_json(record)
    else:
        say(text)


def say(text: str, *, err: bool = False) -> None:
    """Print sentences for the user, wrapped on a terminal, without control characters. A path keeps its bytes."""
    lines = (_NO_BYTES.sub(lambda part: shown(part[0]), line) for line in text.splitlines())
    click.echo(folded("\n".join(lines), err=err), err=err)


def shown_json(text: str) -> str:
    """Return the JSON *text* with unprintable characters escaped, so that its values stay the same."""
    return (text if text.isascii() else text.translate(_unseen())).replace("\x7f", "\\u007f").replace("</", "<\\/")


@functools.cache
def _unseen() -> dict[int, str]:
    """Return a map from unprintable characters to their JSON escapes."""
    import json

    return {code: json.dumps(chr(code))[1:-1] for first, last in NEVER_SHOWN for code in range(first, last + 1)}


def is_read() -> bool:
    """Return whether a person reads stdout: on a terminal, or in Claude Code, which keeps a command's output in a file.

    There, the output of `!playbook list` is a file; a pipe leads to another program."""
    if sys.stdout.isatty():
        return True
    try:
        return "CLAUDECODE" in os.environ and stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):  # it has no descriptor
        return False


def print_points(
    points: Sequence["PromptPoint"], marks: "Mapping[str, StoredMarks] | None" = None, *, by_section: bool = True
) -> None:
    """Print the points. A terminal shows a table for each section, or one table if *by_section* is off. A pipe gets a
    line with tabs for each point. *marks* tell which points are pinned or resting."""
    marks = marks or {}
    if is_read():
        tables = [_points_table(points, marks)]
        if by_section:
            groups = groupby(points, key=lambda point: point.section)
            tables = [f"{click.style(name, bold=True)}\n{_points_table([*some], marks)}\n" for name, some in groups]
        print_texts(tables)
        return
    for point in points:
        cells = (one_line(point.name), point.helpful, point.harmful, point.section, one_line(point.text))
        mark = mark_of(point, marks)
        click.echo("\t".join(map(str, (*cells, mark) if mark else cells)))


def print_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], *, nothing: str, records: Iterable[Any] = ()
) -> None:
    """Print *rows* as a table with *titles* on a terminal, else each as a line with tabs. Without rows, print *nothing*
    on stderr. With `--json`, print the *records*."""
    rows = list(rows)
    if wants_json():
        print_json(list(records))
    elif not rows:
        say(f"playbook: {nothing}", err=True)
    elif is_read():
        print_texts([table(titles, rows)])
    else:
        for row in rows:
            click.echo("\t".join(map(one_line, row)).rstrip())


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the lines of a table that fits the terminal, with numbers to the right and long texts wrapped."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [list(map(readable, row)) for row in rows]
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for place, (name, *cells) in enumerate(zip(titles, *rows, strict=True)):
        is_short = max(map(len, (name, *cells))) <= (_SHORT_CELL if place else _LONGEST_NAME)
        is_whole = is_short or all(map(_TIME.fullmatch, cells))
        justify: Literal["left", "right"] = "right" if any(cells) and all(map(_is_number, cells)) else "left"
        drawn.add_column(Text(one_line(name)), justify=justify, no_wrap=is_whole, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell, style=_STYLES.get(name, "")) for name, cell in zip(titles, row, strict=True)))
    console = Console()
    with console.capture() as capture:
        console.print(drawn)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _is_number(cell: str) -> bool:
    return cell in ("", "-") or cell.strip("+-$").replace(",", "").replace(".", "").isdigit()


@contextmanager
def busy(step: str) -> Iterator[None]:
    """Name the *step* on stderr while it runs, if stderr is a terminal and the step takes longer than a second."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{step} ...")
    timer = threading.Timer(_BUSY_AFTER_S, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def print_texts(texts: Iterable[str]) -> None:
    """Print *texts* as they arrive, on a terminal in a pager."""
    if sys.stdin.isatty() and sys.stdout.isatty() and _has_pager():
        os.environ.setdefault("LESS", "-FRX")  # as git does: colors, and no pager if the text fits on the screen
        click.echo_via_pager(texts)
        return
    for text in texts:
        click.echo(text, nl=False)


def print_revised(revised: "RevisionResult", *, dry_run: bool = False) -> None:
    """Print a line for each change and each skipped operation of a revision, then its number and playbook."""
    for change in revised.changes:
        click.echo(beside(f"{change.kind:<9} ", _change_line(change), 10))
    for item in revised.skipped:
        click.echo(beside("skipped   ", f"operation {item.index + 1}: {one_line(item.reason)}", 10))
    if dry_run:
        say("dry run: nothing was changed")
    elif revised.revision is None:
        say("nothing changed")
    else:
        say(f"revision {revised.revision} of {playbook_of(revised.key)}")


def write_text(text: str, output: str | None) -> None:
    """Write *text* to the file *output* or to stdout, always in UTF-8."""
    data = text.encode("utf-8")
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_file(data, output)


def write_file(data: bytes, output: str) -> None:
    """Write *data* to the file *output*, completely or not at all. A device or pipe is written to."""
    from playbook_db import files

    try:
        if os.path.exists(output) and not os.path.isfile(output):  # replacing it would break /dev/null for everybody
            with open(output, "wb") as file:
                file.write(data)
        else:
            files.replace_file(output, data)
    except OSError as error:
        raise click.UsageError(f"{output} can't be written: {error.strerror}. Name another file.") from error


def readable_size(size_bytes: int) -> str:
    """Return a size in bytes, KiB or MiB, with the unit."""
    if size_bytes < 1024:
        return f"{size_bytes} bytes"
    return f"{size_bytes / 1024:,.0f} KiB" if size_bytes < 1024**2 else f"{size_bytes / 1024**2:,.1f} MiB"


def evidence_line(evidence: "Evidence") -> str:
    """Return a piece of evidence in one line: the quote and its source."""
    return f'"{one_line(evidence.quote)}" ({one_line(evidence.source)})'


def event_cells(use: "EventUse") -> tuple[str, ...]:
    """Return the cells of a line about the points that were shown at one event. They are the event, how often points
    were shown, and how often they were cited or voted on, with shares if there are enough sessions."""
    from playbook_db.domain.trust.use import EVENTS, FEWEST_SESSIONS  # late: few commands come here

    counts = (("cited", use.cited), ("helpful", use.helpful), ("harmful", use.harmful))
    shares = [(name, count, use.share(count)) for name, count in counts]
    cells = (f"{name} {count:,}" + ("" if share is None else f" ({share:.1%})") for name, count, share in shares)
    few = "" if use.share(0) is not None else f"too few to compare: {FEWEST_SESSIONS} are needed"
    return EVENTS[use.event], f"{use.shown:,} times", *cells, few


def session_name(session_id: str) -> str:
    """Return a session's id. On a terminal, shorten a long id; commands accept its beginning, too."""
    return session_id[:8] if len(session_id) == _UUID_LENGTH and sys.stdout.isatty() else one_line(session_id)


def count_of(number: int, word: str) -> str:
    """Return *number* with the word for what is counted: `1 point`, `2,000 points`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def playbook_of(key: str) -> str:
    """Describe the playbook of *key*: its project's folder, or `your personal playbook`."""
    return "your personal playbook" if is_users(key) else one_line(key)


def readable(text: str) -> str:
    """Return *text* with its line breaks, but without other control characters."""
    return "\n".join(map(shown, text.splitlines()))


def folded(text: str, indent: str = "", *, err: bool = False) -> str:
    """Return *text* without control characters, each line indented by *indent*. Lines are wrapped to the width of
    stdout (with *err*, of stderr) if that is a terminal. Longer words stay whole."""
    stream = sys.stderr if err else sys.stdout
    is_terminal = bool(stream and stream.isatty())
    if not is_terminal and not indent:
        return text
    width = max(terminal_width() - len(indent), _SHORT_CELL) if is_terminal else 0
    lines = [row for line in text.splitlines() for row in (_wrapped(line, width) if width else [line])]
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)


def _has_pager() -> bool:
    """Return whether there is a pager that keeps colors. Without one, click prints no colors."""
    from shutil import which  # late: it imports three compressions

    return bool(os.environ.get("PAGER") or which("less"))


def terminal_width() -> int:
    """Return the columns of the terminal."""
    from shutil import get_terminal_size  # late, as above

    return get_terminal_size().columns


def beside(head: str, text: str, margin: int) -> str:
    """Return *head*, which is *margin* columns wide, and *text*. Further lines are indented by *margin*."""
    return head + folded(text, " " * margin)[margin:]


def _wrapped(line: str, width: int) -> list[str]:
    """Split *line* into parts of at most *width* columns. A wider word stays whole, so that a path can be copied.
    Scripts without spaces may be cut anywhere."""
    if width_of(line) <= width:
        return [line]
    if line.isascii():
        import textwrap  # late: only a terminal needs it

        return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    from rich.console import Console
    from rich.text import Text

    return [part.plain.rstrip() for part in Text(line).wrap(Console(width=width), width)]


def shortened(line: str, width: int) -> str:
    """Return *line*, cut to *width* columns with `…` if it is longer."""
    if width_of(line) <= width:
        return line
    if line.isascii():
        return f"{line[: width - 1]}…"
    from rich.cells import set_cell_size

    return f"{set_cell_size(line, width - 1)}…"


def width_of(text: str) -> int:
    """Return how many columns *text* takes on a terminal. A Chinese character or an emoji takes two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _points_table(points: Sequence["PromptPoint"], marks: "Mapping[str, StoredMarks]") -> str:
    titles, rows = ["name", "+", "-", "text"], [[p.name, str(p.helpful), str(p.harmful), p.text] for p in points]
    if marks and terminal_width() >= _WIDE:
        titles[3:3] = ("since", "confirmed")
        for row in rows:
            row[3:3] = ((time or "")[:7] for time in (marks[row[0]].created_at, marks[row[0]].confirmed_at))
    if any(mark_of(point, marks) for point in points):
        titles.insert(1, "")
        for point, row in zip(points, rows, strict=True):
            row.insert(1, mark_of(point, marks))
    return table(titles, rows)


def mark_of(point: "PromptPoint", marks: "Mapping[str, StoredMarks]") -> str:
    """Return the mark of *point* in a listing: whether it is pinned or resting, and how many sessions ignored it."""
    known = marks.get(point.name)
    return known.in_words if known else ""


def _change_line(change: "Change") -> str:
    point = change.point
    line = one_line(point.name)
    if change.kind == "vote":
        return f"{line}: {point.helpful} helpful, {point.harmful} harmful"
    if change.kind == "retire":
        return f"{line}: {one_line(change.reason or '')}".removesuffix(": ")
    votes = f" +{point.helpful} -{point.harmful}" if point.helpful or point.harmful else ""
    reason = f" ({one_line(change.reason)})" if change.reason else ""
    return f"{line} [{point.section}]{votes} {one_line(point.text)}{reason}"
