"""Commands that look into the past: log, at, diff."""

import itertools
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import click

from playbook_db.cli.context import opened, project_options, tell
from playbook_db.cli.output import change_record, one_line, print_json, print_points, print_revised, write_text
from playbook_db.cli.points import as_json, dry_run_option
from playbook_db.domain import undo as undo_rules
from playbook_db.domain.undo import Side
from playbook_db.services import edit
from playbook_db.services import undo as undo_service

if TYPE_CHECKING:
    from playbook_db.domain.playbook_file import Layout
    from playbook_db.services.history import ComparedSide
    from playbook_db.services.projects import Project


SOURCES = ("learn", "import", "edit", "undo", "prune", "dedup", "sync")


@click.command()
@click.argument("name", required=False)
@click.option("--session", metavar="S", help="Only what this session did: its id, or the beginning of it.")
@click.option("--since", metavar="REV|TIME", help="Not what was before.")
@click.option("--until", metavar="REV|TIME", help="Not what came after.")
@click.option("--source", type=click.Choice(SOURCES), help="Only revisions that came about so.")
@click.option("-n", "limit", metavar="N", type=click.IntRange(min=1), help="Only the newest N.")
@as_json
@project_options
def log(as_json: bool, **asked: Any) -> None:
    """List what was done to the playbook, the newest first; with NAME, to that key point, live or retired.

    A TIME is such as 2026-03-01, "2026-03-01 14:30", 2h, 3d, "2 weeks ago" or yesterday.
    """
    from playbook_db.cli import history_view
    from playbook_db.services import history
    from playbook_db.services import records as records_service

    wanted = history.Asked(**asked)
    with opened() as project:
        if as_json:
            found = history.log(project, wanted)
            _put(_json_list(records_service.log_record(revision) for revision in found))
            return
        shown = history.log(project, wanted, most_changes=history_view.MOST_LINES)
        lines = (history_view.logged(revision, of_point=wanted.name is not None) for revision in shown)
        first = next(lines, None)
        if first is None:
            tell(["there is no such revision" if any(asked.values()) else "nothing has happened to this playbook yet"])
        else:
            _put(itertools.chain([first], lines), paged=True)


@click.command()
@click.argument("when", metavar="REV|TIME")
@click.option("--json", "as_json", is_flag=True, help="What `playbook export` would have printed then.")
@click.option("--render", "as_prompt", is_flag=True, help="The text that would have gone into a prompt then.")
@click.option("-o", "output", metavar="FILE", help="Write FILE instead of standard output.")
@click.option("--layout", type=click.Choice(["sections", "flat"]), default="sections", show_default=True)
@project_options
def at(when: str, as_json: bool, as_prompt: bool, output: str | None, layout: str) -> None:
    """Show the playbook as it was at a revision (0 is the empty one) or a time; a date means its evening.

    A TIME is such as 2026-03-01, "2026-03-01 14:30", 2h, 3d, "2 weeks ago" or yesterday.
    """
    from playbook_db.domain import playbook_file
    from playbook_db.services import history

    if as_json and as_prompt:
        raise click.UsageError("Give --json or --render, not both.")
    with opened() as project:
        seen = history.at(project, when)
        tell([seen.note] if seen.note else [])
        if as_prompt:
            text = history.told_at(project, str(seen.revision))
            write_text(text if not text or text.endswith("\n") else text + "\n", output)
        elif as_json or output is not None:
            write_text(playbook_file.encode(seen.playbook, layout=cast("Layout", layout)), output)
        elif seen.playbook.points:
            print_points(seen.playbook.points)
        elif not seen.note:
            tell([f"the playbook had no key points at {when}"])


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", default="now")
@as_json
@project_options
def diff(before: str, after: str, as_json: bool) -> None:
    """Show what differs between A and B (default: now), each a revision, a time or a playbook file (- for stdin).

    A TIME is such as 2026-03-01, "2026-03-01 14:30", 2h, 3d, "2 weeks ago" or yesterday. A file whose name could be
    taken for one is named with its folder: ./12
    """
    from playbook_db.cli import history_view
    from playbook_db.services import history

    if before == after == "-":
        raise click.UsageError("Only one of A and B can come from standard input.")
    with opened() as project:
        sides = [_side(project, text) for text in (before, after)]
        for side in sides:
            tell([*([side.note] if side.note else []), *map(one_line, side.reading.warnings)])
        found = history.difference(*sides)
        if as_json:
            print_json(history_view.difference_record(found, *sides))
        else:
            _put((f"{line}\n" for line in history_view.differences(found, *sides)), paged=True)


def _side(project: "Project", text: str) -> "ComparedSide":
    from playbook_db.cli.context import read_input
    from playbook_db.domain import times
    from playbook_db.errors import MomentError
    from playbook_db.services import history

    if text != "-" and history.is_when(text):
        return history.side_at(project, text)
    if text != "-" and not os.path.exists(text):
        raise MomentError(text, times.EXAMPLES, or_file=True)
    return history.side_of_file(read_input(text), "standard input" if text == "-" else text)


def _json_list(records: Iterable[Any]) -> Iterator[str]:
    """One JSON list, record by record."""
    begin = "[\n"
    for record in records:
        yield begin + "  " + json.dumps(record, indent=2, ensure_ascii=False).replace("\n", "\n  ")
        begin = ",\n"
    yield "[]\n" if begin == "[\n" else "\n]\n"


def _put(texts: Iterable[str], *, paged: bool = False) -> None:
    """Print *texts* as they come; through a pager where a person looks on."""
    if paged and _has_pager():
        os.environ.setdefault("LESS", "-FRX")  # as git has it: no pager for what fits on the screen, and colours
        click.echo_via_pager(texts)
        return
    for text in texts:
        click.echo(text, nl=False)


def _has_pager() -> bool:
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return on_terminal and bool(os.environ.get("PAGER") or shutil.which("less"))


# Commands that take back: undo, restore.


@click.command()
@click.argument("revisions", metavar="[REV | A..B]", required=False)
@click.option("--ours", is_flag=True, help="Where something was changed again since, keep it as it is now.")
@click.option("--theirs", is_flag=True, help="Where something was changed again since, take what the undo brings back.")
@dry_run_option
@as_json
@project_options
def undo(revisions: str | None, ours: bool, theirs: bool, dry_run: bool, as_json: bool) -> None:
    """Take back a revision, or all from A to B; without an argument the last one.

    Points and texts return, votes are subtracted, and what was done later stays. Where both want the same text,
    nothing is done unless --ours or --theirs says which. An undo is a revision too: undo it, and all is back.
    """
    if ours and theirs:
        raise click.UsageError("Give --ours or --theirs, not both.")
    span = undo_rules.read_span(revisions) if revisions is not None else None
    prefer: Side | None = "ours" if ours else "theirs" if theirs else None
    with opened() as project:
        _print(undo_service.undo(project, span, prefer=prefer, dry_run=dry_run), as_json=as_json, dry_run=dry_run)


@click.command()
@click.argument("name", required=False)
@click.option("--at", "moment", metavar="REV|TIME", help="As it was then: the point, or without NAME the playbook.")
@dry_run_option
@project_options
def restore(name: str | None, moment: str | None, dry_run: bool) -> None:
    """Bring a retired key point back, with the text and votes it had; with --at, as it was then.

    Without NAME the whole playbook becomes what it was then; `playbook undo` takes that back.
    """
    if name is None and moment is None:
        raise click.UsageError("Give the NAME of a key point, --at, or both.")
    if dry_run and (name is not None or moment is None):
        raise click.UsageError("--dry-run goes with --at, without a NAME.")
    with opened() as project:
        if name is None:
            _print(undo_service.go_back(project, moment or "", dry_run=dry_run), as_json=False, dry_run=dry_run)
        elif moment is None:
            print_revised(edit.restore(project, name))
        else:
            print_revised(undo_service.restore_as_of(project, name, moment))


def _print(undone: undo_service.Undone, *, as_json: bool, dry_run: bool) -> None:
    """What was taken back, each change that it took, and where that is kept."""
    revised = undone.revised
    tell(revised.notes)
    span = undone.span if undone.told else None
    if as_json:
        print_json(
            {
                "revision": revised.revision,
                "dry_run": dry_run,
                "took_back": asdict(span) if span else None,
                "message": undone.told,
                "changes": [change_record(change) for change in revised.changes],
                "notes": list(revised.notes),
            }
        )
        return
    if undone.told:
        click.echo(one_line(undone.told) + (", the last one" if undone.is_last else ""))
    print_revised(revised, rehearsed=dry_run)
    if revised.revision is not None:
        tell(["`playbook undo` again brings it back"])


COMMANDS = {
    "log": log,
    "at": at,
    "diff": diff,
    "undo": undo,
    "restore": restore,
}
