"""The command group project, and config, which shows every setting and changes the user's own."""

import os
from typing import TYPE_CHECKING

import click

from playbook_db import project_env, projects, settings
from playbook_db.cli.context import (
    Command,
    Group,
    as_json,
    current_folder,
    database_url,
    is_interactive,
    notify,
    opened,
    project_folder,
)
from playbook_db.cli.output import one_line, print_answer, print_json, print_table, wants_json
from playbook_db.domain.times import local
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.claude_code.setup.configuration import Setting


@click.group("project", cls=Group)
def project() -> None:
    """List, ignore, trust, move or remove projects."""


@project.command("list")
@as_json
def project_list() -> None:
    """List the projects that have a playbook."""
    from playbook_db.services.reading import command_reads

    listed = command_reads.list_projects(database_url())
    rows = []
    for each in listed:
        note = "ignored" if each.is_ignored else ""
        if not projects.has_folder(each.key):
            note += (
                "; " * bool(note)
                + "the folder is gone; if it moved: playbook project move OLD NEW; else: playbook project remove OLD"
            )
        last_at = local(each.last_revision_at) if each.last_revision_at else "-"
        rows.append((each.key, str(each.live_points), str(each.revisions), last_at, note))
    titles = ("project", "points", "revisions", "last change", "note")
    nothing = "no project has a playbook yet; to add this one: playbook init"
    print_table(titles, rows, nothing=nothing, records=map(records.project_record, listed))


@project.command()
@click.option("--off", is_flag=True, help="Stop ignoring the project.")
@as_json
def ignore(off: bool) -> None:
    """Keep the hooks out of this project.

    Its sessions get no playbook, and nothing is learned from them.
    """
    from playbook_db.services.project import ignore

    with opened(sync=False, may_be_new=True, is_own=True) as here:
        ignore(here, is_ignored=not off)
        text = f"{one_line(here.key)} is {'no longer ' if off else ''}ignored by the hooks"
        print_answer(text, project=here.key, ignored=not off)


@project.command()
@click.option("--off", is_flag=True, help="Don't trust the project, and don't ask again.")
@click.option("--yes", is_flag=True, help="Agree without being asked.")
@as_json
def trust(off: bool, yes: bool) -> None:
    """Learn from a project that sets keys, addresses or programs.

    In its settings, a project can set a model's key or address, programs or a database. Until you trust the values,
    nothing is learned from the project; its sessions wait. First you see the values and are asked, because your key and
    transcripts go to that address. If a value changes, you are asked again. Without a terminal it needs --yes.
    """
    from playbook_db.domain.redaction.redact import redact_message
    from playbook_db.services.learning import queue

    with opened(sync=False, is_own=True) as here:
        folder = current_folder()  # of whose settings a session has the values
        values = project_env.questions(folder)
        if not values:
            text = f"{folder}: its settings have nothing that needs your consent"
            print_answer(text, project=folder, names=[], agreed=None)
            return
        notify(f"{name}={one_line(redact_message(value))}" for name, value in values.items())
        if not off and not yes:
            if not is_interactive():
                raise click.UsageError(
                    "There is no terminal to ask on. To use these values, add --yes. Nothing was changed."
                )
            if not click.confirm("Use these values for this project?", err=True):
                return
        project_env.record_consent(folder, agreed=not off)
        for job in queue.list_jobs(here.store, here.key):
            if job.not_before is not None:
                queue.retry(here.store, here.key, job.id)
        text = f"{folder}: {', '.join(values)} {'not trusted' if off else 'trusted'} from now on"
        print_answer(text, project=folder, names=[*values], agreed=not off)


@project.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@as_json
def move(old: str, new: str | None) -> None:
    """Move the playbook of the folder OLD to NEW.

    Use it after you moved or renamed a project's folder. NEW is this project by default.
    """
    from playbook_db.services.opening import move as move_playbook
    from playbook_db.services.project import open_store

    with open_store(database_url()) as store:
        before, key = move_playbook(store, os.path.abspath(old), os.path.abspath(new) if new else project_folder())
        print_answer(f"the playbook of {before} now belongs to {key}", before=before, project=key)


@project.command()
@click.argument("folder", metavar="DIR")
@click.option("--yes", is_flag=True, help="Remove it without asking.")
@as_json
def remove(folder: str, yes: bool) -> None:
    """Remove the playbook of a folder, with its history.

    DIR is a folder as `playbook project list` shows it; it may be gone. First you are asked, and the database is backed
    up. Without a terminal it needs --yes. Only this machine's database is changed.
    """
    from playbook_db.services import maintenance
    from playbook_db.services.opening import remove as remove_playbook
    from playbook_db.services.project import open_store

    key, url = projects.project_key(os.path.abspath(folder)), database_url()
    if not yes and not is_interactive():
        raise click.UsageError("There is no terminal to ask on. To remove it, add --yes. Nothing was removed.")
    if not yes and not click.confirm(f"Remove the playbook of {one_line(key)} with its history?", err=True):
        return
    backup = maintenance.take(url).path
    with open_store(url) as store:
        remove_playbook(store, key)
    print_answer(f"the playbook of {one_line(key)} is removed; a backup: {backup}", project=key, backup=backup)


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="[NAME] [VALUE]")
@click.option("--unset", is_flag=True, help="Remove your own setting NAME, so that the default applies.")
@as_json
def config(words: tuple[str, ...], unset: bool) -> None:
    """Show every setting and where it comes from; change yours.

    With NAME, show only that setting. With NAME and VALUE (or `config set NAME VALUE`), set it for all your sessions.
    The value is written to Claude Code's settings; a variable is written to their section `env`. The hooks, the worker
    and the commands read it there. In a terminal, a variable of the shell overrides it. API keys are never shown.
    """
    from dataclasses import asdict

    from playbook_db.claude_code.setup import configuration

    name, value = _name_and_value(words)
    folder = projects.project_of(current_folder())  # without the database, whose address this may show
    if (value is not None or unset) and (name is None or (value is not None and unset)):
        raise click.UsageError("Give a NAME with a VALUE, or with --unset.")
    if name is not None and name not in (*configuration.NAMES_IN_SETTINGS, *configuration.VARIABLES):
        from difflib import get_close_matches  # late: only a wrong name needs it

        similar = get_close_matches(name, (*configuration.NAMES_IN_SETTINGS, *configuration.VARIABLES), n=1)
        hint = f" Did you mean {similar[0]}?" if similar else ""
        raise click.UsageError(f"There is no setting {name}.{hint} To list all settings: playbook config")
    if name is not None and (value is not None or unset):
        path, is_changed = configuration.write(name, value)
        notify([f"changed {path}; sessions that start now use it" if is_changed else f"{path} has that value already"])
    shown = [each for each in configuration.read_all(folder) if name in (None, each.name)]
    if wants_json():
        print_json([asdict(each) for each in shown])
        return
    home = f"{settings.home()}/"
    rows = [(each.name, each.value, each.source.replace(home, "~/"), each.note or _cost(each)) for each in shown]
    print_table(("setting", "value", "from", "note"), rows, nothing="no settings")
    if name is None:
        notify([model_in_words(folder)])
    elif value is None and name in configuration.VALUES:
        notify([f"{name} can be {', '.join(configuration.VALUES[name])}"])


def _cost(setting: "Setting") -> str:
    from playbook_db.llm import choose

    is_budget = setting.name == project_env.BUDGET and setting.value.isdigit()
    return choose.cost_in_words(int(setting.value), project_folder()) if is_budget else ""


def _name_and_value(words: tuple[str, ...]) -> tuple[str | None, str | None]:
    match words:
        case []:
            return None, None
        case [name]:
            return name, None
        case ["set", name, value] | [name, value]:
            return name, value
    raise click.UsageError("Give a NAME with a VALUE, as in: playbook config set NAME VALUE")


def model_in_words(folder: str) -> str:
    """Describe which model is used and with which key, or why there is none."""
    from playbook_db.errors import PlaybookError
    from playbook_db.llm import choose

    try:
        return f"learning asks {choose.describe_access(folder)}"
    except PlaybookError as error:
        return f"Learning waits. {error}"
