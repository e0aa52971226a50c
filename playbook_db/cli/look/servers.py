"""The commands that serve others: web a browser, mcp a session."""

import os
import sys
from types import ModuleType

import click

from playbook_db.cli.context import database_and_folder, database_url, needing, notify, project_folder
from playbook_db.cli.main import cli
from playbook_db.cli.output import readable
from playbook_db.errors import MissingExtraError, PlaybookError, SettingError


@cli.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; any that is free by default.")
@click.option("--no-open", is_flag=True, help="Only print the address; don't open a browser.")
def web(port: int, no_open: bool) -> None:
    """Look at the playbook and correct it in a browser.

    The pages are served on this machine alone, to the browser that opens the address on the first line. It works once.
    The command ends with Ctrl-C, or when no page was asked for in 30 minutes.
    """
    with needing("playbook web", extra="web"):
        from playbook_db.web import serve

    import webbrowser  # late: it brings what the help has no use for
    from urllib.parse import urlsplit

    def opened(address: str) -> None:
        click.echo(address)
        entrance = urlsplit(address)._replace(path="/").geturl()  # all users can see how a browser was started
        if not no_open and not webbrowser.open(entrance):
            notify(["no browser could be opened; open the address above"])

    url, folder = database_and_folder()
    serve.serve(url, folder, port=port, opened=opened)


@cli.command()
def mcp() -> None:
    """Serve a session the playbook's tools (MCP).

    A program starts this and speaks on stdin and stdout, such as Claude Code after: claude mcp add playbook -- playbook
    mcp. What a session writes by these tools waits for `playbook review`, unless the setting playbook_mcp_writes is
    "live"; it can take back what it did itself, and forget nothing.
    """
    try:
        server = _server()
        url, folder = database_url(), project_folder(must_exist=True)
    except PlaybookError as error:
        if sys.stdin.isatty():
            raise
        from playbook_db.claude_code.setup import mcp_unready  # a client shows that no server would start, and not why

        mcp_unready.serve(readable(str(error)))
        return
    server.serve(url, folder)


def _server() -> ModuleType:
    """The module of the server. Raises MissingExtraError or SettingError if its package isn't installed."""
    try:
        with needing("playbook mcp", extra="mcp"):
            from playbook_db.mcp_server import tools
    except MissingExtraError:
        if root := os.environ.get("PLAYBOOK_PLUGIN_ROOT"):
            from playbook_db.claude_code import plugin_env

            raise SettingError(plugin_env.describe(root)) from None
        raise
    return tools
