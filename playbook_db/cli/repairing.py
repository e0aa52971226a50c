"""The command that salvages a damaged database: db repair."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from playbook_db.cli.opening import chosen_project, database_url, project_options, tell
from playbook_db.cli.output import count_of, one_line, print_json
from playbook_db.cli.points import as_json

if TYPE_CHECKING:
    from playbook_db.services.repairing import Repaired
    from playbook_db.store.salvaging.gathering import Account


@click.command()
@click.option("--dry-run", is_flag=True, help="Tell what could be kept; change nothing.")
@click.option("--yes", is_flag=True, help="Don't ask before the new file takes the damaged one's place.")
@as_json
@project_options
def repair(dry_run: bool, yes: bool, as_json: bool) -> None:
    """Salvage what can be read of a damaged database.

    A new file is built from it; the newest good backup and the mirrors give what they have more. The damaged file is
    moved aside as it is, never changed. One in which nothing is wrong is left alone.
    """
    from playbook_db import projects
    from playbook_db.services import repairing

    folder = projects.project_dir(chosen_project())
    if not dry_run and not yes and sys.stdin.isatty():
        planned = repairing.repair(database_url(), folder=folder, dry_run=True)
        if planned.account is not None:
            tell(one_line(line) for line in _told(planned))
            if not click.confirm("Put the new database in the place of the damaged one?", err=True):
                tell(["left as it is"])
                return
    repaired = repairing.repair(database_url(), folder=folder, dry_run=dry_run)
    if as_json:
        print_json(_record(repaired, dry_run=dry_run))
        return
    for line in _told(repaired):
        click.echo(one_line(line))
    if repaired.account is not None and dry_run:
        click.echo("dry run: nothing was changed")


def _told(repaired: "Repaired") -> Iterator[str]:
    account = repaired.account
    if account is None:
        yield f"{repaired.where}: all is well, nothing to repair"
        return
    kept = (
        f"{count_of(account.points, 'point')} ({account.live_points} live), {count_of(account.revisions, 'revision')}"
    )
    yield f"{repaired.where}: kept {kept}"
    losses = [f"{count} {what}" for what, count in _losses(account).items() if count]
    yield f"lost: {', '.join(losses) or 'nothing that is known of'}"
    for table, (pages, rows) in sorted(repaired.unreadable.items()):
        if pages or rows:
            yield f"{table}: {pages} pages and {rows} rows can't be read in their place"
    for key, name in account.renamed:
        yield f"a point of {key} whose name is lost is now {name}"
    for key in account.unnamed:
        yield f"a playbook whose folder is lost is now that of {key}; name its folder: playbook project move"
    for key in account.patched:
        yield f"the history of {key} has gaps; its last revision says what is missing"
    if repaired.backup is not None:
        given = [f"all of {key}" for key in account.playbooks_from_backup]
        given += [f"the point {name} of {key}" for key, name in account.from_backup]
        given += [f"{account.history_from_backup} rows of the history"] if account.history_from_backup else []
        yield f"from the backup {repaired.backup.path}: {', '.join(given) or 'nothing that was not here'}"
    yield from repaired.mirrors
    if repaired.aside is not None:
        yield f"the damaged file is now {repaired.aside}"


def _losses(account: "Account") -> dict[str, int]:
    return {
        "revisions": account.lost_revisions,
        "changes": account.lost_changes,
        "votes": account.lost_votes,
        "points": account.lost_points,
        "names": len(account.renamed),
    }


def _record(repaired: "Repaired", *, dry_run: bool) -> dict[str, Any]:
    """What a repair did, as `--json` shows it."""
    account = repaired.account
    record: dict[str, Any] = {
        "database": repaired.where,
        "damaged": account is not None,
        "repaired": account is not None and not dry_run,
    }
    if account is None:
        return record
    return record | {
        "points": account.points,
        "live_points": account.live_points,
        "revisions": account.revisions,
        "lost": _losses(account),
        "unreadable": {
            table: {"pages": pages, "rows": rows}
            for table, (pages, rows) in sorted(repaired.unreadable.items())
            if pages or rows
        },
        "with_gaps": account.patched,
        "renamed": [{"project": key, "name": name} for key, name in account.renamed],
        "projects_without_folder": account.unnamed,
        "backup": None if repaired.backup is None else repaired.backup.path,
        "points_from_backup": [{"project": key, "name": name} for key, name in account.from_backup],
        "projects_from_backup": account.playbooks_from_backup,
        "history_rows_from_backup": account.history_from_backup,
        "mirrors": list(repaired.mirrors),
        "damaged_file": repaired.aside,
    }
