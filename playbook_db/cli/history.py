"""Commands that look into the past: log, at, diff."""

import itertools
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import click

from playbook_db.cli.opening import opened, project_options, tell
from playbook_db.cli.output import one_line, print_json, print_points, write_text
from playbook_db.cli.points import as_json

if TYPE_CHECKING:
    from playbook_db.rules.document import Layout
    from playbook_db.services.differing import Side
    from playbook_db.services.project import Project

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
    from playbook_db.cli import revision_records, revisions_shown
    from playbook_db.services import looking_back

    wanted = looking_back.Asked(**asked)
    with opened() as project:
        if as_json:
            found = looking_back.log(project, wanted)
            _put(_json_list(revision_records.log_record(revision) for revision in found))
            return
        shown = looking_back.log(project, wanted, most_changes=revisions_shown.MOST_LINES)
        lines = (revisions_shown.logged(revision, of_point=wanted.name is not None) for revision in shown)
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
    from playbook_db.rules import document
    from playbook_db.services import looking_back

    if as_json and as_prompt:
        raise click.UsageError("Give --json or --render, not both.")
    with opened() as project:
        seen = looking_back.at(project, when)
        tell([seen.note] if seen.note else [])
        if as_prompt:
            text = looking_back.told_at(project, str(seen.revision))
            write_text(text if not text or text.endswith("\n") else text + "\n", output)
        elif as_json or output is not None:
            write_text(document.encode(seen.playbook, layout=cast("Layout", layout)), output)
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
    from playbook_db.cli import comparison_shown
    from playbook_db.services import differing

    if before == after == "-":
        raise click.UsageError("Only one of A and B can come from standard input.")
    with opened() as project:
        sides = [_side(project, text) for text in (before, after)]
        for side in sides:
            tell([*([side.note] if side.note else []), *map(one_line, side.reading.warnings)])
        found = differing.difference(*sides)
        if as_json:
            print_json(comparison_shown.difference_record(found, *sides))
        else:
            _put((f"{line}\n" for line in comparison_shown.differences(found, *sides)), paged=True)


def _side(project: "Project", text: str) -> "Side":
    from playbook_db.cli.reading import read_input
    from playbook_db.errors import MomentError
    from playbook_db.rules import moments
    from playbook_db.services import differing, looking_back

    if text != "-" and looking_back.is_when(text):
        return differing.side_at(project, text)
    if text != "-" and not os.path.exists(text):
        raise MomentError(text, moments.EXAMPLES, or_file=True)
    return differing.side_of_file(read_input(text), "standard input" if text == "-" else text)


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


COMMANDS = {"log": log, "at": at, "diff": diff}
