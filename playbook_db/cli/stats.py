"""The command stats: the playbook in numbers, as text, JSON and a picture."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from playbook_db.cli.context import as_json, opened, project_options, tell
from playbook_db.cli.output import count_of, one_line, print_json, readable_size, write_file
from playbook_db.domain.sections import SLUG_SECTIONS

if TYPE_CHECKING:
    from playbook_db.services.statistics import Growth, Learning, PointUse, Statistics, Use, Week

_WEEKS = 6  # lines at most; --json has all
_PIPE_WIDTH = 120  # characters of a line where there is no terminal
_PARTS = {
    "points": {"key_points"},
    "history": {"revisions", "changes", "votes", "skipped_operations"},
    "shown and cited": {"injections", "citations"},
    "learning": {"transcripts", "reflections", "model_calls", "jobs"},
}  # of the file, and the tables that hold them


@click.command()
@as_json
@click.option("--svg", metavar="FILE", help="Draw the numbers too, into FILE.")
@project_options
def stats(as_json: bool, svg: str | None) -> None:
    """Tell the playbook in numbers: points, how they are used, votes, what learning cost, how the file grows."""
    from playbook_db.services import statistics

    with opened(sync=False) as project:
        found = statistics.gather(project)
    if svg is not None:
        _draw(found, svg)
    if as_json:
        print_json(_record(found))
    else:
        for line in _lines(found):
            click.echo(line)


def _draw(found: "Statistics", path: str) -> None:
    from playbook_db.cli import charts

    write_file(charts.picture(found), path)
    tell([f"drew {one_line(path)}"])


def _record(found: "Statistics") -> dict[str, Any]:
    """What `--json` prints; the keys stay.

    `points`: live and retired ones, by section, and how many of the live ones came in the last 7, 30 and 90 days (each
    with those before it) or earlier. `use`: since when it is recorded that points are shown and cited, in how many
    sessions they were, how many points were, and how often (`shown`, `cited`: a point counts once in a session); the
    votes of sessions since then; each as a part of `shown` (null where nothing was shown); the points `most` cited, and
    those cited `least` for how often they were shown. `votes`: all that were cast here; `unmatched` ones met no live
    point. `learning`: what it took in all; `helpful_points` help more than they harm, `unpriced` calls are not in
    `cost_usd`. `weeks`: the same by week (UTC), without gaps. `file`: the whole database, all projects together; sizes
    are null where they can't be told.
    """
    use, learning, file = found.use, found.learning, found.file
    ages = {f"last_{days}_days": count for days, count in found.ages}
    return {
        "project": found.project,
        "time": found.time,
        "points": {
            "live": found.live,
            "retired": found.retired,
            "sections": [
                {"section": SLUG_SECTIONS[each.slug], "live": each.live, "retired": each.retired}
                for each in found.sections
            ],
            "age": {**ages, "older": found.live - found.ages[-1][1]},
        },
        "use": {
            **asdict(use),
            "cited_share": use.share_of_shown(use.cited),
            "helpful_share": use.share_of_shown(use.helpful),
            "harmful_share": use.share_of_shown(use.harmful),
        },
        "votes": {**_cast(found.weeks), "unmatched": found.unmatched_votes},
        "learning": {
            **asdict(learning),
            "tokens": learning.tokens,
            "cost_usd_a_helpful_point": learning.cost_usd_a_helpful_point,
        },
        "weeks": [{**asdict(week), "monday": week.monday.isoformat()} for week in found.weeks],
        "revisions": {"all": sum(found.revisions.values()), "by_source": found.revisions},
        "file": {
            "size_bytes": file.size_bytes,
            "tables": [asdict(table) for table in file.tables],
            "backups": [{"time": time, "size_bytes": size} for time, size in file.backups],
        },
    }


def _lines(found: "Statistics") -> Iterator[str]:
    yield f"{one_line(found.project)}, {found.time[:16].replace('T', ' ')} UTC"
    yield from _point_lines(found)
    yield from _use_lines(found.use)
    yield from _week_lines(found)
    yield _heading("learning", _learning_told(found.learning))
    by_source = ", ".join(f"{source} {count:,}" for source, count in found.revisions.items()) or "none yet"
    yield _heading("revisions", by_source)
    yield from _file_lines(found.file)


def _point_lines(found: "Statistics") -> Iterator[str]:
    if not found.live and not found.retired:
        yield _heading("points", "none yet; add one with: playbook add TEXT")
        return
    yield _heading("points", f"{found.live:,} live, {found.retired:,} retired")
    yield from _table(
        [(SLUG_SECTIONS[each.slug], f"{each.live:,} live", f"{each.retired:,} retired") for each in found.sections],
        "<>>",
    )
    if found.live:
        yield _heading("age", "; ".join(f"{name}: {count:,}" for name, count in found.age_groups if count))


def _use_lines(use: "Use") -> Iterator[str]:
    if use.shown_since is None:
        yield _heading("use", "no session was shown a point yet")
        return
    yield _heading("use", f"since {use.shown_since[:10]}; a point counts once in a session, % are of those shown")
    share = use.share_of_shown
    cited_since = f"since {use.cited_since[:10]}" if use.cited_since else "never yet"
    yield from _table(
        [
            ("shown", f"{use.shown:,}", "", _met(use.points_shown, use.sessions_shown)),
            ("cited", f"{use.cited:,}", f"{share(use.cited):.1%}",
             f"{_met(use.points_cited, use.sessions_citing)}, {cited_since}"),
            ("helpful", f"{use.helpful:,}", f"{share(use.helpful):.1%}", "votes of sessions"),
            ("harmful", f"{use.harmful:,}", f"{share(use.harmful):.1%}", "votes of sessions"),
        ],
        "<>><",
    )  # fmt: skip
    for title, points in (("most cited", use.most), ("least cited for how often they are shown", use.least)):
        if points:
            yield f"  {title}"
            yield from _table([_point_cells(point) for point in points], "<>>><", indent=4)


def _met(points: int, sessions: int) -> str:
    return f"{count_of(points, 'point')} in {count_of(sessions, 'session')}"


def _point_cells(point: "PointUse") -> tuple[str, ...]:
    return (
        one_line(point.name),
        f"shown in {point.shown:,}",
        f"cited in {point.cited:,}",
        f"+{point.helpful:,} -{point.harmful:,}",
        one_line(point.text),
    )


def _week_lines(found: "Statistics") -> Iterator[str]:
    yield _heading("weeks", "each from its Monday on (UTC)" if found.weeks else "nothing was voted or learnt yet")
    if not found.weeks:
        return
    rows = [
        (week.monday.isoformat(), *_counts(week.helpful, week.harmful, week.neutral, week.calls, week.tokens),
         f"${week.cost_usd:,.2f}")
        for week in found.weeks[-_WEEKS:]
    ]  # fmt: skip
    cast, learning = _cast(found.weeks), found.learning
    in_all = _counts(*cast.values(), learning.calls, learning.tokens)
    title = ("", "helpful", "harmful", "neutral", "calls", "tokens", "cost")
    yield from _table([title, *rows, ("in all", *in_all, f"${learning.cost_usd:,.2f}")], "<>>>>>>")


def _learning_told(learning: "Learning") -> str:
    if not learning.calls and not learning.stretches:
        return "no session was learnt from yet"
    told = f"{count_of(learning.sessions, 'session')} learnt from (stretches: {learning.stretches:,})"
    each = learning.cost_usd_a_helpful_point
    if learning.calls and each is not None:
        told += f"; ${each:,.2f} for each point that helps more than it harms ({learning.helpful_points:,})"
    return told + (f"; the price of {count_of(learning.unpriced, 'call')} isn't known" if learning.unpriced else "")


def _file_lines(file: "Growth") -> Iterator[str]:
    told = "" if file.size_bytes is None else f"{readable_size(file.size_bytes)}, all projects together"
    if file.backups:
        time, size = file.backups[0]
        told += f"; {readable_size(size)} on {time[:10]}, the first of {count_of(len(file.backups), 'backup')}"
    yield _heading("file", told or "no file of its own")
    parts = {name: sum(t.size_bytes or 0 for t in file.tables if t.name in tables) for name, tables in _PARTS.items()}
    if any(parts.values()):  # not every SQLite tells them
        parts["the rest"] = (file.size_bytes or 0) - sum(parts.values())
        yield from _table([(name, readable_size(size)) for name, size in parts.items()], "<>")


def _cast(weeks: "Iterable[Week]") -> dict[str, int]:
    kinds = ("helpful", "harmful", "neutral")
    return {kind: sum(getattr(week, kind) for week in weeks) for kind in kinds}


def _counts(*counts: int) -> tuple[str, ...]:
    return tuple(f"{count:,}" for count in counts)


def _heading(title: str, told: str) -> str:
    return f"{click.style(f'{title:<10}', bold=True)} {told}"


def _table(rows: Sequence[Sequence[str]], align: str, *, indent: int = 2) -> Iterator[str]:
    """The rows with their columns aligned, `<` or `>` each, and no longer than a line of the terminal."""
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPE_WIDTH
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)]
        line = (" " * indent + "  ".join(cells)).rstrip()
        yield line if len(line) <= most else f"{line[: most - 1]}…"


COMMANDS = {"stats": stats}
