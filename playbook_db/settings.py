"""The paths, environment variables and limits of this package. Standard library only; writes nothing.

Each call reads the environment, so a changed variable takes effect at once.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FILE_BYTES = 256 * 1024 * 1024  # of a playbook file, so that a hostile file doesn't fill the memory
LOCK_WAIT_S = 30.0  # a writer waits so long for the database
QUERY_TIMEOUT_S = 60.0  # a query of the user may take so long in SQLite
MAX_ACTOR_LENGTH = 200  # characters
_LIBPQ = {"host", "hostaddr", "dbname", "user", "password", "service"}  # keywords of libpq's connection strings
MAX_DIAGNOSTIC_FILES = 200  # in one project's .claude/diagnostic/
DAILY_TOKENS = 1_000_000  # for learning, unless PLAYBOOK_DAILY_TOKENS is set


def home() -> str:
    """Return the user's home directory."""
    return os.path.expanduser("~")


def has_home() -> bool:
    """Return whether a variable names the folder of Claude Code or the home directory."""
    return bool(os.environ.get("CLAUDE_CONFIG_DIR")) or os.path.isabs(os.environ.get("HOME", ""))


def claude_dir() -> str:
    """Return Claude Code's configuration directory: `CLAUDE_CONFIG_DIR`, or `~/.claude` if that isn't set."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home(), ".claude")


def data_dir() -> str:
    """Return the path of the folder for the database, its backups and locks. The folder may not exist."""
    return os.path.join(claude_dir(), "playbook")


def default_database() -> str:
    """Return the path of the default database file."""
    return os.path.join(data_dir(), "playbook.db")


def database_url(database: "str | None" = None) -> str:
    """Return the SQLAlchemy URL of the database: *database*, or else `PLAYBOOK_DB_URL`, or else `default_database`.

    A value without `://` is the path of an SQLite file. Raises SettingError for a mistyped URL of a server and for
    libpq's `host=... password=...`, because the password would become part of a file name.
    """
    value = database or os.environ.get("PLAYBOOK_DB_URL") or default_database()
    if "://" in value:
        return value
    words = {word.partition("=")[0] for word in value.split()} if "=" in value else set()
    if words & _LIBPQ or value.startswith(("postgresql:", "postgresql//", "postgres:", "postgres//")):
        from playbook_db.errors import SettingError  # late: a hook without errors doesn't need it

        raise SettingError("Write a database on a server as a URL: postgresql://USER:PASSWORD@HOST:5432/DATABASE")
    return "sqlite:///" + os.path.abspath(os.path.expanduser(value))


def sqlite_file(url: str) -> "str | None":
    """Return the path in *url* if it is the URL of an SQLite file, and otherwise None. Doesn't import SQLAlchemy."""
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] != "sqlite" or not rest.startswith("/"):
        return None
    return rest[1:].partition("?")[0] or None


def logs_dir() -> str:
    """Return the path of the folder for logs of the hooks and the worker. The folder may not exist."""
    return os.path.join(data_dir(), "logs")


def spool_dir() -> str:
    """Return the path of the folder for jobs that hooks save while the database can't be written."""
    return os.path.join(data_dir(), "spool")


def worker_lock() -> str:
    """Return the path of the worker's lock file. Its modification time is the time of the worker's last run."""
    return os.path.join(data_dir(), "worker.lock")


def skip_mark(session: str) -> str:
    """Return the path of a mark: if this file exists, nothing is learned from *session*."""
    return os.path.join(data_dir(), "skipped", session)


def touched_dir() -> str:
    """Return the path of the records of touched files: a folder for each session, a file for each touched file."""
    return os.path.join(data_dir(), "touched")


def runtime_dir() -> str:
    """Return the path of the Python environment that the plugin installs for its worker. It may not exist."""
    return os.path.join(data_dir(), "runtime")


def runtime_python() -> str:
    """Return the path of `python` in `runtime_dir`. The file exists as soon as the environment is complete."""
    return os.path.join(runtime_dir(), "bin", "python")


def may_set_up() -> bool:
    """Return whether the plugin may set up that environment: a variable and `claude plugin eval` forbid it."""
    return not any(map(os.environ.get, ("PLAYBOOK_NO_SETUP", "CLAUDE_CODE_EVAL_CONFINED")))


def actor() -> str:
    """Return who makes revisions: `PLAYBOOK_ACTOR`, or else this session's id, or else a name like `ann@laptop`."""
    return _actor_name(os.environ.get("PLAYBOOK_ACTOR", "")) or _actor_name(session()) or member()


def member(role: str = "") -> str:
    """Return the user's name such as `ann@laptop`, even inside a session: other machines don't know the session's id.

    In Claude Code's background, no variable names the user. Then the name is *role*, their role in the team's database.
    """
    from playbook_db import platforms  # late: hooks don't need it

    return _actor_name(os.environ.get("PLAYBOOK_ACTOR", "")) or _actor_name(
        f"{_user_name(role)}@{platforms.machine_name()}"
    )


def session() -> str:
    """Return the id of the Claude Code session that runs this process, or `""` in the user's own terminal."""
    return os.environ.get("CLAUDE_CODE_SESSION_ID", "")


def review_command() -> str:
    """Return what the user types to decide about proposals. Those of the plugin have no command `playbook`."""
    return "/playbook:review" if os.environ.get("PLAYBOOK_PLUGIN_ROOT") else "playbook review"


def require_person() -> None:
    """Raise SettingError inside a session of Claude Code, which must neither read nor accept proposals."""
    if session():
        from playbook_db.errors import Remedy, SettingError

        raise SettingError(
            "Proposals may repeat instructions from a web page. So they can't be shown or decided in a Claude Code "
            "session.",
            Remedy("Decide in your own terminal: {}, or {} for the pages.", ("review",), ("web",)),
        )


def is_disabled(environ: "Mapping[str, str]" = os.environ) -> bool:
    """Return whether `PLAYBOOK_DISABLE` turns off the hooks and the worker."""
    return environ.get("PLAYBOOK_DISABLE", "") not in ("", "0")


def daily_tokens(environ: "Mapping[str, str]" = os.environ) -> int:
    """Return how many tokens learning may use per day: `PLAYBOOK_DAILY_TOKENS`, or DAILY_TOKENS. 0: no limit.

    Raises SettingError.
    """
    value = environ.get("PLAYBOOK_DAILY_TOKENS", "").strip()
    if value.isascii() and value.isdigit():
        return int(value[:18])  # 18 digits fit into any database
    if value:
        from playbook_db.errors import SettingError  # late, as above

        raise SettingError(f"PLAYBOOK_DAILY_TOKENS is {value!r}; it must be a whole number of tokens (0: no limit).")
    return DAILY_TOKENS


def _user_name(role: str) -> str:
    import getpass  # late: hooks make no revisions

    try:
        if not any(map(os.environ.get, ("LOGNAME", "USER", "LNAME", "USERNAME"))) and role:
            return role
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user id without a name, as in a container
        from playbook_db import platforms

        return str(platforms.user_number())


def _actor_name(text: str) -> str:
    """Return *text* on one line of at most MAX_ACTOR_LENGTH characters, without terminal control characters."""
    return "".join(char if char.isprintable() else " " for char in text)[:MAX_ACTOR_LENGTH].strip()
