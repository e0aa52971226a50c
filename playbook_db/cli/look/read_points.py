"""Commands that find and show key points: list, show, render, search."""

import re
import sys
from itertools import starmap
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import (
    Command,
    as_json,
    database_and_folder,
    notify,
    of_user,
    opened,
    playbook_here,
    source_of,
)
from playbook_db.cli.output import (
    IGNORED,
    beside,
    evidence_line,
    folded,
    mark_of,
    one_line,
    print_json,
    print_points,
    print_table,
    print_texts,
    readable,
    say,
    wants_json,
)
from playbook_db.domain.sections import section_named
from playbook_db.services import records
from playbook_db.services.reading import command_reads
from playbook_db.store.queries.list_queries import PointRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.store.playbook.searching import HistoryHit
    from playbook_db.store.queries.hook_queries import StoredPoint
    from playbook_db.store.queries.list_queries import PointEvidence, StoredMarks

    Hits = Sequence[tuple[StoredPoint, float]]

_ORDERS = ("votes", "age", "used", "ignored")
_INDENT = "    "


@click.command("list", cls=Command)
@click.argument("words", nargs=-1)
@click.option("--section", metavar="S", help="Only this section: pat, mis, pref, ctx, oth, or its name.")
@click.option("--sort", "order", type=click.Choice(_ORDERS), help="Sort by this, not by section.")
@click.option("-n", "limit", metavar="N", type=click.IntRange(min=1), help="Only the first N.")
@click.option("--retired", is_flag=True, help="List retired points, most recent first.")
@click.option("--proposed", is_flag=True, help="List proposals that wait for your decision in playbook review.")
@as_json
def list_points(
    words: tuple[str, ...], section: str | None, order: str | None, limit: int | None, retired: bool, proposed: bool
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
        from playbook_db.cli.change import review

        settings.require_person()
        proposals = command_reads.proposals(source_of())
        review.print_proposals(proposals[:limit])
        _notify_of_more(len(proposals[:limit]), len(proposals))
        return
    only = None if section is None else section_named(section)
    if retired and order:
        raise click.UsageError("--sort can't be combined with --retired, which lists the most recent first.")

    hits: list[set[str]] = [set() for _ in words]

    def is_wanted(point: "PromptPoint") -> bool:
        text = f"{point.name} {point.text}".casefold()
        has_all = all(word.casefold() in text or point.name in names for word, names in zip(words, hits, strict=True))
        return only in (None, point.section) and has_all

    if retired:
        matches = [each for each in command_reads.retired_points(source_of()) if is_wanted(each[0])]
        count, matches = len(matches), matches[:limit]
        rows = [
            (point.name, str(point.helpful), str(point.harmful), f"r{why.revision}", why.reason or "", point.text)
            for point, why in matches
        ]
        nothing = "no retired key point matches" if words or only else "no retired key points yet"
        titles = ("name", "+", "-", "retired", "reason", "text")
        print_table(titles, rows, nothing=nothing, records=starmap(records.point_record, matches))
        _notify_of_more(len(matches), count)
        return
    source = source_of()
    live, marks = command_reads.listing(source)
    if not live and source.folder and (moved := command_reads.moved_from(source.url, source.folder)):
        notify([moved])
    if words:
        for names, each in zip(hits, _answers(*words)[0], strict=True):
            names.update(point.name for point, _ in each)
    points = _ordered([point for point in live if is_wanted(point)], marks, order)
    count, points = len(points), points[:limit]
    if wants_json():
        print_json([records.listed_point_record(point, marks[point.name]) for point in points])
    elif points:
        print_points(points, marks, by_section=order is None)
        _notify_of_more(len(points), count)
    elif words or only:
        notify([f"no matches; to list all key points: playbook{of_user()} list"])
    else:
        notify([f"{playbook_here()} has no key points yet; to add one: playbook{of_user()} add TEXT"])


def _notify_of_more(listed: int, count: int) -> None:
    if listed < count and not wants_json():
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


@click.command(cls=Command)
@click.argument("name", metavar="NAME|REV")
@as_json
def show(name: str) -> None:
    """Show one key point in full, or one revision.

    A point may be live or retired, in the project's playbook (pat-001) or in your personal one (upat-001). For a
    revision (12 or r12) you see all it changed, and why. For a point's history, use playbook why.
    """
    match = command_reads.find(source_of(name), name)
    if isinstance(match, PointRecord):
        _show_point(match)
    elif wants_json():
        print_json(records.full_revision_record(match))
    else:
        from playbook_db.cli.history import history_view

        print_texts(f"{line}\n" for line in history_view.in_full(match))


def _show_point(match: "PointRecord") -> None:
    from playbook_db.domain.times import local

    point, retired, lifespan, _, evidence = match
    if wants_json():
        print_json(records.full_point_record(*match))
        return
    age = f"since r{lifespan.created_in}, {local(lifespan.created_at)}"
    age += f", {one_line(lifespan.origin)}" if lifespan.origin else ""
    if lifespan.changed_in != lifespan.created_in:
        age += f"; last changed in r{lifespan.changed_in}, {local(lifespan.changed_at)}"
    if lifespan.confirmed_at and lifespan.confirmed_at != lifespan.created_at:
        age += f"; last found right {local(lifespan.confirmed_at)}"
    age += (
        "; pinned" * lifespan.pinned
        + "; resting: sessions don't get it until it is voted on, cited, edited or pinned"
        * (lifespan.resting and not retired)
    )
    head = f"{one_line(point.name)}  [{point.section}]  {point.helpful} helpful, {point.harmful} harmful  ({age})"
    say(head)
    if retired:
        say(f"retired in revision {retired.revision}: {one_line(retired.reason or '')}")
    print_texts(_full_text(point.text, evidence))


def _full_text(text: str, evidence: "Sequence[PointEvidence]") -> "Iterator[str]":
    from playbook_db.domain.trust.evidence import read_json

    yield f"{folded(readable(text))}\n"
    for each in evidence:
        lines = [*([IGNORED] if each.ignored else []), *map(evidence_line, read_json(each.evidence))]
        head = f"r{each.revision} {each.kind}: "
        yield "".join(f"{beside(head, line, len(head))}\n" for line in lines)


@click.command(cls=Command)
@as_json
def render() -> None:
    """Print the text that goes into a prompt.

    If the playbook is empty, nothing is printed.
    """
    text = command_reads.prompt(source_of())
    if wants_json():
        print_json({"text": text})
    elif text:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")  # unchanged: click would strip escapes


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True)
@click.option("-n", "limit", metavar="N", type=click.IntRange(min=1), help="Only the first N (default: 10).")
@click.option(
    "--all",
    "is_whole",
    is_flag=True,
    help="Also search retired points, proposals, earlier texts, and the reasons and evidence of changes.",
)
@click.option(
    "--as-prompt",
    is_flag=True,
    help="Say which points a new session is shown, and why (docs/how-it-works.md).",
)
@click.option("--file", "path", metavar="F", help="With --as-prompt: the session then reads this file of the project.")
@as_json
def search(words: tuple[str, ...], limit: int | None, is_whole: bool, as_prompt: bool, path: str | None) -> None:
    """Find key points by what they say, best match first.

    WORDS can be any text: a question, an error message, a file name. Other forms of a word match, too. Names such as
    src/api/users.py or parse_header match as a whole and by their parts. A terminal shows matches in bold.
    """
    question = " ".join(words)
    if path and not as_prompt:
        raise click.UsageError("--file needs --as-prompt.")
    if as_prompt:
        if limit or is_whole:
            raise click.UsageError("--as-prompt takes neither -n nor --all.")
        _explain(question, path)
        return
    limit = limit or 10
    (points,), marks = _answers(question)
    older = _from_history(question) if is_whole else ()
    points, older = points[:limit], older[: max(limit - len(points), 0)]
    if wants_json():
        print_json([
            *(records.answer_record(point, score, marks[point.name]) for point, score in points),
            *(records.history_hit_record(*each) for each in older),
        ])  # fmt: skip
    elif points or older:
        _print_matches(question, points, marks, older, is_whole=is_whole)
    else:
        from playbook_db.domain import search_words

        more = "" if is_whole else f"; retired points and reasons: playbook{of_user()} search --all WORDS"
        hint = f"no matches; try other words, or list all points: playbook{of_user()} list{more}"
        if not search_words.terms(question):
            hint = "these words are too common to search for; name a file or an error"
        notify([hint])


def _explain(prompt: str, path: str | None) -> None:
    from playbook_db.claude_code import as_prompt

    url, folder = database_and_folder()
    if folder is None:
        raise click.UsageError("--as-prompt is about a project's sessions. Leave out --user.")
    _, candidates = as_prompt.explain(url, folder, prompt, path)
    listed = [each for each in candidates if each.shares or each.moment != "start"]
    rows = [(each.point.name, each.moment, each.reason, ", ".join(each.shares), each.point.text) for each in listed]
    if candidates and all(each.moment == "start" for each in candidates):
        notify(["this brings no further key point"])
    if others := [each.point.name for each in candidates if each not in listed]:
        notify([f"the session's start also shows, whatever the prompt: {', '.join(others)}"])
    notify(["all other key points share no word that counts, and aren't shown"])
    if rows or not candidates or wants_json():
        print_table(
            ("name", "at", "why", "shares", "text"),
            rows,
            nothing="the playbook has no key point that a session could be shown",
            records=map(records.candidate_record, candidates),
        )


def _answers(*questions: str) -> "tuple[Sequence[Hits], Mapping[str, StoredMarks]]":
    """Return the live points that match each of *questions*, best first, and the points' details by name."""
    return command_reads.search(source_of(), questions, lambda line: notify([line]))


def _from_history(question: str) -> "tuple[tuple[HistoryHit, float], ...]":
    """Return other matches of *question*. A session must not read what a web page made another session propose."""
    from playbook_db.services.reading import listing

    in_session = bool(settings.session())
    if in_session:
        notify(["proposals are left out inside a session of Claude Code"])
    with opened(only_reads=True) as project:
        return listing.search_history(project, question, proposed=not in_session)


def _print_matches(
    question: str,
    points: "Hits",
    marks: "Mapping[str, StoredMarks]",
    older: "Sequence[tuple[HistoryHit, float]]",
    *,
    is_whole: bool,
) -> None:
    if sys.stdout.isatty():
        from playbook_db.domain import search_words

        pattern = re.compile(search_words.marked(question), re.IGNORECASE)
        for point, _ in points:
            mark = mark_of(point, marks)
            _print_hit(pattern, f"{one_line(point.name)}  +{point.helpful} -{point.harmful}  {mark}", point.text)
        for hit, _ in older:
            since = f" in r{hit.revision}" if hit.kind == "retired" else f", r{hit.revision}" if hit.revision else ""
            _print_hit(pattern, f"{one_line(hit.name)}  {hit.kind}{since}", hit.text)
    elif is_whole:
        rows = [("live", point.name, "", point.text) for point, _ in points]
        rows += [(hit.kind, hit.name, f"{hit.revision or ''}", hit.text) for hit, _ in older]
        print_table(("kind", "name", "revision", "text"), rows, nothing="no matches")
    else:
        print_points([point for point, _ in points], marks)


def _print_hit(pattern: "re.Pattern[str]", head: str, text: str) -> None:
    click.secho(head.rstrip(), fg="cyan")
    lines = folded(readable(text), _INDENT)
    click.echo(pattern.sub(lambda match: click.style(match[0], bold=True), lines))
