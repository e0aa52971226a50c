"""The command stats: statistics as text or JSON."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from playbook_db.cli.context import Command, as_json, opened
from playbook_db.cli.output import (
    beside,
    count_of,
    event_cells,
    one_line,
    playbook_of,
    print_json,
    print_texts,
    readable_size,
    terminal_width,
    wants_json,
)
from playbook_db.domain.times import local
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.services.reading.statistics import Growth, Learning, PointUse, Statistics, Use

_WEEKS = 6  # lines at most; --json has all
_PIPE_WIDTH = 120  # characters of a line without a terminal


@click.command(cls=Command)
@as_json
def stats() -> None:
    """Show statistics on points, votes, learning and cost.

    The statistics also cover the use of points, the members of a team, and the size of the file. To see
    the present points, and the jobs and proposals that wait, use playbook status.
    """
    from playbook_db.services.reading import statistics

    with opened(sync=False) as project:
        numbers = statistics.gather(project)
    if wants_json():
        print_json(records.statistics_record(numbers))
    else:
        print_texts(f"{beside(line[:11], line[11:], 11)}\n" for line in _lines(numbers))


def _lines(numbers: "Statistics") -> Iterator[str]:
    yield f"{playbook_of(numbers.project)}, {local(numbers.time)}"
    yield from _point_lines(numbers)
    yield from _use_lines(numbers.use)
    yield from _week_lines(numbers)
    yield _heading("learning", _learning_text(numbers.learning))
    by_source = ", ".join(f"{source} {count:,}" for source, count in numbers.revisions.items())
    yield _heading("revisions", by_source or "none yet")
    yield from _member_lines(numbers)
    yield _heading("file", _file_text(numbers.file))


def _point_lines(numbers: "Statistics") -> Iterator[str]:
    if not numbers.live and not numbers.retired:
        yield _heading("points", "none yet; to add one: playbook add TEXT")
        return
    yield _heading("points", f"{numbers.live:,} live, {numbers.retired:,} retired")
    rows = [(each.section, f"{each.live:,} live", f"{each.retired:,} retired") for each in numbers.sections]
    yield from _table(rows, "<>>")
    if numbers.live:
        yield _heading("age", "; ".join(f"{name}: {count:,}" for name, count in numbers.age_groups if count))


def _use_lines(use: "Use") -> Iterator[str]:
    if use.shown_since is None:
        yield _heading("use", "no session got a point yet")
        return
    shown_since = local(use.shown_since)[:10]
    yield _heading("use", f"since {shown_since}; a point counts once per session, % are of those shown")
    cited_since = f"since {local(use.cited_since)[:10]}" if use.cited_since else "never yet"
    points_shown = count_of(use.points_shown, "live or retired point")
    shown_in = f"times: {points_shown} in {count_of(use.sessions_shown, 'session')}"
    cited_in = f"{count_of(use.points_cited, 'point')} in {count_of(use.sessions_citing, 'session')}, {cited_since}"
    rows = [("shown", use.shown, shown_in), ("followed", use.followed, "by what a session did, or in its words")]
    rows += [("cited", use.cited, cited_in), ("ignored", use.ignored, "something that the point warns of went wrong")]
    rows.append(("voted on", use.voted, "by a session that was shown the point"))
    rows += [("helpful", use.helpful, "votes of these sessions"), ("harmful", use.harmful, "votes of these sessions")]
    shares = ["", *(f"{use.share_of_shown(count) or 0:.1%}" for _, count, _ in rows[1:])]
    cells = [(name, f"{count:,}", share, text) for (name, count, text), share in zip(rows, shares, strict=True)]
    yield from _table(cells, "<>><")
    if any(each.event != "SessionStart" for each in use.by_event):
        yield "  which event first showed a point in a session"
        yield from _table([event_cells(each) for each in use.by_event], "<>>>><", indent=4)
    for title, points in (("most cited", use.most), ("least cited compared with how often they are shown", use.least)):
        if points:
            yield f"  {title}"
            yield from _table([_point_cells(point) for point in points], "<>>><", indent=4)


def _point_cells(point: "PointUse") -> tuple[str, ...]:
    shown, cited = f"shown in {point.shown:,}", f"cited in {point.cited:,}"
    return one_line(point.name), shown, cited, f"+{point.helpful:,} -{point.harmful:,}", one_line(point.text)


def _week_lines(numbers: "Statistics") -> Iterator[str]:
    yield _heading("weeks", "each starts on Monday (UTC)" if numbers.weeks else "no votes and no learning yet")
    if not numbers.weeks:
        return
    learning = numbers.learning
    rows = [tuple(asdict(week).values()) for week in numbers.weeks[-_WEEKS:]]
    rows.append(("in all", *numbers.votes.values(), learning.calls, learning.tokens, learning.cost_usd))
    cells = [(str(name), *(f"{count:,}" for count in counts), f"${cost:,.2f}") for name, *counts, cost in rows]
    yield from _table([("", "helpful", "harmful", "neutral", "calls", "tokens", "cost"), *cells], "<>>>>>>")


def _member_lines(numbers: "Statistics") -> Iterator[str]:
    """Yield who made the changes, if several people may have made them."""
    if numbers.members and (numbers.is_shared or sum(member.actor is not None for member in numbers.members) > 1):
        yield _heading("members", "votes that count; more with: playbook log --by WHO")
        rows = [
            (one_line(each.actor or "sessions"), *(f"{n:,}" for n in (each.revisions, each.learned, each.votes)))
            for each in numbers.members
        ]
        last = (local(each.last_at)[:16] for each in numbers.members)
        cells = [(*row, time) for row, time in zip(rows, last, strict=True)]
        yield from _table([("", "revisions", "learned", "votes", "last"), *cells], "<>>><")


def _learning_text(learning: "Learning") -> str:
    if not learning.calls and not learning.chunks:
        return "nothing was learned from a session yet"
    text = f"{count_of(learning.sessions, 'session')} learned from, in {count_of(learning.chunks, 'chunk')}"
    each = learning.cost_usd_per_helpful_point
    if learning.calls and each is not None:
        text += f"; ${each:,.2f} for each point that helps more than it harms ({learning.helpful_points:,})"
    return text + (f"; the price of {count_of(learning.unpriced, 'call')} is unknown" if learning.unpriced else "")


def _file_text(file: "Growth") -> str:
    text = "" if file.size_bytes is None else f"{readable_size(file.size_bytes)} for all projects"
    if file.backups:
        time, size = file.backups[0]
        text += f"; {readable_size(size)} on {local(time)[:10]}, the first of {count_of(len(file.backups), 'backup')}"
    return text or "not a file"


def _heading(title: str, text: str) -> str:
    return f"{click.style(f'{title:<10}', bold=True)} {text}"


def _table(rows: Sequence[Sequence[str]], align: str, *, indent: int = 2) -> Iterator[str]:
    """Yield the rows as lines, cut at the width of the terminal. *align* has `<` or `>` for each column."""
    longest = terminal_width() if sys.stdout.isatty() else _PIPE_WIDTH
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)]
        line = (" " * indent + "  ".join(cells)).rstrip()
        yield line if len(line) <= longest else f"{line[: longest - 1]}…"
