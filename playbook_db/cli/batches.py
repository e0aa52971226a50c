"""Commands on the playbook as a whole: apply, prune, render."""

import json
import sys
from typing import Any

import click

from playbook_db.cli.opening import opened, project_options, tell
from playbook_db.cli.output import change_record, print_json, print_revised
from playbook_db.cli.points import as_json
from playbook_db.cli.reading import read_input
from playbook_db.errors import OperationsFileError
from playbook_db.rules.operations import unknown_sections
from playbook_db.services import diagnostics, editing, telling
from playbook_db.services.revising import Revised

dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done; change nothing.")


@click.command()
@click.argument("file")
@dry_run_option
@as_json
@project_options
def apply(file: str, dry_run: bool, as_json: bool) -> None:
    """Carry out a curator's batch from FILE (or -): all of its valid operations in one revision, or nothing.

    FILE is a JSON list of operations, or an object with `operations`. What breaks a rule is skipped with a reason.
    """
    operations = _read_operations(file)
    with opened() as project:
        origin = "stdin" if file == "-" else file
        revised = editing.apply_batch(project, operations, origin=origin, dry_run=dry_run)
        if not dry_run:
            diagnostics.operations(project.folder, len(operations), revised.skipped, unknown_sections(operations))
        tell(revised.notes)
        _print(revised, as_json=as_json, dry_run=dry_run)


@click.command()
@dry_run_option
@as_json
@project_options
def prune(dry_run: bool, as_json: bool) -> None:
    """Retire the key points whose votes say that they harm."""
    with opened() as project:
        revised = editing.prune(project, dry_run=dry_run)
        if not dry_run:
            diagnostics.pruning(project.folder, [change.point for change in revised.changes])
        _print(revised, as_json=as_json, dry_run=dry_run)


@click.command()
@click.option("--all", "is_whole", is_flag=True, help="Every live point, even where a session is told the best only.")
@project_options
def render(is_whole: bool) -> None:
    """Print the text that goes into a prompt; nothing for an empty playbook."""
    with opened() as project:
        text = telling.tell_all(project) if is_whole else telling.tell(project)
        if text:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")  # as it is: click would strip escapes


def _print(revised: Revised, *, as_json: bool, dry_run: bool) -> None:
    if not as_json:
        print_revised(revised, rehearsed=dry_run)
        return
    print_json(
        {
            "revision": revised.revision,
            "dry_run": dry_run,
            "changes": [change_record(change) for change in revised.changes],
            "skipped": [
                {"operation": item.index + 1, "reason": item.reason, "given": item.item} for item in revised.skipped
            ],
        }
    )


def _read_operations(file: str) -> list[Any]:
    try:
        given = json.loads(read_input(file))
    except (ValueError, RecursionError) as error:
        raise OperationsFileError(f"{file} is no JSON ({error}). Nothing was changed.") from None
    operations = given.get("operations") if isinstance(given, dict) else given
    if not isinstance(operations, list):
        raise OperationsFileError(
            f"{file} holds no operations: a JSON list is wanted, or an object with a list `operations`. "
            "Nothing was changed."
        )
    return operations


COMMANDS = {"apply": apply, "prune": prune, "render": render}
