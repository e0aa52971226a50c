"""Places, environment variables and limits. Standard library only; reads, never writes.

Everything is a function of the environment at the time of the call, so that a program or a test
that changes a variable is heard at once.
"""

import os

MAX_FILE_BYTES = 256 * 1024 * 1024  # of a playbook file; a hostile one must not fill the memory
LOCK_WAIT_S = 30.0  # how long a writer waits for the database before it gives up
DIAGNOSTIC_FILES_KEPT = 200  # in one project's .claude/diagnostic/


def home() -> str:
    """The user's home directory."""
    return os.path.expanduser("~")


def claude_dir() -> str:
    """Claude Code's own configuration directory: `CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home(), ".claude")


def data_dir() -> str:
    """The folder of the database, its backups and locks. Not made here."""
    return os.path.join(claude_dir(), "playbook")


def database_url(given: str | None = None) -> str:
    """The SQLAlchemy URL of the database: *given*, else `PLAYBOOK_DB_URL`, else the data folder's SQLite file.

    A value without `://` is taken for the path of an SQLite file.
    """
    value = given or os.environ.get("PLAYBOOK_DB_URL") or os.path.join(data_dir(), "playbook.db")
    if "://" in value:
        return value
    return "sqlite:///" + os.path.abspath(os.path.expanduser(value))
