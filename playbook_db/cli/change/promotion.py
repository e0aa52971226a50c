"""The commands promote and demote: a point's way between a project's playbook and the user's own."""

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
@click.option("--keep/--retire", "keeps", default=None, help="Whether it stays here, too (default: a team's point).")
@dry_run_option
@as_json
def promote(name: str, keeps: bool | None, dry_run: bool, as_json: bool) -> None:
    """Bring a point into your own playbook.

    Your sessions in every project are shown it from then on. It is copied, with its votes, and then retired here: a
    revision of each playbook. A team's point stays for the others, unless you say --retire. Where your own playbook
    says the same already, that point is taken for the copy. Said again, it does what is still missing.
    """
    from playbook_db.services.playbook import promotion

    with opened() as project:
        keeps = project.is_team if keeps is None else keeps
        _print(promotion.promote(project, name, keeps=keeps, dry_run=dry_run), dry_run=dry_run, as_json=as_json)


@cli.command()
@click.argument("name", shell_complete=point_names)
@click.option("--keep/--retire", "keeps", default=False, help="Whether it stays in your own, too (default: no).")
@click.option("--yes", is_flag=True, help="Don't ask, though the playbook is a team's.")
@dry_run_option
@as_json
def demote(name: str, keeps: bool, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Bring a point of your own playbook into this project's.

    It is copied, with its votes, and then retired in your own: a revision of each playbook. A team's playbook, which
    all its members read, gets it only if you say so when you are asked, or with --yes. Where this one says the same
    already, that point is taken for the copy. Said again, it does what is still missing.
    """
    from playbook_db.services.playbook import promotion

    with opened(may_be_new=True) as project:
        if project.is_team and not (yes or dry_run):
            question = f"{one_line(name)} would be in the team's playbook {one_line(project.key)}, for all members."
            if not is_interactive():
                raise SettingError(f"{question} There is no terminal to ask on: give --yes. Nothing was changed.")
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
