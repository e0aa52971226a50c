"""Commands on the database file itself: db path, db check, db upgrade."""

import click

from playbook_db.cli.datasette import metadata
from playbook_db.cli.opening import database_url, project_options
from playbook_db.cli.output import one_line, print_json
from playbook_db.cli.points import as_json
from playbook_db.cli.repairing import repair
from playbook_db.errors import DatabaseError


@click.group("db")
def database() -> None:
    """Look after the database."""


@database.command()
@project_options
def path() -> None:
    """Print where the database is, whether or not it is there yet."""
    from playbook_db.store.connecting import described

    click.echo(described(database_url()))


@database.command()
@project_options
def upgrade() -> None:
    """Bring the database to this version's schema, after a backup."""
    from playbook_db.store import upgrade as upgrading
    from playbook_db.store.connecting import described
    from playbook_db.store.read import SCHEMA

    url = database_url()
    backup = upgrading.ensure_current(url)
    click.echo(f"{described(url)} is at schema {SCHEMA:04d}" + (f"; backup: {backup}" if backup else ""))


@database.command()
@click.option("--quick", is_flag=True, help="Leave out what takes long.")
@as_json
@project_options
def check(quick: bool, as_json: bool) -> None:
    """Check the file, its references and that every playbook equals what its history says. Exit code 1 if not.

    Nothing is changed, whatever is there.
    """
    from playbook_db.services import checking

    report = checking.check_database(database_url(), quick=quick)
    left_out = checking.NOT_IN_A_QUICK_LOOK if quick else ()
    if as_json:
        found = {"database": report.where, "ok": not report.problems, "problems": list(report.problems)}
        print_json(found | {"not_looked_at": list(left_out)})
    else:
        for problem in report.problems:
            click.echo(one_line(problem))
        if not report.problems:
            click.echo(f"{report.where}: all is well" + (f"; not looked at: {', '.join(left_out)}" if left_out else ""))
    if report.problems:
        count = len(report.problems)
        problems = "a problem" if count == 1 else f"{count} problems"
        raise DatabaseError(f"{report.where} has {problems}. {report.remedy}".rstrip())


database.add_command(metadata)
database.add_command(repair)

COMMANDS = {"db": database}
