"""What every command begins and ends with: its project, its database, and the mirror kept in step."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from playbook_db import projects, settings
from playbook_db.errors import SettingError

if TYPE_CHECKING:
    from playbook_db.services.projects import Project
    from playbook_db.store.engine import Store


def project_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give *command* the options `--project` and `--db`; it gets them as the context that `opened` reads."""

    def keep(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.obj = {**(ctx.obj or {}), str(param.name): value}

    for name, metavar, told in (
        ("db", "URL", "The database: an SQLAlchemy URL, or a file's path."),
        ("project", "DIR", "The project's folder."),
    ):
        option = click.option(f"--{name}", metavar=metavar, help=told, expose_value=False, callback=keep)
        command = option(command)
    return command


def database_url() -> str:
    """The URL of the database that the options and the environment name."""
    return settings.database_url(_options().get("db"))


def chosen_project() -> str | None:
    """The folder that `--project` names, None where it isn't given."""
    chosen: str | None = _options().get("project")
    return chosen


@contextmanager
def opened_store() -> "Iterator[Store]":
    """The database that the options and the environment name, whether or not there is a project here."""
    from playbook_db.store.engine import open_store

    with open_store(database_url()) as store:
        yield store


@contextmanager
def opened(*, sync: bool = True) -> "Iterator[Project]":
    """The project that the options and the environment name, in its database.

    The mirror, where it is kept, is taken in before and brought up to date after, unless *sync* is off.
    """
    from playbook_db.services import mirror
    from playbook_db.services.projects import Project
    from playbook_db.store.engine import open_store

    folder = projects.project_dir(chosen_project())
    if not os.path.isdir(folder):
        raise SettingError(f"There is no folder {folder}. Name the project's with --project.")
    _tell_of_backups(database_url())
    with open_store(database_url()) as store:
        project = Project(store, folder)
        told: list[str] = []
        if sync:
            told = _sync(project)
            if mirror.is_waiting(project):
                tell([f"{project.mirror_path} is here but not taken in; look at it with: playbook init"])
        yield project
        if sync:
            _sync(project, told=told)


def _tell_of_backups(url: str) -> None:
    """Say so where a new database is begun although there are backups of one: its file may have been lost."""
    from playbook_db.store.connect import sqlite_path
    from playbook_db.store.sqlite import backups

    path = sqlite_path(url)
    if not path or os.path.exists(path):
        return
    kept = backups.list_backups(path)
    if kept:
        newest = kept[0].path
        tell([f"{path} was gone and is begun anew; the last backup comes back with: playbook restore-backup {newest}"])


def _sync(project: "Project", *, told: "Iterable[str]" = ()) -> list[str]:
    """Bring the mirror in step, and say what comes of it, but for what was *told* before; what was said."""
    from playbook_db.services import import_export, mirror

    synced = mirror.sync(project)
    lines = [note for note in synced.notes if note not in told]
    if synced.revised is not None:
        done = import_export.told(synced.revised)
        lines.append(f"took in {project.mirror_path}: {done} (revision {synced.revised.revision})")
    tell(lines)
    return lines


def tell(lines: Iterable[str]) -> None:
    """Say *lines* to the person, on stderr."""
    for line in lines:
        click.echo(f"playbook: {line}", err=True)


def _options() -> dict[str, Any]:
    found = click.get_current_context().find_object(dict)
    return found or {}


# Reading a file that a person names, or standard input for `-`.


def read_input(file: str) -> bytes:
    """The bytes of *file*, or of standard input for `-`. Raises a usage error where it can't be read."""
    try:
        if file == "-":
            data = sys.stdin.buffer.read(settings.MAX_FILE_BYTES + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(settings.MAX_FILE_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"{file} can't be read: {os.strerror(error.errno or 0)}.") from error
    if len(data) > settings.MAX_FILE_BYTES:
        raise click.UsageError(f"{file} is larger than {settings.MAX_FILE_BYTES >> 20} MiB; nothing was taken in.")
    return data
