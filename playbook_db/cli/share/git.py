"""Commands that git starts: merge-driver, textconv."""

import os

import click

from playbook_db import projects
from playbook_db.cli.context import as_json, database_url, notify, project_folder
from playbook_db.cli.main import cli
from playbook_db.cli.output import print_json, write_text
from playbook_db.errors import PlaybookFileError, Remedy


@cli.command("merge-driver")
@click.argument("base", metavar="BASE")
@click.argument("ours", metavar="OURS")
@click.argument("theirs", metavar="THEIRS")
@click.argument("path", metavar="[PATH]", required=False)
@as_json
@click.pass_context
def merge_driver(ctx: click.Context, base: str, ours: str, theirs: str, path: str | None, as_json: bool) -> None:
    """Merge three playbook files into OURS; git starts this.

    BASE is their common ancestor, an empty file where there is none, and PATH is where the file belongs. Votes of both
    sides add up; what was decided goes to stderr. Where a file can't be read, OURS stays as it was and the exit code
    is 1: git then keeps it as a conflict. Set up by: playbook install --git
    """
    from playbook_db.services.sharing import merge_driver as driver

    if path is not None:
        ctx.obj = {**(ctx.obj or {}), "project": projects.folder_of_mirror(os.path.abspath(path))}
    shown = path or ours
    try:
        notes = driver.merge(base, ours, theirs, url=database_url(), folder=project_folder())
    except PlaybookFileError as error:
        raise PlaybookFileError(
            f"{shown}, {error.source}",
            error.place,
            error.problem,
            remedy=Remedy(f"It stays as it is in ours, as a conflict: put it right, then run: git add {shown}"),
        ) from None
    if as_json:
        print_json({"file": shown, "notes": [*notes]})
    notify(f"{shown}: {note}" for note in notes)


@cli.command("textconv")
@click.argument("file", metavar="FILE")
def textconv(file: str) -> None:
    """Print a playbook file as lines to compare; git starts this.

    A line for each key point, as a session is given it. Set up by: playbook install --git
    """
    from playbook_db.services.sharing import merge_driver as driver

    write_text(driver.readable_text(file), None)
