"""The command mcp."""

import sys

from playbook_db.cli.context import database_url, project_folder
from playbook_db.cli.main import cli
from playbook_db.errors import MissingExtraError


@cli.command()
def mcp() -> None:
    """Serve a session the playbook's tools (MCP).

    A program starts this and speaks on stdin and stdout, such as Claude Code: claude mcp add playbook -- playbook mcp. What a session writes by these
    tools waits for `playbook review`, unless the setting playbook_mcp_writes is "live"; it can take back what it did
    itself, and forget nothing.
    """
    try:
        from playbook_db import mcp_server
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("playbook_db"):
            raise
        missing = MissingExtraError("playbook mcp", "the package mcp", extra="mcp")
        if sys.stdin.isatty():
            raise missing from None
        from playbook_db.claude_code import mcp_unready

        mcp_unready.serve(str(missing))
        return
    mcp_server.serve(database_url(), project_folder(must_exist=True))
