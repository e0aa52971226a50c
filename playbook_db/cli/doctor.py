"""The command that looks at everything and says what to do: doctor."""

import click

from playbook_db import projects
from playbook_db.cli.opening import chosen_project, database_url, project_options
from playbook_db.cli.output import one_line, print_json
from playbook_db.cli.points import as_json

_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "broken": ("BROKEN", "red")}


@click.command()
@as_json
@project_options
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Try everything for real: the hooks, the database, the queue, the settings. Exit code 1 if something is broken."""
    from playbook_db.claude_code import doctor as examining

    findings = examining.examine(database_url(), projects.project_dir(chosen_project()))
    is_broken = any(finding.state == "broken" for finding in findings)
    if as_json:
        print_json(
            {
                "ok": not is_broken,
                "findings": [
                    {"about": found.about, "state": found.state, "told": found.told, "remedy": found.remedy}
                    for found in findings
                ],
            }
        )
    else:
        for found in findings:
            mark, colour = _MARKS[found.state]
            click.echo(f"{click.style(f'{mark:<7}', fg=colour)} {found.about}: {one_line(found.told)}")
            if found.remedy:
                click.echo(f"        -> {found.remedy}")
    if is_broken:
        ctx.exit(1)


COMMANDS = {"doctor": doctor}
