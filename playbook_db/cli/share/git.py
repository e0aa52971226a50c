"""Commands that git runs: merge-driver, textconv."""

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
    """Merge three playbook files; git runs this.

    The result replaces OURS. BASE is their common ancestor, or an empty file if there is none; PATH is the file's place
    in the repository. Votes of both sides add up. Decisions go to stderr. If a file can't be read, OURS stays as it is
    and the exit code is 1, so that git reports a conflict. To set it up: playbook install --git
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
            remedy=Remedy(f"The file stays as it is in ours, as a conflict. Fix it, then run: git add {shown}"),
        ) from None
    if as_json:
        print_json({"file": shown, "notes": [*notes]})
    notify(f"{shown}: {note}" for note in notes)


@cli.command("textconv")
@click.argument("file", metavar="FILE")
def textconv(file: str) -> None:
    """Print a playbook file as lines to compare; git runs this.

    Each key point is one line, as a session gets it. To set it up: playbook install --git
    """
    from playbook_db.services.sharing import merge_driver as driver

    write_text(driver.readable_text(file), None)
