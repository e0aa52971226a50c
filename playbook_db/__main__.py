"""`python -m playbook_db` is the command `playbook`."""

from playbook_db.cli.main import run

run()
