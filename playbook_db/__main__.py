"""The entry point of the command `playbook`, also called `python -m playbook_db`."""

import os
import sys


def run() -> None:
    """Run the command `playbook` with this process's arguments. Paths are UTF-8, whatever the locale says."""
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    if sys.argv[1:] == ["mcp"]:
        from playbook_db.mcp_server import start

        if start.try_to_serve():
            return
    from playbook_db.cli.main import run

    run()


if __name__ == "__main__":
    run()
