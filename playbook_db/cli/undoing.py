"""Commands that take back: undo, restore."""

from dataclasses import asdict

import click

from playbook_db.cli.batches import dry_run_option
from playbook_db.cli.opening import opened, project_options, tell
from playbook_db.cli.output import change_record, one_line, print_json, print_revised
from playbook_db.cli.points import as_json
from playbook_db.rules import taken_back
from playbook_db.rules.undoing import Side
from playbook_db.services import editing, undoing


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
    span = taken_back.read_span(revisions) if revisions is not None else None
    prefer: Side | None = "ours" if ours else "theirs" if theirs else None
    with opened() as project:
        _print(undoing.undo(project, span, prefer=prefer, dry_run=dry_run), as_json=as_json, dry_run=dry_run)


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
            _print(undoing.go_back(project, moment or "", dry_run=dry_run), as_json=False, dry_run=dry_run)
        elif moment is None:
            print_revised(editing.restore(project, name))
        else:
            print_revised(undoing.restore_as_of(project, name, moment))


def _print(undone: undoing.Undone, *, as_json: bool, dry_run: bool) -> None:
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


COMMANDS = {"undo": undo, "restore": restore}
