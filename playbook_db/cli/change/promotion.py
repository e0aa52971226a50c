"""The commands promote and demote: move a point between a project's playbook and the personal one."""

from typing import TYPE_CHECKING

import click

from playbook_db.cli.context import as_json, dry_run_option, is_interactive, notify, opened, point_names
from playbook_db.cli.main import cli
from playbook_db.cli.output import one_line, print_json, print_revised, say
from playbook_db.errors import SettingError
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.services.playbook.promotion import Move


@cli.command()
@click.argument("name", shell_complete=point_names)
@click.option(
    "--keep/--retire", "keeps", default=None, help="Whether it stays here, too (default: only in a team's playbook)."
)
@dry_run_option
@as_json
def promote(name: str, keeps: bool | None, dry_run: bool, as_json: bool) -> None:
    """Move a key point into your personal playbook.

    From then on your sessions in every project get it. It is copied with its votes, then retired here: one revision of
    each playbook. In a team's playbook it stays for the others, unless you add --retire. If your personal playbook has
    the same text already, that point counts as the copy. If a run was interrupted, run it again to finish.
    """
    from playbook_db.services.playbook import promotion

    with opened() as project:
        keeps = project.is_team if keeps is None else keeps
        _print(promotion.promote(project, name, keeps=keeps, dry_run=dry_run), dry_run=dry_run, as_json=as_json)


@cli.command()
@click.argument("name", shell_complete=point_names)
@click.option(
    "--keep/--retire", "keeps", default=False, help="Whether it stays in your personal playbook, too (default: no)."
)
@click.option("--yes", is_flag=True, help="Don't ask, even if it is a team's playbook.")
@dry_run_option
@as_json
def demote(name: str, keeps: bool, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Move a personal key point into this project's playbook.

    It is copied with its votes, then retired in your personal playbook: one revision of each playbook. All members of a
    team read its playbook, so you are asked first; without a terminal it needs --yes. If this playbook has the same
    text already, that point counts as the copy. If a run was interrupted, run it again to finish.
    """
    from playbook_db.services.playbook import promotion

    with opened(may_be_new=True) as project:
        if project.is_team and not (yes or dry_run):
            question = f"All members of the team's playbook {one_line(project.key)} would get {one_line(name)}."
            if not is_interactive():
                raise SettingError(
                    f"{question} There is no terminal to ask on. To do it, add --yes. Nothing was changed."
                )
            notify([question])
            click.confirm("Give it to the team?", err=True, abort=True)
        _print(promotion.demote(project, name, keeps=keeps, dry_run=dry_run), dry_run=dry_run, as_json=as_json)


def _print(move: "Move", *, dry_run: bool, as_json: bool) -> None:
    notify(move.notes)
    if as_json:
        print_json(records.move_record(move, dry_run=dry_run))
        return
    done = [each for each in (move.copied, move.retired) if each is not None and each.changes]
    for revised in done:
        print_revised(revised, dry_run=dry_run)
    if not done:
        say(f"nothing to do: {one_line(move.name)} has its copy, {one_line(move.copy)}")
