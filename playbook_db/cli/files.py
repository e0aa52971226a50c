"""Commands that take playbook files in and write them: import, export."""

from typing import cast

import click

from playbook_db.cli.opening import opened, project_options, tell
from playbook_db.cli.output import one_line, write_text
from playbook_db.cli.reading import read_input
from playbook_db.rules import document
from playbook_db.rules.document import Layout
from playbook_db.services import diagnostics, interchange


@click.command("import")
@click.argument("file")
@click.option("--replace", is_flag=True, help="Make the playbook equal to FILE; points not in it are retired.")
@click.option("--rename-duplicates", is_flag=True, help="Give a name that stands twice anew the second time.")
@project_options
def import_file(file: str, replace: bool, rename_duplicates: bool) -> None:
    """Merge a playbook FILE of any shape in (- for standard input).

    A point that is here already keeps the higher of both counters; a name that belongs to another text here is given
    anew. Nothing is taken in where anything in FILE can't be read.
    """
    source = "standard input" if file == "-" else file
    reading = document.decode(read_input(file), source=source, rename_duplicates=rename_duplicates)
    with opened() as project:
        revised = interchange.import_playbook(project, reading, source=source, replace=replace)
        diagnostics.migration(project.folder, reading.migrated)
        tell(one_line(note) for note in revised.notes)
        total = len(revised.playbook.points)
        if revised.revision is None:
            click.echo(f"nothing new in {source}; the playbook has {total} points")
        else:
            told = interchange.told(revised)
            click.echo(f"imported {source}: {told}; the playbook has {total} points (revision {revised.revision})")


@click.command()
@click.option("-o", "output", metavar="FILE", help="Write FILE instead of standard output.")
@click.option("--layout", type=click.Choice(["sections", "flat"]), default="sections", show_default=True)
@project_options
def export(output: str | None, layout: str) -> None:
    """Print the playbook as a playbook.json; the same playbook always gives the same bytes."""
    with opened() as project:
        text = interchange.export_playbook(project, layout=cast(Layout, layout))
    write_text(text, output)


COMMANDS = {"import": import_file, "export": export}
