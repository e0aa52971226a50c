"""Commands on the history: log, at, diff, undo, restore, forget."""

import itertools
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from playbook_db import settings, wrong_clock
from playbook_db.cli.context import (
    Command,
    as_json,
    dry_run_option,
    is_interactive,
    notify,
    of_user,
    opened,
    read_input,
    source_of,
)
from playbook_db.cli.output import (
    beside,
    one_line,
    print_json,
    print_json_list,
    print_points,
    print_revised,
    print_texts,
    say,
    wants_json,
    write_text,
)
from playbook_db.domain import times
from playbook_db.errors import Remedy, SettingError, not_a_moment
from playbook_db.services import records
from playbook_db.services.playbook import forget_lines
from playbook_db.store.queries.list_queries import SOURCES

if TYPE_CHECKING:
    from playbook_db.domain.merging.undo_rules import Side
    from playbook_db.services.playbook.forget import Forgotten
    from playbook_db.services.playbook.undo import UndoResult
    from playbook_db.services.project import Project
    from playbook_db.services.reading.history import SourcedPlaybook
    from playbook_db.store.queries.revision_log import LoggedRevision

_EVERY = 2**31 - 1  # changes of a revision, at most
SHOWN_REVISIONS = 20  # of a log as text, by default; --json has all


def _moment(ctx: click.Context, param: click.Parameter, value: str | None, *, or_file: bool = False) -> str | None:
    """Return *value*. Raises ArgumentError if it is neither a revision nor a time (nor, with *or_file*, a file)."""
    if not value and isinstance(param, click.Option):
        return None  # an empty variable of a script
    if value is None or _is_when(value) or (or_file and (value == "-" or os.path.exists(value))):
        return value
    raise not_a_moment(value, times.EXAMPLES, or_file=or_file)


def _is_when(text: str) -> bool:
    return times.revision_number(text) is not None or times.parse_time(text, now=datetime.now(UTC)) is not None


@click.command(cls=Command)
@click.argument("name", required=False)
@click.option("--session", metavar="S", help="Only revisions of this session: its id, or the beginning of it.")
@click.option("--since", metavar="REV|TIME", callback=_moment, help="From this revision or time on.")
@click.option("--until", metavar="REV|TIME", callback=_moment, help="Up to this revision or time.")
@click.option("--source", type=click.Choice(SOURCES), help="Only revisions of this kind.")
@click.option("--by", metavar="WHO", help="Only revisions by WHO: ann@laptop, or ann for all machines.")
@click.option("-n", "limit", metavar="N", type=click.IntRange(min=1), help="Only the newest N.")
@as_json
def log(**options: Any) -> None:
    """List revisions, newest first.

    With NAME, list the changes to that key point, live or retired. Without --json, only the newest 20 revisions are
    listed, unless you pass -n, --since or --session. Examples of a TIME: 2026-03-01, "2026-03-01 14:30", 2h, 3d, "2
    weeks ago", yesterday, or a time as a command printed it.
    """
    from playbook_db.cli.history import history_view
    from playbook_db.services.reading import command_reads

    source = source_of(*filter(None, [options["name"]]))
    if wants_json():
        command_reads.log(
            source, options, lambda revisions: print_json_list(map(records.log_record, revisions)), most=_EVERY
        )
        return
    is_bounded = any(options[name] is not None for name in ("limit", "since", "session"))

    def show(revisions: "Iterator[LoggedRevision]") -> None:
        newest_shown = next(revisions, None)
        revisions = itertools.chain(filter(None, [newest_shown]), revisions)
        shown = revisions if is_bounded else itertools.islice(revisions, SHOWN_REVISIONS)
        if newest_shown and wrong_clock.is_ahead(newest_shown.time, time.time()):
            notify([wrong_clock.warning(newest_shown.number, newest_shown.time)])
        texts = (history_view.logged(revision, of_point=options["name"] is not None) for revision in shown)
        first = next(texts, None)
        if first is None:
            newest: list[LoggedRevision] = []
            command_reads.log(source, {**dict.fromkeys(options), "limit": 1}, newest.extend, most=1)
            notify(["no revision matches" if newest else "this playbook has no revisions yet"])
            return
        print_texts(itertools.chain([first], texts))
        if not is_bounded and next(revisions, None) is not None:
            notify([f"the newest {SHOWN_REVISIONS}; for more: -n N or --since REV|TIME; for all: --since 1"])

    limit = options["limit"] if is_bounded else SHOWN_REVISIONS + 1
    command_reads.log(source, {**options, "limit": limit}, show, most=history_view.MOST_LINES)


@click.command(cls=Command)
@click.argument("when", metavar="REV|TIME", callback=_moment)
@click.option("--json", "as_json", is_flag=True, help="Print the earlier playbook as `playbook export` does.")
@click.option("--render", "as_prompt", is_flag=True, help="Print the earlier playbook as text for a prompt.")
@click.option("-o", "output", metavar="FILE", help="Write FILE instead of standard output.")
def at(when: str, as_json: bool, as_prompt: bool, output: str | None) -> None:
    """Show the playbook at an earlier revision or time.

    Revision 0 is the empty playbook. Examples of a TIME: 2026-03-01 (the end of that day), "2026-03-01 14:30", 2h, 3d,
    "2 weeks ago", yesterday, or a time as a command printed it.
    """
    if as_json and as_prompt:
        raise click.UsageError("Give --json or --render, not both.")
    with opened() as project:
        from playbook_db.domain import playbook_file
        from playbook_db.domain.prompt_text import render_points
        from playbook_db.services import templates
        from playbook_db.services.reading import history

        then = history.at(project, when)
        if as_prompt:
            text = templates.fill_points(render_points(then.playbook.points))
            write_text(text if not text or text.endswith("\n") else text + "\n", output)
        elif as_json or output is not None:
            write_text(playbook_file.encode(then.playbook), output)
        elif then.playbook.points:
            print_points(then.playbook.points)
        else:
            notify([f"the playbook had no key points at {when}"])


@click.command(cls=Command)
@click.argument("before", metavar="A", callback=partial(_moment, or_file=True))
@click.argument("after", metavar="[B]", default="now", callback=partial(_moment, or_file=True))
@as_json
def diff(before: str, after: str) -> None:
    """Show the differences between two states of the playbook.

    A and B (default: now) are each a revision, a time or a playbook file (- for stdin). Examples of a time: 2026-03-01,
    "2026-03-01 14:30", 2h, 3d, "2 weeks ago", yesterday, or a time as a command printed it. If a file's name looks like
    a revision or a time, write it with its folder: ./12
    """
    if before == after == "-":
        raise click.UsageError("Only one of A and B can come from standard input.")
    with opened() as project:
        from playbook_db.cli.history import history_view
        from playbook_db.services.reading import history

        sides = [_side(project, text) for text in (before, after)]
        for side in sides:
            notify(map(one_line, side.reading.warnings))
        comparison = history.difference(*sides)
        if wants_json():
            print_json(records.difference_record(comparison, *sides))
        else:
            print_texts(f"{line}\n" for line in history_view.differences(comparison, *sides))


def _side(project: "Project", text: str) -> "SourcedPlaybook":
    from playbook_db.domain import playbook_file
    from playbook_db.services.reading import history

    if text != "-" and _is_when(text):
        return history.at(project, text)
    name = "standard input" if text == "-" else text
    return history.SourcedPlaybook(file=name, reading=playbook_file.decode(read_input(text), source=name))


@click.command(cls=Command)
@click.argument("revisions", metavar="[REV | A..B]", required=False)
@click.option(
    "--session", metavar="S", help="Undo all that was learned from this session: its id, or the beginning of it."
)
@click.option("--ours", is_flag=True, help="If a later change touched the same text, keep the text as it is now.")
@click.option("--theirs", is_flag=True, help="If a later change touched the same text, restore the earlier text.")
@dry_run_option
@as_json
def undo(revisions: str | None, session: str | None, ours: bool, theirs: bool, dry_run: bool) -> None:
    """Undo the last change, or the ones you name.

    REV is the number of a change, its revision, as playbook log shows it. Retired points and earlier texts come back,
    votes are subtracted, and later changes stay. If a later change touched the same text, nothing is undone unless you
    pass --ours or --theirs. An undo is a revision, too: you can undo it.
    """
    from playbook_db.domain.merging.undo_rules import parse_range

    if revisions is not None and session is not None:
        raise click.UsageError("Give revisions or --session, not both.")
    if ours and theirs:
        raise click.UsageError("Give --ours or --theirs, not both.")
    span = parse_range(revisions) if revisions is not None else None
    prefer: Side | None = "ours" if ours else "theirs" if theirs else None
    with opened() as project:
        from playbook_db.services.playbook import undo as undo_service

        if session is None:
            undone = undo_service.undo(project, span, prefer=prefer, dry_run=dry_run)
            _print_undone(undone, dry_run=dry_run, before=undone.before if span is None else "")
            return
        several = undo_service.undo_session(project, session, prefer=prefer, dry_run=dry_run)
        if wants_json():
            print_json([records.undo_record(each, dry_run=dry_run) for each in several])
            return
        for each in several:
            _print_undone(each, dry_run=dry_run)
        if not several:
            say(f"nothing is left to undo from session {one_line(session)}")


@click.command(cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--at", "moment", metavar="REV|TIME", help="Restore the point as it was then; without NAME, the whole playbook."
)
@dry_run_option
@as_json
def restore(names: tuple[str, ...], moment: str | None, dry_run: bool) -> None:
    """Bring back retired key points, or an earlier state.

    A point comes back with its last text and votes. With --at, it gets the text and the votes that it had at REV or
    TIME. With --at and no NAME, the whole playbook is restored: --dry-run shows first what would change, and playbook
    undo can undo it. To replace the whole database with a backup, use playbook restore-backup.
    """
    if not names and moment is None:
        raise click.UsageError("Give the NAME of a key point, --at, or both.")
    if dry_run and (names or moment is None):
        raise click.UsageError("--dry-run needs --at, and no NAME.")
    if len(names) > 1 and moment is not None:
        raise click.UsageError("--at takes at most one NAME.")
    with opened(*names, may_be_new=True) as project:
        from playbook_db.cli.change.points import print_done
        from playbook_db.services.playbook import edit
        from playbook_db.services.playbook import undo as undo_service

        if not names:
            undone = undo_service.go_back(project, moment or "", dry_run=dry_run)
            _print_undone(undone, dry_run=dry_run)
            return
        if moment is None:
            revised = edit.restore(project, *names)
        else:
            revised = undo_service.restore_as_of(project, names[0], moment)
        print_done(revised)


def _print_undone(undone: "UndoResult", *, dry_run: bool, before: str = "") -> None:
    """Print the undone revisions, each change, and the new revision. *before* is what to undo to go further back."""
    revised = undone.result
    notify(revised.notes)
    if wants_json():
        print_json(records.undo_record(undone, dry_run=dry_run))
        return
    if undone.message:
        say(one_line(undone.message) + (", the last change" if undone.is_last else ""))
    print_revised(revised, dry_run=dry_run)
    if revised.revision is not None:
        again = f"`playbook{of_user()} undo {revised.revision}` brings it back"
        notify([again + (f"; to go further back: playbook{of_user()} undo {before}" if before else "")])


@click.command(cls=Command)
@click.argument("name", required=False)
@click.option("--match", "pattern", metavar="REGEX", help="Erase whatever this regular expression (Python's) matches.")
@click.option("--all-projects", is_flag=True, help="With --match, erase the matches in the playbooks of all projects.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@dry_run_option
@as_json
def forget(name: str | None, pattern: str | None, all_projects: bool, yes: bool, dry_run: bool) -> None:
    """Erase a key point's text for good.

    It is erased from the playbook, its history, and playbook's own files and backups. First you see what will be
    erased, and are asked. The point keeps only its name and its votes. With --match, a point is erased as a whole if
    its present text matches. In earlier texts, reasons and files, only the matching words are erased. To keep the point
    but erase a secret in its text, use --match with the secret. One new backup replaces all that contain the text.
    Inside a session of Claude Code only --dry-run works. To remove a point but keep its history, use playbook retire.
    """
    if (name is None) == (pattern is None) or (all_projects and pattern is None):
        raise click.UsageError("Give the NAME of a key point, or --match REGEX (and --all-projects if you want).")
    if settings.session() and not dry_run:
        raise SettingError(
            "This can't be undone, so it doesn't work inside a session of Claude Code. Nothing was erased.",
            Remedy("Run it in your own terminal: {}", ("forget", *([name] if name else ["--match", "REGEX"]))),
        )
    if not (yes or dry_run or is_interactive()):
        raise click.UsageError(
            "This can't be undone, and there is no terminal to ask on. To do it, add --yes. Nothing was erased."
        )
    from playbook_db.domain.erasure import read_pattern

    matched = None if pattern is None else read_pattern(pattern)
    with opened(*filter(None, [name])) as project:
        from playbook_db.services.playbook import forget as forget_service

        request = forget_service.Request(name, matched, all_projects)
        if dry_run or not yes:
            planned = forget_service.preview(project, request)
            if dry_run:
                _print_forgotten(planned, dry_run=True)
                return
            if not planned.is_nothing:
                notify(
                    one_line(line)
                    for line in (*forget_lines.lines(planned, shows_texts=True), *forget_lines.notes(planned))
                )
                if not click.confirm("Erase this for good?", err=True):
                    notify(["nothing was erased"])
                    return
        done = forget_service.forget(project, request)
        _print_forgotten(done, dry_run=False)
        if not done.is_rewritten:
            notify([forget_lines.TRACES.format(project.store.where)])


def _print_forgotten(forgotten: "Forgotten", *, dry_run: bool) -> None:
    if wants_json():
        print_json(records.forget_record(forgotten, dry_run=dry_run))
    elif forgotten.is_nothing:
        say("nothing matches")
    else:
        for line in map(one_line, forget_lines.lines(forgotten, shows_texts=dry_run)):
            click.echo(beside(line[:10], line[10:], 10))
        if dry_run:
            say("dry run: nothing was erased")
    notify(one_line(note) for note in forget_lines.notes(forgotten))
    if not forgotten.is_nothing:
        notify([forget_lines.NOT_OURS])
