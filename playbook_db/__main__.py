"""The entry point of the command `playbook`, also called `python -m playbook_db`."""

import os
import sys
from contextlib import suppress


def run() -> None:
    """Run the command `playbook` with this process's arguments. Paths are UTF-8, whatever the locale says."""
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    if sys.argv[1:] == ["mcp"] and serve_tools():
        return
    from playbook_db.cli.main import run

    run()


def serve_tools() -> bool:
    """Run the MCP server without the libraries of the commands, as each session starts it. If the command `mcp` has to
    find the project, or to explain a problem, return False at once."""
    from playbook_db import platforms, project_env, projects, settings
    from playbook_db.errors import SettingError
    from playbook_db.mcp_server import start
    from playbook_db.services.reading import file_first

    project_env.apply_user_settings()
    named, url = os.environ.get("CLAUDE_PROJECT_DIR"), ""
    with suppress(SettingError):
        url = settings.database_url()
    is_unclear = os.environ.get(project_env.DATABASE) or (settings.session() and not named)
    if not url or is_unclear or platforms.unsupported():
        return False
    folder = file_first.place_of(url, os.path.abspath(named or ""))
    if os.path.isdir(folder):
        start.serve(url, folder, asks_roots=not named and not projects.is_project(folder))
    return os.path.isdir(folder)


if __name__ == "__main__":
    run()
