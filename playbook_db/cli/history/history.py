"""Commands on the history: log, at, diff, undo, restore."""

import itertools
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import click

from playbook_db.cli.context import as_json, dry_run_option, notify, of_user, opened, point_names, read_input, source_of
from playbook_db.cli.main import cli
from playbook_db.cli.output import (
    one_line,
    print_json,
    print_points,
    print_revised,
    print_texts,
    say,
    shown_json,
    write_text,
)
from playbook_db.domain.merging.undo import SOURCES
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.domain.merging.undo import Side
    from playbook_db.domain.playbook_file import Layout
    from playbook_db.services.playbook.undo import UndoResult
    from playbook_db.services.project import Project
    from playbook_db.services.reading.history import SourcedPlaybook
    from playbook_db.store.revision_log import LoggedRevision

_EVERY = 2**31 - 1  # changes of a revision, at most
SHOWN_REVISIONS = 20  # of a log as text, by default; --json has all


@cli.command()
@click.argument("name", required=False, shell_complete=point_names)
@click.option("--session", metavar="S", help="Only revisions of this session: its id, or the beginning of it.")
@click.option("--since", metavar="REV|TIME", help="From this revision or time on.")
@click.option("--until", metavar="REV|TIME", help="Up to this revision or time.")
@click.option("--source", type=click.Choice(SOURCES), help="Only revisions of this kind.")
@click.option("--by", metavar="WHO", help="Only revisions by WHO: ann@laptop, or ann for all machines.")
@click.option("-n", "limit", metavar="N", type=click.IntRange(min=1), help="Only the newest N.")
@as_json
def log(as_json: bool, **options: Any) -> None:
    """List revisions, newest first.

    With NAME, list the changes to that key point, live or retired. Without --json, only the newest 20 revisions are
    listed, unless you pass -n, --since or --session. Examples of a TIME: 2026-03-01, "2026-03-01 14:30", 2h, 3d, "2
    weeks ago", yesterday, or a time as a command printed it.
    """
    from playbook_db.cli.history import history_view
    from playbook_db.services.reading import quick_reads

    source = source_of(*filter(None, [options["name"]]))
    if as_json:
        quick_reads.log(
            source, options, lambda revisions: print_texts(_json_list(map(records.log_record, revisions))), most=_EVERY
        )
        return
    is_bounded = any(options[name] is not None for name in ("limit", "since", "session"))

    def show(revisions: "Iterator[LoggedRevision]") -> None:
        shown = revisions if is_bounded else itertools.islice(revisions, SHOWN_REVISIONS)
        texts = (history_view.logged(revision, of_point=options["name"] is not None) for revision in shown)
        first = next(texts, None)
        if first is None:
            newest: list[LoggedRevision] = []
            quick_reads.log(source, {**dict.fromkeys(options), "limit": 1}, newest.extend, most=1)
            notify(["no revision matches" if newest else "this playbook has no revisions yet"])
            return
        print_texts(itertools.chain([first], texts), paged=True)
        if not is_bounded and next(revisions, None) is not None:
            notify([f"the newest {SHOWN_REVISIONS}; for more: -n N or --since REV|TIME; for all: --since 1"])

    limit = options["limit"] if is_bounded else SHOWN_REVISIONS + 1
    quick_reads.log(source, {**options, "limit": limit}, show, most=history_view.MOST_LINES)


@cli.command()
@click.argument("when", metavar="REV|TIME")
@click.option("--json", "as_json", is_flag=True, help="Print the earlier playbook as `playbook export` does.")
@click.option("--render", "as_prompt", is_flag=True, help="Print the earlier playbook as a session gets it.")
@click.option("-o", "output", metavar="FILE", help="Write FILE instead of standard output.")
@click.option("--layout", type=click.Choice(["sections", "flat"]), default="sections", show_default=True)
def at(when: str, as_json: bool, as_prompt: bool, output: str | None, layout: str) -> None:
    """Show the playbook at an earlier revision or time.

    Revision 0 is the empty playbook. Examples of a TIME: 2026-03-01 (the end of that day), "2026-03-01 14:30", 2h, 3d,
    "2 weeks ago", yesterday, or a time as a command printed it.
    """
    from playbook_db.domain import playbook_file
    from playbook_db.services.reading import history

    if as_json and as_prompt:
        raise click.UsageError("Give --json or --render, not both.")
    with opened() as project:
        then = history.at(project, when)
        notify([then.note] if then.note else [])
        if as_prompt:
            text = history.prompt_at(project, str(then.revision))
            write_text(text if not text or text.endswith("\n") else text + "\n", output)
        elif as_json or output is not None:
            write_text(playbook_file.encode(then.playbook, layout=cast("Layout", layout)), output)
        elif then.playbook.points:
            print_points(then.playbook.points)
        elif not then.note:
            notify([f"the playbook had no key points at {when}"])


@cli.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", default="now")
@as_json
def diff(before: str, after: str, as_json: bool) -> None:
    """Show the differences between two states of the playbook.

    A and B (default: now) are each a revision, a time or a playbook file (- for stdin). Examples of a time: 2026-03-01,
    "2026-03-01 14:30", 2h, 3d, "2 weeks ago", yesterday, or a time as a command printed it. If a file's name looks like
    a revision or a time, write it with its folder: ./12
    """
    from playbook_db.cli.history import history_view
    from playbook_db.services.reading import history

    if before == after == "-":
        raise click.UsageError("Only one of A and B can come from standard input.")
    with opened() as project:
        sides = [_side(project, text) for text in (before, after)]
        for side in sides:
            notify([*([side.note] if side.note else []), *map(one_line, side.reading.warnings)])
        comparison = history.difference(*sides)
        if as_json:
            print_json(records.difference_record(comparison, *sides))
        else:
            print_texts((f"{line}\n" for line in history_view.differences(comparison, *sides)), paged=True)


def _side(project: "Project", text: str) -> "SourcedPlaybook":
    from playbook_db.domain import times
    from playbook_db.errors import MomentError
    from playbook_db.services.reading import history

    if text != "-" and history.is_when(text):
        return history.at(project, text)
    if text != "-" and not os.path.exists(text):
        raise MomentError(text, times.EXAMPLES, or_file=True)
    return history.side_of_file(read_input(text), "standard input" if text == "-" else text)


def _json_list(items: Iterable[Any]) -> Iterator[str]:
    """Yield one JSON list, record by record."""
    import json

    begin = "[\n"
    for item in items:
        yield begin + "  " + shown_json(json.dumps(item, indent=2, ensure_ascii=False)).replace("\n", "\n  ")
        begin = ",\n"
    yield "[]\n" if begin == "[\n" else "\n]\n"


@cli.command()
@click.argument("revisions", metavar="[REV | A..B]", required=False)
@click.option(
    "--session", metavar="S", help="Undo all that was learned from this session: its id, or the beginning of it."
)
@click.option("--ours", is_flag=True, help="If a later change touched the same text, keep the text as it is now.")
@click.option("--theirs", is_flag=True, help="If a later change touched the same text, restore the earlier text.")
@dry_run_option
@as_json
def undo(revisions: str | None, session: str | None, ours: bool, theirs: bool, dry_run: bool, as_json: bool) -> None:
    """Undo the last revision, or the ones you name.

    Retired points and earlier texts come back, votes are subtracted, and later changes stay. If a later change touched
    the same text, nothing is undone unless you pass --ours or --theirs. An undo is a revision, too: you can undo it.
    """
    from playbook_db.domain.merging.undo import parse_range
    from playbook_db.services.playbook import undo as undo_service

    if revisions is not None and session is not None:
        raise click.UsageError("Give revisions or --session, not both.")
    if ours and theirs:
        raise click.UsageError("Give --ours or --theirs, not both.")
    span = parse_range(revisions) if revisions is not None else None
    prefer: Side | None = "ours" if ours else "theirs" if theirs else None
    with opened() as project:
        if session is None:
            undone = undo_service.undo(project, span, prefer=prefer, dry_run=dry_run)
            _print_undone(undone, as_json=as_json, dry_run=dry_run)
            return
        several = undo_service.undo_session(project, session, prefer=prefer, dry_run=dry_run)
        if as_json:
            print_json([records.undo_record(each, dry_run=dry_run) for each in several])
            return
        for each in several:
            _print_undone(each, as_json=False, dry_run=dry_run)
        if not several:
            say(f"nothing is left to undo from session {one_line(session)}")


@cli.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--at", "moment", metavar="REV|TIME", help="Restore the point as it was then; without NAME, the whole playbook."
)
@dry_run_option
@as_json
def restore(names: tuple[str, ...], moment: str | None, dry_run: bool, as_json: bool) -> None:
    """Bring back retired key points, or an earlier state.

    A point comes back with its last text and votes. With --at, it gets the text and the votes that it had at REV or
    TIME. With --at and no NAME, the whole playbook is restored; playbook undo can undo that. To replace the whole
    database with a backup, use playbook restore-backup.
    """
    from playbook_db.cli.change.points import print_done
    from playbook_db.services.playbook import edit
    from playbook_db.services.playbook import undo as undo_service

    if not names and moment is None:
        raise click.UsageError("Give the NAME of a key point, --at, or both.")
    if dry_run and (names or moment is None):
        raise click.UsageError("--dry-run needs --at, and no NAME.")
    if len(names) > 1 and moment is not None:
        raise click.UsageError("--at takes at most one NAME.")
    with opened(*names, may_be_new=True) as project:
        if not names:
            undone = undo_service.go_back(project, moment or "", dry_run=dry_run)
            _print_undone(undone, as_json=as_json, dry_run=dry_run)
            return
        if moment is None:
            revised = edit.restore(project, *names)
        else:
            revised = undo_service.restore_as_of(project, names[0], moment)
        print_done(revised, as_json=as_json)


def _print_undone(undone: "UndoResult", *, as_json: bool, dry_run: bool) -> None:
    """Print the undone revisions, each change, and the new revision."""
    revised = undone.result
    notify(revised.notes)
    if as_json:
        print_json(records.undo_record(undone, dry_run=dry_run))
        return
    if undone.message:
        say(one_line(undone.message) + (", the last one" if undone.is_last else ""))
    print_revised(revised, dry_run=dry_run)
    if revised.revision is not None:
        notify([f"`playbook{of_user()} undo {revised.revision}` brings it back"])
