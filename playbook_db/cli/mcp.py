"""The command mcp."""

import os
import sys
from types import ModuleType

from playbook_db.cli.context import database_url, project_folder
from playbook_db.cli.main import cli
from playbook_db.cli.output import readable
from playbook_db.errors import MissingExtraError, PlaybookError, SettingError


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
        from playbook_db.claude_code import mcp_unready  # a client shows that no server would start, and not why

        mcp_unready.serve(readable(str(error)))
        return
    server.serve(url, folder)


def _server() -> ModuleType:
    """The module of the server. Raises SettingError where the package that it needs isn't there."""
    try:
        from playbook_db import mcp_server
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("playbook_db"):
            raise
        if root := os.environ.get("PLAYBOOK_PLUGIN_ROOT"):
            from playbook_db.claude_code import plugin_env

            raise SettingError(plugin_env.describe(root)) from None
        raise MissingExtraError("playbook mcp", "the package mcp", extra="mcp") from None
    return mcp_server
