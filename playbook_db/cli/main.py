"""The command `playbook`: its sub-commands, each imported when it is called, and its exit codes."""

import importlib
import os
import sys
import traceback

import click

from playbook_db import __version__
from playbook_db.errors import PlaybookError

EXIT_KNOWN_ERROR, EXIT_USAGE, EXIT_BUG, EXIT_INTERRUPTED = 1, 2, 3, 130

_MODULES = {
    "install": "hooks",
    "uninstall": "hooks",
    "init": "mirrors",
    "mirror": "mirrors",
    "import": "files",
    "export": "files",
    "list": "points",
    "show": "points",
    "add": "points",
    "edit": "points",
    "retire": "points",
    "restore": "points",
    "vote": "points",
    "apply": "batches",
    "prune": "batches",
    "render": "batches",
    "learn": "learning",
    "bootstrap": "learning",
    "sessions": "learning",
    "why": "learning",
    "work": "working",
    "jobs": "working",
    "project": "projects",
    "doctor": "doctor",
    "db": "database",
}


class _Commands(click.Group):
    """A group that imports a sub-command's module when the sub-command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _MODULES.get(cmd_name)
        if module is None:
            return None
        found = importlib.import_module(f"playbook_db.cli.{module}")
        command: click.Command = found.COMMANDS[cmd_name]
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="playbook")
@click.option("--project", metavar="DIR", help="The project's folder (default: CLAUDE_PROJECT_DIR, else around here).")
@click.option("--db", metavar="URL", help="The database (default: PLAYBOOK_DB_URL, else Claude Code's folder).")
@click.pass_context
def cli(ctx: click.Context, project: str | None, db: str | None) -> None:
    """Look at, correct and share what Claude Code learnt in a project.

    Answers go to stdout, messages to stderr. Exit codes: 0 done, 1 an error that is explained, 2 wrong usage, 3 a bug
    in playbook-db, 130 interrupted.
    """
    ctx.obj = {"project": project, "db": db}


def run() -> None:
    """Run the command with the arguments of this process, and exit."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run the command with *arguments*; its exit code."""
    try:
        code = cli.main(arguments, prog_name="playbook", standalone_mode=False)
        sys.stdout.flush()
    except PlaybookError as error:
        return _explain(str(error), EXIT_KNOWN_ERROR)
    except click.ClickException as error:
        error.show()
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        return _explain("interrupted; nothing half-done was left", EXIT_INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:  # the outer door: a bug, shown whole so that it can be reported
        traceback.print_exc()
        return _explain("this is a bug in playbook-db; please report it with the lines above", EXIT_BUG)
    return code if isinstance(code, int) else 0


def _explain(text: str, code: int) -> int:
    click.echo(f"playbook: {text}", err=True)
    return code
