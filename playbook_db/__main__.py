"""The entry point of the command `playbook`, also called `python -m playbook_db`."""

import sys


def run() -> None:
    """Run the command `playbook` with this process's arguments."""
    if sys.argv[1:] == ["mcp"]:
        from playbook_db.mcp_server import start

        if start.try_to_serve():
            return
    from playbook_db.cli.main import run

    run()


if __name__ == "__main__":
    run()
