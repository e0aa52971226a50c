"""Commands that take a project in and keep its mirror: init, mirror."""

import os
import sys

import click

from playbook_db.cli.opening import opened, project_options, tell
from playbook_db.cli.output import one_line
from playbook_db.errors import MirrorError
from playbook_db.rules import document
from playbook_db.services import interchange, mirror, mirror_file, revising
from playbook_db.services.project import Project

_SHOWN_POINTS = 10  # of a file that waits to be taken in


@click.command()
@click.option("--yes", is_flag=True, help="Take an existing .claude/playbook.json in without asking.")
@project_options
def init(yes: bool) -> None:
    """Make the database where there is none, and take this project in.

    An existing .claude/playbook.json is shown first, since its text goes into prompts; it is asked about on a terminal.
    """
    with opened(sync=False) as project:
        if mirror.is_waiting(project):
            _show_waiting(project)
            if not yes and _on_a_terminal() and not click.confirm("Take it in?", err=True):
                tell(["left alone; nothing of it goes into a prompt. Run playbook init again to take it in"])
                return
            tell(mirror.accept(project).notes)
        else:
            tell(mirror.enrol(project).notes)
        points = len(revising.read(project).points)
        click.echo(f"{project.key}: {points} key points in {project.store.where} (mirror: {mirror.state(project)})")


@click.command("mirror")
@click.argument("wanted", type=click.Choice(["on", "off"]), metavar="on|off")
@project_options
def switch_mirror(wanted: str) -> None:
    """Keep .claude/playbook.json in step with the database from now on, or leave it alone."""
    with opened(sync=False) as project:
        tell(mirror.switch(project, on=wanted == "on").notes)
        where = project.mirror_path
        click.echo(f"{where} is kept in step" if wanted == "on" else f"{where} is left alone from now on")


def _on_a_terminal() -> bool:
    return sys.stdin.isatty()


def _show_waiting(project: Project) -> None:
    """Show what would come in from the file that waits, on stderr."""
    data = mirror_file.read(project.mirror_path, project.folder)
    if data is None:
        raise MirrorError(f"{project.mirror_path} is a link to nothing. Remove it, and run playbook init again.")
    reading = document.decode(data, source=project.mirror_path)
    revised = interchange.preview_import(project, reading, source=project.mirror_path)
    shown = f"{os.path.relpath(project.mirror_path)} holds {len(reading.playbook.points)} key points"
    tell([f"{shown} ({interchange.told(revised)}):"])
    for change in revised.changes[:_SHOWN_POINTS]:
        tell([f"  [{change.point.name}] {one_line(change.point.text)}"])
    if len(revised.changes) > _SHOWN_POINTS:
        tell([f"  ... and {len(revised.changes) - _SHOWN_POINTS} more"])
    tell(one_line(note) for note in revised.notes)


COMMANDS = {"init": init, "mirror": switch_mirror}
