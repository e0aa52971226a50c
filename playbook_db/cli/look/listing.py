"""Commands that show key points: list, show, render."""

import sys
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import as_json, notify, of_user, playbook_here, point_names, source_of
from playbook_db.cli.main import cli
from playbook_db.cli.output import (
    IGNORED,
    beside,
    evidence_line,
    folded,
    one_line,
    print_json,
    print_points,
    print_table,
    print_texts,
    readable,
    say,
)
from playbook_db.services import records
from playbook_db.services.reading import quick_reads
from playbook_db.store.quick_sql import PointRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.store.quick_sql import PointEvidence, StoredMarks

_ORDERS = ("votes", "age", "used", "ignored")
_MOST_SEARCHED = 32  # words; for further ones only parts of texts are compared


@cli.command("list")
@click.argument("words", nargs=-1)
@click.option("--section", metavar="S", help="Only this section: pat, mis, pref, ctx, oth, or its name.")
@click.option("--sort", "order", type=click.Choice(_ORDERS), help="Sort by this, not by section.")
@click.option("-n", "limit", metavar="N", type=click.IntRange(min=1), help="Only the first N.")
@click.option("--retired", is_flag=True, help="List retired points, most recent first.")
@click.option("--proposed", is_flag=True, help="List proposals that wait for your decision in playbook review.")
@as_json
def list_points(
    words: tuple[str, ...],
    section: str | None,
    order: str | None,
    limit: int | None,
    retired: bool,
    proposed: bool,
    as_json: bool,
) -> None:
    """List key points with their votes.

    The columns + and - count helpful and harmful votes. With WORDS, only points are listed that have all
    words in their name or text. Parts and other forms of a word match, too. `votes` sorts by helpful minus harmful
    votes. `age` sorts the newest first, `used` and `ignored` what most sessions cited or ignored. To see the best
    matches first, use playbook search.
    """
    if proposed:
        if words or section or order or retired:
            raise click.UsageError("--proposed can only be combined with -n and --json.")
        _list_proposed(limit, as_json=as_json)
        return
    only = section
    if section is not None:
        from playbook_db.domain.playbook import section_named  # late: the rest of `list` needs no such records

        only = section_named(section)
    if retired and order:
        raise click.UsageError("--sort can't be combined with --retired, which lists the most recent first.")

    hits: list[set[str]] = [set() for _ in words]

    def is_wanted(point: "PromptPoint") -> bool:
        text = f"{point.name} {point.text}".casefold()
        has_all = all(word.casefold() in text or point.name in names for word, names in zip(words, hits, strict=True))
        return only in (None, point.section) and has_all

    if retired:
        matches = [each for each in quick_reads.retired_points(source_of()) if is_wanted(each[0])]
        count, matches = len(matches), matches[:limit]
        if as_json:
            print_json([records.point_record(point, retirement) for point, retirement in matches])
            return
        rows = [
            (point.name, str(point.helpful), str(point.harmful), f"r{why.revision}", why.reason or "", point.text)
            for point, why in matches
        ]
        nothing = "no retired key point matches" if words or only else "no retired key points yet"
        print_table(("name", "+", "-", "retired", "reason", "text"), rows, nothing=nothing)
        _notify_of_more(len(matches), count)
        return
    live, marks = quick_reads.listing(source_of())
    if words:
        from playbook_db.cli.look.search import answers

        for names, each in zip(hits, answers(*words[:_MOST_SEARCHED])[0], strict=False):
            names.update(point.name for point, _ in each)
    points = _ordered([point for point in live if is_wanted(point)], marks, order)
    count, points = len(points), points[:limit]
    if as_json:
        print_json([records.listed_point_record(point, marks[point.name]) for point in points])
    elif points:
        print_points(points, marks, by_section=order is None)
        _notify_of_more(len(points), count)
    elif words or only:
        notify([f"no matches; to list all key points: playbook{of_user()} list"])
    else:
        notify([f"{playbook_here()} has no key points yet; to add one: playbook{of_user()} add TEXT"])


def _list_proposed(limit: int | None, *, as_json: bool) -> None:
    from playbook_db.cli.change import review

    settings.require_person()
    proposals = quick_reads.proposals(source_of())
    review.print_proposals(proposals[:limit], as_json=as_json)
    if not as_json:
        _notify_of_more(len(proposals[:limit]), len(proposals))


def _notify_of_more(listed: int, count: int) -> None:
    if listed < count:
        notify([f"{count - listed:,} more; to list all {count:,}, leave out -n"])


def _ordered(
    points: "Sequence[PromptPoint]", marks: "Mapping[str, StoredMarks]", order: str | None
) -> "Sequence[PromptPoint]":
    """Sort the points by *order*. Equal points keep the playbook's order."""
    keys: dict[str | None, Callable[[PromptPoint], int]] = {
        "votes": lambda point: point.helpful - point.harmful,
        "age": lambda point: marks[point.name].created_in,
        "used": lambda point: marks[point.name].sessions_cited,
        "ignored": lambda point: marks[point.name].sessions_ignored,
    }
    return sorted(points, key=keys[order], reverse=True) if order else points


@cli.command()
@click.argument("name", metavar="NAME|REV", shell_complete=point_names)
@as_json
def show(name: str, as_json: bool) -> None:
    """Show one key point in full, or one revision.

    A point may be live or retired, in the project's playbook (pat-001) or in your personal one (upat-001). For a
    revision (12 or r12) you see all it changed, and why. For a point's history, use playbook why.
    """
    match = quick_reads.find(source_of(name), name)
    if isinstance(match, PointRecord):
        _show_point(match, as_json=as_json)
    elif as_json:
        print_json(records.full_revision_record(match))
    else:
        from playbook_db.cli.history import history_view

        print_texts((f"{line}\n" for line in history_view.in_full(match)), paged=True)


def _show_point(match: "PointRecord", *, as_json: bool) -> None:
    from playbook_db.domain.times import local

    point, retired, lifespan, _, evidence = match
    if as_json:
        print_json(records.full_point_record(*match))
        return
    age = f"since r{lifespan.created_in}, {local(lifespan.created_at)}"
    age += f", {one_line(lifespan.origin)}" if lifespan.origin else ""
    if lifespan.changed_in != lifespan.created_in:
        age += f"; last changed in r{lifespan.changed_in}, {local(lifespan.changed_at)}"
    if lifespan.confirmed_at and lifespan.confirmed_at != lifespan.created_at:
        age += f"; last confirmed {local(lifespan.confirmed_at)}"
    age += (
        "; pinned" * lifespan.pinned
        + "; resting: sessions don't get it until it is voted on, cited, edited or pinned"
        * (lifespan.resting and not retired)
    )
    head = f"{one_line(point.name)}  [{point.section}]  {point.helpful} helpful, {point.harmful} harmful  ({age})"
    say(head)
    if retired:
        say(f"retired in revision {retired.revision}: {one_line(retired.reason or '')}")
    print_texts(_full_text(point.text, evidence), paged=True)


def _full_text(text: str, evidence: "Sequence[PointEvidence]") -> "Iterator[str]":
    from playbook_db.domain.trust.evidence import read_json

    yield f"{folded(readable(text))}\n"
    for each in evidence:
        lines = [*([IGNORED] if each.ignored else []), *map(evidence_line, read_json(each.evidence))]
        head = f"r{each.revision} {each.kind}: "
        yield "".join(f"{beside(head, line, len(head))}\n" for line in lines)


@cli.command()
@click.option("--all", "is_whole", is_flag=True, help="Print all live points, even if a session only gets the best.")
@as_json
def render(is_whole: bool, as_json: bool) -> None:
    """Print the text that goes into a prompt.

    If the playbook is empty, nothing is printed.
    """
    text = quick_reads.prompt(source_of(), whole=is_whole)
    if as_json:
        print_json({"text": text})
    elif text:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")  # unchanged: click would strip escapes
