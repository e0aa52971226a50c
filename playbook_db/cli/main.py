"""The command `playbook`: its sub-commands, each imported when it is called, and its exit codes."""

import atexit
import errno
import gc
import importlib
import io
import os
import sys
import threading
from contextlib import suppress

import click

from playbook_db import __version__, platforms, project_env, settings
from playbook_db.cli.context import Group, OwnCommand, in_utc
from playbook_db.cli.output import readable, say
from playbook_db.errors import PlaybookError

EXIT_KNOWN_ERROR, EXIT_USAGE, EXIT_BUG, EXIT_INTERRUPTED = 1, 2, 3, 130

# The commands under what a person wants, each with the module that it is in.
_GROUPS = {
    "Set up": {
        "init": "setup", "install": "setup", "uninstall": "setup", "config": "config",
        "doctor": "setup", "project": "setup",
    },
    "Look": {
        "status": "look.status", "list": "look.listing", "search": "look.search", "show": "look.listing",
        "render": "look.listing", "why": "learn", "sessions": "learn", "stats": "look.stats", "sql": "look.sql",
        "web": "look.servers", "mcp": "look.servers",
    },
    "Change": {
        "add": "change.points", "edit": "change.points", "retire": "change.points", "vote": "change.points",
        "review": "change.review", "pin": "change.points", "unpin": "change.points", "apply": "change.points",
        "prune": "change.points", "dedup": "change.dedup", "promote": "change.promotion", "demote": "change.promotion",
    },
    "Look back, take back": {
        "log": "history.history", "at": "history.history", "diff": "history.history", "undo": "history.history",
        "restore": "history.history", "forget": "history.forget",
    },
    "Share": {
        "import": "share.files", "export": "share.files", "mirror": "setup", "team": "share.team",
        "merge-driver": "share.git", "textconv": "share.git",
    },
    "Learn": {"learn": "learn", "bootstrap": "learn", "work": "learn", "jobs": "learn"},
    "Look after the database": {"backup": "database", "restore-backup": "database", "db": "database"},
}  # fmt: skip
# States of a disk and of what is on it, which are no bug of ours, whoever comes upon them.
_OF_THE_DISK = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.ENOTDIR,
    errno.EISDIR, errno.EEXIST, errno.ELOOP,
)  # fmt: skip
_MODULES = {name: module for group in _GROUPS.values() for name, module in group.items()}


class _OutputClosedError(Exception):
    """The reader of our output has left, as `head` does."""


class _Commands(Group):
    """A group that imports a sub-command's module, which adds it, when the sub-command is asked for."""

    command_class = OwnCommand
    group_class = Group

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, _MODULES))
        width = formatter.width - 6 - longest
        for title, group in _GROUPS.items():
            with formatter.section(title):
                commands = [(name, self.get_command(ctx, name)) for name in group]
                formatter.write_dl(
                    [(f"{name:<{longest}}", each.get_short_help_str(width)) for name, each in commands if each]
                )

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # click would make exit code 1 of it
            raise _OutputClosedError from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # Of a name that isn't there click says which ones are like it; for that all must be there.
        for module in [_MODULES[cmd_name]] if cmd_name in _MODULES else {*_MODULES.values()}:
            importlib.import_module(f"playbook_db.cli.{module}")
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="playbook")
@click.option("--project", metavar="DIR", help="The project's folder (default: CLAUDE_PROJECT_DIR, else around here).")
@click.option("--db", metavar="URL", help="The database (default: PLAYBOOK_DB_URL, else Claude Code's folder).")
@click.option("--user", "is_user", is_flag=True, help="Your own playbook, in every project, in the project's place.")
@click.option("--utc", is_flag=True, help="Times in UTC (default: as here).", expose_value=False, callback=in_utc)
@click.pass_context
def cli(ctx: click.Context, project: str | None, db: str | None, is_user: bool) -> None:
    """Look at, correct and share what Claude Code learned in a project.

    A point's name says whose it is: pat-001 is the project's, upat-001 in your own playbook, which --user means.

    Answers go to stdout, messages to stderr. Exit codes: 0 done, 1 an error that is explained, 2 wrong usage, 3 a bug
    in playbook-db, 130 interrupted.
    """
    ctx.obj = {"project": project and platforms.as_spelled(project), "db": db, "is_user": is_user}


def run() -> None:
    """Run the command with the arguments of this process, and exit.

    What SQLAlchemy's import makes stays to the end: to look for garbage in it meanwhile, and to take it down piece by
    piece before the process ends, would be an eighth of most commands' time.
    """
    gc.set_threshold(settings.COLLECT_AFTER)
    project_env.apply_user_settings()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a path is printed as the bytes that it is, be they UTF-8 or not
        sys.stdout.reconfigure(errors="surrogateescape")
    code = main(sys.argv[1:])
    if threading.active_count() > 1:
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError):  # its reader has left, or the disk is full: main has said so
            stream.flush()
    os._exit(code)


def main(arguments: list[str]) -> int:
    """Run the command with *arguments*; its exit code."""
    if problem := platforms.unsupported():
        return _explain(problem, EXIT_KNOWN_ERROR)
    try:
        code = cli.main(arguments, prog_name="playbook", standalone_mode=False)
        sys.stdout.flush()
    except PlaybookError as error:
        return _explain(str(error), EXIT_KNOWN_ERROR)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(_redacted(shown.getvalue()).rstrip("\n"), err=True)
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        return _explain("interrupted; nothing half-done was left", EXIT_INTERRUPTED)
    except (_OutputClosedError, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            return _report_bug()
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
        return _explain(f"{what}. Put that right, and run the command again.", EXIT_KNOWN_ERROR)
    except Exception:  # the outer door: a bug, shown whole so that it can be reported
        return _report_bug()
    return code if isinstance(code, int) else 0


def _report_bug() -> int:
    """Show the exception under way whole, so that it can be reported."""
    import traceback  # late, as all that few commands need: it would cost each of them

    click.echo(readable(_redacted(traceback.format_exc())), err=True)
    return _explain("this is a bug in playbook-db; please report it with the lines above", EXIT_BUG)


def _explain(text: str, code: int) -> int:
    say(f"playbook: {_redacted(text)}", err=True)
    return code


def _redacted(text: str) -> str:
    """*text*, which may quote what another program said, without secrets, and with all its lines."""
    from playbook_db.domain.redaction.redact import redact_message

    return redact_message(text, os.environ, max_chars=len(text))
