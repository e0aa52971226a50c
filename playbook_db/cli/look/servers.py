"""The commands that run a server: web, mcp."""

import os
import sys

import click

from playbook_db.cli.context import (
    Command,
    database_and_folder,
    database_url,
    named_project,
    needing,
    notify,
    project_folder,
)
from playbook_db.cli.output import readable
from playbook_db.errors import PlaybookError


@click.command(cls=Command)
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="The port (default: any free one).")
@click.option("--no-open", is_flag=True, help="Only print the address; don't open a browser.")
def web(port: int, no_open: bool) -> None:
    """Read and correct the playbook in a browser.

    Only browsers on this machine can open the pages. The printed address works once. To stop the server, press Ctrl-C.
    It also stops after 30 minutes without a request.
    """
    with needing("playbook web", extra="web"):
        from playbook_db.web import serve

    import webbrowser  # late: the help needs none of it
    from urllib.parse import urlsplit

    def opened(address: str) -> None:
        click.echo(address)
        notify(["to stop it, press Ctrl-C; it also stops after 30 minutes without a request"])
        # All users of the machine can see a browser's arguments, so they don't have the secret path.
        entrance = urlsplit(address)._replace(path="/").geturl()
        if not no_open and not webbrowser.open(entrance):
            notify(["no browser could be opened; open the address above yourself"])

    url, folder = database_and_folder()
    serve.serve(url, folder, port=port, opened=opened)


@click.command(cls=Command)
def mcp() -> None:
    """Run the MCP server for a coding agent.

    The agent starts it and talks to it on stdin and stdout. To set it up in Claude Code: claude mcp add playbook --
    playbook mcp. Points that a session adds with the tools wait for `playbook review`, unless the setting
    playbook_mcp_writes is "live". A session can undo its own changes, but it can't use forget.
    """
    from playbook_db.mcp_server import protocol, start

    try:
        url, folder = database_url(), project_folder(must_exist=True)
    except PlaybookError as error:
        if sys.stdin.isatty():
            raise
        protocol.explain(readable(str(error)))
        return
    if named_project():
        os.environ["CLAUDE_PROJECT_DIR"] = folder
    start.serve(url, folder)
