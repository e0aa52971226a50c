"""Code that all commands share: global options, opening the project, input, and messages."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from playbook_db import project_env, projects, settings
from playbook_db.cli.output import playbook_of, say
from playbook_db.domain.sections import is_users_name
from playbook_db.errors import ArgumentError, ProjectError, Remedy, SettingError, missing_extra

if TYPE_CHECKING:
    from playbook_db.services.project import Project
    from playbook_db.services.reading.file_first import ReadSource

EXACTLY = "exactly"  # the option of `init`, which makes a project of exactly the folder that it is given
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")


def in_utc(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Read and show all times in UTC if `--utc` is given."""
    if value:
        os.environ["TZ"] = "UTC0"
        time.tzset()


def _keep(ctx: click.Context, param: click.Parameter, value: str | bool | None) -> None:
    if value is not None:
        ctx.obj = {**(ctx.obj or {}), str(param.name): value}


as_json = click.option(
    "--json", is_flag=True, default=None, expose_value=False, callback=_keep, help="Print one JSON document."
)
# Every command takes them; only the help of `playbook` lists them.
_GLOBAL_OPTIONS = [
    click.Option(["--project"], expose_value=False, hidden=True, callback=_keep),
    click.Option(["--db"], expose_value=False, hidden=True, callback=_keep),
    click.Option(["--utc"], is_flag=True, expose_value=False, hidden=True, callback=in_utc),
    click.Option(["--user", "is_user"], is_flag=True, default=None, expose_value=False, hidden=True, callback=_keep),
]
# The commands on one playbook, a project's or a personal one; all others are about a project or the database.
_OF_ONE_PLAYBOOK = {
    "add", "apply", "at", "db transfer", "dedup", "diff", "edit", "export", "forget", "import", "list", "log", "pin",
    "prune", "render", "restore", "retire", "review", "search", "show", "sql", "stats", "status", "undo", "unpin",
    "vote", "why",
}  # fmt: skip


class Command(click.Command):
    """A command or group that takes the global options after its name, too, and names them in its help."""

    def __init__(self, *args: Any, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        own = {param.name for param in self.params}
        self.params += [option for option in _GLOBAL_OPTIONS if option.name not in own]

    def invoke(self, ctx: click.Context) -> Any:
        is_users = (ctx.find_object(dict) or {}).get("is_user")
        if ctx.parent is not None and is_users and not _is_of_one_playbook(ctx):
            raise click.UsageError(f"`{ctx.command_path}` isn't about one playbook, so it doesn't take --user.")
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = "--project, --db, --user, --utc" if _is_of_one_playbook(ctx) else "--project, --db, --utc"
        formatter.write_paragraph()
        formatter.write_text(f"Global options ({names}): see playbook --help")


class Group(Command, click.Group):
    """A group of such commands."""

    command_class = Command


def _is_of_one_playbook(ctx: click.Context) -> bool:
    return ctx.command_path.partition(" ")[2] in _OF_ONE_PLAYBOOK


def database_url() -> str:
    """Return the URL of the database that the options and the environment name."""
    url = _options().get("db")
    if url or not os.environ.get(project_env.DATABASE):
        return settings.database_url(url)
    return project_env.database_url(current_folder())


def project_folder(*, must_exist: bool = False) -> str:
    """Return the folder of the project to which the folder belongs that the options and the environment name. With
    *must_exist*, raise ArgumentError if that doesn't exist."""
    folder = current_folder()
    if must_exist and not os.path.isdir(folder):
        raise ArgumentError(f"There is no folder {folder}. Name the project's folder with --project.")
    if _options().get(EXACTLY):
        return folder
    from playbook_db.services.reading import file_first

    places = click.get_current_context().meta.setdefault("playbook_db.places", {})
    return str(places.get(folder) or places.setdefault(folder, file_first.place_of(database_url(), folder)))


def current_folder() -> str:
    """Return the folder that the options and the environment name. It belongs to a project."""
    named = _options().get("project") or os.environ.get("CLAUDE_PROJECT_DIR")
    if not named and settings.session():  # the folder that its hooks use, wherever its shell is now
        from playbook_db.claude_code.hooks import hook_runner

        named = hook_runner.folder_of_session(settings.session(), os.getcwd())
    try:
        return os.path.abspath(named or "")
    except FileNotFoundError:
        raise ArgumentError("The current folder is gone. Change to another one, or pass --project DIR.") from None


def named_project() -> str | None:
    """Return the folder that `--project` names, or None without that option."""
    return _options().get("project")


def is_users_own(names: Iterable[str] = ()) -> bool:
    """Return whether `--user` or the *names* of points choose the user's personal playbook. Raises a usage error if
    `--user` is combined with a project, or if the names belong to two playbooks."""
    if _options().get("is_user"):
        if named_project():
            raise click.UsageError(
                "--user means your personal playbook, whatever the project. Leave out --project or --user."
            )
        return True
    kinds = {is_users_name(name) for name in names}
    if len(kinds) > 1:
        raise click.UsageError(
            "Some of these points are in your personal playbook, others in the project's. Name points of one playbook."
        )
    return True in kinds


def of_user() -> str:
    """Return the option that follows `playbook` in a suggested command: `--user` if the user gave it, else `""`."""
    return " --user" if _options().get("is_user") else ""


def database_and_folder(names: Iterable[str] = ()) -> tuple[str, str | None]:
    """Return the URL of the database and the project's folder, which must exist. There is no folder for the user's
    personal playbook, which `--user` or the *names* of points choose."""
    return database_url(), None if is_users_own(names) else project_folder(must_exist=True)


def playbook_here() -> str:
    """Describe the playbook that the options and the environment name, and its database if `--db` names one."""
    url, folder = database_and_folder()
    name = playbook_of(projects.USER_KEY if folder is None else projects.project_key(folder))
    return f"{name} in {settings.sqlite_file(url) or 'this database'}" if _options().get("db") else name


def source_of(*names: str) -> "ReadSource":
    """Return the source from which a command reads the playbook. The options, the environment and the *names* of points
    choose the playbook. A name may also be a revision's number, so `opened` doesn't get the project's names."""
    from playbook_db.services.reading.file_first import ReadSource

    return ReadSource(*database_and_folder(names), partial(opened, *filter(is_users_name, names)))


@contextmanager
def opened(
    *names: str,
    sync: bool = True,
    begins_anew: bool = False,
    may_be_new: bool = False,
    is_own: bool = False,
    only_reads: bool = False,
) -> "Iterator[Project]":
    """Open the project that the options and the environment name. If they or the *names* of points choose the user's
    personal playbook, open that. Raises NotFoundError for an unknown name.

    A project in a team is opened in the team's database, unless *is_own*. If that can't be reached, a command that
    *only_reads* gets the replica. A mirror is updated before and after, unless *sync* is off. If the database is gone
    but has backups, only *begins_anew* creates a new one. A command that may create a project's playbook passes
    *may_be_new*. Then the user is asked first if the folder doesn't look like a project.
    """
    url, folder = database_and_folder(names)
    if names:
        from playbook_db.services.reading import command_reads

        command_reads.require_points(url, folder, names)
    from playbook_db.services.opening import open_project  # late: an unknown name needs no services
    from playbook_db.services.project import Project, is_known, open_store

    if folder is None:
        with open_store(url, begins_anew=begins_anew) as store:
            yield Project.of_user(store)
        return
    with open_project(
        url,
        folder,
        sync=sync,
        begins_anew=begins_anew,
        is_own=is_own,
        only_reads=only_reads,
        notify=lambda line: notify([line]),
    ) as project:
        is_named = _options().get("project") or os.environ.get("CLAUDE_PROJECT_DIR") or settings.session()
        if may_be_new and not is_named and not projects.is_project(folder) and not is_known(project):
            _ask_for_a_playbook(folder)
        yield project


def _ask_for_a_playbook(folder: str) -> None:
    """Ask the user, and raise ProjectError unless they want a playbook for *folder*."""
    question = (
        f"{folder} doesn't look like a project: neither it nor a folder above has a .git or .claude but your home's."
    )
    if is_interactive():
        notify([question])
        if click.confirm("Create a playbook for it?", err=True):
            return
        question = "Nothing was changed."
    raise ProjectError(question, Remedy("Name a project with --project, or create a playbook here: {}", ("init",)))


def notify(lines: Iterable[str]) -> None:
    """Print *lines* on stderr for the user, each at most once per command."""
    context = click.get_current_context(silent=True)
    printed = context.meta.setdefault("playbook_db.printed", set()) if context else set()
    for line in lines:
        if line not in printed:
            printed.add(line)
            say(f"playbook: {line}", err=True)


def is_interactive() -> bool:
    """Return whether stdin is a terminal, so that the user can be asked."""
    return sys.stdin.isatty()


def read_input(file: str) -> bytes:
    """Read the bytes of *file*, or of standard input for `-`. Raises a usage error if it can't be read."""
    try:
        if file == "-":
            data = sys.stdin.buffer.read(settings.MAX_FILE_BYTES + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(settings.MAX_FILE_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"{file} can't be read: {os.strerror(error.errno or 0)}.") from error
    if len(data) > settings.MAX_FILE_BYTES:
        raise click.UsageError(f"{file} is larger than {settings.MAX_FILE_BYTES >> 20} MiB; nothing was imported.")
    return data


@contextmanager
def needing(what: str, *, extra: str) -> Iterator[None]:
    """Raise SettingError about *what* and *extra* if an import in the `with` block finds no package. In the
    plugin's environment, raise a SettingError that says how to set it up."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "playbook_db"):
            raise
        if root := os.environ.get("PLAYBOOK_PLUGIN_ROOT"):
            from playbook_db.claude_code import plugin_env

            raise SettingError(plugin_env.describe(root)) from None
        raise missing_extra(what, package, extra=extra) from None


def _options() -> dict[str, Any]:
    return click.get_current_context().find_object(dict) or {}
