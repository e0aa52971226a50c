"""Paths, environment variables and limits. Standard library only; writes nothing.

Each call reads the environment, so a changed variable takes effect at once.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FILE_BYTES = 256 * 1024 * 1024  # of a playbook file; a hostile one must not fill the memory
LOCK_WAIT_S = 30.0  # how long a writer waits for the database
QUERY_TIMEOUT_S = 60.0  # for SQLite to work on one query of the user
COLLECT_AFTER = 100_000  # new objects before Python collects garbage
MAX_ACTOR_LENGTH = 200  # characters
_LIBPQ = {"host", "hostaddr", "dbname", "user", "password", "service"}  # keywords of its connection strings
MAX_DIAGNOSTIC_FILES = 200  # in one project's .claude/diagnostic/
HOLDOUT = "PLAYBOOK_HOLDOUT"  # the share of sessions that are shown nothing
HOLDOUT_POINTS = "PLAYBOOK_HOLDOUT_POINTS"  # the share of its points that a session is not shown
DAILY_TOKENS = 1_000_000  # for learning, unless PLAYBOOK_DAILY_TOKENS is set


def home() -> str:
    """Return the user's home directory."""
    return os.path.expanduser("~")


def claude_dir() -> str:
    """Return Claude Code's configuration directory: `CLAUDE_CONFIG_DIR` if set, else `~/.claude`."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home(), ".claude")


def data_dir() -> str:
    """Return the folder of the database, its backups and locks. Doesn't create it."""
    return os.path.join(claude_dir(), "playbook")


def default_database() -> str:
    """Return the path of the default database file."""
    return os.path.join(data_dir(), "playbook.db")


def database_url(database: "str | None" = None) -> str:
    """Return the SQLAlchemy URL of the database: *database*, else `PLAYBOOK_DB_URL`, else `default_database`.

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
    """Return the path of the SQLite database at *url*, else None. Doesn't import SQLAlchemy."""
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] != "sqlite" or not rest.startswith("/"):
        return None
    return rest[1:].partition("?")[0] or None


def logs_dir() -> str:
    """Return the folder for logs of the hooks and the worker. Doesn't create it."""
    return os.path.join(data_dir(), "logs")


def spool_dir() -> str:
    """Return the folder for jobs that hooks save while the database can't be written. Doesn't create it."""
    return os.path.join(data_dir(), "spool")


def worker_lock() -> str:
    """Return the lock file of the worker. Its modification time is the time of the worker's last run."""
    return os.path.join(data_dir(), "worker.lock")


def skip_mark(session: str) -> str:
    """Return the path of the file that, if it exists, excludes *session* from learning. Doesn't create it."""
    return os.path.join(data_dir(), "skipped", session)


def touched_dir() -> str:
    """Return the folder of touched files: a subfolder for each session, with an empty file for each touched file."""
    return os.path.join(data_dir(), "touched")


def runtime_dir() -> str:
    """Return the folder of the Python environment that the plugin installs for its worker. Doesn't create it."""
    return os.path.join(data_dir(), "runtime")


def runtime_python() -> str:
    """Return the Python of that environment. The file exists once the environment is complete."""
    return os.path.join(runtime_dir(), "bin", "python")


def actor() -> str:
    """Return the actor for a revision, on one line: `PLAYBOOK_ACTOR`, else this session's id, else `ann@laptop`."""
    return _actor_name(os.environ.get("PLAYBOOK_ACTOR", "")) or _actor_name(session()) or member()


def member(role: str = "") -> str:
    """Return the person's name, even inside a session: a session id means nothing on another machine.

    In Claude Code's background, no variable names the user. Then the name is *role*, their role in the team's database.
    """
    from playbook_db import platforms  # late: hooks don't need it

    return _actor_name(os.environ.get("PLAYBOOK_ACTOR", "")) or _actor_name(
        f"{_user_name(role)}@{platforms.machine_name()}"
    )


def session() -> str:
    """Return the id of the Claude Code session that runs this process; `""` in the user's own terminal."""
    return os.environ.get("CLAUDE_CODE_SESSION_ID", "")


def require_person() -> None:
    """Raise SettingError within a session of Claude Code. A session must neither read nor accept proposals."""
    if session():
        from playbook_db.errors import Remedy, SettingError

        raise SettingError(
            "Proposals may repeat what a web page told a model, so a session of Claude Code neither shows nor decides "
            "them.",
            Remedy("Decide in your own terminal: {}, or {} for the pages.", ("review",), ("web",)),
        )


def is_disabled(environ: "Mapping[str, str]" = os.environ) -> bool:
    """Return whether `PLAYBOOK_DISABLE` turns off the hooks and the worker."""
    return environ.get("PLAYBOOK_DISABLE", "") not in ("", "0")


def daily_tokens(environ: "Mapping[str, str]" = os.environ) -> int:
    """Return the tokens that learning may use per day: `PLAYBOOK_DAILY_TOKENS`, else DAILY_TOKENS. 0: no limit.

    Raises SettingError.
    """
    value = environ.get("PLAYBOOK_DAILY_TOKENS", "").strip()
    if value.isascii() and value.isdigit():
        return int(value[:18])  # 18 digits fit into any database
    if value:
        from playbook_db.errors import SettingError  # late, as above

        raise SettingError(f"PLAYBOOK_DAILY_TOKENS is {value!r}; it must be a whole number of tokens, 0 for no limit.")
    return DAILY_TOKENS


def holdout(environ: "Mapping[str, str]" = os.environ, name: str = HOLDOUT) -> float:
    """Return the share, from 0 (default) to 1, of sessions to hold back for comparison, from the variable *name*.
    With HOLDOUT_POINTS, it is a share of points.

    Raises SettingError.
    """
    value = environ.get(name, "").strip()
    try:
        share = float(value or "0")
    except ValueError:
        share = -1.0
    if 0 <= share <= 1:
        return share
    from playbook_db.errors import SettingError  # late, as above

    raise SettingError(f"{name} is {value!r}; it must be a number from 0 to 1, such as 0.1 for one in ten.")


def is_held_out(session_id: str, share: float, point: int = 0) -> bool:
    """Return whether the session (or with *point*, that point in this session) is in the *share* that isn't shown.
    Only the ids decide (FNV-1a, 32 bits), so the result stays the same if the session is resumed or compacted."""
    text = f"{point} {session_id} held back" if point else session_id  # FNV-1a mixes the last bytes too little
    number = 0x811C9DC5
    for byte in text.encode("utf-8", "replace"):
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number < share * 2**32


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
    """Put *text* on one line of at most MAX_ACTOR_LENGTH characters, without those that could control a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)[:MAX_ACTOR_LENGTH].strip()
