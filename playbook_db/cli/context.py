"""What a command works on: its options, its project, its database, the file or the terminal that it reads from."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from playbook_db import project_env, projects, settings
from playbook_db.cli.output import say
from playbook_db.errors import MissingExtraError, PlaybookError, ProjectError, Remedy, SettingError

if TYPE_CHECKING:
    from playbook_db.services.opening import Reads
    from playbook_db.services.project import Project

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done; change nothing.")


def in_utc(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Read and show all times of this process in UTC where the option `--utc` is given."""
    if value:
        os.environ["TZ"] = "UTC0"
        time.tzset()


def _keep(ctx: click.Context, param: click.Parameter, value: str | bool | None) -> None:
    if value is not None:
        ctx.obj = {**(ctx.obj or {}), str(param.name): value}


PROJECT_OPTIONS: list[click.Parameter] = [
    *(
        click.Option([f"--{name}"], metavar=metavar, help=text, expose_value=False, callback=_keep)
        for name, metavar, text in (
            ("project", "DIR", "The project's folder."),
            ("db", "URL", "The database: an SQLAlchemy URL, or a file's path."),
        )
    ),
    click.Option(["--utc"], is_flag=True, help="Read and show times in UTC.", expose_value=False, callback=in_utc),
]


_USER_OPTION = click.Option(
    ["--user", "is_user"], is_flag=True, default=None, help="Your own playbook.", expose_value=False, callback=_keep
)
# The commands on one playbook, be it a project's or the user's own; all others are about a project or the database.
_OF_ONE_PLAYBOOK = {
    "add", "apply", "at", "dedup", "diff", "edit", "export", "forget", "import", "list", "log", "pin", "prune",
    "render", "restore", "retire", "review", "search", "show", "sql", "stats", "status", "transfer", "undo", "unpin",
    "vote", "why",
}  # fmt: skip


class Command(click.Command):
    """A command with the options `--project`, `--db` and `--utc`, behind its name as well as before it."""

    def __init__(self, *args: Any, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.params += PROJECT_OPTIONS

    def invoke(self, ctx: click.Context) -> Any:
        _refuse_user(ctx, self)
        return super().invoke(ctx)


class OwnCommand(Command):
    """One that has `--user`, too, where it is on one playbook; those that aren't in a group are of this class."""

    def __init__(self, *args: Any, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        if self.name in _OF_ONE_PLAYBOOK:
            self.params += [_USER_OPTION]


class Group(click.Group):
    """A group of such commands."""

    command_class = Command

    def invoke(self, ctx: click.Context) -> Any:
        if ctx.parent is not None:
            _refuse_user(ctx, self)
        return super().invoke(ctx)


def _refuse_user(ctx: click.Context, command: click.Command) -> None:
    """Raise a usage error where `--user` stands before a *command* that has it not."""
    if (ctx.find_object(dict) or {}).get("is_user") and _USER_OPTION not in command.params:
        raise click.UsageError(f"`{ctx.command_path}` isn't on a playbook of your own: it goes without --user.")


def database_url() -> str:
    """The URL of the database that the options and the environment name."""
    url = _options().get("db")
    if url or not os.environ.get(project_env.DATABASE):
        return settings.database_url(url)
    return project_env.database_url(project_folder())


def project_folder(*, must_exist: bool = False) -> str:
    """The folder of the project that the options and the environment name. Raises SettingError where it *must_exist*
    and isn't there."""
    named = _options().get("project") or os.environ.get("CLAUDE_PROJECT_DIR")
    if not named and settings.session():  # what its hooks take for the project, wherever its shell has gone
        from playbook_db.claude_code.hooks import events

        named = events.folder_of_session(settings.session(), os.getcwd())
    folder = projects.project_dir(named)
    if must_exist and not os.path.isdir(folder):
        raise SettingError(f"There is no folder {folder}. Name the project's with --project.")
    return folder


def named_project() -> str | None:
    """The folder that `--project` names, None without it."""
    return _options().get("project")


def is_users_own(names: Iterable[str] = ()) -> bool:
    """Whether the user's own playbook is meant: by `--user`, or by the *names* of its points, where a command is given
    some. Raises a usage error where that is said beside a project, or the names are of two playbooks."""
    if _options().get("is_user"):
        if named_project():
            raise click.UsageError("--user means your own playbook, in every project: it goes without --project.")
        return True
    from playbook_db.domain.sections import is_users_name  # late: not every command needs it

    kinds = {is_users_name(name) for name in names}
    if len(kinds) > 1:
        raise click.UsageError("Some of these names are of your own playbook, others of the project's: one at a time.")
    return True in kinds


def of_user() -> str:
    """What stands behind `playbook` in a command that is suggested: `--user` where that was given."""
    return " --user" if _options().get("is_user") else ""


def database_and_folder(names: Iterable[str] = ()) -> tuple[str, str | None]:
    """Both, for a project whose folder must be there; no folder where the user's own playbook is meant, as by *names*
    of its points."""
    return database_url(), None if is_users_own(names) else project_folder(must_exist=True)


@contextmanager
def opened(
    *names: str,
    sync: bool = True,
    begins_anew: bool = False,
    may_be_new: bool = False,
    is_own: bool = False,
    reads: "Reads | None" = None,
) -> "Iterator[Project]":
    """The project that the options and the environment name, in its database; the user's own playbook, where they mean
    that, or the *names* are those of its points.

    Where it has joined a team that is the team's, unless it *is_own*; who only *reads* is given what this machine last
    knew of it where the server can't be asked.

    Its mirror, where it is kept, is brought in step before and after, unless *sync* is off. A database that is gone
    though there are backups of it is made where it *begins_anew*. What may give a project its playbook says that it
    *may_be_new*: the person is asked first, where the folder doesn't look like one. A session's folder is a project to
    the hooks, so it is one here.
    """
    from playbook_db.services.opening import open_project
    from playbook_db.services.project import Project, is_known, open_store

    url, folder = database_and_folder(names)
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
        reads=reads,
        notify=lambda line: notify([line]),
    ) as project:
        is_named = _options().get("project") or os.environ.get("CLAUDE_PROJECT_DIR") or settings.session()
        if may_be_new and not is_named and not projects.is_project(folder) and not is_known(project):
            _ask_for_a_playbook(folder)
        yield project


def _ask_for_a_playbook(folder: str) -> None:
    """Raise ProjectError unless the person wants a playbook for *folder*."""
    question = f"{folder} looks like no project: there is no .git in it or above it, and no .claude but your home's."
    if is_interactive():
        notify([question])
        if click.confirm("Keep a playbook for it?", err=True):
            return
        question = "Nothing was changed."
    raise ProjectError(question, Remedy("Name a project with --project, or keep a playbook here: {}", ("init",)))


def notify(lines: Iterable[str]) -> None:
    """Print *lines* for the person, on stderr, each once in a command."""
    context = click.get_current_context(silent=True)
    printed = context.meta.setdefault("playbook_db.printed", set()) if context else set()
    for line in lines:
        if line not in printed:
            printed.add(line)
            say(f"playbook: {line}", err=True)


def is_interactive() -> bool:
    """Whether there is a terminal, and so somebody to ask."""
    return sys.stdin.isatty()


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


def point_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names of the live points that begin so, for a shell's completion, which no error may disturb: the project's,
    and the user's own."""
    from playbook_db.services.reading import quick_reads

    ctx.obj = ctx.find_root().params
    with ctx.scope(cleanup=False), suppress(PlaybookError, OSError):
        url, folder = database_and_folder()
        points = [] if folder is None else quick_reads.live_points(url, folder, may_be_old=True) or []
        points += quick_reads.live_points(url, None) or []
        return [point.name for point in points if point.name.startswith(incomplete)]
    return []


@contextmanager
def needing(what: str, *, extra: str) -> Iterator[None]:
    """Raise MissingExtraError if an import inside lacks a package of the *extra*, which *what* needs."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "playbook_db"):
            raise
        raise MissingExtraError(what, package, extra=extra) from None


def _options() -> dict[str, Any]:
    return click.get_current_context().find_object(dict) or {}
