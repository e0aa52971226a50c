"""Commands on key points: one point, the playbook as a whole, and playbook files in and out."""

import os
import sys
from typing import TYPE_CHECKING, Any, cast

import click

from playbook_db.cli.context import (
    as_json,
    database_and_folder,
    dry_run_option,
    is_interactive,
    notify,
    of_user,
    opened,
    point_names,
    read_input,
)
from playbook_db.cli.main import cli
from playbook_db.cli.output import (
    IGNORED,
    beside,
    count_of,
    evidence_line,
    folded,
    one_line,
    playbook_of,
    print_answer,
    print_json,
    print_points,
    print_revised,
    print_table,
    print_texts,
    readable,
    say,
    write_text,
)
from playbook_db.errors import OperationsFileError
from playbook_db.projects import is_users
from playbook_db.services import quick_reads, records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from playbook_db.domain.playbook_file import Layout
    from playbook_db.domain.prompt_text import PromptPoint
    from playbook_db.services.history import RevisionDetails
    from playbook_db.services.projects import Project
    from playbook_db.services.records import Retired
    from playbook_db.store.quick_sql import PointEvidence, PointLifespan, StoredMarks
    from playbook_db.store.repository import RevisionResult


_ORDERS = ("votes", "age", "used")
_MOST_SEARCHED = 32  # words; further ones are looked for as parts of texts alone


@cli.command("list")
@click.argument("words", nargs=-1)
@click.option("--section", metavar="S", help="Only this section: pat, mis, pref, ctx, oth, or its name.")
@click.option(
    "--sort", "order", type=click.Choice(_ORDERS), help="Not by section: the best, newest or most cited first."
)
@click.option("-n", "limit", metavar="N", type=click.IntRange(min=1), help="Only the first N.")
@click.option("--retired", is_flag=True, help="The points that have left, the last to leave first.")
@click.option(
    "--proposed", is_flag=True, help="What learning proposes and you haven't decided yet (`playbook review`)."
)
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
    """List the key points with their votes.

    With WORDS only those that have all of them in their name or text, if only as parts or in another form, as
    `playbook search` finds it. --sort is by votes (helpful without harmful), by age, or by how many sessions cited a
    point (used).
    """
    from playbook_db.domain.playbook import section_named

    if proposed:
        if words or section or order or retired:
            raise click.UsageError("--proposed goes with -n and --json alone.")
        _list_proposed(limit, as_json=as_json)
        return
    only = section_named(section) if section is not None else None
    if retired and order:
        raise click.UsageError("--sort goes without --retired, whose order is the last to leave first.")

    found: list[set[str]] = [set() for _ in words]

    def is_wanted(point: "PromptPoint") -> bool:
        text = f"{point.name} {point.text}".casefold()
        has_all = all(word.casefold() in text or point.name in names for word, names in zip(words, found, strict=True))
        return only in (None, point.section) and has_all

    if retired:
        left = [each for each in _retired_points() if is_wanted(each[0])][:limit]
        if as_json:
            print_json([records.point_record(point, retirement) for point, retirement in left])
            return
        rows = [(*_cells(point), f"r{why.revision}", why.reason or "", point.text) for point, why in left]
        nothing = "no such key point has left" if words or only else "no key point has left yet"
        print_table(("name", "+", "-", "left in", "reason", "text"), rows, nothing=nothing)
        return
    live, marks = quick_reads.listing(*database_and_folder()) or _listing()
    if words:
        from playbook_db.cli.search import answers

        for names, each in zip(found, answers(*words[:_MOST_SEARCHED])[0], strict=False):
            names.update(point.name for point, _ in each)
    points = _ordered([point for point in live if is_wanted(point)], marks, order)[:limit]
    if as_json:
        print_json([records.listed_point_record(point, marks[point.name]) for point in points])
    elif points:
        print_points(points, marks, by_section=order is None)
    elif words or only:
        notify([f"no key point is like that; all are shown by: playbook{of_user()} list"])
    else:
        notify([f"there are no key points here yet; add one with: playbook{of_user()} add TEXT"])


def _list_proposed(limit: int | None, *, as_json: bool) -> None:
    from playbook_db.cli import review
    from playbook_db.services import review as service

    service.require_person()
    with opened() as project:
        review.print_proposals(service.all_waiting(project)[:limit], as_json=as_json)


def _cells(point: "PromptPoint") -> tuple[str, str, str]:
    return point.name, str(point.helpful), str(point.harmful)


def _ordered(
    points: "Sequence[PromptPoint]", marks: "Mapping[str, StoredMarks]", order: str | None
) -> "Sequence[PromptPoint]":
    """The points in the *order* that was asked for; what is equal stays in the playbook's own."""
    keys: dict[str | None, Callable[[PromptPoint], int]] = {
        "votes": lambda point: point.helpful - point.harmful,
        "age": lambda point: marks[point.name].created_in,
        "used": lambda point: marks[point.name].cited_in,
    }
    return sorted(points, key=keys[order], reverse=True) if order else points


@cli.command()
@click.argument("name", metavar="NAME|REV", shell_complete=point_names)
@as_json
def show(name: str, as_json: bool) -> None:
    """Show one key point in full, or one revision.

    A point may be live or retired, the project's (pat-001) or your own (upat-001), as in every command that is given
    a name; of a revision (12 or r12) it is all that it did, and why.
    """
    point = quick_reads.find_point(*database_and_folder([name]), name)
    if point is not None:
        _show_point(*point, as_json=as_json)
        return
    from playbook_db.services import history

    with opened(name, may_be_old=not history.is_revision(name)) as project:
        match = history.details_of(project, name)
        if isinstance(match, history.RevisionDetails):
            _show_revision(match, as_json=as_json)
        else:
            lifespan, evidence = history.lifespan(project, name), history.evidence_of(project, name)
            _show_point(match.point, match.retired, lifespan, match.extra, evidence, as_json=as_json)


@cli.command()
@click.argument("text")
@click.option("--section", metavar="S", help="Where it goes: pat, mis, pref, ctx, oth, or its name (default: oth).")
@as_json
def add(text: str, section: str | None, as_json: bool) -> None:
    """Add a key point."""
    from playbook_db.services import edit

    with opened(may_be_new=True) as project:
        _print(edit.add(project, text, section=section), as_json=as_json)


@cli.command("edit")
@click.argument("name", shell_complete=point_names)
@click.option("--text", help="The new text.")
@click.option("--section", metavar="S", help="The section it moves to.")
@as_json
def edit_point(name: str, text: str | None, section: str | None, as_json: bool) -> None:
    """Reword a key point, or move it to another section.

    Without --text and --section, on a terminal, your editor (EDITOR) opens with its text.
    """
    from playbook_db.services import edit

    if text is None and section is None and not is_interactive():
        raise click.UsageError("Give --text, --section or both; on a terminal your editor opens without them.")
    with opened(name) as project:
        was = None
        if text is None and section is None:
            was = edit.find_live(project, name).text
            text = click.edit(was, extension=".txt")
            if text is None:
                notify(["left as it is"])
                return
        _print(edit.edit(project, name, text=text, section=section, was=was), as_json=as_json)


@cli.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=point_names)
@as_json
def pin(names: tuple[str, ...], as_json: bool) -> None:
    """Put key points first in every session's start.

    All of them or none; `playbook unpin` lets them come in their turn again. A point that rests is shown again. This is
    no revision: votes, edits and undos leave it as it is.
    """
    from playbook_db.services import edit

    with opened(*names) as project:
        notify(edit.pin(project, *names))
        _print_pinned(project, names, as_json=as_json, is_pinned=True)


@cli.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=point_names)
@as_json
def unpin(names: tuple[str, ...], as_json: bool) -> None:
    """Let pinned key points come in their turn again."""
    from playbook_db.services import edit

    with opened(*names) as project:
        edit.unpin(project, *names)
        _print_pinned(project, names, as_json=as_json, is_pinned=False)


def _print_pinned(project: "Project", names: tuple[str, ...], *, as_json: bool, is_pinned: bool) -> None:
    names = tuple(dict.fromkeys(names))
    what = "shown first in every session" if is_pinned else "shown in turn, as others"
    text = f"{', '.join(map(one_line, names))}: {what}"
    print_answer(text, as_json=as_json, project=project.key, names=names, pinned=is_pinned)


@cli.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=point_names)
@click.option("--reason", metavar="R", help="Why; kept in the history.")
@as_json
def retire(names: tuple[str, ...], reason: str | None, as_json: bool) -> None:
    """Take key points out of the playbook.

    All of them or none; `playbook restore` brings them back.
    """
    from playbook_db.services import edit

    with opened(*names) as project:
        _print(edit.retire(project, *names, reason=reason), as_json=as_json)


@cli.command()
@click.argument("names", metavar="NAME...", nargs=-1, shell_complete=point_names)
@click.argument("tag", metavar="TAG", type=click.Choice(["helpful", "harmful", "neutral"]))
@as_json
def vote(names: tuple[str, ...], tag: str, as_json: bool) -> None:
    """Vote on key points: helpful, harmful or neutral.

    TAG is one of these, for all of them. A neutral vote is recorded but counts nowhere.
    """
    from playbook_db.services import edit

    if not names:  # not by click, which asks for a NAME where it is the TAG that is missing
        raise click.UsageError("Give the NAME of a key point, or several, before the TAG.")
    with opened(*names) as project:
        _print(edit.vote(project, names[0], tag, *names[1:]), as_json=as_json)


def _listing() -> "tuple[Sequence[PromptPoint], Mapping[str, StoredMarks]]":
    with opened(may_be_old=True) as project, project.store.read(project.key) as book:
        return book.live_points(), book.marks()


def _retired_points() -> "Sequence[tuple[PromptPoint, Retired]]":
    points = quick_reads.retired_points(*database_and_folder())
    if points is not None:
        return points
    from playbook_db.services import edit

    with opened(may_be_old=True) as project:
        return [(each.point, each) for each in edit.list_retired(project).values()]


def _show_point(
    point: "PromptPoint",
    retired: "Retired | None",
    lifespan: "PointLifespan",
    extra: str,
    evidence: "Sequence[PointEvidence]",
    *,
    as_json: bool,
) -> None:
    from playbook_db.domain.times import local

    if as_json:
        print_json(records.full_point_record(point, retired, lifespan, extra, evidence))
        return
    age = f"since r{lifespan.created_in}, {local(lifespan.created_at)}"
    age += f", {one_line(lifespan.origin)}" if lifespan.origin else ""
    if lifespan.changed_in != lifespan.created_in:
        age += f"; last changed in r{lifespan.changed_in}, {local(lifespan.changed_at)}"
    if lifespan.confirmed_at and lifespan.confirmed_at != lifespan.created_at:
        age += f"; last confirmed {local(lifespan.confirmed_at)}"
    age += (
        "; pinned" * lifespan.pinned
        + "; rests: sessions aren't shown it until it is voted on, cited, edited or pinned"
        * (lifespan.resting and not retired)
    )
    head = f"{one_line(point.name)}  [{point.section}]  {point.helpful} helpful, {point.harmful} harmful  ({age})"
    say(head)
    if retired:
        say(f"retired in revision {retired.revision}: {one_line(retired.reason or '')}")
    print_texts(_full_text(point.text, evidence), paged=True)


def _full_text(text: str, evidence: "Sequence[PointEvidence]") -> "Iterator[str]":
    from playbook_db.domain.evidence import read_json

    yield f"{folded(readable(text))}\n"
    for each in evidence:
        said = [*([IGNORED] if each.ignored else []), *map(evidence_line, read_json(each.evidence))]
        head = f"r{each.revision} {each.kind}: "
        yield "".join(f"{beside(head, line, len(head))}\n" for line in said)


def _show_revision(full: "RevisionDetails", *, as_json: bool) -> None:
    from playbook_db.cli import history_view

    if as_json:
        print_json(records.full_revision_record(full))
    else:
        print_texts((f"{line}\n" for line in history_view.in_full(full)), paged=True)


@cli.command()
@click.argument("file")
@dry_run_option
@as_json
def apply(file: str, dry_run: bool, as_json: bool) -> None:
    """Carry out a curator's batch from FILE (or -).

    All of its valid operations become one revision, or nothing does. FILE is a JSON list of operations, or an object
    with `operations`, `evaluations` (votes) or both. What breaks a rule is skipped with a reason. An example:

    \b
    {"operations": [
       {"type": "ADD", "text": "Use uv, not pip", "section": "PROJECT CONTEXT"},
       {"type": "UPDATE", "target_id": "pat-001", "text": "Test first"},
       {"type": "MERGE", "source_ids": ["pat-002", "pat-003"],
        "merged_text": "..."},
       {"type": "DELETE", "target_id": "oth-001", "reason": "the linter does"}],
     "evaluations": [{"name": "pat-004", "rating": "helpful"}]}
    """
    from playbook_db.services import diagnostics, edit

    operations, evaluations = _read_batch(file)
    with opened(may_be_new=True) as project:
        origin = "stdin" if file == "-" else file
        revised = edit.apply_batch(project, operations, evaluations, origin=origin, dry_run=dry_run)
        if not dry_run:
            diagnostics.operations(project.folder, operations, revised.skipped, revised.changes)
        notify(revised.notes)
        _print(revised, as_json=as_json, dry_run=dry_run)


@cli.command()
@dry_run_option
@as_json
def prune(dry_run: bool, as_json: bool) -> None:
    """Retire the key points whose votes say that they harm."""
    from playbook_db.services import diagnostics, edit

    with opened(may_be_new=True) as project:
        revised = edit.prune(project, dry_run=dry_run)
        if not dry_run:
            diagnostics.pruning(project.folder, [change.point for change in revised.changes])
        _print(revised, as_json=as_json, dry_run=dry_run)


@cli.command()
@click.option("--all", "is_whole", is_flag=True, help="Every live point, even where a session is told the best only.")
@as_json
def render(is_whole: bool, as_json: bool) -> None:
    """Print the text that goes into a prompt. It is empty for an empty playbook."""
    text = quick_reads.prompt(*database_and_folder(), whole=is_whole)
    if text is None:
        from playbook_db.services import import_export

        with opened(may_be_old=True) as project:
            text = import_export.prompt_with_all(project) if is_whole else import_export.prompt(project)
    if as_json:
        print_json({"text": text})
    elif text:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")  # as it is: click would strip escapes


def _print(revised: "RevisionResult", *, as_json: bool, dry_run: bool = False) -> None:
    from playbook_db.services import edit

    notify(edit.notes_on_length(revised.changes))
    if as_json:
        print_json(records.batch_record(revised, dry_run=dry_run))
    else:
        print_revised(revised, dry_run=dry_run)


def _read_batch(file: str) -> tuple[list[Any], list[Any]]:
    """The operations and the evaluations in *file*."""
    import json

    try:
        document = json.loads(read_input(file))
    except (ValueError, RecursionError) as error:
        raise OperationsFileError(f"{file} is no JSON ({error}). Nothing was changed.") from None
    batch = document if isinstance(document, dict) else {"operations": document}
    lists = [batch.get(key, []) for key in ("operations", "evaluations")]
    if not batch.keys() & {"operations", "evaluations"} or not all(isinstance(each, list) for each in lists):
        raise OperationsFileError(
            f"{file} holds no operations: a JSON list is wanted, or an object with a list `operations`, a list "
            "`evaluations` or both. Nothing was changed."
        )
    return lists[0], lists[1]


@cli.command("import")
@click.argument("file")
@click.option("--replace", is_flag=True, help="Make the playbook equal to FILE; points not in it are retired.")
@click.option("--rename-duplicates", is_flag=True, help="Give a name that stands twice anew the second time.")
@click.option("--markdown", "is_markdown", is_flag=True, help="FILE is Markdown, whatever its name.")
@as_json
def import_file(file: str, replace: bool, rename_duplicates: bool, is_markdown: bool, as_json: bool) -> None:
    """Merge a playbook FILE in, or propose what notes say.

    A playbook may have any shape; notes are Markdown, such as CLAUDE.md.

    FILE is - for standard input. A point that is here already keeps the higher of both counters; a name that belongs to
    another text here is given anew. Nothing is taken in where anything in FILE can't be read.

    Of Markdown (CLAUDE.md, AGENTS.md, MEMORY.md, or a folder of such files) each bullet and each short paragraph that
    the playbook doesn't know becomes a proposal; `playbook review` takes it in. The files are only read.
    """
    if is_markdown or file.endswith((".md", ".markdown", ".mdc")) or os.path.isdir(file):
        if replace or rename_duplicates:
            raise click.UsageError("--replace and --rename-duplicates are for a playbook.json, not for Markdown.")
        _propose_notes(file, as_json=as_json)
        return
    from playbook_db.domain import playbook_file
    from playbook_db.services import diagnostics, edit, import_export
    from playbook_db.services.projects import read_playbook

    source = "standard input" if file == "-" else file
    reading = playbook_file.decode(read_input(file), source=source, rename_duplicates=rename_duplicates)
    with opened(may_be_new=True) as project:
        revised = import_export.import_playbook(project, reading, source=source, replace=replace)
        diagnostics.migration(project.folder, reading.migrated)
        notify(one_line(note) for note in (*revised.notes, *edit.notes_on_length(revised.changes)))
        points = count_of(len(read_playbook(project).points), "point")
        of_playbook = f"{'' if is_users(project.key) else 'the playbook of '}{playbook_of(project.key)} has {points}"
        if as_json:
            print_json(records.batch_record(revised, dry_run=False))
        elif revised.revision is None:
            say(f"nothing new in {source}; {of_playbook}")
        else:
            summary = import_export.summary(revised)
            say(f"imported {source}: {summary}; {of_playbook} (revision {revised.revision})")


def _propose_notes(file: str, *, as_json: bool) -> None:
    """Propose what stands in the Markdown *file*, or in all such files of a folder."""
    from playbook_db.services import import_export, markdown

    names = [file]
    if os.path.isdir(file):
        inside = (os.path.join(file, name) for name in sorted(os.listdir(file)) if name.endswith((".md", ".markdown")))
        names = [path for path in inside if os.path.isfile(path)]
        if not names:
            raise click.UsageError(f"{file} is a folder without any .md file.")
    sources = {("standard input" if name == "-" else name): name for name in names}
    notes = {source: markdown.read(read_input(name), source=source) for source, name in sources.items()}
    numbers: list[int] = []
    left_out: list[tuple[str, int, str]] = []
    known = 0
    with opened(may_be_new=True) as project:
        for source, each in notes.items():
            proposed = import_export.propose_notes(project, each.points, source=os.path.basename(source))
            numbers += proposed.proposals
            known += proposed.known
            left_out += [(source, line, reason) for line, reason in each.left_out]
    shown = one_line("standard input" if file == "-" else file)
    notify(one_line(f"{source}, line {line}: left out: {reason}") for source, line, reason in left_out)
    if as_json:
        left = [{"file": source, "line": line, "reason": reason} for source, line, reason in left_out]
        print_json({"project": project.key, "proposed": numbers, "known": known, "left_out": left})
    elif numbers:
        also = f"; {known} known already" if known else ""
        say(f"proposed {count_of(len(numbers), 'key point')} from {shown}{also}; take them in with: playbook review")
    else:
        say(f"nothing new in {shown}" + (f"; {count_of(known, 'key point')} known already" if known else ""))


@cli.command()
@click.option("-o", "output", metavar="FILE", help="Write FILE instead of standard output.")
@click.option("--layout", type=click.Choice(["sections", "flat"]), default="sections", show_default=True)
@click.option("--extra", is_flag=True, help="With the other keys that entries had in the files that came in.")
@click.option("--markdown", "as_markdown", is_flag=True, help="As one list in Markdown, the sections as headings.")
def export(output: str | None, layout: str, extra: bool, as_markdown: bool) -> None:
    """Print the playbook as a playbook.json.

    The same playbook always gives the same bytes.
    """
    from playbook_db.services import import_export

    if as_markdown and (extra or layout != "sections"):
        raise click.UsageError("--markdown goes without --layout and --extra.")
    with opened() as project:
        if as_markdown:
            text = import_export.export_markdown(project)
        else:
            text = import_export.export_playbook(project, layout=cast("Layout", layout), with_extras=extra)
    write_text(text, output)
