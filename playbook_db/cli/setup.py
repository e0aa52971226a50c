"""Commands that put our hooks into Claude Code's settings, and take them out: install, uninstall."""

import os
import sys
from datetime import UTC, datetime

import click

from playbook_db import projects, settings
from playbook_db.claude_code import registration
from playbook_db.cli.context import chosen_project, database_url, opened, opened_store, project_options, tell
from playbook_db.cli.output import one_line, print_json
from playbook_db.cli.points import as_json
from playbook_db.domain import playbook_file
from playbook_db.errors import InstallError, MirrorError, SettingError
from playbook_db.services import import_export, mirror, revise
from playbook_db.services import projects as projects_service
from playbook_db.services.projects import Project

_ALL = "all"


@click.command("install")
@click.option(
    "--scope",
    type=click.Choice(registration.SCOPES),
    default="user",
    show_default=True,
    help="Whose settings: yours for all projects, this project's, or yours for this project.",
)
@project_options
@click.pass_context
def install_hooks(ctx: click.Context, scope: str) -> None:
    """Register the hooks in Claude Code's settings, from where it starts them in every session.

    Nothing else in the settings file changes, and the file as it was is kept beside it.
    """
    from playbook_db.claude_code import install

    done = install.install(scope, _project_folder(ctx, scope), now=datetime.now(UTC))
    if done.changed:
        hooks = ", ".join(f"{event} ({hook})" for event, (hook, _) in registration.EVENTS.items())
        click.echo(f"{done.path}: registered the hooks for {hooks}")
        click.echo(f"interpreter: {done.python}")
        click.echo(f"worker's interpreter: {done.worker_python}")
        if done.backup:
            click.echo(f"the file as it was: {done.backup}")
    else:
        click.echo(f"{done.path}: the hooks are registered already; nothing was changed")
    tell(done.notes)


@click.command("uninstall")
@click.option(
    "--scope",
    type=click.Choice((*registration.SCOPES, _ALL)),
    default=_ALL,
    show_default=True,
    help="Whose settings: yours for all projects, this project's, yours for this project, or all of them.",
)
@project_options
@click.pass_context
def uninstall_hooks(ctx: click.Context, scope: str) -> None:
    """Take the hooks out of Claude Code's settings. What was learnt stays."""
    from playbook_db.claude_code import install

    folder = _project_folder(ctx, scope)
    found, problems = False, []
    for one in registration.SCOPES if scope == _ALL else (scope,):
        try:
            done = install.uninstall(one, folder)
        except InstallError as error:  # what is wrong with one file keeps the hooks in no other
            problems.append(str(error))
            continue
        if done is not None:
            found = True
            end = "removed; nothing else was in it" if done.removed else "the hooks were taken out"
            click.echo(f"{done.path}: {end}")
            tell(f"{copy} is kept: it isn't what the settings are now" for copy in done.kept)
    if problems:
        raise InstallError("\n".join(problems))
    if not found:
        click.echo("no settings file has hooks of ours; nothing was changed")
    click.echo(f"what was learnt stays in {settings.data_dir()}")


def _project_folder(ctx: click.Context, scope: str) -> str:
    """The folder of the project that the options and the environment name."""
    folder = projects.project_dir((ctx.find_object(dict) or {}).get("project"))
    if scope != "user" and not os.path.isdir(folder):
        raise SettingError(f"There is no folder {folder}. Name the project's with --project.")
    return folder


# Commands that take a project in and keep its mirror: init, mirror.


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
        points = len(revise.read(project).points)
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
    data = mirror.read(project.mirror_path, project.folder)
    if data is None:
        raise MirrorError(f"{project.mirror_path} is a link to nothing. Remove it, and run playbook init again.")
    reading = playbook_file.decode(data, source=project.mirror_path)
    revised = import_export.preview_import(project, reading, source=project.mirror_path)
    shown = f"{os.path.relpath(project.mirror_path)} holds {len(reading.playbook.points)} key points"
    tell([f"{shown} ({import_export.told(revised)}):"])
    for change in revised.changes[:_SHOWN_POINTS]:
        tell([f"  [{change.point.name}] {one_line(change.point.text)}"])
    if len(revised.changes) > _SHOWN_POINTS:
        tell([f"  ... and {len(revised.changes) - _SHOWN_POINTS} more"])
    tell(one_line(note) for note in revised.notes)


# Commands on projects as such: project list, project ignore, project move.


@click.group("project")
def project() -> None:
    """See which projects have a playbook, keep one out, or tell that a folder has moved."""


@project.command("list")
@as_json
@project_options
def list_projects(as_json: bool) -> None:
    """List the projects that have a playbook, a line each; a folder that is gone is marked."""
    with opened_store() as store:
        found = projects_service.list_projects(store)
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
        projects_service.ignore(here, is_ignored=not off)
        click.echo(f"{here.key} is {'no longer ' if off else ''}ignored by the hooks")


@project.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@project_options
def move(old: str, new: str | None) -> None:
    """Give the playbook of the folder OLD, which has moved, to NEW (default: this project)."""
    with opened_store() as store:
        target = os.path.abspath(new) if new else projects.project_dir(chosen_project())
        key = projects_service.move(store, os.path.abspath(old), target)
        click.echo(f"the playbook of {projects.project_key(os.path.abspath(old))} is now that of {key}")


# The command that looks at everything and says what to do: doctor.


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


COMMANDS = {
    "install": install_hooks,
    "uninstall": uninstall_hooks,
    "init": init,
    "mirror": switch_mirror,
    "project": project,
    "doctor": doctor,
}
