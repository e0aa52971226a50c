"""The command search."""

import re
import sys
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import as_json, notify, of_user, opened, source_of
from playbook_db.cli.main import cli
from playbook_db.cli.output import folded, mark_of, one_line, print_json, readable
from playbook_db.services import records
from playbook_db.services.reading import quick_reads, sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from playbook_db.store.hook_sql import StoredPoint
    from playbook_db.store.playbook.searching import HistoryHit
    from playbook_db.store.quick_sql import StoredMarks

    Hits = Sequence[tuple[StoredPoint, float]]

_INDENT = "    "


@cli.command()
@click.argument("words", nargs=-1, required=True)
@click.option(
    "-n", "limit", metavar="N", type=click.IntRange(min=1), default=10, help="Only the first N (default: 10)."
)
@click.option(
    "--all",
    "is_whole",
    is_flag=True,
    help="Also search retired points, proposals, earlier texts, and the reasons and evidence of changes.",
)
@as_json
def search(words: tuple[str, ...], limit: int, is_whole: bool, as_json: bool) -> None:
    """Find key points by what they say, best match first.

    WORDS can be any text: a question, an error message, a file name. Other forms of a word match, too. Names such as
    src/api/users.py or parse_header match as a whole and by their parts. A terminal shows matches in bold.
    """
    question = " ".join(words)
    (points,), marks = answers(question)
    beside = _beside(question) if is_whole else ()
    points, beside = points[:limit], beside[: max(limit - len(points), 0)]
    if as_json:
        print_json([
            *(records.answer_record(point, score, marks[point.name]) for point, score in points),
            *(records.history_hit_record(*each) for each in beside),
        ])  # fmt: skip
    elif points or beside:
        _print(question, points, marks, beside, is_whole=is_whole)
    else:
        notify(nothing(question, is_whole=is_whole))


def answers(*questions: str) -> "tuple[Sequence[Hits], Mapping[str, StoredMarks]]":
    """Return the live points that match each of *questions*, best first, and the points' details by name."""
    return quick_reads.search(source_of(), questions, lambda line: notify([line]))


def nothing(question: str, *, is_whole: bool = False) -> list[str]:
    """Tell what to try if nothing matches *question*."""
    from playbook_db.domain import search_words

    if not search_words.terms(question):
        return ["these words are too common to search for; name a file or an error"]
    more = "" if is_whole else f"; retired points and reasons: playbook{of_user()} search --all WORDS"
    return [f"no matches; try other words, or list all points: playbook{of_user()} list{more}"]


def _beside(question: str) -> "tuple[tuple[HistoryHit, float], ...]":
    """Return other matches of *question*. A session must not read what a web page made another session propose."""
    from playbook_db.services.reading import listing

    in_session = bool(settings.session())
    if in_session:
        notify(["proposals are left out inside a session of Claude Code"])
    with opened(reads=sources.HISTORY) as project:
        return listing.search_history(project, question, proposed=not in_session)


def _print(
    question: str,
    points: "Hits",
    marks: "Mapping[str, StoredMarks]",
    beside: "Sequence[tuple[HistoryHit, float]]",
    *,
    is_whole: bool,
) -> None:
    if sys.stdout.isatty():
        from playbook_db.domain import search_words

        pattern = re.compile(search_words.marked(question), re.IGNORECASE)
        for point, _ in points:
            mark = mark_of(point, marks)
            _print_hit(pattern, f"{one_line(point.name)}  +{point.helpful} -{point.harmful}  {mark}", point.text)
        for hit, _ in beside:
            since = f" in r{hit.revision}" if hit.kind == "retired" else f", r{hit.revision}" if hit.revision else ""
            _print_hit(pattern, f"{one_line(hit.name)}  {hit.kind}{since}", hit.text)
        return
    for point, _ in points:
        mark = mark_of(point, marks)
        votes = point.helpful, point.harmful, point.section
        cells = ("live", point.name, "", point.text) if is_whole else (point.name, *votes, point.text, mark)
        _print_cells(*cells)
    for hit, _ in beside:
        _print_cells(hit.kind, hit.name, hit.revision or "", hit.text)


def _print_hit(pattern: "re.Pattern[str]", head: str, text: str) -> None:
    click.secho(head.rstrip(), fg="cyan")
    lines = folded(readable(text), _INDENT)
    click.echo(pattern.sub(lambda match: click.style(match[0], bold=True), lines))


def _print_cells(*cells: object) -> None:
    click.echo("\t".join(one_line(str(cell)) for cell in cells).rstrip("\t"))
