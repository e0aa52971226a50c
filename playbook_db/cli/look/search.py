"""The command that finds points by what they say."""

import re
import sys
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import as_json, database_and_folder, notify, of_user, opened
from playbook_db.cli.main import cli
from playbook_db.cli.output import folded, mark_of, one_line, print_json, readable
from playbook_db.services import records
from playbook_db.services.reading import quick_reads

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
    help="Also what has left or is proposed, what points once said, and the reasons and the evidence of changes.",
)
@as_json
def search(words: tuple[str, ...], limit: int, is_whole: bool, as_json: bool) -> None:
    """Find key points by what they say, the best answer first.

    WORDS can be any text: a question, the message of an error, a file's name. Other forms of a word are found, too, and
    names such as src/api/users.py or parse_header whole and by their parts. A terminal shows in bold what was found.
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
    """For each of *questions* the live points that answer it, the best first; what is known of each, by name."""
    result = quick_reads.search(*database_and_folder(), *questions)
    if result is not None:
        return result
    from playbook_db.services.opening import MARKED_POINTS
    from playbook_db.services.reading import listing

    with opened(reads=MARKED_POINTS) as project:
        searched, marks = listing.search(project, *questions)
    if any(each.is_damaged for each in searched):
        notify([str(listing.DAMAGED)])
    return [each.points for each in searched], marks


def nothing(question: str, *, is_whole: bool = False) -> list[str]:
    """What to try where nothing answers *question*."""
    from playbook_db.domain import search_words

    if not search_words.terms(question):
        return ["none of these words can be looked for: they stand in every text, or are none; name a file or an error"]
    more = "" if is_whole else f"; what has left, and reasons: playbook{of_user()} search --all WORDS"
    return [f"no key point says any of that; try other words, or all points: playbook{of_user()} list{more}"]


def _beside(question: str) -> "tuple[tuple[HistoryHit, float], ...]":
    """What else answers *question*. What a page had a session propose, another session must not read."""
    from playbook_db.services.reading import listing

    in_session = bool(settings.session())
    if in_session:
        notify(["proposals are left out within a session of Claude Code"])
    from playbook_db.services.opening import HISTORY

    with opened(reads=HISTORY) as project:
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
