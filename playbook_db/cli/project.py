"""The command group project, which lists, ignores, trusts and moves projects."""

import os

import click

from playbook_db import project_env, projects
from playbook_db.cli.context import as_json, database_url, is_interactive, notify, opened, project_folder
from playbook_db.cli.main import cli
from playbook_db.cli.output import one_line, print_answer, print_json, print_table
from playbook_db.domain.times import local
from playbook_db.services import records


@cli.group("project")
def project() -> None:
    """List, ignore, trust or move projects."""


@project.command("list")
@as_json
def project_list(as_json: bool) -> None:
    """List the projects that have a playbook."""
    from playbook_db.services.reading import quick_reads

    listed = quick_reads.list_projects(database_url())
    if as_json:
        print_json([records.project_record(each) for each in listed])
        return
    rows = []
    for each in listed:
        note = "ignored" if each.is_ignored else ""
        if not projects.has_folder(each.key):
            note += "; " * bool(note) + "the folder is gone; if it moved: playbook project move OLD NEW"
        last_at = local(each.last_revision_at) if each.last_revision_at else "-"
        rows.append((each.key, str(each.live_points), str(each.revisions), last_at, note))
    titles = ("project", "points", "revisions", "last change", "note")
    print_table(titles, rows, nothing="no project has a playbook yet; to add this one: playbook init")


@project.command()
@click.option("--off", is_flag=True, help="Stop ignoring the project.")
@as_json
def ignore(off: bool, as_json: bool) -> None:
    """Keep the hooks out of this project.

    Its sessions get no playbook, and nothing is learned from them.
    """
    from playbook_db.services.project import ignore

    with opened(sync=False, may_be_new=True, is_own=True) as here:
        ignore(here, is_ignored=not off)
        text = f"{one_line(here.key)} is {'no longer ' if off else ''}ignored by the hooks"
        print_answer(text, as_json=as_json, project=here.key, ignored=not off)


@project.command()
@click.option("--off", is_flag=True, help="Use your own values, not the project's.")
@click.option("--yes", is_flag=True, help="Agree without being asked.")
@as_json
def trust(off: bool, yes: bool, as_json: bool) -> None:
    """Use the addresses and programs that the project sets.

    In its settings, a project can set a model's address, programs, a database or test commands. First you see the
    values and are asked, because your key and transcripts go to that address. Until then, nothing is learned if the
    project sets an address but no key. If a value changes, you are asked again. Without a terminal it needs --yes.
    """
    from playbook_db.domain.redaction.redact import redact_message
    from playbook_db.services.learning import queue

    with opened(sync=False, is_own=True) as here:
        folder = here.folder or here.key
        values = project_env.questions(folder)
        if not values:
            text = f"{folder}: its settings have nothing that needs your consent"
            print_answer(text, as_json=as_json, project=folder, names=[], agreed=None)
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
        text = f"{folder}: {', '.join(values)} {'not used' if off else 'used'} from now on"
        print_answer(text, as_json=as_json, project=folder, names=[*values], agreed=not off)


@project.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@as_json
def move(old: str, new: str | None, as_json: bool) -> None:
    """Move the playbook of the folder OLD to NEW.

    Use it after you moved or renamed a project's folder. NEW is this project by default.
    """
    from playbook_db.services.opening import move as move_playbook
    from playbook_db.services.project import open_store

    with open_store(database_url()) as store:
        target = os.path.abspath(new) if new else project_folder()
        before = projects.project_key(os.path.abspath(old))
        key = move_playbook(store, os.path.abspath(old), target)
        print_answer(f"the playbook of {before} now belongs to {key}", as_json=as_json, before=before, project=key)
