"""The command `db metadata`: what makes Datasette show the database with words."""

import json

import click

from playbook_db.cli.opening import database_url, project_options
from playbook_db.cli.output import write_text
from playbook_db.errors import DatabaseError


@click.command()
@click.option("-o", "output", metavar="FILE", help="Write FILE instead of standard output.")
@project_options
def metadata(output: str | None) -> None:
    """Print metadata for Datasette: what each view and column means, and the questions of docs/sql.md as queries.

    Then: datasette "$(playbook db path)" -m metadata.json
    """
    from playbook_db.services import datasette
    from playbook_db.store.connecting import described, sqlite_path

    path = sqlite_path(database_url())
    if not path:
        raise DatabaseError(f"{described(database_url())} is no SQLite file, and Datasette reads no other.")
    write_text(json.dumps(datasette.metadata(path), indent=2, ensure_ascii=False) + "\n", output)
