"""Commands on projects as such: project list, project ignore, project move."""

import os

import click

from playbook_db import projects
from playbook_db.cli.opening import chosen_project, opened, opened_store, project_options
from playbook_db.cli.output import print_json
from playbook_db.cli.points import as_json
from playbook_db.services import project_list


@click.group("project")
def project() -> None:
    """See which projects have a playbook, keep one out, or tell that a folder has moved."""


@project.command("list")
@as_json
@project_options
def list_projects(as_json: bool) -> None:
    """List the projects that have a playbook, a line each; a folder that is gone is marked."""
    with opened_store() as store:
        found = project_list.list_projects(store)
    if as_json:
        print_json(
            [
                {
                    "project": listed.key,
                    "points": listed.live_points,
                    "revisions": listed.revisions,
                    "last_revision": listed.last_revision_at,
                    "mirror": listed.mirror,
                    "ignored": listed.is_ignored,
                    "folder_exists": os.path.isdir(listed.key),
                }
                for listed in found
            ]
        )
        return
    for listed in found:
        marks = [
            *(["ignored"] if listed.is_ignored else []),
            *([] if os.path.isdir(listed.key) else ["no such folder; if it moved: playbook project move OLD NEW"]),
        ]
        told = f"{listed.key}\t{listed.live_points} points\t{listed.revisions} revisions"
        click.echo("\t".join([told, listed.last_revision_at or "-", *marks]))


@project.command()
@click.option("--off", is_flag=True, help="Let the hooks in again.")
@project_options
def ignore(off: bool) -> None:
    """Keep the hooks out of this project: no playbook goes into its sessions, nothing is learnt from them."""
    with opened(sync=False) as here:
        project_list.ignore(here, is_ignored=not off)
        click.echo(f"{here.key} is {'no longer ' if off else ''}ignored by the hooks")


@project.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@project_options
def move(old: str, new: str | None) -> None:
    """Give the playbook of the folder OLD, which has moved, to NEW (default: this project)."""
    with opened_store() as store:
        target = os.path.abspath(new) if new else projects.project_dir(chosen_project())
        key = project_list.move(store, os.path.abspath(old), target)
        click.echo(f"the playbook of {projects.project_key(os.path.abspath(old))} is now that of {key}")


COMMANDS = {"project": project}
