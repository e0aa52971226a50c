"""The command `playbook`: its list of commands, each imported when it is called, and its exit codes."""

import codecs
import errno
import importlib
import io
import os
import sys

import click

from playbook_db import __version__, platforms, project_env, settings
from playbook_db.cli.context import Group, in_utc
from playbook_db.cli.output import readable, say
from playbook_db.errors import ArgumentError, PlaybookError, Remedy

EXIT_KNOWN_ERROR, EXIT_USAGE, EXIT_BUG, EXIT_INTERRUPTED = 1, 2, 3, 130

# Every command by group, with the module that defines it and the first sentence of its help. So the list of commands
# imports none of them; a test compares the sentences.
_GROUPS = {
    "Set up": {
        "init": (".setup", "Add this project (and create the database if needed)."),
        "install": (".setup", "Register the hooks in Claude Code's settings."),
        "uninstall": (".setup", "Remove the hooks from Claude Code's settings."),
        "config": (".project", "Show every setting and where it comes from; change yours."),
        "doctor": (".setup", "Test the installation, and say what is broken."),
        "project": (".project", "List, ignore, trust, move or remove projects."),
        "help": (".main", "Show the help of playbook or of one command."),
    },
    "Read": {
        "status": (".look.status", "Show how many points there are, and what waits."),
        "list": (".look.read_points", "List key points with their votes."),
        "search": (".look.read_points", "Find key points by what they say, best match first."),
        "show": (".look.read_points", "Show one key point in full, or one revision."),
        "render": (".look.read_points", "Print the text that goes into a prompt."),
        "why": (".learn", "Show a key point's history: sessions, votes, edits."),
        "session": (".look.session", "Show what a session taught, and what didn't count and why."),
        "sessions": (".learn", "List sessions, what was learned from each, and what it cost."),
        "stats": (".look.stats", "Show statistics on points, votes, learning and cost."),
        "sql": (".look.sql", "Query the database in SQL."),
        "web": (".look.servers", "Read and correct the playbook in a browser."),
        "mcp": (".look.servers", "Run the MCP server for a coding agent."),
    },
    "Change": {
        "add": (".change.points", "Add a key point."),
        "edit": (".change.points", "Change a key point's text or section."),
        "retire": (".change.points", "Retire key points: sessions no longer get them."),
        "vote": (".change.points", "Vote on key points: helpful, harmful or neutral."),
        "review": (".change.review", "Accept or reject what learning proposes."),
        "pin": (".change.points", "Put key points first at every session's start."),
        "unpin": (".change.points", "Rank pinned key points like all others again."),
        "guard": (".change.guards", "Show a key point before some tool calls are made."),
        "unguard": (".change.guards", "Remove the guards of key points."),
        "apply": (".change.points", "Apply a batch of operations from a JSON file."),
        "prune": (".change.points", "Retire key points that did more harm than good."),
        "dedup": (".change.points", "List pairs of key points that may say the same."),
        "promote": (".change.points", "Move a key point into your personal playbook."),
        "demote": (".change.points", "Move a personal key point into this project's playbook."),
    },
    "History and undo": {
        "log": (".history.history_commands", "List revisions, newest first."),
        "at": (".history.history_commands", "Show the playbook at an earlier revision or time."),
        "diff": (".history.history_commands", "Show the differences between two states of the playbook."),
        "undo": (".history.history_commands", "Undo the last change, or the ones you name."),
        "restore": (".history.history_commands", "Bring back retired key points, or an earlier state."),
        "forget": (".history.history_commands", "Erase a key point's text for good."),
    },
    "Share": {
        "import": (".share.playbook_files", "Merge a playbook file, or propose points from notes."),
        "export": (".share.playbook_files", "Print the playbook as a playbook.json, or write rules."),
        "mirror": (".setup", "Keep .claude/playbook.json up to date, or stop that."),
        "team": (".share.team", "Share this project's playbook through a team's database."),
        "merge-driver": (".share.playbook_files", "Merge three playbook files; git runs this."),
        "textconv": (".share.playbook_files", "Print a playbook file as lines to compare; git runs this."),
    },
    "Learn": {
        "learn": (".learn", "Learn from one transcript now."),
        "bootstrap": (".learn", "Learn from all past sessions of this project."),
        "work": (".learn", "Run the background worker once, in the foreground."),
        "jobs": (".learn", "List the worker's jobs, oldest first."),
    },
    "Database": {
        "backup": (".database", "Back up the database, or list its backups."),
        "restore-backup": (".database", "Replace the database with a backup."),
        "db": (".database", "Check, repair, upgrade or copy the database."),
    },
}
_COMMANDS = {name: command for group in _GROUPS.values() for name, command in group.items()}
_FIRST = ("init", "install", "doctor", "status", "list", "search", "add", "review", "undo", "web")
ALL_COMMANDS = "playbook_db.all_commands"  # in a context: list every command
# Errors of the disk or its files: the user can fix them, and they are no bug of ours.
_OF_THE_DISK = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.ENOTDIR,
    errno.EISDIR, errno.EEXIST, errno.ELOOP,
)  # fmt: skip


class _OutputClosedError(Exception):
    """The reader of our output has closed the pipe, as `head` does."""


class _Commands(Group):
    """A group that imports a command's module when the command is called."""

    group_class = Group

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = (
            {title: [*group] for title, group in _GROUPS.items()}
            if ALL_COMMANDS in ctx.meta
            else {"Commands": [*_FIRST]}
        )
        longest = max(len(name) for names in groups.values() for name in names)
        for title, names in groups.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{longest}}", _COMMANDS[name][1]) for name in names])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        rest = "" if ALL_COMMANDS in ctx.meta else "All commands: playbook help --all. "
        formatter.write_text(f"{rest}Help on one command: playbook help COMMAND")

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # click would exit with code 1
            raise _OutputClosedError from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS and cmd_name not in self.commands:
            module = importlib.import_module(_COMMANDS[cmd_name][0], __package__)
            named = [
                each for each in vars(module).values() if isinstance(each, click.Command) and each.name == cmd_name
            ]
            self.add_command(named[0])
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            similar = get_close_matches(args[0], [*_COMMANDS, *_USUAL_WORDS], n=1)
            meant = _USUAL_WORDS.get(similar[0], similar[0]) if similar else ""
            hint = f" Did you mean '{meant}'?" if meant else " All commands: playbook help --all"
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


# What other programs call these commands.
_USUAL_WORDS = {
    "delete": "retire", "remove": "retire", "rm": "retire", "ls": "list", "find": "search", "grep": "search",
    "new": "add", "history": "log", "revert": "undo", "settings": "config", "erase": "forget", "start": "init",
}  # fmt: skip


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="playbook")
@click.option("--project", metavar="DIR", help="The project's folder (default: CLAUDE_PROJECT_DIR, or this project).")
@click.option("--db", metavar="URL", help="The database (default: PLAYBOOK_DB_URL, else one in Claude Code's folder).")
@click.option("--user", "is_user", is_flag=True, help="Use your personal playbook instead of the project's.")
@click.option(
    "--utc", is_flag=True, help="Show times in UTC (default: local time).", expose_value=False, callback=in_utc
)
@click.pass_context
def cli(ctx: click.Context, project: str | None, db: str | None, is_user: bool) -> None:
    """Read, correct and share what Claude Code learned in your projects.

    You can give these options before a command or after it. Only commands on one playbook accept --user. The name of a
    point says which playbook contains it: pat-001 is in the project's playbook, upat-001 in your personal one.

    Answers go to stdout, messages to stderr. Exit codes: 0 done, 1 an error that is explained, 2 wrong usage, 3 a bug
    in playbook-db, 130 interrupted.
    """
    ctx.obj = {"project": project and platforms.as_spelled(project), "db": db, "is_user": is_user}
    if ctx.invoked_subcommand is None:
        from playbook_db.cli.overview import print_overview

        print_overview()
        click.echo()
        formatter = ctx.make_formatter()
        cli.format_commands(ctx, formatter)
        cli.format_epilog(ctx, formatter)
        click.echo(formatter.getvalue().rstrip("\n"))


@cli.command("help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.option("--all", "is_whole", is_flag=True, help="List every command, by group.")
@click.pass_context
def show_help(ctx: click.Context, words: tuple[str, ...], is_whole: bool) -> None:
    """Show the help of playbook or of one command."""
    context = ctx.find_root()
    if is_whole:
        context.meta[ALL_COMMANDS] = True
    for word in words:
        if not isinstance(context.command, click.Group):
            raise click.UsageError(f"`{context.command_path}` has no commands of its own.")
        name, command, _ = context.command.resolve_command(context, [word])
        context = click.Context(command or context.command, info_name=name, parent=context)
    click.echo(context.get_help())


def run() -> None:
    """Run the command with the arguments of this process, and exit."""
    project_env.apply_user_settings()
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - closed by `>&-`
    codecs.register_error("playbook", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="playbook")
    if root := os.environ.get("PLAYBOOK_PLUGIN_ROOT"):
        Remedy.program = os.path.join(root, "bin", "playbook")
    code = main(sys.argv[1:])
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # the reader is gone, or the disk is full: main has said so, and Python would say it again
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Print a path byte for byte, even if it is not UTF-8, and escape characters that the locale lacks."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def main(arguments: list[str]) -> int:
    """Run the command with *arguments*; return its exit code."""
    if problem := platforms.unsupported():
        return _explain(problem, EXIT_KNOWN_ERROR)
    if not settings.has_home():
        return _explain("HOME isn't set to a folder. Set it, or set CLAUDE_CONFIG_DIR.", EXIT_KNOWN_ERROR)
    try:
        code = cli.main(arguments, prog_name="playbook", standalone_mode=False)
        sys.stdout.flush()
    except PlaybookError as error:
        text = str(error)
        return _explain(text if isinstance(error, ArgumentError) else _redacted(text), EXIT_KNOWN_ERROR)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(shown.getvalue().rstrip("\n"), err=True)
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        return _explain("interrupted; no change was left half done", EXIT_INTERRUPTED)
    except (_OutputClosedError, BrokenPipeError):
        return 0
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            return _report_bug()
        if not error.filename and not _can_print():
            why = f"the output can't be written: {error.strerror}. What the command changes is changed already"
            return _explain(f"{why}; see: playbook log", EXIT_KNOWN_ERROR)
        problem = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
        return _explain(_redacted(f"{problem}. {_way_out()}, and run the command again."), EXIT_KNOWN_ERROR)
    except Exception:  # a bug, shown in full so that it can be reported
        return _report_bug()
    return code if isinstance(code, int) else 0


def _can_print() -> bool:
    try:
        sys.stdout.flush()
        os.write(1, b"")
    except OSError:
        return False
    return True


def _way_out() -> str:
    from playbook_db.store import sqlite_open  # late: rarely needed

    obstacle = sqlite_open.unwritable(None)
    return f"Run: {platforms.why_unwritable(obstacle, settings.data_dir())[1]}" if obstacle else "Fix that"


def _report_bug() -> int:
    """Show the current exception in full, so that it can be reported."""
    import traceback  # late: only few commands need it

    click.echo(readable(_redacted(traceback.format_exc())), err=True)
    return _explain("this is a bug in playbook-db; please report it with the lines above", EXIT_BUG)


def _explain(text: str, code: int) -> int:
    say(f"playbook: {text}", err=True)
    return code


def _redacted(text: str) -> str:
    """Return *text* without secrets, because it may quote another program."""
    from playbook_db.domain.redaction.redact import redact_message

    return redact_message(text, os.environ, max_chars=len(text))
