"""Commands on the database file itself: db path, db check, db upgrade."""

import click

from playbook_db.cli.opening import database_url, opened, project_options
from playbook_db.cli.output import print_json
from playbook_db.cli.points import as_json
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
    """Bring the database to this version's schema, after a backup beside it."""
    from playbook_db.store import upgrade as upgrading
    from playbook_db.store.connecting import described
    from playbook_db.store.read import SCHEMA

    url = database_url()
    backup = upgrading.ensure_current(url)
    click.echo(f"{described(url)} is at schema {SCHEMA:04d}" + (f"; backup: {backup}" if backup else ""))


@database.command()
@as_json
@project_options
def check(as_json: bool) -> None:
    """Check the file, its references and that every playbook equals what its history says. Exit code 1 if not."""
    from playbook_db.services import checking
    from playbook_db.store import upgrade as upgrading

    upgrading.require_current(database_url())
    with opened(sync=False) as project:
        found = checking.check(project.store)
        if as_json:
            print_json({"database": project.store.where, "ok": not found, "problems": found})
        else:
            for problem in found:
                click.echo(problem)
        if not found and not as_json:
            click.echo(f"{project.store.where}: all is well")
        if found:
            raise DatabaseError(f"{project.store.where} has {len(found)} problems. Keep a copy before anything else.")


COMMANDS = {"db": database}
