"""The command forget."""

from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import as_json, dry_run_option, is_interactive, notify, opened, point_names
from playbook_db.cli.main import cli
from playbook_db.cli.output import beside, one_line, print_json, say
from playbook_db.errors import Remedy, SettingError
from playbook_db.services import records
from playbook_db.services.playbook import forget_lines

if TYPE_CHECKING:
    from playbook_db.services.playbook.forget import Forgotten


@cli.command()
@click.argument("name", required=False, shell_complete=point_names)
@click.option("--match", "pattern", metavar="REGEX", help="Erase whatever this regular expression (Python's) matches.")
@click.option("--all-projects", is_flag=True, help="With --match, erase the matches in the playbooks of all projects.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@dry_run_option
@as_json
def forget(name: str | None, pattern: str | None, all_projects: bool, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Erase a key point's text for good.

    It is erased from the playbook, its history, and playbook's own files and backups. First you see what will be
    erased, and are asked. The point keeps only its name and its votes. With --match, a point is erased as a whole if
    its present text matches. In earlier texts, reasons and files, only the matching words are erased. To keep the point
    but erase a secret in its text, use --match with the secret. One new backup replaces all that contain the text.
    Inside a session of Claude Code only --dry-run works. To remove a point but keep its history, use playbook retire.
    """
    from playbook_db.domain.erasure import read_pattern
    from playbook_db.services.playbook import forget as forget_service

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
    request = forget_service.Request(name, None if pattern is None else read_pattern(pattern), all_projects)
    with opened(*filter(None, [name])) as project:
        if dry_run or not yes:
            planned = forget_service.preview(project, request)
            if dry_run:
                _print(planned, as_json=as_json, dry_run=True)
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
        _print(done, as_json=as_json, dry_run=False)
        if not done.is_rewritten:
            notify([forget_lines.TRACES.format(project.store.where)])


def _print(forgotten: "Forgotten", *, as_json: bool, dry_run: bool) -> None:
    if as_json:
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
