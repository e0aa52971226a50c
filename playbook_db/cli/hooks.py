"""Commands that put our hooks into Claude Code's settings, and take them out: install, uninstall."""

import os
from datetime import UTC, datetime

import click

from playbook_db import projects, settings
from playbook_db.claude_code import registration
from playbook_db.cli.opening import project_options, tell
from playbook_db.errors import InstallError, SettingError

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


COMMANDS = {"install": install_hooks, "uninstall": uninstall_hooks}
